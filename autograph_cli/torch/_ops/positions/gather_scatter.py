"""Gather and scatter by index: take and put, index_fill, index_copy, and reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.meta import Meta, readable
from ..._arrays.stand_in import cannot_batch, dynamic_shape
from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.base.layout import contiguous_format
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, overloaded
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_layers
from ..._core.transforms.vmap_fallback import per_sample
from ..._kernels.elements.indexing import all_below
from ..._kernels.reducing.selection import ordered
from ..pointwise import unary
from ..shaping import broadcasting, views
from . import indexing
from ._index_checks import OUT_OF_BOUNDS, OUT_OF_RANGE, along, check_index, slices, within

# ---------------------------------------------------------------- index_fill, index_copy


index_fill_scalar = operation(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value)",
    node="IndexFillBackward0",
    memory_format="preserve",
    batch=batching_layers.along_index(batching_layers.filled),
    overlap="any",
    internal_overlap="tensor[mask] = scalar",
    vmap_inplace="index_fill_",
    self=lambda f, grad, dim, index: f.index_fill_int_Scalar(grad, dim, index, 0),
)
index_fill_tensor = operation(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value)",
    "index_fill_int_Scalar",
    node="IndexFillBackward1",
    batch=batching_layers.along_index(),
    overlap="any",
    internal_overlap="tensor[mask] = scalar",
    vmap_inplace="index_fill_",
    self=lambda f, grad, dim, index: f.index_fill_int_Scalar(grad, dim, index, 0),
    value=lambda f, grad, dim, index: f.sum(f.index_select(grad, dim, f.distinct(index))),
)
index_copy_op = operation(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source)",
    saved={"source_dim": lambda source_sizes: len(source_sizes)},
    linear=True,
    autocast="promote",
    batch=batching_layers.along_index(batching_layers.copied),
    overlap="none",
    self=lambda f, grad, dim, index: f.index_fill_int_Scalar(grad, dim, index, 0),
    source=lambda f, grad, dim, index, source: indexing.read_slices(f, grad, dim, index, source.shape),
)


def distinct(index: Tensor) -> Tensor:
    """The different numbers of an index."""
    return index if index.is_meta else make(kernels(index._ag_raw).xp.unique(index._ag_raw))


operations.distinct = distinct


@overloaded()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    """One number in the slices that `index` names."""
    d = dims.wrap(dim, input._ag_raw.ndim)
    check_index("index_fill_()", index)
    if index._ag_raw.dtype != np.int64:
        raise refused(IndexError, "index_fill_(): Expected dtype int64 for index.")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    is_complex = value.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)
    if is_complex and not input.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if input._ag_raw.size or not input._ag_raw.shape[d]:
        within(input, d, index, IndexError, from_end=True)
    if not isinstance(value, Tensor):
        return index_fill_scalar, input, d, index, value
    return index_fill_tensor, input, d, index, value


@overloaded(autocast="promote")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    """Slices of `source` in the positions that `index` names."""
    d = dims.wrap(dim, input._ag_raw.ndim)
    if index._ag_raw.ndim >= 2:
        raise refused(IndexError, f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if index._ag_raw.dtype != np.int64:
        raise RuntimeError(
            "index_copy_(): Expected a long tensor for index, but got " + dtypes.cpp_name(index._ag_raw.dtype)
        )
    n = source._ag_raw.shape[d] if source.ndim else 1
    if source.ndim == 0 and index._ag_raw.size != 1:
        raise refused(
            IndexError,
            f"index_copy_(): When source is scalar, index should have one element (got {index._ag_raw.size})",
        )
    if source.ndim and input._ag_raw.ndim and source.ndim != input._ag_raw.ndim:
        raise refused(
            IndexError,
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({input.ndim})",
        )
    if input._ag_raw.dtype != source._ag_raw.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{dtypes.cpp_name(input._ag_raw.dtype)} and (source) {dtypes.cpp_name(source._ag_raw.dtype)}"
        )
    if index._ag_raw.size != n:
        raise refused(
            IndexError,
            f"index_copy_(): Number of indices ({index._ag_raw.size}) should be equal to source.size(dim) ({n})",
        )
    slices = [x._ag_raw.shape[:d] + x._ag_raw.shape[d + 1 :] for x in (input, source)]
    if slices[0] != slices[1]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{list(slices[0])} at dimension {d} and source slice shape: {list(slices[1])} at dimension 0."
        )
    if input._ag_raw.size or not input._ag_raw.shape[d]:
        within(input, d, index, IndexError, f"index_copy_(): {OUT_OF_BOUNDS}")
    return index_copy_op, input, d, index, source


# ---------------------------------------------------------------- take and put

take_op = operation(
    "take(Tensor self, Tensor index)",
    linear=True,
    batch=batching_layers.take,
    self=lambda f, grad, self, index: f.put(f.zeros_of(self.shape, grad), index, grad, True),
)
put_op = operation(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False)",
    linear=True,
    self=lambda f, grad, index, source, accumulate: (
        grad if accumulate else f.put(grad, index, f.zeros_of(source.shape, grad), False)
    ),
    source=lambda f, grad, index, source: f.reshape(f.take(grad, index), source.shape),
)


def _check_flat(name: str, input: Tensor, index: Tensor) -> None:
    if index._ag_raw.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): Expected a long tensor for index, but got {dtypes.cpp_name(index._ag_raw.dtype)}"
        )
    n = input._ag_raw.size
    if not readable(index._ag_raw):
        return
    wrong = index._ag_raw[(index._ag_raw < -n) | (index._ag_raw >= n)]
    if wrong.size and (n or name == "put_"):
        raise refused(IndexError, f"out of range: tried to access index {wrong.flat[0]} on a tensor of {n} elements.")
    if wrong.size:
        raise refused(IndexError, f"{name}(): tried to take from an empty tensor")


@composite(out="apart")
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions counted as if `input` were one row."""
    _check_flat("take", input, index)
    return take_op(input, index)


