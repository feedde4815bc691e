"""The device `cuda`: CuPy's arrays. CuPy is imported when a script first asks for the device.

Whoever asks in vain is told which is missing, CuPy or a GPU, and the command that helps.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._above import above
from .._core.base import device as devices
from .._core.base.device import CPU, META, device
from .._core.base.state import process_state, thread_state
from .._core.streams.philox import BLOCK, Philox
from .._core.streams.stream import DEFAULT_SEED
from . import Array
from .backends import DENSE, ELSEWHERE, Backend, backend_of, device_of
from .cupy_functions import Functions, window
from .memory_counts import counting
from .meta import NO_DATA, without_memory
from .unusual import UNUSUAL

NO_CUPY = (
    "Torch not compiled with CUDA enabled. autograph computes on a GPU by CuPy, which is not installed. `pip install "
    "autograph-cli[cuda12]` or, for a driver of CUDA 13, `pip install autograph-cli[cuda13]` installs it; the first "
    "lines of `nvidia-smi` name the driver's version"
)
NO_DRIVER = (
    "Found no NVIDIA driver on your system. Check that there is an NVIDIA GPU and that its driver is installed: "
    "`nvidia-smi` shows both"
)
OLD_DRIVER = (
    "The NVIDIA driver on your system is too old: it is one for CUDA {}, and the CuPy that is installed needs one for "
    "CUDA {}. Update the driver, or install a CuPy that it can serve: `pip install autograph-cli[cuda12]` for CUDA 12"
)
NO_GPU = "Found no GPU, beside an NVIDIA driver: `nvidia-smi` shows which GPUs there are. CUDA says: {}"
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start "
    "method"
)
DTYPES = frozenset(("bfloat16", *(np.dtype(code).name for code in "?bhilBHILefdFD")))
"""The dtypes that CuPy has."""


class OutOfMemoryError(RuntimeError):
    """Raised where a GPU has no memory left."""


OutOfMemoryError.__module__ = "torch"


@functools.cache
def on(index: int | None) -> device:
    """The device of a GPU."""
    return device("cuda", index)


class Cuda(Backend):
    """Arrays in the memory of a GPU."""

    type = "cuda"

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.array: type = cupy.ndarray
        self.xp = Functions(cupy)
        self.counts = counting(cupy)
        cupy.cuda.set_allocator(self.allocate)
        self.streams: dict[int | None, Philox] = {}
        """The default random stream of each GPU that has drawn."""
        self.bound: dict[Any, Any] = {}
        """The kernel of each operation that has run."""
        self.used: list[tuple[Any, Any]] = []
        """Memory that no tensor has any more, and the mark in another queue that has to be done before it is free."""

    @functools.cached_property
    def kernels(self) -> Any:
        return above("_kernels.gpu.cuda_kernels", "CudaKernels")(self.xp)

    def device(self, raw: Array) -> device:
        return on(raw.device.id)

    def owner(self, raw: Array) -> Any:
        raw = raw if raw.base is None else raw.base
        memory = raw.data.mem
        return memory._owner if isinstance(memory, self.cupy.cuda.UnownedMemory) else raw

    def address(self, raw: Array) -> int:
        return int(raw.data.ptr)

    def empty(self, shape: Any, dtype: Any) -> Any:
        return self.cupy.empty(shape, dtype)

    def empty_strided(self, shape: tuple[int, ...], strides: Sequence[int], dtype: Any) -> Any:
        if not all(shape):
            return self.empty(shape, dtype)
        flat = self.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)), dtype)
        return self.strided(flat, shape, [s * flat.itemsize for s in strides])

    def strided(self, raw: Array, shape: tuple[int, ...], strides: Sequence[int]) -> Any:
        return window(self.cupy, self.owner(raw), raw.data.ptr, shape, strides, raw.dtype)

    def window(self, raw: Array, shape: tuple[int, ...], strides: Sequence[int], offset: int, kind: Any) -> Any:
        if not all(shape):
            return self.empty(shape, kind)
        root, start = self.reach(raw, shape, strides, offset, kind)
        steps = [s * kind.itemsize for s in strides]
        return window(self.cupy, root, root.data.ptr + start, shape, steps, kind)

    @contextlib.contextmanager
    def computing(self, where: devices.device) -> Iterator[None]:
        """Within the block a GPU is the current one."""
        cuda = self.cupy.cuda
        with contextlib.nullcontext() if cuda.runtime.getDevice() == where.index else cuda.Device(where.index):
            yield

    def multiply_in_tf32(self, allowed: bool) -> None:
        """Return whether float32 is multiplied in TF32, where the GPU has it."""
        linalg = importlib.import_module("cupy._core._routines_linalg")
        for dtype in ("float32", "complex64"):
            linalg.set_compute_type(dtype, linalg.COMPUTE_TYPE_TF32 if allowed else linalg.COMPUTE_TYPE_DEFAULT)

    def record_stream(self, raw: Array, stream: Any) -> None:
        """Keep memory that a queue uses beside the one it was made in until it has done what it was told by then.

        CuPy's pool knows of the one it was made in alone.
        """
        owner = self.owner(raw)
        weakref.finalize(owner, self._release, owner.data.mem, stream).atexit = False

    def _release(self, memory: Any, stream: Any) -> None:
        with self.cupy.cuda.Device(memory.device_id):
            self.used.append((memory, stream.record()))

    def allocate(self, size: int) -> Any:
        """Memory of the current GPU, from CuPy's pool; PyTorch's error where there is none left."""
        used, self.used = self.used, []
        self.used += [kept for kept in used if not kept[1].done]
        pool, cuda = self.cupy.get_default_memory_pool(), self.cupy.cuda
        try:
            return pool.malloc(size)
        except cuda.memory.OutOfMemoryError as error:
            if self.used:
                for _, mark in self.used:
                    mark.synchronize()
                self.used.clear()
                return self.allocate(size)
            index = cuda.runtime.getDevice()
            self.counts.of[index].num_ooms += 1
            free, total = cuda.Device(index).mem_info
            raise OutOfMemoryError(
                f"CUDA out of memory. {str(error).rstrip('.')}. GPU {index} has a total capacity of {total} bytes, of "
                f"which {free} are free; {pool.used_bytes()} are held by tensors"
            ) from None

    def new_stream(self, index: int | None, seed: int) -> Philox:
        """A random stream of a GPU, for as many threads as it runs at once."""
        known = self.cupy.cuda.runtime.getDeviceProperties(index)
        blocks = known["multiProcessorCount"] * (known["maxThreadsPerMultiProcessor"] // BLOCK)
        return Philox(seed, self.xp, blocks * BLOCK)

    def full(self, shape: Any, number: Any, dtype: Any, index: int | None) -> Any:
        """An array full of a number on a GPU."""
        with self.cupy.cuda.Device(index):
            return self.cupy.full(shape, number, dtype)

    def to_host(self, raw: Array) -> Any:
        self.xp.check()
        return raw.get()[()]

    def from_host(self, array: Any, index: int | None) -> Any:
        """A copy of an array of NumPy, or of one of its scalars, on a GPU; NotImplementedError for other dtypes."""
        if array.dtype.name not in DTYPES:
            raise NotImplementedError(
                f"torch.{array.dtype.name} is not available on the device 'cuda': CuPy has it not"
            )
        with self.cupy.cuda.Device(index):
            # A number goes with the call, without a copy of memory.
            return self.cupy.asarray(array) if array.ndim else self.cupy.full((), array.item(), array.dtype)


def _refused(*_: Any, **__: Any) -> Any:
    raise RuntimeError(FORKED)


class Forked(Cuda):
    """The backend in a process that was forked from one that uses a GPU: CUDA does not survive a fork."""

    _refuse: Any = _refused
    computing = to_host = from_host = full = empty = window = strided = _refuse


def _fork() -> None:
    """Refuse GPUs in a process that was forked."""
    if opened.cache_info().currsize:
        opened().__class__ = Forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fork)


def _unserved(runtime: Any, said: Any) -> RuntimeError:
    """Return why there is no GPU: no driver, an old one, or only a driver."""
    driver, needed = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if not driver:
        return RuntimeError(NO_DRIVER)
    if driver < needed and "InsufficientDriver" in str(said):
        return RuntimeError(OLD_DRIVER.format(*(f"{x // 1000}.{x % 1000 // 10}" for x in (driver, needed))))
    return RuntimeError(NO_GPU.format(said))


@functools.cache
def opened() -> Cuda:
    """The backend, once CuPy is imported and has a GPU; AssertionError without CuPy, RuntimeError without a GPU."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        raise AssertionError(NO_CUPY) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _unserved(cupy.cuda.runtime, error) from None
    if not count:
        raise _unserved(cupy.cuda.runtime, "no device")
    backend = Cuda(cupy)
    ELSEWHERE[backend.array] = backend
    DENSE.add(backend.array)
    UNUSUAL.add(backend.array)
    if _tf32:
        backend.multiply_in_tf32(True)
    return backend


