"""Measurements on request beside the graph: numbers of tensors, times, floating-point operations, memory, formulas, and
the operations inside a backward."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from autograph_cli.engines.protocol import BackwardCall, Inside, NodeFacts, key_of, number_of
from autograph_cli.graph.records import Exact, Flow, Graph, Measured, Number, Run, Values
from autograph_cli.graph.trace import Profile
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import INPUT, LEAF, BackwardEvent, Event
from autograph_cli.record.measure.allocations import Allocations, Held, placed
from autograph_cli.record.measure.exact import exact
from autograph_cli.record.measure.values import alike, is_finite, summary

if TYPE_CHECKING:
    from autograph_cli.record.measure.node_checks import NodeChecks, Point

KINDS = ("values", "time", "flops", "memory", "formula", "inside", "check", "deviation")
"""The words that `--record` takes, and `deviation`, which is measured where two runs are compared."""
_now = time.perf_counter_ns


Time = int | Callable[[], int]
"""Nanoseconds, or what waits for a GPU and tells them."""


@functools.cache
def clock_cost() -> int:
    """The nanoseconds that are measured where nothing is done: they are taken off each time."""
    return min(later - before for before, later in ((_now(), _now()) for _ in range(1000)))


@dataclass(slots=True)
class Found:
    """The measurements of one step, by the numbers of events and of outputs."""

    kinds: frozenset[str] = frozenset()
    values: dict[tuple[int, int], Values] = field(default_factory=dict)
    gradients: dict[int, tuple[Values | None, ...]] = field(default_factory=dict)
    times: dict[int, tuple[int, Time]] = field(default_factory=dict)
    """The time when each operation began, and how long it took."""
    flops: dict[int, int] = field(default_factory=dict)
    runs: dict[int, list[tuple[int, Time, int]]] = field(default_factory=dict)
    """The runs of backward nodes: when they began, how long they took, and their floating-point operations."""
    inside: dict[int, Graph] = field(default_factory=dict)
    queued: Callable[[], int] | None = None
    """The function that waits for all work that a GPU was given so far."""
    began: int = 0
    """The time when the first operation began; 0 before."""
    ended: int = 0
    measuring: int = 0
    """The time that recording and measuring took since then; until the end, the time taken before."""
    held: list[Held] = field(default_factory=list)
    ids: dict[int, int] = field(default_factory=dict)
    """The node of each event, in the graph that was built last."""
    checks: NodeChecks | None = None
    points: dict[int, Point] = field(default_factory=dict)
    checked: dict[int, tuple[float | None, str]] = field(default_factory=dict)
    """The worst error of nodes' derivatives, and what is wrong."""
    nonfinite: dict[int, list[int]] = field(default_factory=dict)
    """The backward calls that gave NaN or infinity to nodes."""
    exact: dict[tuple[int, int], Exact] = field(default_factory=dict)
    passing: dict[int, int] = field(default_factory=dict)
    """The versions at which leaves and inputs were met by what has no gradient."""
    spoilt: bool = False
    """True if a leaf had NaN."""
    flows: dict[int, dict[int, Flow]] = field(default_factory=dict)
    """By the number of the backward call, what it gave a node and this one sent on."""

    def of(self, engine: NodeFacts, event: Event, outputs: int, calls: Mapping[int, int]) -> Measured | None:
        """Return what there is of one node; None if nothing."""
        number = event.number
        values = tuple([self.values.get((number, nr)) for nr in range(outputs)])
        began, took = self.times.get(number, (None, None))
        runs = [(began, _settled(took), flops) for began, took, flops in self.runs.get(number, ())]
        point = self.points.pop(number, None)
        if point is not None and self.checks is not None and "check" in self.kinds:
            self.checked[number] = self.checks.result(point)
        error, wrong = self.checked.get(number, (None, ""))
        numbers = tuple([self.exact.get((number, nr)) for nr in range(outputs)])
        flows = self.flows.get(number, {})
        off: tuple[Number | None, ...] = ()
        if point is not None and self.checks is not None and "deviation" in self.kinds:
            off = self.checks.deviation(point, numbers, next(iter(flows.values()), None))
        measured = Measured(
            values if any(values) else (),
            self.gradients.get(number, ()),
            None if took is None else _settled(took),
            sum(took for _, took, _ in runs) if runs else None,
            engine.formula(event.cls) if "formula" in self.kinds and event.is_operation else (),
            self.inside.get(number),
            None if began is None else max(began - self.began, 0),
            self.flops.get(number),
            tuple([Run(max(began - self.began, 0), took, flops) for began, took, flops in runs]),
            None if error is None else Number(error),
            wrong,
            tuple([calls[call] for call in self.nonfinite.get(number, ()) if call in calls]),
            numbers if any(numbers) else (),
            off,
            tuple([replace(flow, pass_id=calls[call]) for call, flow in flows.items() if call in calls]),
        )
        return None if measured == _NOTHING else measured

    def received(self, number: int, arrays: Sequence[Any], entry: BackwardEvent) -> None:
        """Note the gradients of a node's outputs in one backward call: their numbers, if it is the first."""
        if number not in self.gradients:
            self.gradients[number] = tuple([None if array is None else summary(array) for array in arrays])
        if not all(map(is_finite, arrays)):
            self.nonfinite.setdefault(number, []).append(entry.number)
        self.flow(number, entry, given=arrays)

    def flow(self, number: int, entry: BackwardEvent, **arrays: Sequence[Any]) -> None:
        """Note the numbers of gradients that a backward call gave a node, or that this one sent on."""
        flows = self.flows.setdefault(number, {})
        numbers = {what: tuple([None if x is None else exact(x) for x in its]) for what, its in arrays.items()}
        flows[entry.number] = replace(flows.get(entry.number) or Flow(0), **numbers)

    def profile(self) -> Profile | None:
        """Return what was measured of the step as a whole, once it is over and its graph is built; None: nothing."""
        if not self.began:
            return None
        wall = max(self.ended - self.began, 0)
        return Profile(wall, self.measuring, placed(self.held, self.began, self.ended, self.ids))


