"""`torch.nn.parallel.scatter_gather`: there is one device, to which nothing is scattered."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["gather", "scatter"]


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """RuntimeError: there is one device."""
    raise RuntimeError("torch.nn.parallel.scatter needs several GPUs; autograph's engine has one device")


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """RuntimeError: there is one device."""
    raise RuntimeError("torch.nn.parallel.gather needs several GPUs; autograph's engine has one device")
