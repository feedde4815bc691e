"""The recorder: follows an engine and keeps the steps that were asked for, as plain data."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from msgspec.structs import replace

from autograph_cli.engines import connect
from autograph_cli.engines.protocol import BackwardCall, CollectiveCall, Connect, key_of
from autograph_cli.graph import Graph, Memory, Notice, Step, Trace
from autograph_cli.graph.trace import is_small
from autograph_cli.record.graphs.alike import Graphs
from autograph_cli.record.graphs.build import Span, build
from autograph_cli.record.graphs.derive import Derivations, not_chosen
from autograph_cli.record.graphs.roots import is_operation, made_in, name_of
from autograph_cli.record.log import forgetting
from autograph_cli.record.log.collectives import Collectives
from autograph_cli.record.log.data import DATA, Data
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import BackwardEvent, StepLog
from autograph_cli.record.log.forecast import Forecast
from autograph_cli.record.log.kinds import Finished, Kind, Kinds
from autograph_cli.record.log.ledger import WHOLE, Books
from autograph_cli.record.log.noticed import CALLS, FEW, Noticed
from autograph_cli.record.log.saved_tensors import look
from autograph_cli.record.log.signals import held, of_the_script
from autograph_cli.record.log.steps import ALL, Progress, Selection
from autograph_cli.record.measure.independence import INDEPENDENCE, Calls
from autograph_cli.record.measure.measures import Measures
from autograph_cli.record.measure.memory import HeldBySteps, optimizers_in, seldom
from autograph_cli.record.measure.watch import Watch
from autograph_cli.record.names import variables as names
from autograph_cli.record.names.source_locations import Site, Sources, callers_of, script_frames
from autograph_cli.record.run.tracebacks import summary

SLOW = 0.5
"""The seconds that a call of a model may take for it to be called again."""
COSTLY = 1e-4
"""The seconds for each operation from which on an engine is not followed in each step."""
DERIVING = 3
"""The cost of making a step's derivative graph, about, as a multiple of the cost of following the step."""


class _Log(EventLog):
    """The log of a recorder, which is told of backward calls."""

    def __init__(self, engine: Connect, recorder: Recorder) -> None:
        super().__init__(engine, recorder.failed)
        self._recorder = recorder

    def begins(self, call: BackwardCall) -> None:
        self._recorder.begins(call)
        super().begins(call)

    def ends(self, call: BackwardCall) -> None:
        if self.step.running and not self._recorder.broken:
            entry = self.step.running[-1]
            super().ends(call)
            self._recorder.ends(call, entry)

    def collective(self, call: CollectiveCall) -> Callable[[], None] | None:
        return self._recorder.collectives.begins(call)

    def passed(self, kept: bool) -> None:
        self._recorder.passed(sys._getframe(1), kept)