_NOTHING = Measured()


def _settled(took: Time) -> int:
    """Nanoseconds; those of a GPU once it is done."""
    return took if isinstance(took, int) else took()


class _Here(threading.local):
    """The measuring in this thread."""

    took: tuple[Any, int, Time, int] = None, 0, 0, 0
    """The operation that was computed last, when it began, its nanoseconds, and its floating-point operations."""
    opened: Inside | None = None
    """Gathers the operations of the node that is running."""
    fresh: Sequence[Held] = ()
    """The memory that it made."""
    watch: _Watch | None = None
    """The watch on the backward node that is running."""
    measuring: int = 0
    """The nanoseconds that recording and measuring took so far."""
    stopped: int = 0
    """The time when the current recording began; 0 while the script runs."""

    def clock(self) -> int:
        """The time, less what recording and measuring took."""
        return (self.stopped or _now()) - self.measuring

    @contextlib.contextmanager
    def stop(self, begun: int) -> Iterator[None]:
        """Within the block, which began then, the clock stands still."""
        if self.stopped:
            yield
            return
        self.stopped = begun
        try:
            yield
        finally:
            self.measuring += _now() - begun
            self.stopped = 0


class Measures:
    """Follows an engine beside the log, and measures what was asked for."""

    def __init__(self, log: EventLog, kinds: Collection[str]) -> None:
        self.log, self.engine = log, log.engine
        self.kinds = frozenset(kinds)
        self.here = _Here()
        self._hooked = not self.kinds.isdisjoint(("time", "flops", "memory", "inside", "check", "deviation"))
        self.checks: NodeChecks | None = None
        if not self.kinds.isdisjoint(("check", "deviation")):
            self.checks = importlib.import_module("autograph_cli.record.measure.node_checks").NodeChecks(self.engine)
        self._listening = contextlib.ExitStack()
        self.allocations = Allocations(self.engine, self.here.clock) if "memory" in self.kinds else None
        self._profiles = not self.kinds.isdisjoint(("time", "memory"))
        self.paused = False
        """True while code runs that is not the script's."""

    @property
    def found(self) -> Found:
        """Return what was measured in the step that is going on in this thread."""
        step = self.log.step
        if step.found is None:
            step.found = Found(self.kinds, checks=self.checks)
        found: Found = step.found
        return found

    def start(self) -> None:
        """See every operation from now on, if that is needed."""
        if not self._hooked:
            return
        if "inside" in self.kinds:
            self.engine.prepare_inside(numbers="deviation" in self.kinds)
        self.engine.watch_operations(self.computed, None if self.checks is None else self._changing)
        if self.checks is not None:
            self._listening.enter_context(self.checks.listening())
        if "time" in self.kinds:
            for name in self.engine.telling:
                setattr(self.engine, name, self._timed(getattr(self.engine, name)))

    def _timed(self, tell: Callable[..., Any]) -> Callable[..., Any]:
        """Return what takes the time that the engine needs to tell something off the script's."""

        def timed(*args: Any) -> Any:
            with self.here.stop(_now()):
                return tell(*args)

        return timed

    def finish(self) -> None:
        """See none any more."""
        if self._hooked:
            self.engine.watch_operations(None)
            self._listening.close()
            self._hooked = False

    # -- events

    def _changing(self, op: Any, args: tuple[Any, ...], words: dict[str, Any] | None = None) -> None:
        """An operation is about to change what it is given."""
        with self.here.stop(_now()):
            try:
                assert self.checks is not None
                self.checks.changing(op, args, words or {})
            except Exception as error:
                self.log.failed(error)

    def computed(
        self, op: Any, args: tuple[Any, ...], outputs: list[Any], nanoseconds: int, words: dict[str, Any] | None = None
    ) -> None:
        """An operation was computed."""
        if self.checks is not None and self.checks.copying:
            return
        with self.here.stop(_now()):
            try:
                if self.checks is not None:
                    self.checks.computed(op, args, words or {}, outputs)
                self._computed(op, args, outputs, nanoseconds)
                inside = self.here.opened
                if inside is not None and self.engine.runs() is inside.node:
                    inside.computed(op, args, outputs)
            except Exception as error:
                self.log.failed(error)

    def _computed(self, op: Any, args: tuple[Any, ...], outputs: list[Any], nanoseconds: int) -> None:
        here, watch = self.here, self.here.watch
        began = here.clock() - nanoseconds
        flops = self.engine.flops(op, args, outputs) if "flops" in self.kinds else 0
        took = self._queued(self.engine.queued())
        here.took = op, began, max(nanoseconds - clock_cost(), 0) if took is None else took, flops
        if self.paused:
            return
        if watch is not None:
            watch.flops += flops
        if self._profiles and not self.found.began:
            self.found.began, self.found.measuring = began, here.measuring
        if self.allocations is not None:
            self.allocations.see(self.engine.tensors_in(args), "given")
            what = ("result", None) if watch is None else ("gradient", watch.number)
            here.fresh = self.allocations.see(self.engine.tensors_in((outputs,)), *what)

    def _queued(self, late: Callable[[], int] | None) -> Callable[[], int] | None:
        """Note that the step is not over before a GPU has done this."""
        if late is not None and not self.paused:
            self.found.queued = late
        return late

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """Within the block, what is computed is not the script's."""
        self.paused, watch, self.here.watch = True, self.here.watch, None
        try:
            yield
        finally:
            self.paused, self.here.watch = False, watch

    def ended(self) -> None:
        """The step that is going on in this thread is over."""
        found, here = self.log.step.found, self.here
        if found is not None and found.began and not found.ended:
            if found.queued is not None:
                found.queued()
            found.ended = here.clock()
            found.measuring = here.measuring - found.measuring
            if self.allocations is not None:
                for event in self.log.known.copy().values():
                    if event.kind in (LEAF, INPUT):
                        self.allocations.name(event.ref(), event.number)
                found.held = self.allocations.since(found.began)

    def created(self, log: EventLog, event: Event, node: Any, outputs: Iterable[Any], newest: int) -> None:
        """A node was made; events after number `newest` came with it."""
        self._take(event, self.engine.operation_of(node))
        if self.checks is not None and (point := self.checks.made(node)) is not None:
            self.found.points[event.number] = point
        if "values" not in self.kinds:
            return
        made = list(outputs)
        for nr, array in enumerate(self.engine.arrays_made(node, made)):
            self._note(event, (event.number, nr), array)
        for other in list(log.since(newest)):  # reading the numbers may be an event itself
            if other is not event:
                self._given(other, made)
        for given in (*event.args, *event.next):
            met = None if given is None else log.known.get(key_of(given))
            if met is not None and not met.is_operation and (met.number, 0) not in self.found.values:
                self._given(met, made)

    def untracked(self, event: Event, operation: Any, outputs: Sequence[Any]) -> None:
        """An operation ran that left no node."""
        self._take(event, self.engine.operation_of(operation))
        if "values" in self.kinds:
            for nr, output in enumerate(outputs):
                self._keep((event.number, nr), self.engine.array(output))
            for given in event.args:
                self._passing(self.log.known.get(key_of(given)))

    def _passing(self, event: Event | None) -> None:
        """Keep the numbers of a leaf or an input that is used without a gradient: it may be changed, as by an
        optimizer, before it is used with one."""
        tensor = event.ref() if event is not None and event.kind in (LEAF, INPUT) else None
        if event is None or tensor is None or (event.number, 0) in self.found.values:
            return
        version = 0 if tensor.is_inference() else tensor._version
        if self.found.passing.get(event.number) != version:
            self.found.passing[event.number] = version
            self._keep((event.number, 0), self.engine.array(tensor))

    def _take(self, event: Event, operation: Any) -> None:
        """Note what was measured of the operation that an event is of, if that is the one that was computed last."""
        here = self.here
        known, began, took, flops = here.took
        if operation is not None and known is operation:
            if "time" in self.kinds:
                self.found.times[event.number] = began, took
            if "flops" in self.kinds:
                self.found.flops[event.number] = flops
            for held in here.fresh:
                held.number, held.what = event.number, "result"
        here.took, here.fresh = (None, 0, 0, 0), ()

    def _given(self, event: Event, made: Sequence[Any]) -> None:
        """Note the numbers of a leaf or an input, unless the operation that it was given to has changed them."""
        tensor = None if event.is_operation else event.ref()
        if tensor is not None and not any(tensor is output for output in made):
            array = self.engine.array(tensor)
            self._note(event, (event.number, 0), array)
            values = self.found.values.get((event.number, 0)) if event.kind == LEAF else None
            if values is not None:
                self.found.spoilt |= values.nans > 0 or any("nan" in line for line in values.whole)
                if same := alike(array):
                    self.found.values[event.number, 0] = replace(values, alike=same)

    def _note(self, event: Event, position: tuple[int, int], array: Any) -> None:
        values = summary(array)
        if values is not None:
            self.found.values[position] = values
        if position not in self.found.exact or event.kind in (LEAF, INPUT):  # what made it may be long ago
            self._keep(position, array)

    def _keep(self, position: tuple[int, int], array: Any) -> None:
        numbers = exact(array)
        if numbers is not None:
            self.found.exact[position] = numbers

    def begins(self, log: EventLog, call: BackwardCall) -> None:
        """A backward call is about to run."""
        call.watch = watch = _Watch(self, log)
        if "flops" in self.kinds:
            call.counted = watch.counted

    def ends(self, call: BackwardCall, entry: BackwardEvent) -> None:
        """A backward call is over."""
        if isinstance(call.watch, _Watch):
            call.watch.ended()
            if "values" in self.kinds and call.inputs is not None and call.kind == "grad":
                self._note_results(call, entry)
            if self.allocations is not None:
                self._see_gradients(call)

    def _note_results(self, call: BackwardCall, entry: BackwardEvent) -> None:
        """Note the numbers of the gradients that a call gives, whose nodes it does not run."""
        for x, grad in zip(call.inputs, call.found or (), strict=False):
            output = None if grad is None else self.engine.root(x)
            event = None if output is None else self.log.known.get(key_of(output))
            if event is not None and output is not None and not number_of(output):
                self.found.received(event.number, (self.engine.array(grad),), entry)

    def _see_gradients(self, call: BackwardCall) -> None:
        """Note the memory of gradients that leaves have, or that the call gives."""
        assert self.allocations is not None
        self.allocations.see(call.found or (), "gradient")
        for node in call.ran:
            if self.engine.adds_up(node):
                number = self.log.known[self.engine.number(node)].number
                self.allocations.see((node.variable.grad,), "gradient", number)


