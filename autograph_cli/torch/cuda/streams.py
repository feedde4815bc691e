"""Queues of work for a GPU, and marks in them."""

from __future__ import annotations

from typing import Any

from .._arrays import cuda
from .._core.device import check


def _library(name: str) -> Any:
    """CuPy's `cuda`; RuntimeError where there is no GPU."""
    if not cuda.is_available():
        raise RuntimeError(f"torch.cuda.{name} requires CUDA support")
    return cuda.opened().cupy.cuda


class Stream:
    """A queue of work for a GPU; RuntimeError without one."""

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        self._stream = options.get("over") or _library(type(self).__name__).Stream(non_blocking=True)

    def synchronize(self) -> None:
        """Wait until all of it is done."""
        self._stream.synchronize()

    def query(self) -> bool:
        """Whether all of it is done."""
        return bool(self._stream.done)

    def wait_event(self, event: Event) -> None:
        """What comes later waits for a mark in another queue."""
        self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """What comes later waits for what another queue has been told."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """A mark after what has been told."""
        event = Event() if event is None else event
        event.record(self)
        return event


class Event:
    """A mark in a queue; two of them tell the time between them. RuntimeError without a GPU."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._event = _library("Event").Event(block=blocking, disable_timing=not enable_timing)

    def record(self, stream: Stream | None = None) -> None:
        """Mark what a queue has been told until now."""
        self._event.record(None if stream is None else stream._stream)

    def synchronize(self) -> None:
        """Wait until what is before the mark is done."""
        self._event.synchronize()

    def query(self) -> bool:
        """Whether what is before the mark is done."""
        return bool(self._event.done)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another one."""
        return float(_library("Event").get_elapsed_time(self._event, end_event._event))


class CUDAGraph:
    """Work for a GPU, recorded; RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _library(type(self).__name__)
        raise NotImplementedError(f"torch.cuda.{type(self).__name__} is not available in autograph's engine")


class graph(CUDAGraph):
    """As `CUDAGraph`: nothing is captured."""


class StreamContext:
    """Within the block, work goes to a queue; None is no queue."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            check("cuda")
            self.stream._stream.__enter__()

    def __exit__(self, *_: Any) -> None:
        if self.stream is not None:
            self.stream._stream.__exit__()


def stream(stream: Stream | None) -> StreamContext:
    """Within the block, work goes to a queue; None is no queue."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The queue that work goes to."""
    check("cuda")
    return Stream(over=_library("Stream").get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The queue that work goes to where no other is chosen."""
    check("cuda")
    return Stream(over=_library("Stream").Stream.null)
