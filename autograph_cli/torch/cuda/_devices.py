"""The index of a GPU in an argument."""

from __future__ import annotations

from typing import Any

from .._arrays import cuda
from .._core.base.device import check, device as _device


def is_initialized() -> bool:
    """Return whether a script has used a GPU."""
    return bool(cuda.opened.cache_info().currsize)


def gpu(device: Any) -> _device:
    """A GPU with its number, the current one for None; AssertionError or RuntimeError where it is not there."""
    return check("cuda" if device is None else _device("cuda", index_of(device)))


def index_of(device: Any) -> int:
    """The number of a GPU; ValueError for another kind of device."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    found = _device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return cuda.place(found).index or 0 if found.index is None and cuda.is_available() else found.index or 0
