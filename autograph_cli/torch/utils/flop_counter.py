"""`torch.utils.flop_counter`: libraries import its counter; it refuses to be made."""

from __future__ import annotations

from typing import Any

__all__ = ["FlopCounterMode"]


class FlopCounterMode:
    """A count of floating point operations; NotImplementedError when one is made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError("torch.utils.flop_counter.FlopCounterMode is not available in autograph's engine")
