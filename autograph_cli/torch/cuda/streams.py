"""Queues of work for a GPU, and marks in them."""

from __future__ import annotations

from typing import Any

from .._arrays import cuda
from .._core.base.device import check, device as _device
from ._devices import gpu


def _library(name: str) -> Any:
    """CuPy's `cuda`; RuntimeError where there is no GPU."""
    if not cuda.is_available():
        raise RuntimeError(f"torch.cuda.{name} requires CUDA support")
    return cuda.opened().cupy.cuda


class Stream:
    """A queue of work for a GPU; RuntimeError without one."""

    device: _device
    _stream: Any

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        library = _library(type(self).__name__)
        self.device = gpu(None if isinstance(device, int) and device < 0 else device)
        with library.Device(self.device.index):
            self._stream = library.Stream(non_blocking=True, priority=priority)

    @property
    def device_index(self) -> int:
        """The number of its GPU."""
        return self.device.index or 0

    @property
    def cuda_stream(self) -> int:
        """The handle that CUDA knows it by."""
        return int(self._stream.ptr)

    stream_id = cuda_stream

    @property
    def priority(self) -> int:
        """Return what comes first where a GPU has several queues: the lower number."""
        return int(self._stream.priority)

    def synchronize(self) -> None:
        """Wait until all of it is done."""
        self._stream.synchronize()
        cuda.opened().xp.check()

    def query(self) -> bool:
        """Return whether all of it is done."""
        return bool(self._stream.done)

    def wait_event(self, event: Event) -> None:
        """Make later work wait for a mark in another queue."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make later work wait for the work of another queue."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """A mark after what has been told."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._contexts = [*getattr(self, "_contexts", ()), StreamContext(self)]
        self._contexts[-1].__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._contexts.pop().__exit__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self.device) == (other.cuda_stream, other.device)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


def _over(stream: Any, where: _device) -> Stream:
    """A queue that CuPy has."""
    result = object.__new__(Stream)
    result._stream, result.device = stream, where
    return result


class Event:
    """A mark in a queue; two of them tell the time between them. RuntimeError without a GPU."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        _library("Event")
        self._options = {"block": blocking, "disable_timing": not enable_timing, "interprocess": interprocess}
        self._event: Any = None
        """CuPy's, on the GPU whose queue was marked first."""

    @property
    def cuda_event(self) -> int:
        """The handle that CUDA knows it by; 0 before it is recorded."""
        return 0 if self._event is None else int(self._event.ptr)

    def record(self, stream: Stream | None = None) -> None:
        """Mark what a queue has been told until now."""
        stream, library = current_stream() if stream is None else stream, _library("Event")
        with library.Device(stream.device.index):
            if self._event is None:
                self._event = library.Event(**self._options)
            self._event.record(stream._stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Make later work of a queue wait until the work before the mark is done; nothing before it is
        recorded."""
        if self._event is not None:
            (current_stream() if stream is None else stream)._stream.wait_event(self._event)

    def synchronize(self) -> None:
        """Wait until what is before the mark is done."""
        if self._event is not None:
            self._event.synchronize()
            cuda.opened().xp.check()

    def query(self) -> bool:
        """Return whether what is before the mark is done; True before it is recorded."""
        return self._event is None or bool(self._event.done)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another one.

        ValueError for events that were not made for it or not recorded; RuntimeError for those that are not done.
        """
        pair = (self, end_event)
        if any(event._options["disable_timing"] for event in pair):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if any(event._event is None for event in pair):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not all(event.query() for event in pair):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return float(_library("Event").get_elapsed_time(self._event, end_event._event))

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {f'{self.cuda_event:#x}' if self.cuda_event else 'uninitialized'}>"


class CUDAGraph:
    """Work for a GPU, recorded; RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _library(type(self).__name__)
        raise NotImplementedError(f"torch.cuda.{type(self).__name__} is not available in autograph's engine")


class graph(CUDAGraph):
    """As `CUDAGraph`: nothing is captured."""


class StreamContext:
    """Within the block, work goes to a queue, and its GPU is the current one; None is no queue."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            check("cuda")
            self._before = current_stream()
            self._there = current_stream(self.stream.device)
            set_stream(self.stream)

    def __exit__(self, *_: Any) -> None:
        if self.stream is not None:
            set_stream(self._there)
            set_stream(self._before)


def stream(stream: Stream | None) -> StreamContext:
    """Within the block, work goes to a queue, and its GPU is the current one; None is no queue."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Let work go to a queue from now on, and make its GPU the current one; None is no queue."""
    if stream is not None:
        _library("Stream").Device(stream.device.index).use()
        stream._stream.use()


def current_stream(device: Any = None) -> Stream:
    """The queue that work goes to."""
    where = gpu(device)
    return _over(_library("Stream").get_current_stream(where.index), where)


def default_stream(device: Any = None) -> Stream:
    """The queue that work goes to where no other is chosen."""
    where = gpu(device)
    return _over(_library("Stream").Stream.null, where)
