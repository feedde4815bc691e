"""The kernels of the device `meta`: those of NumPy, on arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, many_dims
from .._arrays.geometry import c_strides
from .._arrays.meta import NO_COUNT, NO_DATA, Meta, enlarged, miniature, shape_of
from .._core.base.state import thread_state
from . import Kernels, cpu
from .elements.embedding import MAX
from .elementwise.bessel import Bessel
from .elementwise.polynomials import Polynomials
from .elementwise.special import Special


class _Strides:
    """`numpy.lib.stride_tricks` on arrays without memory."""

    sliding_window_view = staticmethod(np.lib.stride_tricks.sliding_window_view)

    @staticmethod
    def as_strided(a: Array, shape: Any = None, strides: Any = None, **options: Any) -> Any:
        if not isinstance(a, Meta):
            return np.lib.stride_tricks.as_strided(a, shape, strides, **options)
        return a.window(a.shape if shape is None else shape, a.strides if strides is None else strides)


class _Lib:
    stride_tricks = _Strides


class Module:
    """NumPy, with functions of its own for what NumPy would make in memory."""

    lib = _Lib

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = float, order: str = "C") -> Meta:
        return Meta((shape,) if isinstance(shape, (int, np.integer)) else shape, dtype)

    zeros = ones = empty

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Meta:
        return self.empty(shape, np.asarray(value).dtype if dtype is None else dtype)

    def empty_like(self, a: Array, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
        return np.empty_like(_meta(a), dtype=dtype, order=order, shape=shape)

    zeros_like = ones_like = empty_like

    def full_like(self, a: Array, value: Any, dtype: Any = None) -> Any:
        return self.empty_like(a, dtype)

    def eye(self, n: int, m: int | None = None, k: int = 0, dtype: Any = float) -> Meta:
        return Meta((n, n if m is None else m), dtype)

    tri = eye

    def take(self, a: Array, indices: Array, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        return np.take(_meta(a), indices, axis, out, mode)

    def array(self, a: Array, dtype: Any = None, copy: Any = True, order: str = "K") -> Any:
        if not isinstance(a, Meta):
            return np.array(a, dtype)
        return a.astype(a.dtype if dtype is None else dtype, order)

    def asarray(self, a: Array, dtype: Any = None) -> Any:
        if not isinstance(a, Meta):
            return np.asarray(a, dtype)
        return a if dtype is None else a.astype(dtype, copy=False)

    def ascontiguousarray(self, a: Array, dtype: Any = None) -> Any:
        a = self.asarray(a, dtype)
        return a if not isinstance(a, Meta) or a.flags.c_contiguous else a.copy()

    def ndarray(self, shape: Any, dtype: Any, buffer: Any = None, offset: int = 0, strides: Any = None) -> Any:
        if not isinstance(buffer, Meta):
            return np.ndarray(shape, dtype, buffer, offset, strides)
        shape = tuple(shape)
        return buffer.window(
            shape, c_strides(shape, np.dtype(dtype).itemsize) if strides is None else strides, offset, dtype
        )


def _meta(a: Array) -> Meta:
    return a if isinstance(a, Meta) else Meta(np.shape(a), a.dtype)


class MetaKernels(Kernels):
    """Kernels that find shapes, dtypes and strides; what they would compute is not computed.

    Most are those of NumPy as they stand. Here is what asks for elements on its way, or takes a step for each of many.
    """

    def column_major(self, a: Array) -> Any:
        *batch, m, n = a.shape
        return self.xp.swapaxes(Meta((*batch, n, m), a.dtype), -1, -2)

    def _substituted(self, a: Array, b: Array, upper: bool, unitriangular: bool) -> Any:
        return Meta((*many_dims.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)

    def lu_factor(self, a: Array) -> tuple[Any, Any, Any]:
        batch = a.shape[:-2]
        return self.column_major(a), Meta((*batch, min(a.shape[-2:])), "int32"), Meta(batch, "int32")

    def permutation(self, pivots: Array, m: int) -> Any:
        return Meta((*pivots.shape[:-1], m), "int64")

    def linalg_ldl_factor_ex(self, a: Array, hermitian: bool = False) -> tuple[Any, Any, Any]:
        return self.xp.tril(a), Meta(a.shape[:-1], "int32"), Meta(a.shape[:-2], "int32")

    def linalg_ldl_solve(self, factors: Any, pivots: Array, b: Array, hermitian: bool = False) -> Any:
        return self.column_major(self._substituted(factors, b, False, False))

    def linalg_matrix_exp(self, a: Array) -> Any:
        return Meta(a.shape, a.dtype)

    def is_singular(self, det: Any) -> bool:
        return False

    def zeros_in(self, a: Array) -> int:
        """The way that is right for all elements, as PyTorch takes it on `meta`."""
        return 1

    def distinct(self, index: Any) -> Any:
        return index

    def masked_select(self, a: Array, mask: Array) -> Any:
        """Return where the mask is not known, nobody knows how many elements it chooses; a backward pass only adds them
        up."""
        if mask.__class__ is not Meta:
            return Meta(
                (int(np.count_nonzero(np.broadcast_to(mask, many_dims.broadcast_shapes(a.shape, mask.shape)))),),
                a.dtype,
            )
        if thread_state.walk is None:
            raise NotImplementedError(NO_DATA)
        return Meta((self.xp.broadcast_arrays(a, mask)[0].size,), a.dtype)

    def masked_scatter(self, a: Array, mask: Array, source: Any) -> Any:
        return self.xp.broadcast_arrays(a, mask)[0].copy()

    def masked_scatter_backward(self, grad: Array, mask: Array, sizes: Any) -> Any:
        return Meta(sizes, grad.dtype)

    def embedding_dense_backward(
        self, grad: Array, indices: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Any:
        return Meta((count, grad.shape[-1]), grad.dtype)

    def _bag(
        self,
        weight: Array,
        indices: Array,
        offsets: Any,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample: Any,
        include_last_offset: bool,
        padding_idx: int,
    ) -> Any:
        bags, width = offsets.size - (1 if include_last_offset else 0), weight.shape[1]
        positions = Meta((bags, width) if mode == MAX else (0,), "int64")
        return Meta((bags, width), weight.dtype), Meta(indices.shape, "int64"), Meta((bags,), "int64"), positions

    def _embedding_bag_backward(
        self, grad: Array, indices: Array, bag_of: Any, sizes: Any, positions: Any, count: int, *_: Any
    ) -> Any:
        return Meta((count, grad.shape[1]), grad.dtype)

    def put_planes(self, grad: Array, sizes: Any, indices: Array, dims: int) -> Any:
        return Meta(sizes, grad.dtype)

    def _add_at(self, total: Any, position: Any, values: Any) -> None:
        """Nothing to do: no element is kept."""

    def _bounds(self, data: Any, lengths: Any, offsets: Any, axis: int) -> Any:
        """No segment is reduced."""
        return []

    def _label_sets(self, a: Array, target: Any) -> tuple[Any, Any, Any]:
        n = a.shape[-1] if a.ndim else 1
        rows, labels = a.reshape(-1, n), target.reshape(-1, n)
        return rows, (labels, labels >= 0), Meta(rows.shape, a.dtype)

    def _log_sum(self, *parts: Any) -> Any:
        return sum(parts[1:], parts[0])

    def nonzero(self, a: Array) -> Any:
        raise NotImplementedError(NO_COUNT)


def _element_by_element(name: str) -> None:
    kernel = getattr(cpu, name)

    def run(self: MetaKernels, *args: Any, **options: Any) -> Any:
        shape = many_dims.broadcast_shapes(*(shape_of(x) for x in args if isinstance(x, (Meta, np.ndarray))))
        return enlarged(shape, kernel(*map(miniature, args), **options))

    setattr(MetaKernels, name, run)


for _family in (Special, Bessel, Polynomials):
    for _name in vars(_family):
        if not _name.startswith("_") and callable(getattr(cpu, _name, None)):
            _element_by_element(_name)
for _name in ("error_function", "gelu", "gelu_backward"):
    _element_by_element(_name)

meta = MetaKernels(Module())
