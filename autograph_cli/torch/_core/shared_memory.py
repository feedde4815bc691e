"""Memory that several processes see: arrays in it, tensors moved to it, and how they travel to another process.

The memory is a file without a name: it is gone with the last process that holds it, however that ends.
"""

from __future__ import annotations

import functools
import gc
import mmap
import os
import sys
import tempfile
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from .._kernels.lazy import bits_of, flip, memory_of
from .._ops.legacy import instance
from ..utils.data.worker import get_worker_info
from .memory_format import strides_of
from .node import LEAF
from .storages import address, offset_in, owner, window
from .tensor import Tensor
from .views import materialize


class SharedMemory(mmap.mmap):
    """A stretch of memory that other processes can open by its file descriptor."""

    descriptor: int

    @classmethod
    def of(cls, descriptor: int, size: int) -> SharedMemory:
        """The memory behind a file descriptor, which is this object's from then on."""
        made = cls(descriptor, size)
        made.descriptor = descriptor
        return made

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
    """The shared memory that an array lies in, if it does."""
    if not isinstance(memory_of(raw), np.ndarray):
        return None
    base = owner(raw).base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, SharedMemory) else None


def share(tensor: Tensor) -> None:
    """Move the memory of a tensor, and of all others that look at it, to shared memory."""
    if tensor.is_meta or tensor.is_sparse:
        raise RuntimeError("share_memory_: only a dense tensor that has memory can be moved to shared memory")
    register()
    if not materialize(tensor).size or shared_memory_of(tensor._raw) is not None:
        return
    root = owner(tensor._raw)
    moved = np.frombuffer(_new(root.nbytes), np.uint8)
    flat = np.lib.stride_tricks.as_strided(root, (root.size,), (root.itemsize,))
    moved[: root.nbytes] = flat.view(np.uint8)
    for other in _looking_at(tensor, root):
        raw = other._raw
        start = (address(raw) - address(root)) // raw.itemsize
        other._raw = flip(window(moved, raw.shape, strides_of(raw), start, raw.dtype), *bits_of(raw))


def _looking_at(tensor: Tensor, root: Any) -> list[Tensor]:
    """All tensors on the memory that `root` owns; the others are looked for only where somebody else holds it."""
    alone = 4  # the tensor, the caller, this function's argument, and the call below
    if tensor._raw is root and sys.getrefcount(root) <= alone:
        return [tensor]
    return [x for x in gc.get_objects() if isinstance(x, Tensor) and _owns(root, getattr(x, "_raw", None))]


def _owns(root: Any, raw: Any) -> bool:
    return isinstance(memory_of(raw), np.ndarray) and raw.size > 0 and owner(raw) is root


# ---------------------------------------------------------------- to another process


@functools.cache
def register() -> None:
    """From now on tensors travel between processes as what they are: shared memory."""
    pending = [Tensor]
    while pending:
        cls = pending.pop()
        ForkingPickler.register(cls, reduced)
        pending += cls.__subclasses__()


def reduced(tensor: Tensor) -> Any:
    """What is sent of a tensor to another process: the file descriptor of its memory, and where it lies in it."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    if tensor.is_meta or tensor.is_sparse or not tensor.numel() or get_worker_info() is not None:
        # The worker of a DataLoader may be gone before its batch is looked at.
        return tensor.__reduce_ex__(2)
    share(tensor)
    raw = tensor._raw
    memory = shared_memory_of(raw)
    assert memory is not None
    place = (len(memory), raw.shape, strides_of(raw), offset_in(raw), raw.dtype)
    cls = None if type(tensor) is Tensor else type(tensor)
    return _rebuilt, (DupFd(memory.descriptor), place, bits_of(raw), cls, tensor.requires_grad, dict(tensor.__dict__))


def _rebuilt(
    descriptor: Any, place: Any, bits: Any, cls: Any, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    size, shape, strides, offset, dtype = place
    memory = np.frombuffer(SharedMemory.of(descriptor.detach(), size), np.uint8)
    made: Tensor = instance(cls or Tensor, flip(window(memory, shape, strides, offset, dtype), *bits))
    made._edge = LEAF if requires_grad else None
    made.__dict__.update(attributes)
    return made
