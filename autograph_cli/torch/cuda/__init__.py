"""`torch.cuda`, on a machine without a GPU: there is none, and what needs one says so."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from .. import _missing
from .._core.device import check, device as _device
from . import amp, nvtx

__all__ = ["amp", "is_available", "manual_seed", "manual_seed_all", "nvtx"]


class OutOfMemoryError(RuntimeError):
    """Raised where a device has no memory left, which is nowhere here."""


OutOfMemoryError.__module__ = "torch"


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


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Nothing."""
    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing was used."""


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def seed() -> None:
    """A new seed for the generator of the current GPU, of which there is none."""


def seed_all() -> None:
    """New seeds for the generators of all GPUs, of which there are none."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all GPUs: an empty list."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Put back what `get_rng_state_all` gave; AssertionError for the state of a GPU."""
    for _ in new_states:
        _needs_gpu()


def get_arch_list() -> list[str]:
    """The kinds of GPU that are known: none."""
    return []


def _needs_gpu(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises the error of a machine without a GPU."""
    check("cuda")
    raise AssertionError("unreachable")


current_device = get_device_name = get_device_properties = get_device_capability = synchronize = _needs_gpu
current_stream = default_stream = init = initial_seed = get_rng_state = set_rng_state = ipc_collect = _needs_gpu
mem_get_info = can_device_access_peer = set_per_process_memory_fraction = memory_summary = utilization = _needs_gpu
is_current_stream_capturing = memory_snapshot = current_blas_handle = _needs_gpu


def set_device(device: Any) -> None:
    """AssertionError; a negative number is no device, and may be set."""
    if _index(device) >= 0:
        _needs_gpu()


def _index(device: Any) -> int:
    """The number of a GPU; ValueError for another kind of device."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    found = _device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return found.index or 0


class device:
    """Within the block, a GPU is the current one; RuntimeError, unless it is a negative number or None."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *_: Any) -> None: ...


class device_of(device):
    """Within the block, the GPU of a tensor is the current one, if it is on one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device())


class Stream:
    """A queue of work for a GPU; RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support")


class Event(Stream):
    """A mark in such a queue; RuntimeError."""


class CUDAGraph(Stream):
    """Work for a GPU, recorded; RuntimeError."""


class graph(Stream):
    """As `Stream`: without a GPU nothing is captured."""


class StreamContext:
    """Within the block, work goes to a queue; None is no queue."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _needs_gpu()

    def __exit__(self, *_: Any) -> None:
        pass


def stream(stream: Any) -> StreamContext:
    """Within the block, work goes to a queue; None is no queue."""
    return StreamContext(stream)


_missing.speak_for(amp, nvtx)
