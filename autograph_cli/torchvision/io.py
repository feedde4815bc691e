"""`torchvision.io`: files as tensors of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli import torch
from autograph_cli.atomic_files import atomic_write

__all__ = ["read_file", "write_file"]


def read_file(path: str) -> Any:
    """The bytes of a file, as uint8."""
    return torch.from_numpy(np.fromfile(path, np.uint8))


def write_file(filename: str, data: Any) -> None:
    """Write a tensor of bytes to a file."""
    if data.dtype is not torch.uint8 or data.ndim != 1:
        raise RuntimeError("Input tensor must be a 1-dimensional tensor of uint8")
    with atomic_write(filename) as file:
        file.write(data.numpy().tobytes())
