"""`x[...]` and `x[...] = value`: numbers, slices, None, Ellipsis, masks and tensors of positions."""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

import numpy as np

from ..._arrays.backends import ELSEWHERE
from ..._compiled import compiled
from ..._core.arguments.overrides import NOBODY, asked_instead, looks
from ..._core.base import dims, dtypes
from ..._core.base.class_names import type_name
from ..._core.base.errors import refused
from ..._core.base.state import process_state, thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.registry import composite
from ..._core.running.inplace import run_inplace
from ..._core.running.views import check_inplace
from ..._core.tape.node import INFERENCE
from ..._core.tape.saved_tensors import Indices
from ..._core.tape.tensor import Tensor, Wrapped, make
from ..._core.transforms.interpreter_stack import refuse_captured
from ..shaping import broadcasting, views
from ..tensors._data import array_of
from . import indexing
from .indexing import fitted, mask_positions, rows

# ---------------------------------------------------------------- reading


@composite(function=False, name="__getitem__")
@looks
def getitem(input: Tensor, index: Any) -> Tensor:
    """`x[index]`: numbers select, slices slice, None adds a dimension, tensors and lists pick."""
    if process_state.asks and (result := asked_instead(getitem, (input, index), {})) is not NOBODY:
        return result  # type: ignore[no-any-return]
    if index.__class__ is Tensor and input.__class__ is Tensor and (alone := _alone(input._ag_raw, index)) is not None:
        return indexing.index_op(input, alone)
    simple = _simple(input, index)
    if simple is not None:
        return simple
    picked, indices = _apply(input, index if index.__class__ is tuple else _items(index))
    if indices:
        return indexing.index_op(picked, indices)
    return views.alias(input) if picked is input else picked


def _simple(input: Tensor, index: Any) -> Tensor | None:
    """One number, slice, None or Ellipsis, as PyTorch's shortcut does it."""
    if index.__class__ is tuple:
        return None
    if isinstance(index, int) and not isinstance(index, bool):
        return _select(input, 0, index, 0)
    if isinstance(index, slice):
        if input.ndim == 0:
            raise refused(IndexError, "slice() cannot be applied to a 0-dim tensor.")
        return _slice(input, 0, index)
    if index is None:
        return views.unsqueeze_op(input, 0)
    return views.alias(input) if index is Ellipsis else None


def _alone(raw: Any, index: Tensor) -> Any:
    """Return what picks from an array, where that is one tensor of positions, or one mask over all of it; None
    otherwise."""
    at = index._ag_raw
    if at.__class__ is not np.ndarray or not at.ndim or raw.__class__ is not np.ndarray:
        return None
    if at.dtype.kind == "i":
        return [index] if raw.ndim and at.dtype.char in _POSITIONS else None
    if at.dtype.kind != "b" or at.shape != raw.shape:
        return None
    result = Indices([make(positions.astype(np.int64)) for positions in at.nonzero()])
    result.given = [index]
    return result


def _select(input: Tensor, dim: int, index: int, where: int) -> Tensor:
    shape = input._ag_raw.shape
    if dim >= len(shape):
        if where == 0 and not shape:
            raise refused(
                IndexError,
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number",
            )
        raise refused(IndexError, f"too many indices for tensor of dimension {len(shape)}")
    n = shape[dim]
    if not -n <= index < n:
        raise refused(IndexError, f"index {index} is out of bounds for dimension {where} with size {n}")
    return views.select_op(input, dim, dims.wrap(index, n))


def _is_whole(index: Any, input: Tensor) -> bool:
    """Return whether an index is a slice that takes the whole first dimension."""
    if not isinstance(index, slice) or not input.ndim:
        return False
    return index.indices(n := input._ag_raw.shape[0]) == (0, n, 1) and not _is_from_end(index)


def _is_from_end(window: slice) -> bool:
    """Return whether a slice begins so many elements before the end, which PyTorch never takes for a whole
    dimension."""
    return window.start is not None and operator.index(window.start) < 0


def _slice(input: Tensor, dim: int, window: slice) -> Tensor:
    return views.slice_op(input, dim, *_window(window, input._ag_raw.shape[dim]))


def _window(window: slice, n: int) -> tuple[int, int, int]:
    """A slice of `n` elements as `views.window` has it, of which all is given."""
    start, end, step = window.start, window.stop, window.step
    if not _BOUNDS.issuperset((start.__class__, end.__class__, step.__class__)):
        window.indices(n)  # refuses what is no bound
        start, end, step = (None if x is None else x.__index__() for x in (start, end, step))
    return _cut(start, end, step, n)


_BOUNDS = frozenset((int, type(None)))


@functools.lru_cache(4096)
def _cut(start: int | None, end: int | None, step: int | None, n: int) -> tuple[int, int, int]:
    if step is not None and step < 1:
        slice(start, end, step).indices(n)  # refuses zero
        raise refused(ValueError, "step must be greater than zero")
    return views.window(0 if start is None else start, sys.maxsize if end is None else end, step or 1, n)


