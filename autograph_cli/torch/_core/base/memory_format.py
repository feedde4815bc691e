"""The order of results in memory, where PyTorch's is not NumPy's.

Strides decide whether a later `reshape` is a view, and so which node the graph has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._arrays.backends import DENSE, ELSEWHERE, NUMPY, dense_strides
from ..._arrays.storages import strided
from ..._compiled import compiled

_fast: Any = compiled("_core.running.fast_kernels")


def arranged(memory_format: str | Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose result is laid out as PyTorch's does, in memory of its own."""
    if not memory_format:
        return kernel
    lay = _LAYS.get(memory_format, memory_format)

    def run(first: Any, *rest: Any) -> Any:
        given = first if memory_format == "channels_last" else _number(first)
        return lay(kernel(given, *rest), first, *rest)

    if not _fast:
        return run
    layout = "images" if memory_format in (joined, stacked) else memory_format
    quick: Callable[..., Any] = _fast.arranged(kernel, run, lay, layout)
    return quick


def _number(raw: Array) -> Any:
    return raw[()] if raw.__class__ in DENSE and not raw.ndim else raw


def strides_of(raw: Array) -> tuple[int, ...]:
    """Strides in elements; NumPy has 0 for a new dimension of size 1 where PyTorch goes on from the dimension after
    it."""
    return _in_elements(raw.shape, raw.strides, raw.itemsize)


