"""`torch.nn`: what scripts build models from."""

from __future__ import annotations

from typing import Any

from . import functional, init, modules, parameter
from .modules import LAYERS
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

globals().update(LAYERS)
__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules", "parameter",
    *modules.__all__,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.nn.{name} is not available in autograph's engine yet")
