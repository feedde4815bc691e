"""Batches whose tensors are in memory that a GPU reads directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...._arrays import cuda
from ...._core.tape.tensor import Tensor
from .collate import _TEXT, _rebuilt, _relisted


def pin_memory(data: Any, device: Any = None) -> Any:
    """The tensors of a batch in pinned memory, in whatever containers, and objects that have a method of that name;
    everything else as it is, and all of it without a GPU."""
    if not cuda.is_available():
        return data
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple):
        parts = [pin_memory(x) for x in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, _TEXT):
        return _relisted(data, [pin_memory(x) for x in data])
    return data