class Recorder:
    """Records what runs between `start` and `finish`.

    `steps` is what `--steps` takes; `script` names the trace. With `derive`, a derivative graph is made also where
    custom Functions are in the graph, whose backward then runs once more than the script asked for. `record` names what
    is recorded beside the graph: `measures.KINDS`, and "data", the numbers that the script gave to inputs and leaves,
    or how it drew them; `watch` what of each parameter in each step (`watch.KINDS`). With `each`, all steps are
    followed that may be the last, with `every` all others too, where that is not costly.

    >>> from autograph_cli import torch
    >>> recorder = Recorder("all", "expr.py")
    >>> recorder.start()
    >>> x = torch.ones(3, requires_grad=True)
    >>> y = x * 2
    >>> trace = recorder.finish({"x": x, "y": y})
    >>> [root.name for root in trace.steps[0].graph.roots]
    ['y']
    """

    def __init__(
        self,
        steps: str = "first,last",
        script: str = "",
        *,
        derive: bool = False,
        record: Collection[str] = (),
        watch: Collection[str] = (),
        engine: Connect | None = None,
        each: bool = True,
        every: bool = False,
    ) -> None:
        self.selection = Selection.parse(steps)
        self.script = script
        cheap = engine is None or engine.cost < COSTLY
        measured = {*record} - {INDEPENDENCE, DATA}
        self._each, self._all = each and cheap, bool({*record} - {DATA} or every) and cheap
        self.log: EventLog = _Log(engine or connect("builtin"), self)
        self.log.data = Data() if DATA in record else None
        self.sources = Sources(os.getcwd())
        self.books = Books(self.log, self._number, self.sources.source)
        self.noticed = Noticed(self.log, functools.partial(self.books.parameters.is_set, surely=True))
        self.collectives = Collectives(self.log, self.sources.source, self._number, values="values" in record)
        self.measures = Measures(self.log, measured) if measured else None
        self.watch = Watch(self.log, watch) if watch else None
        self.models = Calls(self.log.engine) if INDEPENDENCE in record else None
        """The inputs that models were called with; their results are looked at in the end."""
        self.slow = SLOW
        if self.models is not None:
            self.log.modules.entered.append(self.models.enters)
        self.kept: list[Step] = []
        self._spoilt = False
        """True if the step is kept before which no leaf had NaN, and after which one had."""
        self.total = 0
        self._next = 0
        """The next step that is kept by its number."""
        chosen = self.selection
        self._tells_kinds = chosen.first or chosen.last or ALL in chosen.ranges or self._all
        """True if it is known what ends each step."""
        self._keeps = self.selection.keeps(0)
        """True if the step that is going on is kept by its number."""
        self.broken = ""
        """The error of its own that ended the recording."""
        self.watcher: Callable[[Progress], None] | None = None
        """Told of each step when it has ended."""
        self.kinds, self._forecast = Kinds(), Forecast(self.log.engine.tensor)
        self.books.stepping, self.books.stepped = self._stepping, self._stepped
        self._retained: list[weakref.ref[Any]] = []
        """The roots of the last backward call, if that kept its graph."""
        self._unended: tuple[Site, ...] | None = None
        """The place of a backward call that kept its graph and was not followed."""
        self._optimizers: list[weakref.ref[Any]] = []
        self._settled: names.Settled = set()
        self.derivations = Derivations(self.log, self.sources, self._look_back, self.measures, custom=derive)
        self._graphs = Graphs(self.log)
        self._noted = False
        """True if the step that is going on is one of the first kept by number, or going to be the last of its kind."""
        self._derived = 0
        """The number of derivative graphs made when the last step ended."""
        self._held = HeldBySteps(self.log.engine)

    def start(self) -> None:
        """Begin to follow the engine."""
        self.derivations.others = set(threading.enumerate())
        self._forecast.begin(sys._getframe(1))
        file = getattr(sys.modules.get("__main__"), "__file__", None)
        if file and os.path.exists(file):
            self.sources.folder = os.path.dirname(os.path.realpath(file))
        if self.selection.first or self.selection.last or self.selection.ranges or self.watch is not None:
            self.books.start()
        self.log.engine.start()
        self._follow()
        if self.measures is not None:
            self.measures.start()
            self.log.measures, self.log.engine.measured = self.measures, True

    def stop(self) -> None:
        """Follow the engine no more."""
        self.books.stop()
        self.log.engine.stop()
        if self.measures is not None:
            self.measures.finish()

    def finish(self, scope: Mapping[str, Any]) -> Trace:
        """Stop, and return what was recorded; `scope` are the script's variables, which name what is left."""
        with self.log.lock:
            self.stop()
            try:
                if self.watch is not None:
                    self.watch.finish(scope)
                self._look_at(scope)
                found = self.trace()
                found = replace(found, ledger=self.books.finish(scope, {step.number for step in found.steps}))
                found = replace(found, notices=(*found.notices, *self._influences()))
                self.kept.clear()  # whoever has the trace may let go of it
                return found
            except Exception as error:
                self.failed(error)
                kept, broken = tuple(self.kept), (Notice("broken", self.broken),)
                return Trace(self.script, kept, self.total, self.log.engine.name, notices=broken)

    def _look_at(self, scope: Mapping[str, Any]) -> None:
        log, step = self.log, self.log.step
        step.variables = names.scan(log, [scope])
        self._optimizers = optimizers_in(log.engine, [scope]) or self._optimizers
        if self.total and self._optimizers:
            self.noticed.look_at(self._optimizers, [scope])
        again = step.derived[0] is None or any(entry.failed for entry in step.passes[-1:])
        if step.has_operations and again and self._wanted():
            own = {event.key for event in step.events if event.followed}
            found = [name for name, output in step.variables if output not in step.bare and key_of(output) in own]
            roots = [(name, scope[name]) for name in found]
            step.derived = self.derivations.of_roots(roots)

    def _influences(self) -> Iterator[Notice]:
        """Return what models make of what they are given, which are called again."""
        torch = sys.modules.get("torch")
        for one in self.models.influences(torch, self.slow) if self.models and torch else ():
            source = one.source
            if source is not None:
                source = replace(source, file=os.path.relpath(source.file, self.sources.folder))
            yield Notice(one.kind, one.said, source)

    def trace(self) -> Trace:
        """Return what was recorded so far."""
        with self.log.lock:
            steps, total, step = list(self.kept), self.total, self.log.step
            waiting, kind = self.kinds.newest(), None
            if not self.broken and step.has_operations and not self._is_aside(step):
                total += 1
                if self._wanted():
                    look(self.log, step)
                    self._held.clear()
                    if self.measures is not None:
                        self.measures.ended()
                    if step.passes and not step.running:  # a call that kept the graph ended one more turn
                        kind = self.kinds.known(step.sites)
                    waiting = [each for each in waiting if kind is None or each.kind is not kind]
                    steps += map(self._step, waiting)  # what comes after them may be a print
                    steps.append(self._step(Finished(self.total, step, [], self._memory(step), kind)))
            else:
                steps += map(self._step, waiting)
            watched = () if self.watch is None else self.watch.watched()
            kinds = self.kinds.found(self.sources.source, kind, self.total) if total > 1 and self._tells_kinds else ()
            return Trace(
                self.script,
                tuple(sorted(steps, key=lambda each: each.number)),
                total,
                self.log.engine.name,
                kinds=kinds,
                engine_version=self.log.engine.version,
                notices=(
                    *self.noticed.notices(self.sources.source),
                    *([Notice("broken", self.broken)] if self.broken else []),
                    *(Notice("break", why, self.sources.placed_at(at)) for why, at in self.log.engine.breaks()),
                ),
                watched=watched,
                collectives=self.collectives.found(),
            )

    def _is_aside(self, step: StepLog) -> bool:
        """Return whether what ran after the last step is a number that was printed: few operations, which no pass ran,
        and of which nothing is left."""
        if not self.total or step.passes or step.running or made_in(self.log, step):
            return False
        return is_small(sum(event.followed for event in step.events), self.kinds.most)

    def snapshot(self, scope: Mapping[str, Any]) -> Graph:
        """The graph that these variables hang on now, of whichever steps; each one with a grad_fn is a root."""
        log = self.log
        with log.engine.listening():
            for value in scope.values():
                if issubclass(type(value), log.engine.tensor):
                    log.engine.refresh(value)
        variables = names.scan(log, [scope])
        nothing = StepLog()
        nothing.looked = log.step.looked
        found = [known for known in variables if is_operation(log, known[1]) and known[1] not in log.step.bare]
        span = Span(nothing, found)
        return build(log, self.sources, span)

    def failed(self, error: Exception) -> None:
        """An error of the recorder's own ends the recording, and the script goes on; one of a signal's handler, or of
        calls that do not end, is the script's."""
        if of_the_script(error):
            raise error
        self.stop()
        if not self.broken:
            self.broken = summary(error)
            said = f"autograph: an error of its own ended the recording ({self.broken}); the script goes on."
            with contextlib.suppress(Exception):  # stderr may be closed
                print(said, file=sys.stderr)

    # -- backward calls

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""
        log, step = self.log, self.log.step
        if not step.running:
            step.sites = callers_of(sys._getframe(1))
        if not step.running and (self._may_be_kept() or self.watch is not None):
            spaces = [names.variables_of(frame) for frame in reversed(script_frames())]
            step.variables = names.scan(log, spaces, None if self._keeps else self._settled)
            again = step.derived[0] is None and any(entry.create_graph for entry in step.passes)
            if not call.create_graph and (again or not call.keeps_graph):
                self._derive(call.roots, call.kind, whole=call.keeps_graph)
            if not call.keeps_graph:
                if call.create_graph:
                    step.derived = None, ""
                look(log, step)
                if self.watch is not None:
                    self.watch.begins()
                if self._keeps or seldom(self.total):
                    self._optimizers = optimizers_in(log.engine, spaces) or self._optimizers
                    self.noticed.look_at(self._optimizers, spaces)
            if self._notices(call):
                self.noticed.begins()
        self.books.begins(call, step.running)
        if self.measures is not None:
            self.measures.begins(log, call)

    def ends(self, call: BackwardCall, entry: BackwardEvent) -> None:
        """A backward call is over; if it freed its graph, so is the step."""
        if self.measures is not None:
            self.measures.ends(call, entry)
        if self._notices(call) and not entry.failed and self._may_be_kept():
            self.noticed.ends(entry, self.total)
        self.books.ends(call, entry)
        tensor = self.log.engine.tensor
        self._retained = (
            [weakref.ref(root) for root in call.roots if isinstance(root, tensor)] if call.keeps_graph else []
        )
        if not (entry.failed or call.keeps_graph or self.log.step.running):
            if self.watch is not None:
                self.watch.ends(entry, call.found, self.total)
            self._close(entry)

    def _derive(self, roots: Sequence[Any], call: str, *, whole: bool = False) -> None:
        """Have at hand the derivative graph of the step that the call of these roots is going to end, and leave out of
        it, unless it is wanted `whole`, what belongs to no turn of a loop."""
        step = self.log.step
        kind = self.kinds.known(step.sites)
        if kind is not None and not whole:
            self._trim(step, roots, kind)
        chosen = kind is None or self.selection.names(self.total) or not self._each
        step.derived = self.derivations.of_call(roots, call, chosen=chosen)

    def _stepping(self) -> None:
        """An optimizer is about to take a step; the passes that it takes it for may have kept their graphs."""
        self.kinds.stepped()
        if self.log.step.passes and (self._may_be_kept() or self.watch is not None):
            self.books.guarded(self._before_step)

    def _before_step(self) -> None:
        log, roots = self.log, [root for ref in self._retained if (root := ref()) is not None]
        step = log.step
        if step.running:
            return
        if roots and not any(entry.create_graph for entry in step.passes):
            self._derive(roots, step.passes[-1].call)
        look(log, step)
        if self.watch is not None:
            self.watch.begins()
            self.watch.ends(step.passes[-1], None, self.total)

    def _stepped(self, optimizer: Any) -> None:
        """An optimizer has taken a step: so it is over that the passes were part of which kept their graphs, unless the
        optimizer's own step is differentiated."""
        if self._unended is not None or self.log.step.passes:
            self.books.guarded(self._after_step, optimizer)

    def _after_step(self, optimizer: Any) -> None:
        step, unended, self._unended = self.log.step, self._unended, None
        if step.running or any(group.get("differentiable") for group in optimizer.param_groups):
            return
        if unended is not None:
            self._count(unended, sys._getframe(1))
        elif step.passes and not step.passes[-1].failed:
            self._close(step.passes[-1]).stepped = True

    def _notices(self, call: BackwardCall) -> bool:
        """Return whether it is looked at to which gradients a call adds."""
        return call.kind == "backward" and self.total < FEW and self.log.calls < CALLS

    # -- steps

    def _number(self) -> int:
        """The step that what happens now belongs to: what comes after a backward pass is of its step still."""
        begun = self.log.step.has_operations or self.log.step.running or self.log.engine.calls()
        return self.total if begun or not self.total else self.total - 1

    def _wanted(self) -> bool:
        """Return whether what is going on is kept if no other step comes."""
        return self.selection.last or self._keeps

    def _may_be_kept(self) -> bool:
        """Return whether the step that is going on is kept, or may turn out to be the first or the last of a kind."""
        return self.selection.first or self._wanted()

    def passed(self, frame: FrameType, kept: bool) -> None:
        """A backward call has ended here that was not followed, and with it its step, unless it `kept` its graph."""
        sites = callers_of(frame) if self._tells_kinds else ()
        if kept:
            self._unended = sites
        else:
            self._count(sites, frame)

    def _count(self, sites: tuple[Site, ...], frame: FrameType) -> None:
        """A step has ended that was not followed, with a backward call there."""
        self._unended, self._noted, self.books.wanted = None, False, False
        if self._tells_kinds:
            kind = self.kinds.ended(sites, self.total)
            if kind.count >= kind.asks:
                self._foresee(kind, frame)
        self.total += 1
        self.books.steps += 1
        if self.collectives.any:
            self.collectives.ended([step.number for step in self.kept])
        if self.watcher is not None:
            self.watcher(Progress(self.total, 0, len(self.kept)))
        if self.total >= self._next or (self._tells_kinds and self.kinds.may_be_last(self.total)):
            self._follow()

    def _follow(self) -> None:
        """Follow the step that begins if it is kept, may turn out to be the last of its kind, or all are watched."""
        self._keeps, self._next = self.selection.keeps(self.total), self.selection.after(self.total)
        every = self._all or (self._each and self.selection.last) or self.watch is not None
        may_be = self._may_be_kept() and self.kinds.may_be_last(self.total)
        # Of a step that is kept, what comes after its last pass is heard as well.
        chosen = self._keeps and len(self.kept) < WHOLE
        before, self._noted = self._noted, chosen or (may_be and self.kinds.awaits(self.total))
        self.books.wanted = before or self._noted
        self.log.engine.follow(self._keeps or may_be or every)

    def _foresee(self, kind: Kind, frame: FrameType) -> None:
        """Ask the loops that are going on here, now and then, which step of this kind is the last one."""
        if kind.count >= kind.asks and self.selection.last:
            self.kinds.foresee(kind, self._forecast.left(frame, kind.count))

    def _trim(self, step: StepLog, those: Sequence[Any], kind: Kind) -> None:
        """Leave out what ran before a turn of a loop began: all of that on which nothing in it hangs, but for the first
        turn, which has what leads to the loop."""
        roots = [output for output in map(self.log.engine.root, those) if output is not None]
        starts = [*map(key_of, roots), *(key for each in step.passes for key in each.ran)]
        forgetting.leave_out(self.log, step, starts, kind.lines)

    def _memory(self, step: StepLog) -> Memory:
        return self._held.of(step.sites, step.leaves, self._optimizers, anew=self._keeps)

    def _close(self, entry: BackwardEvent) -> Kind:
        """The step of this thread has ended, which is of the kind that is returned."""
        log, step = self.log, self.log.step
        log.modules.settle()
        if self.measures is not None:
            self.measures.ended()
        kind = self.kinds.ended(step.sites, self.total, entry.call)
        self._foresee(kind, sys._getframe(1))
        made, self._derived = self.derivations.count - self._derived, self.derivations.count
        self.kinds.cost += len(step.events) * log.engine.cost * (1 + DERIVING * made)
        kind.nodes = len(entry.ran)
        for noted in step.looked:
            noted.freed, noted.call = entry.ran, entry.number
        if kind.count == 1:
            kind.lines = forgetting.lines_of(step.events)
        if self._may_be_kept():
            self.noticed.look_again()
            roots = [(name_of(log, output), output) for output in entry.roots]
            kind.roots = [name for name, _ in roots]
            self._hold(Finished(self.total, step, roots, self._memory(step), kind), kind)
        log.finish()
        if log.data is not None:
            log.data.on = False
        self.total += 1
        self.books.steps += 1
        self.collectives.ended([step.number for step in self.kept])
        if self.watcher is not None:
            self.watcher(Progress(self.total, len(step.events), len(self.kept)))
        self._unended = None
        self._follow()
        return kind

    def _hold(self, done: Finished, kind: Kind) -> None:
        """Keep a finished step, now or if no other of its kind comes; let go of the one that it comes after."""
        opening = kind.opening
        before, kind.newest, kind.opening = kind.newest, None, None
        if opening is not None:
            self.kept.append(self._step(opening))
        if self._keeps:
            self.kept.append(self._step(done))
        else:
            kind.newest = done if self.selection.last else None
            kind.opening = done if self.selection.first and kind.seen == 1 else None
        if before is not None and before is not opening:
            if not self._spoilt and done.step.found is not None and done.step.found.spoilt:
                self._spoilt = True
                self.kept.append(self._step(before))
            self.log.over.append(before.step)
            held = {id(each.step): each.step for each in (*self.kinds.held(), done)}
            del before, opening
            forgetting.drop(self.log, list(held.values()))

    @held()
    def _step(self, done: Finished) -> Step:
        step, roots = done.step, [output for _, output in done.roots]
        others = [(name, output) for name, output in made_in(self.log, step) if output not in roots]
        span = Span(step, [*done.roots, *others], step.found)

        def make() -> Graph:
            self._look_back(done)
            return build(self.log, self.sources, span)

        graph = self._graphs.of(span, make)
        profile = None if step.found is None else step.found.profile()
        double, derived = step.derived
        if derived is None:
            own = any(node.order and node.kind == "operation" for node in graph)
            derived = "" if own else not_chosen(done.number)
        made = double and double()
        kind = None if done.kind is None or not self._tells_kinds else done.kind.position
        return Step(done.number, graph, derived, made, done.memory, profile, span.older, kind)

    def _look_back(self, done: Finished | None = None) -> None:
        """Have at hand what the nodes keep of the steps that wait, on which this one may hang."""
        self.log.looks += [each.step.looked for each in self.kinds.held() if each is not done]
