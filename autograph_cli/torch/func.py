"""`torch.func`: modules called with other parameters; the transforms of functions are not there yet."""

from __future__ import annotations

from typing import Any

from . import _missing
from .nn.utils.stateless import functional_call

__all__ = ["functional_call"]


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())
