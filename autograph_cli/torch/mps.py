"""`torch.mps`: there is no such device, and what needs one says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """False: the engine computes on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the generator of the device, of which there is none."""


def _needs_device(what: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Cannot execute {what}() without MPS backend.")

    refuse.__doc__ = "RuntimeError: there is no MPS device."
    return refuse


seed = get_rng_state = set_rng_state = _needs_device("getDefaultGenerator")
empty_cache = _needs_device("emptyCache")
synchronize = _needs_device("deviceSynchronize")
current_allocated_memory = _needs_device("getCurrentAllocatedMemory")
driver_allocated_memory = _needs_device("getDriverAllocatedMemory")
recommended_max_memory = _needs_device("getRecommendedMaxMemory")
set_per_process_memory_fraction = _needs_device("setMemoryFraction")
Event = _needs_device("acquireEvent")
