"""`torch.nn`: what scripts build models from. So far its functions only."""

from __future__ import annotations

from typing import Any

from . import functional

__all__ = ["functional"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.nn.{name} is not available in autograph's engine yet")
