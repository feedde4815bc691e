"""Tensors on their way between processes: they travel as the shared memory that they are in."""

from __future__ import annotations

import functools
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from ._arrays.lazy import bits_of, flip
from ._arrays.storages import offset_in, window
from ._core.base.memory_format import strides_of
from ._core.tape.node import LEAF
from ._core.tape.shared_memory import SharedMemory, share, shared_memory_of
from ._core.tape.tensor import Tensor
from ._ops.tensors.legacy import instance
from .utils.data.worker import get_worker_info


@functools.cache
def register() -> None:
    """From now on tensors travel between processes as what they are: shared memory."""
    pending = [Tensor]
    while pending:
        cls = pending.pop()
        ForkingPickler.register(cls, reduced)
        pending += cls.__subclasses__()


def reduced(tensor: Tensor) -> Any:
    """Return what is sent of a tensor to another process: the file descriptor of its memory, and where it is in it."""
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
    raw = tensor._ag_raw
    memory = shared_memory_of(raw)
    assert memory is not None
    position = (len(memory), raw.shape, strides_of(raw), offset_in(raw), raw.dtype)
    cls = None if type(tensor) is Tensor else type(tensor)
    return _rebuilt, (
        DupFd(memory.descriptor),
        position,
        bits_of(raw),
        cls,
        tensor.requires_grad,
        dict(tensor.__dict__),
    )


def _rebuilt(
    descriptor: Any, position: Any, bits: Any, cls: Any, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    size, shape, strides, offset, dtype = position
    memory = np.frombuffer(SharedMemory.of(descriptor.detach(), size), np.uint8)
    result: Tensor = instance(cls or Tensor, flip(window(memory, shape, strides, offset, dtype), *bits))
    result._ag_edge = LEAF if requires_grad else None
    result.__dict__.update(attributes)
    return result
