"""`torch.utils.dlpack`: tensors handed to and taken from other libraries without a copy."""

from __future__ import annotations

from typing import Any

from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor

from_dlpack = functions["from_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """The capsule of a tensor's memory."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
