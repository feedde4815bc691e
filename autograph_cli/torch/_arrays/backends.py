"""Backends: for each device an array library, and what the engine asks of the memory under its arrays.

The class of an array chooses its backend. NumPy's is not in the table: arrays of every other class that tensors hold (a
conjugated view, a sparse array) are made of its arrays, or of those of a class that is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._above import above
from .._core.base.device import CPU, META, device
from . import Array
from .lazy import memory_of
from .meta import Meta


def _within(raw: Array, shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether a window, strides in bytes, from the first element on is within an array that lies row by row."""
    if not raw.flags.c_contiguous:
        return False
    reach = raw.itemsize
    for n, s in zip(shape, strides, strict=True):
        if s < 0:
            return False
        reach += (n - 1) * s
    return bool(reach <= raw.nbytes)


class Backend:
    """NumPy, and what another array library has to say of itself."""

    type = "cpu"

    @functools.cached_property
    def kernels(self) -> Any:
        """PyTorch's operations on its arrays."""
        return above("_kernels", "cpu")

    def device(self, raw: Array) -> device:
        """The device that an array is on."""
        return CPU

    def owner(self, raw: Array) -> Any:
        """The array that owns the memory of `raw`."""
        while True:
            base = getattr(raw, "base", None)
            while base is not None and not isinstance(base, np.ndarray) and hasattr(base, "base"):
                base = base.base
            if not isinstance(base, np.ndarray):
                return raw
            raw = base

    def address(self, raw: Array) -> int:
        """Return where the first element is."""
        result: int = raw.__array_interface__["data"][0]
        return result

    def empty(self, shape: Any, dtype: Any) -> Any:
        """New memory, row by row."""
        return np.empty(shape, dtype)

    def empty_strided(self, shape: tuple[int, ...], strides: Sequence[int], dtype: Any) -> Any:
        """New memory with the given strides (in elements)."""
        if not all(shape):
            return self.empty(shape, dtype)
        kind = np.dtype(dtype)
        flat = np.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)), kind)
        return np.ndarray(shape, kind, flat, 0, [s * kind.itemsize for s in strides])

    def strided(self, raw: Array, shape: tuple[int, ...], strides: Sequence[int]) -> Any:
        """A window that begins at the first element of `raw`, strides in bytes."""
        memory = raw if raw.flags.c_contiguous else raw.T  # which may lie row by row
        if raw.__class__ is np.ndarray and _within(memory, shape, strides):
            return np.ndarray(shape, raw.dtype, memory, 0, strides)  # a tenth of the time of `as_strided`
        if raw.itemsize == 1:  # NumPy takes float8_e5m2 for a float that it has
            return np.lib.stride_tricks.as_strided(raw.view(np.uint8), shape, strides).view(raw.dtype)
        return np.lib.stride_tricks.as_strided(raw, shape, strides)

    def window(self, raw: Array, shape: tuple[int, ...], strides: Sequence[int], offset: int, kind: Any) -> Any:
        """A writable window of the dtype `kind`, `offset` elements after the first one of `raw`, strides in elements.

        RuntimeError where it reaches beyond the memory.
        """
        if not all(shape):
            return self.empty(shape, kind)
        root, start = self.reach(raw, shape, strides, offset, kind)
        if root.__class__ is np.ndarray and root.flags.c_contiguous:
            return np.ndarray(shape, kind, root, start, [s * kind.itemsize for s in strides])
        flat = self.strided(root, (root.size,), (root.itemsize,)).view(np.uint8)[start:]
        flat = flat[: flat.size // kind.itemsize * kind.itemsize].view(kind)
        return self.strided(flat, shape, [s * kind.itemsize for s in strides])

    def reach(
        self, raw: Array, shape: tuple[int, ...], strides: Sequence[int], offset: int, kind: Any
    ) -> tuple[Any, int]:
        """The owner of the memory, and where in it a window begins, in bytes."""
        root = self.owner(raw)
        start = self.address(raw) - self.address(root) + offset * kind.itemsize
        needed = start + (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))) * kind.itemsize
        if start < 0 or needed > root.nbytes:
            raise RuntimeError(
                f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize "
                f"{kind.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
                f"{root.nbytes}"
            )
        return root, start

    def to_host(self, raw: Array) -> Any:
        """An array of NumPy, or one of its scalars, with the elements of `raw`."""
        return raw


class WithoutMemory(Backend):
    """The device `meta`."""

    type = "meta"

    @functools.cached_property
    def kernels(self) -> Any:
        return above("_kernels.meta_kernels", "meta")

    def device(self, raw: Array) -> device:
        return META

    def owner(self, raw: Array) -> Any:
        return raw.whole()

    def address(self, raw: Array) -> int:
        return int(raw.address)

    def empty(self, shape: Any, dtype: Any) -> Any:
        return Meta((shape,) if isinstance(shape, int) else shape, np.dtype(dtype))

    def empty_strided(self, shape: tuple[int, ...], strides: Sequence[int], dtype: Any) -> Any:
        return Meta(shape, dtype, [s * np.dtype(dtype).itemsize for s in strides])

    def strided(self, raw: Array, shape: tuple[int, ...], strides: Sequence[int]) -> Any:
        return raw.window(shape, strides)

    def window(self, raw: Array, shape: tuple[int, ...], strides: Sequence[int], offset: int, kind: Any) -> Any:
        return raw.window(shape, [s * kind.itemsize for s in strides], offset * kind.itemsize, kind)


NUMPY = Backend()
WITHOUT_MEMORY = WithoutMemory()
ELSEWHERE: dict[Any, Backend] = {Meta: WITHOUT_MEMORY}
"""The backends that are not NumPy's, by the class of their arrays."""
DENSE: set[Any] = {np.ndarray}
"""The classes of arrays whose strides are laid out as PyTorch does."""


def backend_of(raw: Array) -> Backend:
    """The backend of a raw array."""
    return ELSEWHERE.get(memory_of(raw).__class__, NUMPY)


def device_of(raw: Array) -> device:
    """The device that a raw array is on."""
    if raw.__class__ is np.ndarray:
        return CPU
    return backend_of(raw).device(memory_of(raw))


@functools.lru_cache(maxsize=1 << 12)
def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a row-major array."""
    return tuple(math.prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape)))
