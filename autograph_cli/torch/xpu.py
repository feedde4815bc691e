"""`torch.xpu`: there is no such device, and what needs one says so."""

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
    check("xpu")
    raise AssertionError("unreachable")


manual_seed_all = manual_seed
synchronize = current_device = set_device = get_device_name = get_device_properties = Stream = Event = _needs_device
