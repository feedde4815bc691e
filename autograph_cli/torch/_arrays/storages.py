"""The memory under arrays: who owns it, where an array begins in it, and other windows onto it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import Array
from .backends import ELSEWHERE, NUMPY, backend_of, dense_strides
from .lazy import Lazy, memory_of
from .meta import Meta
from .stand_in import StandIn, whole


def owner(raw: Array) -> Any:
    """The array that owns the memory of `raw`."""
    raw = memory_of(whole(raw))
    return ELSEWHERE.get(raw.__class__, NUMPY).owner(raw)


def address(raw: Array) -> int:
    """Return where the first element is."""
    if raw.__class__ is np.ndarray:
        return NUMPY.address(raw)
    raw = memory_of(raw._geometry if isinstance(raw, StandIn) else raw)
    return ELSEWHERE.get(raw.__class__, NUMPY).address(raw)


def offset_in(raw: Array) -> int:
    """Return where `raw` begins in the memory that it is part of, in elements."""
    return (address(raw) - address(owner(raw))) // int(raw.itemsize)


def capacity(raw: Array) -> int:
    """Return how many elements the memory of `raw` has room for."""
    return int(owner(raw).nbytes) // int(raw.itemsize)


def strided(array: Any, shape: tuple[int, ...], strides: Any) -> Any:
    """A window that begins at the first element of an array, strides in bytes."""
    return ELSEWHERE.get(array.__class__, NUMPY).strided(array, shape, strides)


def window(raw: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any = None) -> Any:
    """A writable window into the memory of `raw`, read as `dtype` if given, `offset` of its elements after the first of
    `raw`."""
    kind = raw.dtype if dtype is None else np.dtype(dtype)
    if raw.__class__ is Lazy:
        return Lazy(window(raw.memory, shape, strides, offset, dtype), raw.bits)
    return ELSEWHERE.get(raw.__class__, NUMPY).window(raw, shape, strides, offset, kind)


def resized(raw: Array, shape: tuple[int, ...]) -> Any:
    """The memory of `raw` in another shape, row by row; a copy where it has no room for that."""
    count = math.prod(shape)
    if raw.__class__ is Lazy:
        return Lazy(resized(raw.memory, shape), raw.bits)
    if raw.__class__ is Meta:
        return Meta(shape, raw.dtype)
    if offset_in(raw) + count <= capacity(raw):
        return window(raw, shape, dense_strides(shape), 0)
    kept = window(raw, (capacity(raw) - offset_in(raw),), (1,), 0)
    new = backend_of(raw).empty(count, raw.dtype)
    new[: kept.size] = kept
    return new.reshape(shape)


NEVER_SET = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5)
"""True if NumPy warns where the shape of an array is set, which takes half as long as `reshape`."""


def in_shape(raw: Array, size: tuple[int, ...]) -> Any:
    """The array in another shape, in the same memory; AttributeError or ValueError where it would need a copy."""
    if NEVER_SET:
        return raw.reshape(size, copy=False)
    window = raw.view()
    window.shape = size
    return window


def as_strided_raw(raw: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any = None) -> Any:
    """A writable window into the memory of `raw`, `offset` elements after its first one, read as another dtype if
    given."""
    return window(raw, shape, strides, offset, dtype)


def spanned(shape: Any, strides: Any, offset: int = 0) -> int:
    """Return how many elements of memory, from its beginning, a window needs."""
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


def empty_strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, beside: Any = None) -> Any:
    """New memory with the given strides (in elements), on the device of `beside`."""
    return backend_of(beside).empty_strided(shape, strides, dtype)
