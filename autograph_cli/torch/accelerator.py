"""`torch.accelerator`: the GPUs that CuPy finds, by names that are the same for all kinds of devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import cuda
from ._arrays.cuda import is_available as is_available
from ._core.base.device import device as _device
from ._core.base.user_warnings import warn


def current_accelerator(check_available: bool = False) -> _device | None:
    """The kind of device that computes beside the CPU; None where there is none."""
    return _device("cuda") if is_available() else None


def device_count() -> int:
    """Return how many there are."""
    return cuda.device_count()


def _there(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function of `torch.cuda`; RuntimeError where there is no device."""

    def of_accelerator(*args: Any, **options: Any) -> Any:
        if not is_available():
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return run(*args, **options)

    of_accelerator.__name__, of_accelerator.__doc__ = run.__name__, run.__doc__
    return of_accelerator


synchronize = _there(cuda.synchronize)
current_device_index = _there(cuda.current_device)
set_device_index = _there(cuda.set_device)
current_stream = _there(cuda.current_stream)
set_stream = _there(cuda.set_stream)
empty_cache = _there(cuda.empty_cache)
get_memory_info = _there(cuda.mem_get_info)
memory_allocated = _there(cuda.memory_allocated)
max_memory_allocated = _there(cuda.max_memory_allocated)
memory_reserved = _there(cuda.memory_reserved)
max_memory_reserved = _there(cuda.max_memory_reserved)
memory_stats = _there(cuda.memory_stats)
reset_peak_memory_stats = _there(cuda.reset_peak_memory_stats)
reset_accumulated_memory_stats = _there(cuda.reset_accumulated_memory_stats)


def current_device_idx() -> int:
    """The former name of `current_device_index`."""
    warn("Use `current_device_index` instead.", FutureWarning)
    result: int = current_device_index()
    return result


def set_device_idx(device: Any) -> None:
    """The former name of `set_device_index`."""
    warn("Use `set_device_index` instead.", FutureWarning)
    set_device_index(device)


class device_index(cuda.device):
    """Within the block, the device with this number is the current one; nothing for None."""
