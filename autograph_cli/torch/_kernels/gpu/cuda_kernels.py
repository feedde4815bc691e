"""The kernels of a GPU: those of NumPy over CuPy's functions; here is what is better done otherwise there."""

from __future__ import annotations

import importlib
import math
from typing import Any

import ml_dtypes
import numpy as np

from ..._arrays import Array
from .. import Kernels
from ..half_precision import widened, widened_beside
from .cuda_convolution import ConvolutionByPieces
from .fused import Fused, Rules

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TABLES = 256
"""The most tables that are kept on the GPU."""


class CudaKernels(ConvolutionByPieces, Kernels):
    """Kernels over CuPy. To ask a GPU for a number makes the script wait for all that it was told before."""

    def __init__(self, xp: Any) -> None:
        super().__init__(xp)
        self._tables: dict[int, tuple[Any, Any]] = {}
        self.fused = Fused(xp.cupy)
        self.rules = Rules(self.fused)

    def placed(self, table: Any) -> Any:
        """A table that was worked out on the CPU; it is copied once. A number is handed over with each call."""
        if table.__class__ is not np.ndarray:
            return table
        kept = self._tables.get(id(table))
        if kept is None:
            if len(self._tables) >= TABLES:
                self._tables.clear()
            kept = self._tables[id(table)] = (table, self.xp.asarray(table))
        return kept[1]

    def matmul(self, a: Array, b: Array) -> Any:
        """CuPy 14.2 stops at batches of matrices of bfloat16: they are multiplied in float32."""
        if a.ndim > 2 and a.dtype == BFLOAT16:
            return super().matmul(a.astype(np.float32), b.astype(np.float32)).astype(BFLOAT16)
        return super().matmul(a, b)

    bmm = matmul

    def check_bounds(self, positions: Any, dim: int, n: int) -> None:
        """A position that is not there is an error: CuPy would count on from the beginning."""
        if positions.size:
            within = (positions >= -n) & (positions < n)
            self.xp.expect(within, f"an index is out of bounds for dimension {dim} with size {n}")

    def check_rows(self, indices: Any, n: int) -> None:
        if indices.size:
            self.xp.expect((indices >= 0) & (indices < n), "index out of range in self")

    def _class_weights(self, a: Array, target: Any, weight: Array, ignore_index: int) -> tuple[Any, Any]:
        known = target != ignore_index
        positions = self.xp.where(known, target, 0)
        self.xp.expect(
            (positions >= 0) & (positions < a.shape[1]), f"a target is out of bounds for {a.shape[1]} classes"
        )
        return positions, known.astype(a.dtype) * (self.number(1, a) if weight is None else weight[positions])

    def index(self, a: Array, indices: Array) -> Any:
        self._check_all(a, indices)
        return super().index(a, indices)

    def index_put(self, a: Array, indices: Array, values: Any, accumulate: bool = False) -> Any:
        self._check_all(a, indices)
        return super().index_put(a, indices, values, accumulate)

    index_put_impl = index_put

    def _check_all(self, a: Array, indices: Array) -> None:
        for dim, (positions, n) in enumerate(zip(indices, a.shape, strict=False)):
            if positions is not None and positions.dtype.kind in "iu":
                self.check_bounds(positions, dim, n)

    def max_unpool(self, a: Array, indices: Array, size: Any) -> Any:
        self.check_bounds(indices, a.ndim - len(size), math.prod(size))
        return super().max_unpool(a, indices, size)

    max_unpool2d = max_unpool3d = max_unpool

    # ---------------------------------------------------------------- in one pass (see fused.py)

    def _filled(self, run: Any, *arrays: Any, numbers: tuple[float, ...] = ()) -> Any:
        """Return the result of a fused function, in the order in memory of the last array that has all of its shape."""
        shape = self.xp.broadcast_shapes(*(x.shape for x in arrays))
        out = self.xp.empty_like(next(x for x in reversed(arrays) if x.shape == shape))
        run(*arrays, *numbers, out)
        return out

    def _powers(self, a: Array, dim: int) -> tuple[Any, Any]:
        """The largest along a dimension, and the sum of the powers that are then no larger than 1."""
        top, last = a.max(dim, keepdims=True), a.swapaxes(dim, -1)
        total = self.fused.sum_of_powers(last, top.swapaxes(dim, -1))
        return top, total[..., None].swapaxes(dim, -1)

    @widened
    def softmax(self, a: Array, dim: int) -> Any:
        return self._of_powers(self.fused.softmax, a, dim) if _is_plain(a) else super().softmax(a, dim)

    @widened
    def log_softmax(self, a: Array, dim: int) -> Any:
        return self._of_powers(self.fused.log_softmax, a, dim) if _is_plain(a) else super().log_softmax(a, dim)

    def _of_powers(self, run: Any, a: Array, dim: int) -> Any:
        out = self.xp.empty_like(a)
        run(a, *self._powers(a, dim), out)
        return out

    @widened
    def softmax_backward(self, grad: Array, output: Any, dim: int) -> Any:
        if grad.shape != output.shape or not _is_plain(grad, output):
            return super().softmax_backward(grad, output, dim)
        total = self.fused.sum_of_products(grad.swapaxes(dim, -1), output.swapaxes(dim, -1))
        out = self.xp.empty_like(output)
        self.fused.softmax_backward(grad, output, total[..., None].swapaxes(dim, -1), out)
        return out

    @widened
    def log_softmax_backward(self, grad: Array, output: Any, dim: int) -> Any:
        if grad.shape != output.shape or not _is_plain(grad, output):
            return super().log_softmax_backward(grad, output, dim)
        out = self.xp.empty_like(output)
        self.fused.log_softmax_backward(grad, output, grad.sum(dim, keepdims=True), out)
        return out

    def _shares(self, scores: Any, top: Any) -> tuple[Any, Any]:
        if not _is_plain(scores, top):
            return super()._shares(scores, top)
        total = self.fused.sum_of_powers(scores, top)[..., None]
        self.fused.softmax(scores, top, self.where(total == 0, self.number(1, scores), total), scores)
        return scores, total

    def _by_score(self, by_share: Any, shares: Any, along: Any) -> Any:
        if not _is_plain(by_share, shares, along):
            return super()._by_score(by_share, shares, along)
        self.fused.softmax_backward(by_share, shares, along, by_share)
        return by_share

    @widened_beside
    def native_layer_norm(self, a: Array, shape: Any, weight: Array, bias: Array, eps: float) -> Any:
        if not _is_plain(a, weight, bias):
            return super().native_layer_norm(a, shape, weight, bias, eps)
        lead = a.ndim - len(shape)
        rows, beside = self._in_rows(a, lead), (*a.shape[:lead], *[1] * len(shape))
        mean = rows.mean(1, keepdims=True)
        rstd = 1 / self.xp.sqrt(self.fused.sum_of_squares(rows, mean)[:, None] / rows.shape[1] + eps)
        weight, bias = (None if x is None else x.reshape(-1) for x in (weight, bias))
        out = self.fused.normalize(rows, mean, rstd, weight, bias)
        return out.reshape(a.shape), mean.reshape(beside), rstd.reshape(beside)

    @widened_beside
    def native_layer_norm_backward(
        self, grad: Array, a: Array, shape: Any, mean: Any, rstd: Any, weight: Array, bias: Array, mask: Array
    ) -> Any:
        if grad.shape != a.shape or not _is_plain(grad, a, weight):
            return super().native_layer_norm_backward(grad, a, shape, mean, rstd, weight, bias, mask)
        lead, none = a.ndim - len(shape), self.xp.empty(0, a.dtype)
        g, rows = self._in_rows(grad, lead), self._in_rows(a, lead)
        mean, rstd = mean.reshape(-1, 1), rstd.reshape(-1, 1)
        image = by_weight = none
        if mask[0]:
            flat = None if weight is None else weight.reshape(-1)
            along = self.fused.sum_of_weighted(g, flat, rows, mean, rstd)[:, None]
            across = g.sum(1, keepdims=True) if flat is None else self.fused.sum_of_products(g, flat)[:, None]
            image = self.fused.normalize_backward(g, flat, rows, mean, rstd, along, across, float(rows.shape[1]))
            image = image.reshape(a.shape)
        if mask[1]:
            by_weight = self.fused.sum_of_columns(g, rows, mean, rstd).reshape(shape)
        return image, by_weight, g.sum(0).reshape(shape) if mask[2] else none

    def error_function(self, a: Array) -> Any:
        return importlib.import_module("cupyx.scipy.special").erf(a)

    def threshold_backward(self, grad: Array, a: Array, threshold: Any) -> Any:
        if not _is_plain(grad, a):
            return super().threshold_backward(grad, a, threshold)
        return self._filled(self.fused.threshold_backward, grad, a, numbers=(float(threshold),))

    def tanh_backward(self, grad: Array, output: Any) -> Any:
        plain = _is_plain(grad, output)
        return self._filled(self.fused.tanh_backward, grad, output) if plain else super().tanh_backward(grad, output)

    def sigmoid_backward(self, grad: Array, output: Any) -> Any:
        plain = _is_plain(grad, output)
        return (
            self._filled(self.fused.sigmoid_backward, grad, output) if plain else super().sigmoid_backward(grad, output)
        )

    def _gelu(self, a: Array) -> Any:
        return self._filled(self.fused.gelu, a)

    def _gelu_backward(self, grad: Array, a: Array) -> Any:
        return self._filled(self.fused.gelu_backward, grad, a)

    def _gelu_tanh(self, a: Array) -> Any:
        return self._filled(self.fused.gelu_tanh, a)

    def _gelu_tanh_backward(self, grad: Array, a: Array) -> Any:
        return self._filled(self.fused.gelu_tanh_backward, grad, a)

    def may_hold_nan(self, a: Array) -> bool:
        """Not asked, for the answer would have to be waited for."""
        return True