class _Watch:
    """Measures the nodes that one backward call runs."""

    def __init__(self, measures: Measures, log: EventLog) -> None:
        self.measures, self.log = measures, log
        self.number: int | None = None
        """The event of the node that is running."""
        self.node: Any = None
        self.since = self.flops = 0
        self.mark: Any = None
        self.outer_watch: _Watch | None = None
        self.opened: Inside | None = None
        self.outer: Inside | None = None

    def __call__(self, node: Any, grad: Any) -> None:
        """A node is about to run, with this gradient; None: the one that was running is done, and sends these on."""
        here = self.measures.here
        with here.stop(_now()):
            try:
                if node is None and self.node is not None and "values" in self.measures.kinds:
                    self._sent(grad)
                self.ended()
                if node is not None:
                    self._begins(node, grad)
            except Exception as error:
                self.log.failed(error)
            self.since = here.clock()

    def counted(self, flops: int) -> None:
        """A kernel took so many floating-point operations."""
        self.flops += flops

    def _begins(self, node: Any, grad: Any) -> None:
        measures, found, engine = self.measures, self.measures.found, self.measures.engine
        with self.log.lock:
            self.number = self.log.known[engine.number(node)].number
        self.flops, self.node = 0, node
        several = grad if isinstance(grad, (list, tuple)) else [grad]
        if "values" in measures.kinds:
            arrays = [None if g is None else engine.array(g) for g in several]
            found.received(self.number, arrays, self.log.step.running[-1])
        if measures.allocations is not None:
            measures.allocations.see(several, "gradient", self.number)
        if "inside" in measures.kinds and not engine.adds_up(node) and self.number not in found.inside:
            said = summary if "values" in measures.kinds else None
            self.opened, self.outer = engine.inside(node, grad, said), measures.here.opened
            measures.here.opened = self.opened
            if self.opened is not None and engine.operation_of(node) is not None:
                self.opened.run(grad)
                measures.here.opened = self.outer
        self.outer_watch, measures.here.watch = measures.here.watch, self
        self.mark = engine.mark(several) if "time" in measures.kinds else None

    def _sent(self, grads: Sequence[Any]) -> None:
        """The node that is running sends these gradients on."""
        assert self.number is not None
        arrays = self.measures.engine.sent(self.node, grads)
        self.measures.found.flow(self.number, self.log.step.running[-1], sent=arrays)

    def ended(self) -> None:
        """The node that was running, if there was one, is done."""
        self.node = None
        measures, number = self.measures, self.number
        if number is None:
            return
        found, here = measures.found, measures.here
        here.watch, self.outer_watch = self.outer_watch, None
        if "time" in measures.kinds or "flops" in measures.kinds:
            took = here.clock() - self.since - clock_cost()
            late = measures._queued(measures.engine.since(self.mark))
            found.runs.setdefault(number, []).append((self.since, max(took, 0) if late is None else late, self.flops))
        if self.opened is not None:
            found.inside.setdefault(number, self.opened.graph())
            measures.here.opened, self.opened = self.outer, None
        self.number = None
