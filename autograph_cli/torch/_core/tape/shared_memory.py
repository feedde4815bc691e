"""Memory that several processes see: arrays in it, tensors moved to it, and how they travel to another process.

The memory is a file without a name: it is gone with the last process that holds it, however that ends.
"""

from __future__ import annotations

import gc
import mmap
import os
import sys
from typing import Any

import numpy as np

from ..._above import above
from ..._arrays.lazy import bits_of, flip, memory_of
from ..._arrays.storages import address, owner, window
from ..base.memory_format import strides_of
from .tensor import Tensor, materialize

if not hasattr(os, "memfd_create"):
    import tempfile


class SharedMemory(mmap.mmap):
    """A stretch of memory that other processes can open by its file descriptor."""

    descriptor: int

    @classmethod
    def of(cls, descriptor: int, size: int) -> SharedMemory:
        """The memory behind a file descriptor, which is this object's from then on."""
        result = cls(descriptor, size)
        result.descriptor = descriptor
        return result

    def __del__(self) -> None:
        os.close(self.descriptor)


def _new(size: int) -> SharedMemory:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tensor")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return SharedMemory.of(descriptor, size)


def shared_memory_of(raw: Any) -> SharedMemory | None:
    """The shared memory that an array is in, if it does."""
    if not isinstance(memory_of(raw), np.ndarray):
        return None
    base = owner(raw).base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, SharedMemory) else None


def share(tensor: Tensor) -> None:
    """Move the memory of a tensor, and of all others that look at it, to shared memory."""
    if tensor.is_meta or tensor.is_sparse:
        raise RuntimeError("share_memory_: only a dense tensor that has memory can be moved to shared memory")
    above("_reductions", "register")()  # tensors travel between processes as shared memory from now on
    if not materialize(tensor).size or shared_memory_of(tensor._ag_raw) is not None:
        return
    root = owner(tensor._ag_raw)
    moved = np.frombuffer(_new(root.nbytes), np.uint8)
    flat = np.lib.stride_tricks.as_strided(root, (root.size,), (root.itemsize,))
    moved[: root.nbytes] = flat.view(np.uint8)
    for other in _looking_at(tensor, root):
        raw = other._ag_raw
        start = (address(raw) - address(root)) // raw.itemsize
        other._ag_raw = flip(window(moved, raw.shape, strides_of(raw), start, raw.dtype), *bits_of(raw))


def _looking_at(tensor: Tensor, root: Any) -> list[Tensor]:
    """All tensors on the memory that `root` owns; the others are looked for only where somebody else holds it."""
    alone = 4  # the tensor, the caller, this function's argument, and the call below
    if tensor._ag_raw is root and sys.getrefcount(root) <= alone:
        return [tensor]
    return [x for x in gc.get_objects() if isinstance(x, Tensor) and _owns(root, getattr(x, "_ag_raw", None))]


def _owns(root: Any, raw: Any) -> bool:
    return isinstance(memory_of(raw), np.ndarray) and raw.size > 0 and owner(raw) is root


# ---------------------------------------------------------------- to another process