def _is_plain(*arrays: Any) -> bool:
    """Return whether arrays (or None) are of one real dtype that fused functions compute in, and have elements."""
    given = [a for a in arrays if a is not None]
    return all(a.ndim and a.size and a.dtype == given[0].dtype and a.dtype.char in "fd" for a in given)


def _along(name: str) -> None:
    """A kernel of (array, dimension, index, ...) whose index is checked."""
    kernel = getattr(Kernels, name)

    def run(self: CudaKernels, a: Array, dim: int, index: Any, *rest: Any) -> Any:
        self.check_bounds(index, dim, a.shape[dim] if a.ndim else 1)
        return kernel(self, a, dim, index, *rest)

    setattr(CudaKernels, name, run)


def _flat(name: str) -> None:
    """A kernel of (array, index into all its elements, ...), likewise."""
    kernel = getattr(Kernels, name)

    def run(self: CudaKernels, a: Array, index: Any, *rest: Any) -> Any:
        self.check_bounds(index, 0, a.size)
        return kernel(self, a, index, *rest)

    setattr(CudaKernels, name, run)


for _name in """
    index_select index_add index_fill_int_Scalar index_fill_int_Tensor index_copy index_reduce gather scatter_src
    scatter_value scatter_add scatter_reduce
""".split():
    _along(_name)
for _name in ("take", "put"):
    _flat(_name)
