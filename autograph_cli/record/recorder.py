"""The recorder: follows the engine through its observer slot and keeps the steps that were asked for, as plain data."""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograph_cli.graph import Graph, Memory, Step, Trace
from autograph_cli.record import names
from autograph_cli.record.build import Span, build, describe
from autograph_cli.record.derive import NOT_CHOSEN, derive
from autograph_cli.record.known import Step as KnownStep
from autograph_cli.record.known import path_to
from autograph_cli.record.measures import Beside, Found, Measures
from autograph_cli.record.memory import memory_of, optimizers_in
from autograph_cli.record.rehearsal import OFTEN, Rehearsal
from autograph_cli.record.rewriting import Writer, write_finished
from autograph_cli.record.saved import collect
from autograph_cli.record.sites import Sources, script_frames
from autograph_cli.record.steps import Progress, Selection
from autograph_cli.record.tape import Output, Tape, key_of, number_of
from autograph_cli.record.watching import Watch
from autograph_cli.torch._core.node import Node
from autograph_cli.torch._core.state import BackwardCall, L, S
from autograph_cli.torch._core.tensor import Tensor

_CREDIT = 16


@dataclass(slots=True)
class _Pending:
    """A finished step that is kept only if it turns out to be the last."""

    number: int
    span: Span
    derived: str | None = None
    """None: nobody tried, for the step was not named by number."""
    double: Callable[[], Graph] | None = None
    memory: Memory | None = None


class _Patience:
    """Whether to try a rehearsal: after many failures less and less often."""

    def __init__(self) -> None:
        self.credit = _CREDIT
        self.wait = 0
        self.next = 1

    def tries(self) -> bool:
        """Whether this is the time for the next attempt."""
        self.wait -= 1
        return self.wait < 0

    def succeeded(self, steps: int) -> None:
        """So many steps went as known ones."""
        self.credit = min(self.credit + steps, _CREDIT)
        self.next = 1 if steps else self.next

    def failed(self) -> None:
        """A rehearsal ended."""
        self.credit = max(self.credit - 2, 0)
        if not self.credit:
            self.wait, self.next = self.next, min(2 * self.next, 64)