_fast: Any = compiled("_core.arguments.fast_checks")
if _fast:
    _window = _fast.reading_windows(_cut, _window)


def _items(index: Any) -> tuple[Any, ...]:
    if _is_read_as_tuple(index):
        if not isinstance(index, tuple):
            warn(_NO_TUPLE)
        return tuple(index)
    return (index,)


_NO_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
    "which will result either in an error or a different result"
)


def _is_read_as_tuple(index: Any) -> bool:
    """PyTorch's guess, which was NumPy's once: a short sequence in which anything is no number stands for a tuple."""
    if isinstance(index, tuple):
        return True
    if isinstance(index, (Tensor, np.ndarray)) or not _is_sequence(index) or len(index) >= 32:
        return False
    return any(isinstance(x, (Tensor, slice)) or x is None or x is Ellipsis or _is_sequence(x) for x in index)


def _is_sequence(x: Any) -> bool:
    """Return whether `x` is what Python's C functions take for a sequence."""
    return hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, (dict, np.generic))


_ONE_EACH = frozenset((slice, int))
"""The commonest indices, each of which takes one dimension."""


def _consumes(item: Any) -> int:
    """Return how many dimensions of the tensor an index takes."""
    if item.__class__ is slice or item.__class__ is int:
        return 1
    if item is None or isinstance(item, bool) or item is Ellipsis:
        return 0
    if isinstance(item, Tensor) and item._ag_raw.dtype.kind == "b":
        return item.ndim
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def _apply(input: Tensor, items: tuple[Any, ...], writes: int = 0) -> tuple[Tensor, list[Any]]:
    """Selects, slices and new dimensions at once; what is left are the tensors to pick with, by dimension.

    `writes`: how many rows are to be written where a mask without memory holds (0: they are to be read).
    """
    ndim = input._ag_raw.ndim
    taken = len(items) if _ONE_EACH.issuperset(map(type, items)) else sum(map(_consumes, items))
    if taken > ndim:
        raise refused(IndexError, f"too many indices for tensor of dimension {ndim}")
    result, dim, picks = input, 0, []
    for where, item in enumerate(items):
        if item.__class__ is slice:
            n = result._ag_raw.shape[dim]
            if (window := _window(item, n)) != (0, n, 1) or _is_from_end(item):
                result = views.slice_op(result, dim, *window)
            dim += 1
        elif item is None:
            result, dim = views.unsqueeze_op(result, dim), dim + 1
        elif item is Ellipsis:
            dim += ndim - taken
        elif isinstance(item, bool):
            result = views.unsqueeze_op(result, dim)
            picks.append((dim, make(np.array([0] if item else [], np.int64)), None))
            dim += 1
        elif isinstance(item, (int, np.integer)):
            result = _select(result, dim, int(item), where)
        else:
            result, dim = _tensor_index(result, dim, item, where, picks, writes)
    if picks and result._ag_raw.__class__ in ELSEWHERE:
        picks = [(d, indexing.index_beside(index, result), mask) for d, index, mask in picks]
    return result, _by_dimension(picks)


def _tensor_index(result: Tensor, dim: int, item: Any, where: int, picks: list[Any], writes: int) -> tuple[Tensor, int]:
    tensor, mask = _index_tensor(item)
    kind = tensor._ag_raw.dtype.kind
    if tensor.ndim == 0 and kind in "iu" and not isinstance(tensor, Wrapped):
        return _select(result, dim, int(tensor._ag_raw), where), dim
    if kind == "b":
        if tensor.ndim == 0:
            result = views.unsqueeze_op(result, dim)
            picks.append((dim, make(np.array([0] if tensor._ag_raw else [], np.int64)), None))
            return result, dim + 1
        for offset, (n, m) in enumerate(zip(tensor._ag_raw.shape, result._ag_raw.shape[dim:], strict=False)):
            if n != m:
                raise refused(
                    IndexError,
                    f"The shape of the mask {list(tensor._ag_raw.shape)} at index {offset} does not match the shape of "
                    f"the indexed tensor {list(result._ag_raw.shape)} at index {dim + offset}",
                )
        picks += [
            (dim + i, make(positions.astype(np.int64)), mask)
            for i, positions in enumerate(mask_positions(tensor._ag_raw, writes))
        ]
        return result, dim + tensor.ndim
    picks.append((dim, tensor, None))
    return result, dim + 1


_POSITIONS = "".join(np.dtype(kind).char for kind in (np.int64, np.int32, np.uint8, np.bool_))
"""The dtypes of tensors with dimensions that pick elements, by NumPy's letters."""


