"""`torch.xpu`: there is no such device, and what needs one says so."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """False: the engine computes on the CPU."""
    return False


is_initialized = is_available


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the generator of the device, of which there is none."""


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Frees memory that the device keeps for later, which is none."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def _needs_device(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises the error of a machine without the device."""
    raise AssertionError("Torch not compiled with XPU enabled")


synchronize = current_device = set_device = get_device_name = get_device_properties = get_device_capability = (
    _needs_device
)
current_stream = Stream = Event = get_rng_state = set_rng_state = _needs_device
