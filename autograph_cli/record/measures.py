"""What is recorded on request beside the graph: numbers of tensors, times, formulas, and what ran inside of a
backward."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from autograph_cli.engines.protocol import BackwardCall, Engine, Inside, key_of
from autograph_cli.graph import Graph, Measured, Values
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.events import Event
from autograph_cli.record.values import summary

KINDS = ("values", "time", "formula", "inside")
"""What can be asked for."""


@dataclass(slots=True)
class Found:
    """What was measured in one step, by the numbers of events and of outputs."""

    formulas: bool = False
    values: dict[tuple[int, int], Values] = field(default_factory=dict)
    gradients: dict[int, tuple[Values | None, ...]] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    backward_times: dict[int, int] = field(default_factory=dict)
    inside: dict[int, Graph] = field(default_factory=dict)

    def of(self, engine: Engine, event: Event, outputs: int) -> Measured | None:
        """What there is of one node; None if nothing."""
        values = tuple([self.values.get((event.number, nr)) for nr in range(outputs)])
        measured = Measured(
            values if any(values) else (),
            self.gradients.get(event.number, ()),
            self.times.get(event.number),
            self.backward_times.get(event.number),
            engine.formula(event.cls) if self.formulas and event.cls else (),
            self.inside.get(event.number),
        )
        return None if measured == _NOTHING else measured


_NOTHING = Measured()


class _Here(threading.local):
    """What goes on in this thread."""

    took: tuple[Any, int] = None, 0
    """The operation that was computed last, and its nanoseconds."""
    opened: Inside | None = None


class Measures:
    """Follows an engine beside the log, and measures what was asked for."""

    def __init__(self, log: EventLog, kinds: Collection[str]) -> None:
        self.log, self.engine = log, log.engine
        self.kinds = frozenset(kinds)
        self._here = _Here()
        self._hooked = "time" in self.kinds or "inside" in self.kinds

    @property
    def found(self) -> Found:
        """What was measured in the step that is going on in this thread."""
        step = self.log.step
        if step.found is None:
            step.found = Found("formula" in self.kinds)
        found: Found = step.found
        return found

    @property
    def opened(self) -> Inside | None:
        """What gathers the operations of the node that is running."""
        return self._here.opened

    @opened.setter
    def opened(self, inside: Inside | None) -> None:
        self._here.opened = inside

    def start(self) -> None:
        """See every operation from now on, if that is needed."""
        if self._hooked:
            self.engine.watch_operations(self.computed)

    def finish(self) -> None:
        """See none any more."""
        if self._hooked:
            self.engine.watch_operations(None)
            self._hooked = False

    # -- events

    def computed(self, op: Any, args: tuple[Any, ...], outputs: list[Any], nanoseconds: int) -> None:
        """An operation was computed."""
        try:
            self._here.took = op, nanoseconds
            if self.opened is not None and self.engine.runs() is self.opened.node:
                self.opened.computed(op, args, outputs)
        except Exception as error:
            self.log.failed(error)

    def created(self, log: EventLog, event: Event, node: Any, outputs: Iterable[Any], newest: int) -> None:
        """A node was made; events after number `newest` came with it."""
        operation = self.engine.operation_of(node)
        if operation is not None and self._here.took[0] is operation and "time" in self.kinds:
            self.found.times[event.number] = self._here.took[1]
        self._here.took = None, 0
        if "values" not in self.kinds:
            return
        for nr, array in enumerate(self.engine.arrays_made(node, outputs)):
            self._note((event.number, nr), array)
        for other in list(log.since(newest)):  # reading the numbers may be an event itself
            if other is not event:
                self._given(other)
        for given in (*event.args, *event.next):
            met = None if given is None else log.known.get(key_of(given))
            if met is not None and not met.is_operation and (met.number, 0) not in self.found.values:
                self._given(met)

    def _given(self, event: Event) -> None:
        """Note the numbers of a leaf or an input."""
        tensor = None if event.is_operation else event.ref()
        if tensor is not None:
            self._note((event.number, 0), self.engine.array(tensor))

    def _note(self, position: tuple[int, int], array: Any) -> None:
        values = summary(array)
        if values is not None:
            self.found.values[position] = values

    def begins(self, log: EventLog, call: BackwardCall) -> None:
        """A backward call is about to run."""
        call.watch = _Watch(self, log)

    def ends(self, call: BackwardCall) -> None:
        """A backward call is over."""
        if isinstance(call.watch, _Watch):
            call.watch.ended()


class _Watch:
    """Measures the nodes that one backward call runs."""

    def __init__(self, measures: Measures, log: EventLog) -> None:
        self.measures, self.log = measures, log
        self.number: int | None = None
        """The event of the node that is running."""
        self.since = 0
        self.opened: Inside | None = None
        self.outer: Inside | None = None

    def __call__(self, node: Any, grad: Any) -> None:
        """A node is about to run, with this gradient."""
        try:
            self._begins(node, grad)
        except Exception as error:
            self.log.failed(error)

    def _begins(self, node: Any, grad: Any) -> None:
        self.ended()
        measures, found, engine = self.measures, self.measures.found, self.measures.engine
        with self.log.lock:
            self.number = self.log.known[engine.number(node)].number
        if "values" in measures.kinds and self.number not in found.gradients:
            several = grad if isinstance(grad, (list, tuple)) else [grad]
            found.gradients[self.number] = tuple([None if g is None else summary(engine.array(g)) for g in several])
        if "inside" in measures.kinds and not engine.adds_up(node) and self.number not in found.inside:
            said = summary if "values" in measures.kinds else None
            self.opened, self.outer = engine.inside(node, grad, said), measures.opened
            measures.opened = self.opened
            if self.opened is not None and engine.operation_of(node) is not None:
                self.opened.run(grad)
                measures.opened = self.outer
        self.since = time.perf_counter_ns()

    def ended(self) -> None:
        """The node that was running, if there was one, is done."""
        found, number = self.measures.found, self.number
        if number is None:
            return
        if "time" in self.measures.kinds:
            took = time.perf_counter_ns() - self.since
            found.backward_times[number] = found.backward_times.get(number, 0) + took
        if self.opened is not None:
            found.inside.setdefault(number, self.opened.graph())
            self.measures.opened, self.opened = self.outer, None
        self.number = None
