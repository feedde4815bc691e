"""`torch.utils`: what stands beside the engine."""

from __future__ import annotations

from typing import Any

from .. import _missing
from ._swapping import swap_tensors

__all__ = ["swap_tensors"]
_PARTS = tuple(
    """
    _python_dispatch _pytree benchmark checkpoint data dlpack flop_counter hooks model_zoo tensorboard weak
    """.split()
)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return _missing.load(f"{__name__}.{name}")
    raise _missing.error(__name__, name, globals())