_tf32 = False
"""True once a script has allowed it."""


def allow_tf32(allowed: bool) -> None:
    """Return whether GPUs multiply float32 in TF32, those that are used later too."""
    global _tf32
    _tf32 = allowed
    if opened.cache_info().currsize:
        opened().multiply_in_tf32(allowed)


def closed() -> None:
    """Forget the backend, for tests that put another library in its place."""
    if opened.cache_info().currsize:
        kind = opened().array
        opened().counts.__exit__()
        opened().cupy.cuda.set_allocator(opened().cupy.get_default_memory_pool().malloc)
        del ELSEWHERE[kind]
        DENSE.discard(kind)
        UNUSUAL.discard(kind)
        opened.cache_clear()


def place(where: device) -> device:
    """A GPU by its number, the current one where that is not given; RuntimeError where it is not there."""
    backend = opened()
    if isinstance(backend, Forked):
        raise RuntimeError(FORKED)
    if where.index is None:
        return on(backend.cupy.cuda.runtime.getDevice())
    count = backend.cupy.cuda.runtime.getDeviceCount()
    if where.index >= count:
        raise RuntimeError(f"CUDA error: invalid device ordinal: there is no {str(where)!r}, only {count} device(s)")
    return on(where.index)


def is_available() -> bool:
    """Return whether CuPy is installed and there is a GPU."""
    try:
        opened()
    except (AssertionError, RuntimeError):
        return False
    return True