class Recorder:
    """Records what runs between `start` and `finish`.

    `steps` is what `--steps` takes; `script` names the trace. With `derive`, a derivative graph is made also where
    custom Functions are in the graph, whose backward then runs once more than the script asked for. `record` names what
    is recorded beside the graph (`measures.KINDS`).

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
        self, steps: str = "first,last", script: str = "", *, derive: bool = False, record: Collection[str] = ()
    ) -> None:
        self.selection = Selection.parse(steps)
        self.script = script
        self.custom = derive
        self.tape = Tape()
        self.sources = Sources(os.getcwd())
        self.created: Callable[..., None] = self.tape.created
        self.begins, self.ends = self._begins, self._ends
        self.measures = Measures(record) if record else None
        self.kept: list[Step] = []
        self.total = 0
        self.first = 0
        """The rows after this number belong to the step that is going on."""
        self.watcher: Callable[[Progress], None] | None = None
        """Told of each step when it has ended."""
        self._pending: _Pending | None = None
        self._variables: list[tuple[str, Output]] = []
        self._derived: tuple[Callable[[], Graph] | None, str | None] = None, ""
        self._optimizers: list[weakref.ref[Any]] = []
        self._memory: Memory | None = None
        self._settled: names.Settled = set()
        self._rehearsal = Rehearsal(self.tape, self)
        self._rehearses = False
        """Whether what happens is held against known steps."""
        self._watch: Watch | None = None
        """What follows the step that is recorded, so that it is known from then on."""
        self._patience = _Patience()

    def start(self) -> None:
        """Begin to follow the engine."""
        file = getattr(sys.modules.get("__main__"), "__file__", None)
        if file and os.path.exists(file):
            self.sources.folder = os.path.dirname(os.path.realpath(file))
        S.observer = self
        if self.measures is not None:
            self.measures.start()
            self.created = Beside(self.tape, self.measures).created

    def finish(self, scope: Mapping[str, Any]) -> Trace:
        """Stop, and return what was recorded; `scope` are the script's variables, which name what is left."""
        self._write_down()
        if S.observer is self:
            S.observer = None
        if self.measures is not None:
            self.measures.finish()
        self._variables = names.scan(self.tape, [scope])
        self._optimizers = optimizers_in([scope]) or self._optimizers
        if self._going_on() and self._wanted():
            self._derived = self._derive([(name, x) for name, x in scope.items() if isinstance(x, Tensor)])
        return self.trace()

    def trace(self) -> Trace:
        """What was recorded so far."""
        self._write_down()
        steps, total = list(self.kept), self.total
        if self._going_on():
            total += 1
            if self._wanted():
                collect(self.tape, (self.first, self.tape.count))
                span = Span(self.first, self.tape.count, self.tape.passes, self._made(self._variables), self._found())
                memory = memory_of(self.tape.parameters.values(), self._optimizers)
                steps.append(self._step(_Pending(self.total, span, self._derived[1], self._derived[0], memory)))
        elif self._pending is not None:
            steps.append(self._step(self._pending))
        return Trace(self.script, tuple(steps), total)

    def snapshot(self, scope: Mapping[str, Any]) -> Graph:
        """The graph that these variables hang on now, of whichever steps; each one with a grad_fn is a root."""
        self._write_down()
        before, S.observer = S.observer, self
        try:
            for value in scope.values():
                if isinstance(value, Tensor):
                    with contextlib.suppress(RuntimeError):
                        value.grad_fn  # noqa: B018  a view whose base was changed gets its new history only when asked
        finally:
            S.observer = before
        variables = names.scan(self.tape, [scope])
        now = self.tape.count
        roots = [(name, output) for name, output in variables if self._operation(output)]
        return build(self.tape, self.sources, Span(now, now, [], roots))

    # -- events

    def _begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""
        self._begin(call)
        if self._watch is not None:
            self._watch.begins(call, self._made(self._variables), self._derived[1])

    def _begin(self, call: BackwardCall) -> None:
        if not self.tape.running.passes and self._wanted():
            spaces = [names.variables_of(frame) for frame in reversed(script_frames())]
            self._variables = names.scan(self.tape, spaces, None if self.selection.keeps(self.total) else self._settled)
            if not call.keeps_graph:
                roots = [(self._name(root), root) for root in call.roots if isinstance(root, Tensor)]
                self._derived = (None, "") if call.create_graph else self._derive(roots)
                collect(self.tape, (self.first, self.tape.count))
                if self.selection.keeps(self.total) or self._looks_for_optimizers():
                    self._optimizers = optimizers_in(spaces) or self._optimizers
        self.tape.begins(call)
        if self.measures is not None:
            self.measures.begins(self.tape, call)

    def _looks_for_optimizers(self) -> bool:
        return self.total & (self.total - 1) == 0  # 0, 1, 2, 4, 8, ...

    def _ends(self, call: BackwardCall) -> None:
        """A backward call is over; if it freed its graph, so is the step."""
        if self.measures is not None:
            self.measures.ends(call)
        entry = self.tape.running.passes[-1]
        self.tape.ends(call)
        if self._watch is not None:
            self._watch.ends(entry)
        if not (entry.failed or call.keeps_graph or self.tape.running.passes):
            self._memory = memory_of(self.tape.parameters.values(), self._optimizers) if self._wanted() else None
            self._close([(self._name_of(output), output) for output in entry.roots])
            self._next()

    def _found(self) -> Found | None:
        return None if self.measures is None else self.measures.found

    # -- steps that go as earlier ones

    def _may_rehearse(self) -> bool:
        kept = self.measures is not None or self.selection.keeps(self.total)
        return not (kept or L.calls or self.tape.running.passes) and self._patience.tries()

    def _next(self) -> None:
        """A step was written down: see what to do with the next one."""
        self._rehearsal.passed([] if self._watch is None else self._watch.keys())
        self._stop()
        if self._may_rehearse():
            self._rehearsal.begin(self.total)
            if self._rehearsal.root.then:
                self._rehearses = True
                self.begins, self.ends = self._rehearsal.begins, self._rehearsal.ends
            else:
                self._observe()

    def _observe(self, begun: Writer | None = None) -> None:
        self._watch = Watch(
            self._rehearsal, [] if begun is None else begun.calls, [] if begun is None else begun.passes
        )
        self.created = self._watch.created

    def _stop(self) -> None:
        self._rehearses, self._watch = False, None
        self.begins, self.ends = self._begins, self._ends
        if self.measures is None:
            self.created = self.tape.created

    def surprised(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> None:
        """A node was made that does not follow in any known step."""
        self._write_down()
        self.created(node, inputs, outputs)

    def begins_unknown(self, call: BackwardCall) -> None:
        """A backward call began that does not follow in any known step."""
        self._write_down()
        self._begins(call)

    def ends_unknown(self, call: BackwardCall) -> None:
        """A backward call ended in another way than in the known steps."""
        self._write_down()
        self._ends(call)

    def repeated(self, step: KnownStep) -> None:
        """A step went to its end as a known one, as others may have done before."""
        rehearsal = self._rehearsal
        self._patience.succeeded(rehearsal.total - self.total)
        self.total = rehearsal.total
        if self.watcher is not None:
            self.watcher(Progress(self.total, step.rows, len(self.kept)))
        if self._looks_for_optimizers() and self._wanted():
            self._optimizers = optimizers_in(map(names.variables_of, script_frames())) or self._optimizers
        if step.times & (step.times - 1) == 0 and step.memory is not None:
            step.memory = memory_of(rehearsal.parameters(), self._optimizers)
        if not rehearsal.tidy() or self.selection.keeps(self.total):
            self._write_down()
        else:
            rehearsal.stop = self._next_stop()

    def _next_stop(self) -> int:
        """The number of steps after which there is something to do."""
        if self.watcher is not None:
            return self.total + 1
        ends = range(self.total + 1, self.total + OFTEN)
        return next((end for end in ends if end & (end - 1) == 0 or self.selection.keeps(end)), self.total + OFTEN)

    def _write_down(self) -> None:
        """End the rehearsal, if there is one, and make rows for what was seen."""
        if not self._rehearses:
            return
        rehearsal, tape = self._rehearsal, self.tape
        self._patience.succeeded(rehearsal.total - self.total)
        self.total = rehearsal.total
        self._stop()
        self._patience.failed()
        finished = write_finished(rehearsal)
        if finished is not None and self.selection.last:
            step, span = finished
            self._pending = _Pending(self.total - 1, span, step.derived, None, step.memory)
            tape.pinned = span.first, span.last
        writer = Writer(tape, rehearsal.partial())
        self.first = writer.first
        writer.write(path_to(rehearsal.at))
        tape.passes, self._variables = writer.passes, writer.variables
        self._derived = None, writer.derived
        tape.modules.keep(writer.calls)
        rehearsal.written()
        if not self.selection.keeps(self.total) and self._patience.tries():
            self._observe(writer)

    # -- steps

    def _wanted(self) -> bool:
        return self.selection.last or self.selection.keeps(self.total)

    def _going_on(self) -> bool:
        return any(row.is_operation for _, row in self.tape.since(self.first))

    def _close(self, roots: list[tuple[str, Output]]) -> None:
        tape = self.tape
        tape.pinned, self._pending = (0, 0), None
        tape.forget(self.first)
        tape.modules.settle()
        measured = None if self.measures is None else self.measures.close()
        if self._wanted():
            known = {output for _, output in roots}
            others = [(name, output) for name, output in self._made(self._variables) if output not in known]
            span = Span(self.first, tape.count, tape.passes, [*roots, *others], measured)
            pending = _Pending(self.total, span, self._derived[1], self._derived[0], self._memory)
            if self._watch is not None:
                self._watch.finished(span.roots, self._memory)
            if self.selection.keeps(self.total):
                self.kept.append(self._step(pending))
            else:
                self._pending, tape.pinned = pending, (self.first, tape.count)
        elif self._watch is not None:
            self._watch.finished([], None)
        self.total += 1
        if self.watcher is not None:
            self.watcher(Progress(self.total, tape.count - self.first, len(self.kept)))
        self.first = tape.count
        tape.passes = []
        self._variables, self._derived = [], (None, "")

    def _step(self, step: _Pending) -> Step:
        graph = build(self.tape, self.sources, step.span)
        own = any(node.order and node.kind == "operation" for node in graph)
        derived = ("" if own else NOT_CHOSEN) if step.derived is None else step.derived
        return Step(step.number, graph, derived, step.double and step.double(), step.memory)

    # -- roots and names

    def _operation(self, output: Output) -> bool:
        return self.tape.rows[key_of(output)].is_operation

    def _made(self, variables: list[tuple[str, Output]]) -> list[tuple[str, Output]]:
        """The variables whose tensors were made in the step that is going on, each once, in order of binding."""
        rows = self.tape.rows
        made = [
            (name, output)
            for name, output in variables
            if key_of(output) in rows and self._operation(output) and rows[key_of(output)].number > self.first
        ]
        return list(dict.fromkeys(made))

    def _name(self, root: Tensor) -> str:
        output = self.tape.output(root)
        return "" if output is None else self._name_of(output)

    def _name_of(self, output: Output) -> str:
        row = self.tape.rows[key_of(output)]
        found = self.tape.names.get((row.number, number_of(output)))
        return found[0] if found else describe(row)[1]

    # -- derivatives

    def _derive(self, roots: Sequence[tuple[str, Tensor]]) -> tuple[Callable[[], Graph] | None, str | None]:
        """What makes a derivative graph of the step that is going on, if its own script made none and the step is one of few."""
        if not self.selection.names(self.total) and self.total:
            return None, None
        rows = [row for _, row in self.tape.since(self.first)]
        if any(row.order and row.is_operation for row in rows):
            return None, ""
        used = {key_of(output) for row in rows for output in row.next if output is not None}
        chosen: dict[Output, tuple[str, Tensor]] = {}
        for name, root in roots:
            output = self.tape.output(root)
            if output is not None and self._operation(output) and key_of(output) not in used:
                chosen.setdefault(output, (name, root))
        if not chosen:
            return None, self._constant()
        found = [(name, output) for name, output in self._made(self._variables) if output not in chosen]
        starts = [(name, output) for output, (name, _) in chosen.items()]
        span = Span(self.first, self.tape.count, self.tape.passes, [*starts, *found], self._found())
        roots = list(chosen.values())
        made, why = derive(self.tape, self.sources, span, roots, custom=self.custom, measures=self.measures)
        return made, why if made else self._constant() or why

    def _constant(self) -> str:
        """What to say where the script asked for a graph of the gradient, and its backward left none."""
        for entry in self.tape.passes:
            if entry.create_graph and not entry.failed:
                place = self.sources.source(entry.site)
                where = f" ({place.file}:{place.line})" if place else ""
                return f"`{entry.call}` with create_graph=True{where} recorded nothing: its gradients are constants, cut from the leaves"
        return ""