def _index_tensor(item: Any) -> tuple[Tensor, Tensor]:
    """An index as a tensor of positions or booleans; and as it was given."""
    if not isinstance(item, Tensor):
        item = make(_index_array(item))
    kind = item._ag_raw.dtype
    if kind.kind not in "biu" or (item._ag_raw.ndim and kind.char not in _POSITIONS):
        raise refused(IndexError, "tensors used as indices must be long, int, byte or bool tensors")
    given: Tensor = item
    if kind.char == "B":
        warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
        item = make(item._ag_raw.astype(bool))
    index: Tensor = item
    return index, given


def _index_array(item: Any) -> Any:
    """The positions that an array or a sequence holds: booleans and bytes as they are, other numbers as integers."""
    if not _is_sequence(item):
        raise refused(
            IndexError,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_name(item)})",
        )
    inferred = array_of(item, None)
    return inferred if inferred.dtype in (np.bool_, np.uint8) else array_of(item, np.dtype(np.int64))


def _by_dimension(picks: list[Any]) -> list[Any]:
    if not picks:
        return []
    result = Indices([None] * (max([d for d, _, _ in picks]) + 1))
    result.given, given_to = [], 0
    for d, tensor, mask in picks:
        result[d] = tensor
        if d >= given_to:
            result.given += [None] * (d - given_to) + [tensor if mask is None else mask]
            given_to = d + (1 if mask is None else max(mask.ndim, 1))
    return result


# ---------------------------------------------------------------- writing


@composite(function=False, name="__setitem__")
def setitem(input: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: what the index selects is overwritten in place, and the graph follows."""
    if index.__class__ is int and input.__class__ is Tensor and _put_number(input, index, value):
        return
    value = _value(input, value)
    if index is Ellipsis or _is_whole(index, input):
        _copy_to(input, value)
        return
    if isinstance(index, bool):
        if index:
            _copy_to(views.unsqueeze_op(input, 0), value)
        return
    simple = _simple(input, index)
    if simple is not None:
        _copy_to(simple, value)
        return
    items = _items(index)
    picked, indices = _apply(input, items, rows(value))
    if indices:
        if value._ag_raw.size == 1:
            _refuse_bytes(items)
        if thread_state.levels:
            refuse_captured(picked, "index_put_")
        check_inplace(picked, value)
        shape = value._ag_raw.shape
        if shape and shape[0] == 1:
            value = views.view_op(value, _without_ones(shape))
        value = fitted(value, picked, getattr(indices, "given", indices))
        run_inplace(indexing.index_put_op.op, (picked, indices, value, False))
    else:
        _copy_to(picked, value)


def _put_number(input: Tensor, index: int, value: Any) -> bool:
    """Return whether a number was put at once into a row of floats, which nothing follows."""
    raw, count = input._ag_raw, input._ag_counter
    if process_state.special or process_state.observer is not None or input._ag_edge is not None or count is INFERENCE:
        return False
    if value.__class__ not in _NUMBERS or raw.__class__ is not np.ndarray or raw.dtype.char not in "fd":
        return False
    if raw.ndim != 1 or not raw.flags.carray or not -raw.size <= index < raw.size:
        return False
    dtypes.check_held(value, raw.dtype)
    raw[index] = value
    if count is None:
        input._ag_counter = [1]
    else:
        count[0] += 1
    return True


_NUMBERS = frozenset((int, float))


def _refuse_bytes(items: tuple[Any, ...]) -> None:
    """RuntimeError where the only thing to pick with is a mask of bytes: one value is filled in, which takes
    booleans."""
    picks = [x for x in items if isinstance(x, bool) or _picks(x)]
    if len(picks) == 1 and getattr(picks[0], "dtype", None) in (np.uint8, dtypes.uint8):
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")


def _picks(item: Any) -> bool:
    """Return whether an item of an index is a tensor of positions, or becomes one."""
    if isinstance(item, Tensor):
        return item.ndim > 0 or item._ag_raw.dtype.kind == "b"
    return not (item is None or item is Ellipsis or isinstance(item, (int, slice, np.integer)))


def _value(input: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.integer, np.bool_)):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        dtypes.check_held(value, input._ag_raw.dtype)
        result = make(dtypes.cast_number(value, input._ag_raw.dtype))
        result._ag_number = value
        return result
    raise refused(TypeError, f"can't assign a {type_name(value)} to a {input.type()}")


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the ones that it begins with."""
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]


def _copy_to(target: Tensor, value: Tensor) -> None:
    if value._ag_raw.shape == target._ag_raw.shape:
        indexing.copy_(target, value)
    elif value.ndim == 0:
        indexing.fill_(target, value)
    else:
        shape = _without_ones(value._ag_raw.shape)
        value = views.view_op(value, shape)
        if shape != target._ag_raw.shape:
            value = broadcasting.expand(value, target._ag_raw.shape)
        indexing.copy_(target, value)