@contextlib.contextmanager
def on_gpu(where: device) -> Iterator[None]:
    """While it lasts, tensors are made on a GPU."""
    before, thread_state.place = thread_state.place, where
    process_state.special += 1
    try:
        with opened().cupy.cuda.Device(where.index):
            yield
    finally:
        thread_state.place = before
        process_state.special -= 1


def mark(values: Any) -> Any:
    """A mark in the queue of the GPU that the first tensor of a GPU among values is on; None where there is no such
    tensor."""
    where = _gpu_of(values) if opened.cache_info().currsize else None
    if where is None:
        return None
    cuda = opened().cupy.cuda
    with cuda.Device(where.index):
        found = cuda.Event()
        found.record()
    return where, found


def since(before: Any) -> Callable[[], int] | None:
    """Return what waits until a GPU has come to now, and tells the nanoseconds since a mark; None for no mark."""
    if before is None:
        return None
    cuda, (where, start) = opened().cupy.cuda, before
    with cuda.Device(where.index):
        end = cuda.Event()
        end.record()

    def nanoseconds() -> int:
        if not end.done:
            end.synchronize()
        milliseconds: float = cuda.get_elapsed_time(start, end)
        return round(milliseconds * 1e6)

    return nanoseconds


def _gpu_of(values: Any) -> device | None:
    for x in values:
        if x.__class__ in (tuple, list):
            where = _gpu_of(x)
        else:
            raw = getattr(x, "_ag_raw", x)
            where = device_of(raw) if hasattr(raw, "strides") else None
        if where is not None and where.type == "cuda":
            return where
    return None


def of_other_library(data: Any) -> Any:
    """An array over the memory that an object of another library has on a GPU; None for what has none there."""
    elsewhere = data.__class__.__module__ != "builtins" and hasattr(data, "__cuda_array_interface__")
    return opened().cupy.asarray(data) if elsewhere else None


def on_host(raw: Array) -> Any:
    """An array whose elements can be read where it has some: a copy of one that is on a GPU."""
    backend = ELSEWHERE.get(raw.__class__)
    return raw if backend is None else backend.to_host(raw)


_seed = DEFAULT_SEED
"""The seed at which streams of GPUs start that have not drawn yet."""


def default_stream(where: device) -> Philox:
    """The default random stream of a GPU."""
    backend, index = opened(), place(where).index
    if index not in backend.streams:
        backend.streams[index] = backend.new_stream(index, _seed)
    return backend.streams[index]


def seed_all(seed: int) -> None:
    """Start the default random streams of all GPUs over; of those that have not been used yet, when they are."""
    global _seed
    _seed = seed
    if opened.cache_info().currsize:
        opened().streams.clear()


def states() -> dict[int | None, Array]:
    """The states of the default random streams of GPUs that have drawn."""
    known = opened().streams if opened.cache_info().currsize else {}
    return {index: stream.get_state() for index, stream in known.items()}


def set_states(known: dict[int | None, Array]) -> None:
    """Let the default random streams of GPUs go on from states, and those that have none start over."""
    for index, stream in (opened().streams if opened.cache_info().currsize else {}).items():
        stream.manual_seed(_seed)
        if index in known:
            stream.set_state(known[index])


def drawing_for(where: device) -> Any:
    """Within the block, random numbers are those of a device."""
    return on_gpu(where) if where.type == "cuda" else contextlib.nullcontext()


def moved(raw: Array, where: device) -> Any:
    """A raw array on a device, its dimensions in the same order: itself where it is there.

    NotImplementedError for one without memory that is to get some.
    """
    here = device_of(raw)
    if here == where:
        return raw
    if where == META:
        return without_memory(raw)
    if here == META:
        raise NotImplementedError(NO_DATA)
    order = sorted(range(raw.ndim), key=lambda d: -raw.strides[d])
    host = backend_of(raw).to_host(raw.transpose(order))
    made = host if where == CPU else opened().from_host(host, where.index)
    return made.transpose(sorted(range(raw.ndim), key=order.__getitem__)) if raw.ndim else made
