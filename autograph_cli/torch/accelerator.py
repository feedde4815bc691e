"""`torch.accelerator`: there is none."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """False: the engine computes on the CPU."""
    return False


def current_accelerator(check_available: bool = False) -> Any:
    """None."""
    return None


def device_count() -> int:
    """0."""
    return 0
