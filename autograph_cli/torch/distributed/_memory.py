"""Tensors as flat arrays for the transport: their own memory where it is contiguous, else a copy written back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays.cuda import moved
from .._arrays.meta import Meta
from .._core.base.device import CPU
from .._core.base.errors import refused
from .._core.running.views import changes
from .._core.tape.tensor import Tensor, materialize


def check_tensor(value: Any, name: str) -> None:
    """TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise refused(
            TypeError,
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead.",
        )


def check_list(value: Any, name: str) -> None:
    """TypeError for what is no list of tensors."""
    said = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got "
    if not isinstance(value, list):
        raise refused(TypeError, f"{said}{type(value)} instead.")
    if not all(isinstance(item, Tensor) for item in value):
        raise refused(TypeError, f"{said}{type(value)} with elements of type {[type(item) for item in value]}.")


def check_same_dtype(*tensors: Tensor) -> None:
    """ValueError for tensors of different dtypes; complex numbers go with their parts."""
    kinds = [tensor.dtype.to_real() for tensor in tensors]
    for kind, before, tensor in zip(kinds[1:], kinds, tensors[1:], strict=False):
        if kind is not before:
            raise refused(
                ValueError, f"Invalid usage of tensors with different dtypesFound {before} and  {tensor.dtype}"
            )


def is_meta(tensor: Tensor) -> bool:
    """Return whether there are no bytes to carry."""
    return isinstance(tensor._ag_raw, Meta)


def _is_direct(raw: Any) -> bool:
    return raw.__class__ is np.ndarray and raw.flags.c_contiguous and raw.flags.writeable


def _array(tensor: Tensor) -> Any:
    """The numbers of a tensor on the CPU. RuntimeError for one that has no memory of its own, such as sparse ones."""
    if tensor.layout.__repr__() != "torch.strided":
        raise RuntimeError(f"torch.distributed carries dense tensors only, not those of layout {tensor.layout}")
    raw = tensor._ag_raw if isinstance(tensor._ag_raw, np.ndarray) else moved(materialize(tensor), CPU)
    return np.asarray(raw)


def read(tensor: Tensor) -> Any:
    """Return what the tensor holds, flat; its own memory if that is contiguous."""
    return np.ascontiguousarray(_array(tensor)).reshape(-1)


def copied(tensor: Tensor) -> Any:
    """Return what the tensor holds, flat, as a copy."""
    return np.array(_array(tensor), order="C").reshape(-1)


def store(tensor: Tensor, flat: Any) -> None:
    """Put numbers into a tensor's memory; like in PyTorch this is not counted as a change of its version."""
    changes(tensor)
    raw = tensor._ag_raw
    if isinstance(raw, np.generic):
        tensor._ag_raw = flat.reshape(())[()]
    else:
        raw[...] = moved(flat.reshape(raw.shape), tensor.device)


class Landing:
    """The destination of received numbers: `array` is a tensor's memory, or a copy of it that `land` writes back."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.direct = _is_direct(tensor._ag_raw)
        if self.direct:
            changes(tensor)
        self.array = tensor._ag_raw.reshape(-1) if self.direct else copied(tensor)

    def land(self) -> None:
        """The numbers are there."""
        if not self.direct:
            store(self.tensor, self.array)


class Pieces:
    """Several tensors as one flat array, one after the other."""

    def __init__(self, tensors: Sequence[Tensor], given: bool) -> None:
        self.tensors = tensors
        self.counts = [tensor.numel() for tensor in tensors]
        arrays = [read(tensor) for tensor in tensors] if given else []
        dtype = tensors[0]._ag_raw.dtype
        self.array = np.concatenate(arrays) if given else np.empty(sum(self.counts), dtype)

    def land(self) -> None:
        """Put the parts into the tensors."""
        start = 0
        for tensor, count in zip(self.tensors, self.counts, strict=True):
            store(tensor, self.array[start : start + count])
            start += count
