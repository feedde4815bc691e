"""`safetensors.numpy`: dicts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli.atomic_files import atomic_write

from . import _format
from ._opened import read_bytes, safe_open

__all__ = ["load", "load_file", "safe_open", "save", "save_file"]


def _checked(tensor_dict: Any) -> dict[str, Any]:
    return {name: np.ascontiguousarray(array).reshape(np.shape(array)) for name, array in tensor_dict.items()}


def save(tensor_dict: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The arrays as the bytes of a file."""
    return _format.write(_checked(tensor_dict), metadata)


def save_file(tensor_dict: dict[str, Any], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """The arrays as a file, which is whole or not there."""
    parts = _format.chunks(_checked(tensor_dict), metadata)
    with atomic_write(filename) as file:
        file.writelines(parts)


def load(data: bytes) -> dict[str, Any]:
    """The arrays in the bytes of a file."""
    return dict(read_bytes(data))


def load_file(filename: Any) -> dict[str, Any]:
    """The arrays in a file."""
    with safe_open(filename, framework="np") as opened:
        return {name: opened.get_tensor(name) for name in opened.offset_keys()}
