"""`torch.nn`: what scripts build models from."""

from __future__ import annotations

from typing import Any

from . import functional, init, modules, parallel, parameter, utils
from .modules import LAYERS
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

globals().update(LAYERS)
utils._fill()
__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "DataParallel", "functional", "init", "modules", "parallel",
    "parameter", "utils", *modules.__all__,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.nn.{name} is not available in autograph's engine yet")
