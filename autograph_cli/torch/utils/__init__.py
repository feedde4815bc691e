"""`torch.utils`: what stands beside the engine."""

from __future__ import annotations

import importlib
from typing import Any

from .. import _missing
from ._swapping import swap_tensors

__all__ = ["swap_tensors"]
_PARTS = ("checkpoint", "data", "hooks", "model_zoo", "tensorboard")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    raise _missing.error(__name__, name, globals())
