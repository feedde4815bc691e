"""Indexing in all its forms, and the operations that read and write by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.operation import operation, operations
from .._core.placement import NO_DATA, Meta, is_meta, kernels, without_memory
from .._core.registry import composite, dispatch, methods
from .._core.tensor import Tensor, Wrapped, make
from .._core.transforms import beside
from .._core.views import check_inplace, check_overlap, run_inplace
from . import views
from ._index_checks import along
from .arithmetic import no_derivative, scaled

index_op = operation(
    "index(Tensor self, Tensor?[] indices)",
    self=lambda f, grad, self_sizes, indices: (f.index_put if is_meta(grad) else f.index_put_impl)(
        f.zeros_of(self_sizes, grad), indices, grad, True),
)
index_put_op = operation(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
    self=lambda f, grad, indices, accumulate: grad if accumulate else f.index_put(
        grad, indices, f.zeros_of((), grad), False),
    values=lambda f, grad, indices: f.index(grad, indices),
)  # fmt: skip
index_put_impl = operation(
    "index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)", "index_put",
    node="IndexPutImplBackward0",
    self=lambda f, grad, indices, accumulate: grad if accumulate else f.index_put(
        grad, indices, f.zeros_of((), grad), False),
    values=lambda f, grad, indices: f.index(grad, indices),
)  # fmt: skip
gather_op = operation(
    "gather(Tensor self, int dim, Tensor index)",
    self=lambda f, grad, self, dim, index: f.scatter_add(f.zeros_of(self.shape, grad), dim, index, grad),
)
scatter_op = operation(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src)", node="ScatterBackward0",
    self=lambda f, grad, dim, index: f.scatter_value(grad, dim, index, 0),
    src=lambda f, grad, dim, index: f.gather(grad, dim, index),
)  # fmt: skip
scatter_value = operation(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value)", node="ScatterBackward1",
    self=lambda f, grad, dim, index: f.scatter_value(grad, dim, index, 0),
)  # fmt: skip
scatter_reduced = operation(
    "scatter.reduce(Tensor self, int dim, Tensor index, Scalar src, str reduce)",
    lambda f, a, dim, index, src, reduce: f.scatter_reduce_two(
        a, dim, index, src._raw if isinstance(src, Tensor) else src, {"add": "sum", "multiply": "prod"}[reduce]),
    node="NotImplemented", self=no_derivative("scatter"),
)  # fmt: skip
scatter_add_op = operation(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src)",
    self=lambda f, grad: grad,
    src=lambda f, grad, dim, index: f.gather(grad, dim, index),
)
index_select_op = operation(
    "index_select(Tensor self, int dim, Tensor index)",
    self=lambda f, grad, self_sizes, dim, index: f.index_add(f.zeros_of(self_sizes, grad), dim, index, grad),
)
index_add_op = operation(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
    self=lambda f, grad: grad,
    source=lambda f, grad, dim, index, source, alpha: scaled(
        f, read_slices(f, grad, dim, index, source.shape), alpha),
)  # fmt: skip
masked_select_op = operation(
    "masked_select(Tensor self, Tensor mask)",
    self=lambda f, grad, self, mask: f.masked_scatter(
        f.zeros_of(dims.broadcast(tuple(self.shape), tuple(mask.shape)), grad), mask, grad),
)  # fmt: skip
masked_scatter_op = operation(
    "masked_scatter(Tensor self, Tensor mask, Tensor source)",
    self=lambda f, grad, mask: f.masked_fill_Scalar(grad, mask, 0),
    source=lambda f, grad, mask, source_sizes: f.masked_scatter_backward(grad, mask, source_sizes),
)  # fmt: skip
masked_scatter_backward = operation(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes)",
    node="MaskedScatterBackwardBackward0",
    grad_output=lambda f, grad, mask, grad_output_sizes: f.masked_scatter(f.zeros_of(grad_output_sizes, grad), mask, grad),
)  # fmt: skip
copy_op = operation(
    "copy(Tensor self, Tensor src)", node="CopyBackwards",
    self=lambda f, grad: f.zeros_like(grad),
    src=lambda f, grad, src_sizes, src_dtype: f.copied(grad, src_sizes, src_dtype),
)  # fmt: skip
fill_scalar = operation("fill.Scalar(Tensor self, Scalar value)", node="FillBackward2", self=lambda f, grad: f.zeros_like(grad))
fill_tensor = operation(
    "fill.Tensor(Tensor self, Tensor value)", node="FillBackward3", self=lambda f, grad: f.zeros_like(grad), value=lambda f, grad: f.sum(grad)
)
zero_op = operation("zero(Tensor self)", "zeros_like", node="ZeroBackward0", self=lambda f, grad: f.zeros_like(grad))


def read_slices(f: Any, grad: Any, dim: int, index: Any, source_sizes: Any) -> Any:
    """The slices of a gradient that belong to the source of an `index_*` operation."""
    if source_sizes:
        return f.expand(f.index_select(grad, dim, index), source_sizes)
    return f.index_select(grad, dim, f.squeeze_dim(index, 0) if index.ndim else index)


def zeros_of(size: Any, like: Tensor) -> Tensor:
    """Zeros of a shape, in the dtype of `like`."""
    return beside(like, lambda x, size: make(kernels(x._raw).zeros_of(size, x._raw)[()]), tuple(size))


def copied(grad: Tensor, sizes: Any, dtype: Any) -> Tensor:
    """The gradient of what was copied: cast and summed back by the engine."""
    return grad


operations.zeros_of, operations.copied = zeros_of, copied


# ---------------------------------------------------------------- reading


@composite(function=False, name="__getitem__")
def getitem(input: Tensor, index: Any) -> Tensor:
    """`x[index]`: numbers select, slices slice, None adds a dimension, tensors and lists pick."""
    simple = _simple(input, index)
    if simple is not None:
        return simple
    items = _items(index)
    picked, indices = _apply(input, items)
    if indices:
        return index_op(picked, indices)
    return views.alias(input) if picked is input else picked


def _simple(input: Tensor, index: Any) -> Tensor | None:
    """One number, slice, None or Ellipsis, as PyTorch's shortcut does it."""
    if isinstance(index, int) and not isinstance(index, bool):
        return _select(input, 0, index, 0)
    if isinstance(index, slice):
        if input.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return _slice(input, 0, index)
    if index is None:
        return views.unsqueeze_op(input, 0)
    return views.alias(input) if index is Ellipsis else None


