"""The memory under arrays: who owns it, where an array begins in it, and other windows onto it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import Array
from .lazy import Lazy, memory_of
from .meta import Meta
from .stand_in import StandIn, whole


def owner(raw: Array) -> Any:
    """The array that owns the memory of `raw`."""
    raw = memory_of(whole(raw))
    if raw.__class__ is Meta:
        return raw.whole()
    while True:
        base = getattr(raw, "base", None)
        while base is not None and not isinstance(base, np.ndarray) and hasattr(base, "base"):
            base = base.base
        if not isinstance(base, np.ndarray):
            return raw
        raw = base


def address(raw: Array) -> int:
    """Where the first element is."""
    if raw.__class__ is Meta:
        return int(raw.address)
    interface = memory_of(raw._geometry if isinstance(raw, StandIn) else raw).__array_interface__
    found: int = interface["data"][0]
    return found


def offset_in(raw: Array) -> int:
    """Where `raw` begins in the memory that it is part of, in elements."""
    return (address(raw) - address(owner(raw))) // int(raw.itemsize) if raw.size else 0


def capacity(raw: Array) -> int:
    """How many elements the memory of `raw` has room for."""
    return int(owner(raw).nbytes) // int(raw.itemsize)


def strided(array: Any, shape: tuple[int, ...], strides: Any, xp: Any = np) -> Any:
    """A window into an array, strides in bytes; NumPy's own takes float8_e5m2 for a float that it has."""
    if array.itemsize == 1:
        return xp.lib.stride_tricks.as_strided(array.view(np.uint8), shape, strides).view(array.dtype)
    return xp.lib.stride_tricks.as_strided(array, shape, strides)


def window(raw: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any = None) -> Any:
    """A writable window into the memory of `raw`, read as `dtype` if given, `offset` of its elements after the first of
    `raw`."""
    kind = raw.dtype if dtype is None else np.dtype(dtype)
    if raw.__class__ is Lazy:
        return Lazy(window(raw.memory, shape, strides, offset, dtype), raw.bits)
    if raw.__class__ is Meta:
        return raw.window(shape, [s * kind.itemsize for s in strides], offset * kind.itemsize, dtype)
    if not all(shape):
        return np.empty(shape, kind)
    root = owner(raw)
    start = address(raw) - address(root) + offset * kind.itemsize
    needed = start + (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))) * kind.itemsize
    if start < 0 or needed > root.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{kind.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {root.nbytes}"
        )
    flat = strided(root, (root.size,), (root.itemsize,)).view(np.uint8)[start:]
    flat = flat[: flat.size // kind.itemsize * kind.itemsize].view(kind)
    return strided(flat, shape, [s * kind.itemsize for s in strides])


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
    new = np.empty(count, raw.dtype)
    new[: kept.size] = kept
    return new.reshape(shape)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a row-major array."""
    return tuple(math.prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape)))


NEVER_SET = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5)
"""Whether NumPy warns where the shape of an array is set, which takes half as long as `reshape`."""


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
    """How many elements of memory, from its beginning, a window needs."""
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


def empty_strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, on_meta: bool = False) -> Any:
    """New memory with the given strides (in elements)."""
    if on_meta:
        return Meta(shape, dtype, [s * np.dtype(dtype).itemsize for s in strides])
    if not all(shape):
        return np.empty(shape, dtype)
    flat = np.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)), dtype)
    return strided(flat, shape, [s * flat.itemsize for s in strides])
