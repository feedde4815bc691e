"""`torch.cuda`: the GPUs that CuPy finds. Without CuPy or without a GPU there is none, and what needs one says so."""

from __future__ import annotations

import secrets
from typing import Any, NoReturn

from .. import _missing
from .._arrays import cuda
from .._arrays.cuda import OutOfMemoryError as OutOfMemoryError, is_available as is_available
from .._core.base.device import check
from .._core.streams.philox import Philox
from .._core.tape.tensor import Tensor, make
from .._ops.tensors import legacy
from . import amp, memory, nvtx
from ._devices import gpu as _gpu, index_of as _index, is_initialized as is_initialized
from .memory import *  # noqa: F403
from .streams import (
    CUDAGraph as CUDAGraph,
    Event as Event,
    Stream as Stream,
    StreamContext as StreamContext,
    current_stream as current_stream,
    default_stream as default_stream,
    graph as graph,
    set_stream as set_stream,
    stream as stream,
)

__all__ = ["amp", "is_available", "manual_seed", "manual_seed_all", "memory", "nvtx", *memory.__all__]


def init() -> None:
    """Look for a GPU; AssertionError or RuntimeError where there is none."""
    check("cuda")


def device_count() -> int:
    """Return how many GPUs there are."""
    return int(cuda.opened().cupy.cuda.runtime.getDeviceCount()) if is_available() else 0


def current_device() -> int:
    """The number of the GPU that `cuda` stands for."""
    return _gpu(None).index or 0


def set_device(device: Any) -> None:
    """Make a GPU the one that `cuda` stands for; a negative number is no device, and may be set."""
    if _index(device) >= 0:
        cuda.opened().cupy.cuda.Device(_gpu(device).index).use()


def synchronize(device: Any = None) -> None:
    """Wait until a GPU has done all that it was told."""
    where = _gpu(device)
    cuda.opened().cupy.cuda.Device(where.index).synchronize()
    cuda.opened().xp.check()


def get_device_name(device: Any = None) -> str:
    """Return what a GPU is called."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The version of what a GPU can do."""
    found = get_device_properties(device)
    return found.major, found.minor


class _CudaDeviceProperties:
    """The properties of a GPU."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.name = known["name"].decode()
        self.major: int = known["major"]
        self.minor: int = known["minor"]
        self.total_memory: int = known["totalGlobalMem"]
        self.multi_processor_count: int = known["multiProcessorCount"]
        self.max_threads_per_multi_processor: int = known["maxThreadsPerMultiProcessor"]

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Name, memory and processors of a GPU."""
    where = _gpu(device)
    return _CudaDeviceProperties(cuda.opened().cupy.cuda.runtime.getDeviceProperties(where.index))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether tensors of a GPU may be of bfloat16: False without a GPU."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def manual_seed(seed: int) -> None:
    """Start the random stream of the current GPU over; nothing without a GPU."""
    if is_available():
        _stream(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Start the random streams of all GPUs over."""
    cuda.seed_all(int(seed))


def seed() -> None:
    """A new seed for the random stream of the current GPU; nothing without a GPU."""
    if is_available():
        _stream(None).seed()


def seed_all() -> None:
    """One new seed for the random streams of all GPUs."""
    cuda.seed_all(secrets.randbits(53))


def initial_seed() -> int:
    """The seed of the random stream of the current GPU."""
    return _stream(None).initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the random stream of a GPU, as 16 bytes."""
    return make(_stream(device).get_state())


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Let the random stream of a GPU go on from a state."""
    _stream(device).set_state(new_state._ag_raw)


def get_rng_state_all() -> list[Tensor]:
    """The states of the random streams of all GPUs."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Put back what `get_rng_state_all` gave."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def _stream(device: Any) -> Philox:
    return cuda.default_stream(_gpu(device))


def is_tf32_supported() -> bool:
    """Return whether the GPU can multiply float32 in TF32, which `set_float32_matmul_precision` allows."""
    return is_available() and get_device_capability()[0] >= 8


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Return whether a GPU may read the memory of another one."""
    pair = _gpu(device).index, _gpu(peer_device).index
    return bool(cuda.opened().cupy.cuda.runtime.deviceCanAccessPeer(*pair))


def ipc_collect() -> None:
    """Nothing: no memory is shared between processes."""


def get_arch_list() -> list[str]:
    """The kinds of GPU that are known: none."""
    return []


def _needs_gpu(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises the error of a machine without a GPU, or says that with one this is not available either."""
    check("cuda")
    raise NotImplementedError("this function of torch.cuda is not available in autograph's engine")


utilization = is_current_stream_capturing = memory_snapshot = current_blas_handle = _needs_gpu
temperature = power_draw = clock_rate = memory_usage = device_memory_used = _needs_gpu
get_sync_debug_mode = set_sync_debug_mode = cudart = make_graphed_callables = _needs_gpu


class device:
    """Within the block, a GPU is the current one; nothing for a negative number or None."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)
        self._current: Any = None

    def __enter__(self) -> None:
        if self.idx >= 0:
            if not is_available():
                raise RuntimeError("PyTorch was compiled without CUDA support")
            self._current = cuda.opened().cupy.cuda.Device(_gpu(self.idx).index)
            self._current.__enter__()

    def __exit__(self, *_: Any) -> None:
        if self._current is not None:
            self._current.__exit__()


class device_of(device):
    """Within the block, the GPU of a tensor is the current one, if it is on one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device())


globals().update(legacy.TYPED_ON_GPU)  # FloatTensor and its kin
_missing.speak_for_parts(__name__)