def _select(input: Tensor, dim: int, index: int, where: int) -> Tensor:
    shape = input._raw.shape
    if dim >= len(shape):
        if where == 0 and not shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    n = shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {where} with size {n}")
    return views.select_op(input, dim, index + n if index < 0 else index)


def _is_whole(index: Any, input: Tensor, dim: int) -> bool:
    """Whether an index is a slice that takes a whole dimension."""
    return isinstance(index, slice) and input.ndim > dim and index.indices(n := input._raw.shape[dim]) == (0, n, 1)


def _slice(input: Tensor, dim: int, window: slice) -> Tensor:
    step = 1 if window.step is None else window.step.__index__()
    if step < 1:
        raise ValueError("step must be greater than zero")
    n = input._raw.shape[dim]
    start, end = (None if x is None else x.__index__() for x in (window.start, window.stop))
    lo, hi, _ = slice(start, end, step).indices(n)
    return views.slice_op(input, dim, lo, max(lo, hi), step)


def _items(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and _is_sequence_of_slices(index):
        return tuple(index)
    return (index,)


def _is_sequence_of_slices(index: list[Any]) -> bool:
    return len(index) < 32 and any(isinstance(x, slice) or x is Ellipsis or x is None for x in index)


def _consumes(item: Any) -> int:
    """How many dimensions of the tensor an index takes."""
    if item is None or isinstance(item, bool) or item is Ellipsis:
        return 0
    if isinstance(item, Tensor) and item._raw.dtype.kind == "b":
        return item.ndim
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def _apply(input: Tensor, items: tuple[Any, ...], writes: int = 0) -> tuple[Tensor, list[Any]]:
    """Selects, slices and new dimensions at once; what is left are the tensors to pick with, by dimension.

    `writes`: how many rows are to be written where a mask without memory holds (0: they are to be read).
    """
    taken = sum(map(_consumes, items))
    if taken > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    result, dim, picks = input, 0, []
    for where, item in enumerate(items):
        if item is None:
            result, dim = views.unsqueeze_op(result, dim), dim + 1
        elif item is Ellipsis:
            dim += input.ndim - taken
        elif isinstance(item, slice):
            if not _is_whole(item, result, dim):
                result = _slice(result, dim, item)
            dim += 1
        elif isinstance(item, bool):
            result = views.unsqueeze_op(result, dim)
            picks.append((dim, make(np.array([0] if item else [], np.int64))))
            dim += 1
        elif isinstance(item, (int, np.integer)):
            result = _select(result, dim, int(item), where)
        else:
            result, dim = _tensor_index(result, dim, item, where, picks, writes)
    return result, _by_dimension(picks)


def _tensor_index(result: Tensor, dim: int, item: Any, where: int, picks: list[Any], writes: int) -> tuple[Tensor, int]:
    tensor = _index_tensor(item)
    kind = tensor._raw.dtype.kind
    if tensor.ndim == 0 and kind in "iu" and not isinstance(tensor, Wrapped):
        return _select(result, dim, int(tensor._raw), where), dim
    if kind == "b":
        if tensor.ndim == 0:
            result = views.unsqueeze_op(result, dim)
            picks.append((dim, make(np.array([0] if tensor._raw else [], np.int64))))
            return result, dim + 1
        for offset, (n, m) in enumerate(zip(tensor._raw.shape, result._raw.shape[dim:], strict=False)):
            if n != m:
                raise IndexError(
                    f"The shape of the mask {list(tensor._raw.shape)} at index {offset} does not match the shape of the indexed "
                    f"tensor {list(result._raw.shape)} at index {dim + offset}"
                )
        picks += [(dim + i, make(places.astype(np.int64))) for i, places in enumerate(_mask_places(tensor._raw, writes))]
        return result, dim + tensor.ndim
    picks.append((dim, tensor))
    return result, dim + 1


def _mask_places(mask: Any, writes: int) -> Any:
    """Where a mask holds; of one without memory, as many places as are written."""
    return [Meta((writes,), np.int64)] * mask.ndim if writes and mask.__class__ is Meta else np.nonzero(mask)


def _index_tensor(item: Any) -> Tensor:
    if not isinstance(item, Tensor):
        raw = np.asarray([x._raw if isinstance(x, Tensor) else x for x in item] if isinstance(item, (list, tuple, range)) else item)
        item = make(raw.astype(np.int64) if raw.size == 0 and raw.dtype.kind == "f" else raw)
        if raw.dtype.kind == "f" and raw.size:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if item._raw.dtype.kind not in "biu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if item._raw.dtype == np.uint8:
        item = make(item._raw.astype(bool))
    return item


def _by_dimension(picks: list[Any]) -> list[Any]:
    if not picks:
        return []
    found: list[Any] = [None] * (max(d for d, _ in picks) + 1)
    for d, tensor in picks:
        found[d] = tensor
    return found


# ---------------------------------------------------------------- writing


@composite(function=False, name="__setitem__")
def setitem(input: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: what the index selects is overwritten in place, and the graph follows."""
    value = _value(input, value)
    if index is Ellipsis or _is_whole(index, input, 0):
        _copy_to(input, value)
        return
    if isinstance(index, bool):
        index = (index,)
    simple = _simple(input, index)
    if simple is not None:
        _copy_to(simple, value)
        return
    picked, indices = _apply(input, _items(index), _rows(value))
    if indices:
        check_inplace(picked, value)
        shape = value._raw.shape
        if shape and shape[0] == 1:
            value = views.view_op(value, _without_ones(shape))
        run_inplace(index_put_op.op, (picked, indices, _cast(value, picked), False))
    else:
        _copy_to(picked if picked is not input else views.alias(input), value)


def _rows(value: Tensor) -> int:
    return value._raw.shape[0] if value.ndim else 1


def _value(input: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex)):
        kind = dtypes.numpy_dtype(type(value))
        if dtypes.CATEGORY[kind] == dtypes.COMPLEX and dtypes.CATEGORY[input._raw.dtype] != dtypes.COMPLEX:
            raise RuntimeError(f"value cannot be converted to type {input.dtype} without overflow")
        from .._core.general import cast_number

        return make(cast_number(value, input._raw.dtype))
    if isinstance(value, (np.ndarray, np.generic)):
        return make(np.asarray(value).astype(input._raw.dtype)[()])
    raise TypeError(f"can't assign a {type(value).__name__} to a {input.type()}")


def _cast(value: Tensor, target: Tensor) -> Tensor:
    if value._raw.dtype != target._raw.dtype:
        if value.ndim == 0 and not value.requires_grad and not isinstance(value, Wrapped):
            return make(value._raw.astype(target._raw.dtype))
        raise _other_dtype(value, target)
    return value


def _other_dtype(value: Tensor, target: Tensor) -> RuntimeError:
    mine, theirs = (dtypes.cpp_name(x._raw.dtype) for x in (target, value))
    return RuntimeError(
        f"Index put requires the source and destination dtypes match, got {mine} for the destination and {theirs} for the source."
    )


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the ones that it begins with."""
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]


def _copy_to(target: Tensor, value: Tensor) -> None:
    if value._raw.shape == target._raw.shape:
        copy_(target, value)
    elif value.ndim == 0:
        fill_(target, value)
    else:
        shape = _without_ones(value._raw.shape)
        value = views.view_op(value, shape)
        if shape != target._raw.shape:
            value = views.expand(value, target._raw.shape)
        copy_(target, value)


@composite(function=False, name="copy_")
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite with the values of `src`, cast and broadcast."""
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    check_inplace(input, src)
    if src._counter is not None and src._counter is input._counter:
        check_overlap(input._raw, src._raw)
    shape = input._raw.shape
    if shape != src._raw.shape and dims.broadcast(shape, src._raw.shape) != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(dims.broadcast(shape, src._raw.shape))}"
        )
    if input.is_meta is not src.is_meta:
        if src.is_meta:
            raise NotImplementedError(NO_DATA)
        src = make(without_memory(src._raw))
    return run_inplace(copy_op.op, (input, src))


@composite(name="fill_")
def fill_(input: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one number."""
    check_inplace(input, value)
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return run_inplace(fill_tensor.op, (input, value))
    return run_inplace(fill_scalar.op, (input, value))


@composite(name="zero_")
def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with 0."""
    return run_inplace(zero_op.op, (input,))


@dispatch()
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    if input._raw.dtype != values._raw.dtype:
        _cast(values, input)
        raise _other_dtype(values, input)
    return index_put_op, input, _expanded_masks(input, indices, _rows(values)), values, accumulate


def _expanded_masks(input: Tensor, indices: Any, writes: int) -> list[Any]:
    if len(indices) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    found: list[Any] = []
    for item in indices:
        if item is not None and item._raw.dtype.kind == "b":
            found += [make(places.astype(np.int64)) for places in _mask_places(item._raw, writes)]
        else:
            found.append(item)
    return found


@composite(out="apart exact")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    d = dims.wrap(dim, input.ndim)
    along("gather", input, d, index)
    return gather_op(input, d, index)


@dispatch(out="apart")
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    d = dims.wrap(dim, input.ndim)
    along("scatter", input, d, index, src if isinstance(src, Tensor) else None)
    given = value if src is None else src
    if reduce is not None and isinstance(given, Wrapped):
        kind = {"add": "sum", "multiply": "prod"}[reduce]
        return operations.scatter_reduce_two, input, d, index, given, kind, True
    if reduce is not None:
        return scatter_reduced, input, d, index, given, reduce
    return (scatter_op if isinstance(src, Tensor) else scatter_value), input, d, index, given


@dispatch(out="apart")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    d = dims.wrap(dim, input.ndim)
    along("scatter_add", input, d, index, src)
    return scatter_add_op, input, d, index, src


@composite(out="apart")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    if index._raw.dtype not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    return index_select_op(input, dims.wrap(dim, input.ndim), index)


@dispatch()
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    d = dims.wrap(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index should have dimension 1 or 0")
    if index._raw.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {dtypes.cpp_name(index._raw.dtype)}")
    if input._raw.dtype != source._raw.dtype:
        mine, theirs = (dtypes.cpp_name(x._raw.dtype) for x in (input, source))
        raise RuntimeError(f"index_add_(): self ({mine}) and source ({theirs}) must have the same scalar type")
    if source.ndim and d >= source.ndim:
        raise IndexError(f"index_add_(): Indexing dim {d} is out of bounds of the source tensor with dim {source.ndim}")
    n = source._raw.shape[d] if source.ndim else 1
    if index._raw.size != n:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index._raw.size}) should be equal to source.size(dim): ({n}), for dim: {d}"
        )
    if _without(input._raw.shape, d) != _without(source._raw.shape, d) or source.ndim != input.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input._raw.shape)} source.shape = {list(source._raw.shape)}"
        )
    return _index_add, input, d, index, source, alpha


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def _index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> Tensor:
    return index_add_op(input, dim, index, source, alpha=alpha)


_index_add.op = index_add_op.op  # type: ignore[attr-defined]


@composite(out=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0."""
    if as_tuple and input.ndim == 0:
        input = views.unsqueeze_op(input, 0)
    places = kernels(input._raw).nonzero(input._raw)
    if not as_tuple:
        return make(places)
    return tuple(make(np.ascontiguousarray(column)) for column in places.T)


@composite(out="apart")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` holds, in a row; both are broadcast."""
    if mask._raw.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return masked_select_op(input, mask)


@dispatch()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Any:
    if mask._raw.dtype != bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtypes.cpp_name(mask._raw.dtype)}"
        )
    if input._raw.dtype != source._raw.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {dtypes.cpp_name(input._raw.dtype)} and "
            f"{dtypes.cpp_name(source._raw.dtype)}"
        )
    return masked_scatter_op, input, mask, source


methods["__contains__"] = lambda self, element: bool((self == element).any())