@overloaded(out=False)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Any:
    """`source` written (or added) at positions counted as if `input` were one row."""
    if input._ag_raw.dtype != source._ag_raw.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dtypes.cpp_name(input._ag_raw.dtype)} and source.dtype = {dtypes.cpp_name(source._ag_raw.dtype)}"
        )
    if source._ag_raw.size != index._ag_raw.size:
        raise refused(
            IndexError,
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._ag_raw.size}, index.numel() = {index._ag_raw.size}",
        )
    _check_flat("put_", input, index)
    return put_op, input, index, source, accumulate


@composite(out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather`, with `input` and `indices` broadcast in the other dimensions."""
    if indices._ag_raw.dtype != np.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dtypes.cpp_name(indices._ag_raw.dtype)}"
        )
    if dim is None:
        return indexing.gather_op(views.view(input, -1), 0, views.view(indices, -1))
    if input._ag_raw.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    d = int(dims.wrap(dim, input._ag_raw.ndim))  # nodes show it as it was worked out
    ours, theirs, n = _without(input, d), _without(indices, d), input._ag_raw.shape[d]
    rest = ours if ours == theirs else dims.broadcast(ours, theirs)
    if readable(indices._ag_raw) and n and not _is_below(indices._ag_raw, n):
        indices = make(indices._ag_raw % n)  # PyTorch lets positions wrap around
    before, behind = rest[:d], rest[d + 1 :]
    ours, theirs = (*before, n, *behind), (*before, indices._ag_raw.shape[d], *behind)
    return indexing.gather_op(broadcasting.expand_op(input, ours), d, broadcasting.expand_op(indices, theirs))


def _is_below(raw: Any, n: int) -> bool:
    """Return whether all positions are from 0 to n - 1."""
    return not raw.size or (all_below(raw, n) if raw.__class__ is np.ndarray else bool(((raw >= 0) & (raw < n)).all()))


def _without(x: Tensor, dim: int) -> tuple[int, ...]:
    return (*x._ag_raw.shape[:dim], 1, *x._ag_raw.shape[dim + 1 :])


# ---------------------------------------------------------------- reductions by index


class _Gathered:
    """The elements that `gather` reads and `scatter` writes."""

    read = staticmethod(lambda f, x, dim, index: f.gather(x, dim, index))
    clear = staticmethod(lambda f, x, dim, index: f.scatter_value(x, dim, index, 0))
    add = staticmethod(lambda f, x, dim, index, src: f.scatter_add(x, dim, index, src))
    reduce = staticmethod(lambda f, *a: f.scatter_reduce_two(*a))


class _Selected:
    """Slices that `index_select` reads."""

    read = staticmethod(lambda f, x, dim, index: f.index_select(x, dim, index))
    clear = staticmethod(lambda f, x, dim, index: f.index_fill_int_Scalar(x, dim, index, 0))
    add = staticmethod(lambda f, x, dim, index, src: f.index_add(x, dim, index, src))
    reduce = staticmethod(lambda f, *a: f.index_reduce(*a))


def _reduced_gradients(
    f: Any, at: Any, grad: Any, x: Any, dim: int, index: Any, src: Any, reduce: str, include: bool, result: Any
) -> tuple[Any, Any]:
    """The gradients of what was there before and of what was reduced into it."""
    if reduce == "sum":
        mine, theirs = grad, at.read(f, grad, dim, index)
    elif reduce == "prod":
        mine, theirs = _product_gradients(f, at, grad, x, dim, index, src, include, result)
    elif reduce == "mean":
        n = at.add(f, f.ones_like(grad) if include else f.zeros_like(grad), dim, index, f.ones_like(src))
        n = f.masked_fill_Scalar(n, f.eq(n, f.zeros_like(n)), 1)
        mine, theirs = f.div(grad, n), f.div(at.read(f, grad, dim, index), at.read(f, n, dim, index))
    else:
        kept = f.cast_like(f.eq(x, result), x)
        taken = f.cast_like(f.eq(src, at.read(f, result, dim, index)), x)
        share = f.div(grad, at.add(f, kept, dim, index, taken))
        mine, theirs = kept * share, taken * at.read(f, share, dim, index)
    return (mine if include else at.clear(f, mine, dim, index)), theirs


def _product_gradients(
    f: Any, at: Any, grad: Any, x: Any, dim: int, index: Any, src: Any, include: bool, result: Any
) -> tuple[Any, Any]:
    def is_zero(a: Any) -> Any:
        return f.eq(a, f.zeros_like(a))

    nonzero = f.masked_fill_Scalar(x, is_zero(x), 1)
    mine = f.div(grad * at.reduce(f, nonzero, dim, index, src, "prod", include), nonzero)
    zero = is_zero(src)
    zeros = at.read(f, at.add(f, f.zeros_like(x), dim, index, f.cast_like(zero, x)), dim, index)
    single = f.logical_and(zero, f.eq(zeros, f.ones_like(zeros)))
    without = at.reduce(f, x, dim, index, f.masked_fill_Scalar(src, single, 1), "prod", include)
    others = f.div(at.read(f, grad * result, dim, index), f.masked_fill_Scalar(src, zero, 1))
    return mine, f.where(single, at.read(f, grad * without, dim, index), others)


def _reducer(name: str, at: Any, schema: str, node: str, **traits: Any) -> Any:
    other = "src" if at is _Gathered else "source"
    formulas: dict[str, Callable[..., Any]] = {
        "src": lambda f, grad, self, dim, index, src, reduce, include_self, result: _reduced_gradients(
            f, at, grad, self, dim, index, src, reduce, include_self, result
        ),
        "source": lambda f, grad, self, dim, index, source, reduce, include_self, result: _reduced_gradients(
            f, at, grad, self, dim, index, source, reduce, include_self, result
        ),
    }
    return operation(schema, name, node=node, **traits, joint={("self", other): formulas[other]})


scatter_reduce_op = _reducer(
    "scatter_reduce_two",
    _Gathered,
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, bool include_self=True)",
    "ScatterReduceBackward0",
    complex_gradient=False,
    batch=batching.leading,
)
index_reduce_op = _reducer(
    "index_reduce",
    _Selected,
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, bool include_self=True)",
    "IndexReduceBackward0",
    batch=batching_layers.along_index(),
)


@overloaded()
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """`src` reduced into the positions that `index` names: by sum, prod, mean, amax or amin."""
    d = dims.wrap(dim, input._ag_raw.ndim)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + reduce)
    along("scatter", input, d, index, src)
    return scatter_reduce_op, input, d, index, src, reduce, include_self


@overloaded()
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """Slices of `source` reduced into those that `index` names: by prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = dims.wrap(dim, input._ag_raw.ndim)
    slices("index_reduce_()", input, d, index, source)
    within(input, d, index, IndexError, OUT_OF_RANGE)
    return index_reduce_op, input, d, index, source, reduce, include_self


# ---------------------------------------------------------------- without bounds checks

unsafe_masked_index = operation(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill)",
    node="UnsafeMaskedIndexBackward0",
    self=lambda f, grad, self_sizes, mask, indices: f._unsafe_masked_index_put_accumulate(
        f.zeros_of(self_sizes, grad), mask, indices, grad
    ),
)
unsafe_masked_index_put = operation(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values)",
    node="UnsafeMaskedIndexPutAccumulateBackward0",
    self=lambda f, grad: grad,
    values=lambda f, grad, mask, indices: f._unsafe_masked_index(grad, mask, indices, 0),
)
composite(method=False, name="_unsafe_masked_index")(unsafe_masked_index)
composite(method=False, name="_unsafe_masked_index_put_accumulate")(unsafe_masked_index_put)

# ---------------------------------------------------------------- positions as numbers


@composite()
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not 0, one row each."""
    result: Tensor = indexing.nonzero(input)
    return result


@composite(out=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` cut or filled up to `size` rows."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if input.is_meta:
        return make(Meta((size, input._ag_raw.ndim), np.int64))
    found = indexing.nonzero(input)._ag_raw[:size]
    out = kernels(found).full((size, found.shape[1]), fill_value, np.int64)
    out[: len(found)] = found
    return make(out)


@composite(method=False)
@per_sample
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Places in a row as indices of a shape."""
    if indices._ag_raw.dtype.kind not in "iu":
        raise refused(TypeError, f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        given = "torch.Tensor" if isinstance(shape, Tensor) else type(shape).__name__
        raise refused(TypeError, f"expected 'shape' to be int or sequence of ints, but got <class '{given}'>")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    other = next((n for n in sizes if not isinstance(n, int)), None)
    if other is not None:
        raise refused(TypeError, f"expected 'shape' sequence to only contain ints, but got {type(other)}")
    if any(n < 0 for n in sizes):
        raise refused(ValueError, f"'shape' cannot have negative values, but got {tuple(sizes)}")
    rest, found = indices._ag_raw.astype(np.int64), []
    for i, n in enumerate(sizes):
        below = math.prod(sizes[i + 1 :])
        found.append(make((rest // max(below, 1) % max(n, 1))[()]))
    return tuple(found)


@composite(method=False, out=True)
@per_sample
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Return where elements are among others."""
    like = next(x for x in (elements, test_elements) if isinstance(x, Tensor))
    a, b = (
        x._ag_raw if isinstance(x, Tensor) else kernels(like._ag_raw).xp.asarray(x) for x in (elements, test_elements)
    )
    for raw in (a, b):
        if raw.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {dtypes.cpp_name(raw.dtype)}")
    found = kernels(a, b).xp.isin(ordered(a), ordered(b), invert=invert)
    return make(found[()])


@composite()
@cannot_batch(dynamic_shape("repeat_interleave"))
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Every element (or slice along `dim`) repeated where it stands; of repeats alone, the numbers of what is
    repeated."""
    if repeats is None:
        return _numbers(input, output_size)
    x = views.flatten(input) if dim is None else input
    d = 0 if dim is None else dims.wrap(dim, input._ag_raw.ndim)
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        shape = list(x._ag_raw.shape)
        wide = broadcasting.expand(views.unsqueeze_op(x, d + 1), [*shape[: d + 1], repeats, *shape[d + 1 :]])
        return views.flatten(wide.clone(memory_format=contiguous_format), d, d + 1)
    n = x._ag_raw.shape[d] if x.ndim else 1
    if repeats.ndim == 0 or repeats._ag_raw.size == 1:
        repeats = repeats.reshape(1).expand(n)
    elif repeats.ndim != 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    elif repeats._ag_raw.size != n:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats._ag_raw.size} and "
            f"input.size({d}) = {n}"
        )
    conjugated, negated = unary.is_conj(x), unary.is_neg(x)
    x = unary.conj(x) if conjugated else x
    x = unary._neg_view(x) if negated else x
    made: Tensor = indexing.index_select_op(x, d, _numbers(repeats, output_size))
    made = unary.conj(made) if conjugated else made
    return unary._neg_view(made) if negated else made


def _numbers(repeats: Tensor, output_size: int | None) -> Tensor:
    raw = repeats._ag_raw
    if raw.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if raw.dtype not in (np.dtype("int32"), np.dtype("int64")):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if readable(raw) and raw.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and raw.__class__ is Meta:
        return make(Meta((output_size,), raw.dtype))
    if output_size is not None and output_size != raw.sum():
        raise RuntimeError("allocated size does not match required size")
    if raw.__class__ is np.ndarray:
        return make(np.repeat(np.arange(raw.size, dtype=raw.dtype), raw))
    xp = kernels(raw).xp  # its `repeat` takes one number for all
    return make(xp.searchsorted(xp.cumsum(raw), xp.arange(int(raw.sum())), "right").astype(raw.dtype))
