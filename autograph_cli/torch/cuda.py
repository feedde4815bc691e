"""`torch.cuda`, on a machine without a GPU: there is none, and what needs one says so."""

from __future__ import annotations

from typing import Any, NoReturn

from ._core.device import check


def is_available() -> bool:
    """False: the engine computes on the CPU."""
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialize."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current GPU, of which there is none."""


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all GPUs, of which there are none."""


def empty_cache() -> None:
    """Frees memory that the GPU keeps for later, which is none."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing was used."""


def _needs_gpu(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises the error of a machine without a GPU."""
    check("cuda")
    raise AssertionError("unreachable")


current_device = get_device_name = get_device_properties = get_device_capability = set_device = synchronize = _needs_gpu
current_stream = default_stream = Stream = Event = init = _needs_gpu
