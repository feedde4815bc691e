"""`torch.mps`: there is no such device, and what needs one says so."""

from __future__ import annotations

from typing import Any, NoReturn

from ._core.device import check


def is_available() -> bool:
    """False: the engine computes on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the generator of the device, of which there is none."""


def empty_cache() -> None:
    """Frees memory that the device keeps for later, which is none."""


def _needs_device(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises the error of a machine without the device."""
    check("mps")
    raise AssertionError("unreachable")


synchronize = current_allocated_memory = driver_allocated_memory = get_rng_state = set_rng_state = Event = _needs_device