@functools.lru_cache(maxsize=1 << 12)
def _in_elements(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[int, ...]:
    result = tuple([s // size for s in strides])
    if 0 not in result:
        return result
    # NumPy says nothing of the steps in a new array without elements.
    return dense_strides(shape) if 0 in shape else _stepped(shape, result)


def _stepped(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    found = list(strides)
    for d in range(len(found) - 1, -1, -1):
        if not found[d] and shape[d] == 1:
            found[d] = shape[d + 1] * found[d + 1] if d + 1 < len(found) else 1
    return tuple(found)


def suggests_channels_last(raw: Array) -> bool:
    """Return whether the strides tell that channels come last: PyTorch's `suggest_memory_format`, which takes doubtful
    cases for row-major."""
    return raw.ndim in (4, 5) and _has_channels_last(raw.shape, strides_of(raw))


@functools.lru_cache(maxsize=1 << 12)
def _has_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if strides[1] == 0:
        return False
    least = 0
    for d in channels_last_order(len(shape)):
        if shape[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def channels_last_order(rank: int) -> tuple[int, ...]:
    """The dimensions of images or volumes, the fastest first, where channels come last."""
    return 1, *range(rank - 1, 1, -1), 0


def channels_last(result: Any, *inputs: Any) -> Any:
    first = inputs[0]
    if first.__class__ is np.ndarray and len(inputs) == 1 and first.strides == _row_by_row(first.shape, first.itemsize):
        return contiguous(result)
    if inputs[0].__class__ not in DENSE:
        return result
    if not any(map(suggests_channels_last, inputs)):
        return contiguous(result)
    if isinstance(result, tuple):
        return (*(channels_last(r, *inputs) for r in result),)
    if result.ndim != inputs[0].ndim or not result.size:
        return result
    return laid(result, permuted_strides(result.shape, channels_last_order(result.ndim)))


def as_input(result: Any, grad: Array, input: Array, *_: Any) -> Any:
    """The gradient of images or volumes is laid out as they are."""
    return channels_last(result, input)


def contiguous(raw: Array) -> Any:
    if raw.__class__ is np.ndarray and raw.strides == _row_by_row(raw.shape, raw.itemsize):
        return raw
    if isinstance(raw, tuple):
        return tuple([contiguous(r) for r in raw])
    if raw.__class__ not in DENSE:
        return raw if raw.ndim < 2 or raw.flags.c_contiguous else raw.copy("C")
    return raw if raw.ndim < 2 or not raw.size else laid(raw, dense_strides(raw.shape))


@functools.lru_cache(maxsize=1 << 12)
def _row_by_row(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return _in_bytes(dense_strides(shape), size)


def joined(raw: Array, parts: Sequence[Any], dim: int) -> Any:
    """Return what `cat` gives is laid out row by row, unless channels come last in all that is joined."""
    images = raw.ndim in (4, 5) and raw.__class__ in DENSE and raw.size
    if images and all(suggests_channels_last(x) for x in parts if x.ndim == raw.ndim):
        return laid(raw, permuted_strides(raw.shape, channels_last_order(raw.ndim)))
    return contiguous(raw)


def stacked(raw: Array, parts: Sequence[Any], dim: int) -> Any:
    """Return what `stack` gives, likewise; where channels come last the new dimension goes where a view would have
    it."""
    images = parts[0].ndim in (4, 5) and raw.__class__ in DENSE and raw.size
    if not images or not all(map(suggests_channels_last, parts)):
        return contiguous(raw)
    shape, strides = list(parts[0].shape), list(strides_of(parts[0]))
    strides.insert(dim, shape[dim] * strides[dim] if dim < len(shape) else 1)
    shape.insert(dim, 1)
    return laid(raw, permuted_strides(raw.shape, fastest_first(tuple(shape), [tuple(strides)])))


def indexed_strides(shape: tuple[int, ...], raw: Array, indices: Sequence[Any]) -> Sequence[int]:
    """The strides of `raw[indices]`: those of an iteration over the array, its indexed dimensions at rest, and over the
    indices."""
    given = tuple([None if i is None else (i.shape, strides_of(i)) for i in indices])
    return _indexed_strides(shape, strides_of(raw), given)


@functools.lru_cache(maxsize=1 << 12)
def _indexed_strides(shape: tuple[int, ...], own: tuple[int, ...], indices: tuple[Any, ...]) -> Sequence[int]:
    positions = [d for d, index in enumerate(indices) if index is not None]
    strides, rank = list(own), len(own)
    if positions != list(range(positions[0], positions[-1] + 1)):
        rest = [d for d in range(rank) if d not in positions]
        strides = [strides[d] for d in (*positions, *rest)]
        positions = list(range(len(positions)))
    given = [index for index in indices if index is not None]
    inner = max(len(index) for index, _ in given)
    before, after = positions[0], rank - positions[-1] - 1
    operands = [(*strides[:before], *(0,) * inner, *strides[positions[-1] + 1 :])]
    looked_up = shape[before : before + inner]
    for index in given:
        operands.append((*(0,) * before, *_aligned(looked_up, *index), *(0,) * after))
    return permuted_strides(shape, fastest_first(shape, operands))


def indexed(result: Any, raw: Array, indices: Sequence[Any]) -> Any:
    if result.__class__ not in DENSE or result.ndim < 2 or not result.size:
        return result
    kinds = [i.dtype.kind for i in indices if i is not None]
    if not kinds:
        return result
    if "b" in kinds:
        return contiguous(result)
    return laid(result, indexed_strides(result.shape, raw, indices))


def _like(result: Any, first: Any) -> Any:
    if isinstance(result, tuple):
        return (*(_like(r, first) for r in result),)
    if first.ndim < 2 or first.flags.c_contiguous or result.shape != first.shape:
        return result
    made = empty_as(first, result.dtype)
    if made.strides == result.strides:
        return result
    made[...] = result
    return made


def empty_as(raw: Array, dtype: Any) -> Any:
    """New memory laid out like `raw`, or, where that has gaps, with its dimensions in the same order."""
    backend = ELSEWHERE.get(raw.__class__, NUMPY)
    if raw.ndim < 2 or raw.flags.c_contiguous or not raw.size:
        return backend.empty(raw.shape, dtype)
    return backend.empty_strided(raw.shape, preserved_strides(raw), dtype)


def preserved_strides(raw: Array) -> Sequence[int]:
    """The strides of a copy of `raw` in `torch.preserve_format`."""
    strides = strides_of(raw)
    if raw.ndim < 2 or is_dense(raw.shape, strides):
        return strides
    return permuted_strides(raw.shape, fastest_first(raw.shape, [strides]))


def settled(raw: Array, *operands: Any) -> Any:
    """`raw`, computed element by element from these arrays, as PyTorch lays it out: see `elementwise_strides`."""
    if raw.__class__ not in DENSE or not raw.size:
        return raw
    layouts = tuple([(x.shape, x.strides, x.itemsize) for x in operands if x is not None])
    return laid(raw, _elementwise_strides(raw.shape, layouts))


def second_first(raw: Array, first: Any, second: Any, *_: Any) -> Any:
    """`settled`, where PyTorch's iterator is given the second operand before the first."""
    return settled(raw, second, first)


def laid_out(found: Any, args: list[Any]) -> Any:
    """A raw gradient computed element by element from several arrays, laid out as PyTorch's iterator would, which is
    given them in the order of the formula's parameters."""
    if found.__class__ is np.ndarray and found.ndim > 1:
        for x in args:
            if x.__class__ is np.ndarray and not x.flags.c_contiguous:
                arrays = [x for x in args if x.__class__ is np.ndarray]
                return found if len(arrays) < 2 or any(found is x for x in arrays) else settled(found, *arrays)
    return found


def laid(raw: Array, strides: Sequence[int]) -> Any:
    """The elements of `raw`, which nobody else holds, with these strides (in elements)."""
    wanted = _in_bytes(tuple(strides), raw.itemsize)
    if raw.strides == wanted:
        return raw
    if all(a == b or n == 1 for n, a, b in zip(raw.shape, raw.strides, wanted, strict=True)):
        return strided(raw, raw.shape, wanted)
    return copied(raw, strides)


@functools.lru_cache(maxsize=1 << 12)
def _in_bytes(strides: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple([s * size for s in strides])


def copied(raw: Array, strides: Sequence[int]) -> Any:
    """A copy of `raw` with these strides (in elements)."""
    result = ELSEWHERE.get(raw.__class__, NUMPY).empty_strided(raw.shape, strides, raw.dtype)
    result[...] = raw
    return result


def elementwise_strides(shape: tuple[int, ...], operands: Sequence[Any]) -> Sequence[int]:
    """The strides of a new result, as PyTorch's iterator over tensors chooses them.

    Operands that all are laid out alike, without gaps, are followed to the letter; otherwise the dimensions are sorted
    by the
    strides of the first operand that tells them apart, then of the next one.
    """
    return _elementwise_strides(shape, tuple([(x.shape, x.strides, x.itemsize) for x in operands]))


@functools.lru_cache(maxsize=1 << 12)
def _elementwise_strides(shape: tuple[int, ...], layouts: tuple[Any, ...]) -> Sequence[int]:
    operands = [(own, _stepped(own, tuple([s // size for s in strides]))) for own, strides, size in layouts]
    if all(own == shape for own, _ in operands):
        if all(_follows(shape, strides, range(len(shape) - 1, -1, -1)) for _, strides in operands):
            return dense_strides(shape)
        if len(shape) == 4 and all(_follows(shape, strides, channels_last_order(4)) for _, strides in operands):
            return permuted_strides(shape, channels_last_order(4))
        first = operands[0][1]
        if is_dense(shape, first) and all(strides == first for _, strides in operands[1:]):
            return first
    return permuted_strides(shape, fastest_first(shape, [_aligned(shape, *x) for x in operands if x[0]]))


def _follows(shape: tuple[int, ...], strides: Sequence[int], order: Sequence[int]) -> bool:
    """Return whether elements with these strides fill memory with the dimensions in this order, the fastest first."""
    step = 1
    for d in order:
        if strides[d] != step and shape[d] != 1:
            return False
        step *= shape[d]
    return True


def permuted_strides(shape: tuple[int, ...], order: Sequence[int]) -> list[int]:
    """The strides of memory without gaps in which the dimensions follow each other in this order, the fastest first."""
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= shape[d]
    return strides


def is_dense(shape: tuple[int, ...], strides: Sequence[int]) -> bool:
    """Return whether elements with these strides fill a stretch of memory, in whatever order, none twice."""
    step = 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def _aligned(shape: tuple[int, ...], own: tuple[int, ...], strides: Sequence[int]) -> tuple[int, ...]:
    """The strides of an operand of the shape `own` beside a result of this shape: 0 where it is repeated."""
    lead = len(shape) - len(own)
    return (*(0,) * lead, *(0 if n == 1 != m else s for s, n, m in zip(strides, own, shape[lead:], strict=True)))


def fastest_first(shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]) -> list[int]:
    """The dimensions by rising stride; those that no operand tells apart stay in row-major order."""
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        slow = i
        for fast in range(i - 1, -1, -1):
            swap = _swaps(shape, operands, order[fast], order[slow])
            if swap:
                order[fast], order[slow] = order[slow], order[fast]
                slow = fast
            elif swap is not None:
                break
    return order


def slowest_first(raw: Array) -> list[int]:
    """The dimensions of an array by falling stride; those that do not move stay where they are."""
    return fastest_first(raw.shape, [strides_of(raw)])[::-1]


def _swaps(shape: tuple[int, ...], operands: Sequence[tuple[int, ...]], fast: int, slow: int) -> bool | None:
    """Return whether two dimensions are swapped; None where no operand tells."""
    for strides in operands:
        a, b = strides[fast], strides[slow]
        if a == 0 or b == 0:
            continue
        if a != b:
            return a > b
        if shape[fast] > shape[slow]:
            return True
    return None


_LAYS: dict[Any, Any] = {
    "own": lambda raw, *_: raw,
    "contiguous": lambda raw, *_: contiguous(raw),
    "preserve": lambda raw, first, *_: _like(raw, first),
    "channels_last": lambda raw, first, *_: channels_last(raw, first),
}
"""Functions of a result and what it was made of, by their names in the records of operations."""
