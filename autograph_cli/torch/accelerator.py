"""`torch.accelerator`: there is none."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """False: the engine computes on the CPU."""
    return False


def current_accelerator(check_available: bool = False) -> Any:
    """None."""
    return None


def device_count() -> int:
    """0."""
    return 0


def _needs_device(*args: Any, **kwargs: Any) -> NoReturn:
    """RuntimeError: there is no device."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


synchronize = current_device_index = current_device_idx = set_device_index = set_device_idx = current_stream = (
    _needs_device
)
set_stream = empty_cache = memory_allocated = max_memory_allocated = memory_reserved = memory_stats = _needs_device
