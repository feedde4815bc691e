"""The queues of work of the stand-in's device, and the marks in them.

What a queue is told is computed at once, and counts as done only when somebody has waited for it, which is counted: so who
reads what may not be done yet is found out.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter
from typing import Any

transfers: Counter[str] = Counter()
"""Copies "to the device" and "to the host", how often elements were asked "for control", and how often somebody
"waits"."""


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's."""


class Event:
    """A mark in a queue of work."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.ptr = id(self)
        self._timed = not disable_timing
        self._stream: Stream | None = None
        self._number = self._at = 0

    @property
    def done(self) -> bool:
        return self._stream is None or self._stream._did >= self._number

    def record(self, stream: Any = None) -> None:
        self._stream = get_current_stream() if stream is None else stream
        self._stream._told += 1
        self._number, self._at = self._stream._told, time.perf_counter_ns()

    def synchronize(self) -> None:
        transfers["waits"] += 1
        if self._stream is not None:
            self._stream._did = max(self._stream._did, self._number)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds from one mark to another; CUDA's errors for what was not recorded, not timed, or is not done."""
    for event in (start_event, end_event):
        if event._stream is None or not event._timed:
            raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
        if not event.done:
            raise CUDARuntimeError("cudaErrorNotReady: device not ready")
    return (end_event._at - start_event._at) / 1e6


class Stream:
    """A queue of work."""

    null: Any = None
    _numbers = 0

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        Stream._numbers += not null
        self.ptr, self.device_id, self.priority = 0 if null else 16 * Stream._numbers, -1 if null else 0, priority or 0
        self._told = self._did = 0
        self._waits: list[Event] = []
        """The marks in other queues that it has waited for."""
        _all.add(self)

    @property
    def done(self) -> bool:
        return self._did >= self._told

    def __enter__(self) -> Stream:
        _thread.stack.append(_thread.current)
        return self.use()

    def __exit__(self, *_: Any) -> None:
        _thread.current = _thread.stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def use(self) -> Stream:
        _thread.current = self
        return self

    def record(self, event: Any = None) -> Any:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        self._waits.append(event)
        self._told += 1

    def synchronize(self) -> None:
        transfers["waits"] += 1
        self.finish()

    def finish(self) -> None:
        """All of it is done."""
        self._did = self._told
        for event in self._waits:
            if event._stream is not None:
                event._stream._did = max(event._stream._did, event._number)


_all: weakref.WeakSet[Stream] = weakref.WeakSet()
Stream.null = Stream(null=True)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.current, self.stack = Stream.null, []  # type: ignore[var-annotated]


_thread = _Thread()


def get_current_stream(device_id: int = -1) -> Stream:
    """The queue that work goes to."""
    return _thread.current


def synchronize() -> None:
    """Wait until all queues are done."""
    transfers["waits"] += 1
    for stream in _all:
        stream.finish()


def tell() -> None:
    """The current queue is told of something to compute."""
    _thread.current._told += 1


def read() -> None:
    """Elements are copied to the host, for which all of the current queue has to be done."""
    _thread.current.finish()
