"""`torch.nn.parallel`: there is one device, so a module in parallel is the module itself."""

from __future__ import annotations

from typing import Any

from ... import _missing
from ..modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


class DataParallel(Module):
    """Calls the module that it holds; without a GPU PyTorch does the same.

    >>> from autograph_cli import torch
    >>> torch.nn.DataParallel(torch.nn.Identity())(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.device_ids: list[Any] = []
        self.module, self.dim = module, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """RuntimeError when it is made: several processes do not train one model here."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel is not available in autograph's engine: train the module in one process"
        )


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())
