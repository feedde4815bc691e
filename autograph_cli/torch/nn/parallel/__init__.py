"""`torch.nn.parallel`: a model on several processes; on one device a module in parallel is the module itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _missing
from ..modules.module import Module

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel as DistributedDataParallel

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


def __getattr__(name: str) -> Any:
    if name in ("DistributedDataParallel", "distributed"):  # with torch.distributed, which takes a while to load
        found = _missing.load(f"{__name__}.distributed")
        return found if name == "distributed" else found.DistributedDataParallel
    raise _missing.error(__name__, name, globals())
