"""The result of a profile: events, their averages, and their table."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class Interval:
    """From when to when, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Return how long."""
        return self.end - self.start


class _Times:
    """Times of events and averages, in microseconds."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    device_time = cuda_time = 0.0
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total), doc="`cpu_time_total` with a unit.")
    self_cpu_time_total_str = property(
        lambda self: format_time(self.self_cpu_time_total), doc="`self_cpu_time_total` with a unit."
    )
    cpu_time_str = property(lambda self: format_time(self.cpu_time), doc="`cpu_time` with a unit.")


class FunctionEvent(_Times):
    """One operation, one node of a backward pass, or one labelled block."""

    count = 1
    is_async = is_remote = False

    def __init__(self, name: str, start: int, thread: int, shapes: Any = (), number: int = -1) -> None:
        self.name = name
        self.begun, self.ended = start, start
        """In nanoseconds."""
        self.thread = thread
        self.input_shapes = list(shapes)
        self.sequence_nr = number
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.made = 0
        """Bytes of memory that this event itself made."""
        self.is_user_annotation = False
        self.id = 0

    @property
    def key(self) -> str:
        """The name under which events are averaged: all steps of a profiler are one."""
        return "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name

    @property
    def time_range(self) -> Interval:
        """Return when the event began and ended, in microseconds."""
        return Interval(self.begun / 1e3, self.ended / 1e3)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Return how long the event took, in microseconds."""
        return (self.ended - self.begun) / 1e3

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Without the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes that the event itself took, without the events inside."""
        return self.made

    @property
    def cpu_memory_usage(self) -> int:
        """With the events inside."""
        return self.made + sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} thread={self.thread} "
            f"input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Times):
    """The sum over all events of one name."""

    def __init__(self, key: str = "Total", input_shapes: Any = None) -> None:
        self.key = key
        self.count = 0
        self.input_shapes = input_shapes
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Count another event, or average."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.is_user_annotation |= other.is_user_annotation
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} "
            f"self_cpu_time={format_time(self.self_cpu_time_total / max(self.count, 1))} cpu_time={self.cpu_time_str} "
            f"input_shapes={'' if self.input_shapes is None else self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events in the order in which they began, or averages of them."""

    def __init__(self, events: Iterable[Any] = (), profile_memory: bool = False, shapes: bool = False) -> None:
        super().__init__(events)
        self._memory = profile_memory
        self._shapes = shapes

    @property
    def self_cpu_time_total(self) -> float:
        """The time of everything, in microseconds."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any) -> EventList:
        """The events of each name, or of each name and shapes of inputs, as one."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else None
            key = event.key, str(shapes)
            found.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(found.values(), self._memory, group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, a line each; `sort_by` is one of their numbers (`cpu_time_total`, `count`, ...), the
        highest first."""
        rows = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            if not hasattr(FunctionEventAvg(), sort_by):
                raise AttributeError(f"a profile has no numbers named {sort_by!r} to sort by")
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        total = self.self_cpu_time_total
        columns = _columns(rows, total, self._memory, self._shapes, (max_name_column_width, max_shapes_column_width))
        line = "".join("-" * width + "  " for _, width, _ in columns)
        lines = [line, "".join(f"{name:>{width}}  " for name, width, _ in columns), line]
        shown = rows if row_limit < 0 else rows[:row_limit]
        lines += ["".join(f"{show(e):>{width}}  " for _, width, show in columns) for e in shown]
        above = ["=" * len(line), header] if header is not None else []
        return "\n".join([*above, *lines, line, f"Self CPU time total: {format_time(total)}", ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a file that `chrome://tracing` and Perfetto show."""
        process = os.getpid()
        events = [
            {
                "ph": "X",
                "cat": "user_annotation" if e.is_user_annotation else "cpu_op",
                "name": e.name,
                "pid": process,
                "tid": e.thread,
                "ts": e.begun / 1e3,
                "dur": e.cpu_time_total,
                "args": {
                    "External id": e.id,
                    **({"Sequence number": e.sequence_nr} if e.sequence_nr >= 0 else {}),
                    **({"Input Dims": e.input_shapes} if self._shapes else {}),
                    **({"Bytes": e.made} if self._memory else {}),
                },
            }
            for e in self
        ]
        written = json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events})
        beside = f"{os.fspath(path)}.{process}.{threading.get_ident()}.part"
        with open(beside, "w", encoding="utf-8") as file:
            file.write(written)
        os.replace(beside, path)


Column = tuple[str, int, Callable[[Any], str]]


def _columns(rows: list[Any], total: float, memory: bool, shapes: bool, limits: tuple[int, int]) -> list[Column]:
    """The name of each column, its width, and what it says of an event."""

    def shortened(text: str, limit: int) -> str:
        return text if len(text) <= limit else text[: limit - 3] + "..."

    def share(time: float) -> str:
        return f"{time * 100 / total if total else 0:.2f}%"

    names = max((len(e.key) for e in rows), default=8) + 4
    columns: list[Column] = [
        ("Name", min(names, limits[0]), lambda e: shortened(e.key, limits[0])),
        ("Self CPU %", 12, lambda e: share(e.self_cpu_time_total)),
        ("Self CPU", 12, lambda e: format_time(e.self_cpu_time_total)),
        ("CPU total %", 12, lambda e: share(e.cpu_time_total)),
        ("CPU total", 12, lambda e: format_time(e.cpu_time_total)),
        ("CPU time avg", 12, lambda e: format_time(e.cpu_time)),
    ]
    if memory:
        columns.append(("CPU Mem", 12, lambda e: format_memory(e.cpu_memory_usage)))
        columns.append(("Self CPU Mem", 12, lambda e: format_memory(e.self_cpu_memory_usage)))
    columns.append(("# of Calls", 12, lambda e: str(e.count)))
    if shapes:
        wide = min(max((len(str(e.input_shapes)) for e in rows), default=8) + 4, limits[1])
        columns.append(("Input Shapes", wide, lambda e: shortened(str(e.input_shapes), limits[1])))
    return columns


def format_time(microseconds: float) -> str:
    """A time in the unit that suits it.

    >>> format_time(1500)
    '1.500ms'
    """
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= scale:
            return f"{microseconds / scale:.3f}{unit}"
    return f"{microseconds:.3f}us"


def format_memory(count: int) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= scale:
            return f"{count / scale:.2f} {unit}"
    return f"{count} B"
