"""Memory of a GPU shared with other libraries (DLPack, `__cuda_array_interface__`), and memory that a GPU reads."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..._arrays import cuda
from ..._core.base.errors import refused
from ..._core.operations.registry import composite, methods
from ..._core.tape.tensor import Tensor, make, materialize
from .creation import from_numpy

ON_GPU = 2
"""DLPack's number for the memory of a GPU."""


@composite(method=False)
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of an object that speaks DLPack, on the CPU or on a GPU."""
    where = getattr(ext_tensor, "__dlpack_device__", None)
    if where is not None and where()[0] == ON_GPU:
        return make(cuda.opened().cupy.from_dlpack(ext_tensor))
    return from_numpy(np.from_dlpack(ext_tensor))


def _interface(self: Tensor) -> Any:
    if not self.is_cuda:
        raise refused(
            AttributeError,
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory.",
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    return materialize(self).__cuda_array_interface__


methods["__cuda_array_interface__"] = property(_interface, doc="Where the elements are on a GPU, for other libraries.")


@composite(function=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in memory that a GPU reads directly, itself where it is there.

    RuntimeError without a GPU, and for a tensor that is not on the CPU.
    """
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if _is_pinned(self):
        return self
    raw = importlib.import_module("cupyx").empty_pinned(self._ag_raw.shape, self._ag_raw.dtype)
    raw[...] = materialize(self)
    return make(raw)


@composite(function=False)
def record_stream(self: Tensor, s: Any) -> None:
    """Keep the memory until a queue, which uses it beside the one it was made in, has done what it was told until then.

    RuntimeError for what is no queue; NotImplementedError for a tensor of the CPU.
    """
    if not hasattr(s, "cuda_stream"):
        raise refused(RuntimeError, "unknown parameter type")
    if not self.is_cuda:
        raise refused(
            NotImplementedError,
            "Could not run 'aten::record_stream' with arguments from the 'CPU' backend: streams use tensors on a GPU",
        )
    cuda.opened().record_stream(self._ag_raw, s._stream)


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """Return whether the memory is pinned for a GPU."""
    if not (self.is_cpu and cuda.is_available()):
        return False
    owner = self._ag_raw
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    return isinstance(owner, cuda.opened().cupy.cuda.PinnedMemoryPointer)


methods["is_pinned"] = _is_pinned
