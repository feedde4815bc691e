"""What is recorded on request beside the graph: numbers of tensors, times, formulas, and what ran inside of a backward."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from autograph_cli.graph import Graph, Measured, Values
from autograph_cli.record.formulas import formula_of
from autograph_cli.record.inside import Inside
from autograph_cli.record.tape import Row, Tape, key_of
from autograph_cli.record.values import summary
from autograph_cli.torch._core.node import AccumulateGrad, Node
from autograph_cli.torch._core.state import BackwardCall, L, S
from autograph_cli.torch._core.tensor import Tensor

KINDS = ("values", "time", "formula", "inside")
"""What can be asked for."""


@dataclass(slots=True)
class Found:
    """What was measured in one step, by the numbers of rows and of outputs."""

    formulas: bool = False
    values: dict[tuple[int, int], Values] = field(default_factory=dict)
    gradients: dict[int, tuple[Values | None, ...]] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    backward_times: dict[int, int] = field(default_factory=dict)
    inside: dict[int, Graph] = field(default_factory=dict)

    def of(self, row: Row, outputs: int) -> Measured | None:
        """What there is of one node; None if nothing."""
        values = tuple([self.values.get((row.number, nr)) for nr in range(outputs)])
        measured = Measured(
            values if any(values) else (),
            self.gradients.get(row.number, ()),
            self.times.get(row.number),
            self.backward_times.get(row.number),
            formula_of(row.cls) if self.formulas and row.cls else (),
            self.inside.get(row.number),
        )
        return None if measured == _NOTHING else measured


_NOTHING = Measured()


class Measures:
    """Follows an engine beside a tape, and measures what was asked for."""

    def __init__(self, kinds: Collection[str]) -> None:
        self.kinds = frozenset(kinds)
        self.found = Found("formula" in self.kinds)
        self._took: tuple[Any, int] = None, 0
        """The operation that was computed last, and its nanoseconds."""
        self._witnessed = "time" in self.kinds or "inside" in self.kinds
        self.opened: Inside | None = None
        """What gathers the operations of the node that is running."""

    def start(self) -> None:
        """See every operation from now on, if that is needed."""
        if self._witnessed:
            S.special += 1
            S.witness = self.computed

    def finish(self) -> None:
        """See none any more."""
        if self._witnessed and S.witness is not None:
            S.special -= 1
            S.witness = None

    def close(self) -> Found:
        """What was measured since the last call."""
        found, self.found = self.found, Found("formula" in self.kinds)
        return found

    # -- events

    def computed(self, op: Any, args: tuple[Any, ...], outputs: list[Tensor], nanoseconds: int) -> None:
        """An operation was computed."""
        self._took = op, nanoseconds
        if self.opened is not None and L.current is self.opened.node:
            self.opened.computed(op, args, outputs)

    def created(self, tape: Tape, node: Node, outputs: Iterable[Tensor], before: int) -> None:
        """A node was made; rows after number `before` are new with it."""
        row = tape.rows[node._seq]
        if self._took[0] is node._operation and node._operation is not None and "time" in self.kinds:
            self.found.times[row.number] = self._took[1]
        self._took = None, 0
        if "values" not in self.kinds:
            return
        for nr, output in enumerate(outputs):
            raw = output._raw
            if nr == 0 and output._base is not None and _shape(raw) != _shape_of(node) == _shape(output._base._raw):
                raw = output._base._raw  # a change of a view is one of its base
            self._note((row.number, nr), raw)
        for key, other in tape.since(before):
            if key != node._seq:
                self._given(other)
        for given in (*row.args, *row.next):
            met = None if given is None else tape.rows.get(key_of(given))
            if met is not None and not met.is_operation and (met.number, 0) not in self.found.values:
                self._given(met)

    def _given(self, row: Row) -> None:
        """Note the numbers of a leaf or an input."""
        tensor = None if row.is_operation else row.ref()
        if tensor is not None:
            self._note((row.number, 0), tensor._raw)

    def _note(self, place: tuple[int, int], raw: Any) -> None:
        values = summary(raw)
        if values is not None:
            self.found.values[place] = values

    def begins(self, tape: Tape, call: BackwardCall) -> None:
        """A backward call is about to run."""
        call.watch = _Watch(self, tape)

    def ends(self, call: BackwardCall) -> None:
        """A backward call is over."""
        if isinstance(call.watch, _Watch):
            call.watch.ended()


class Beside:
    """An observer that measures beside a tape."""

    def __init__(self, tape: Tape, measures: Measures | None) -> None:
        self.tape, self.measures = tape, measures
        self.begins, self.ends = tape.begins, tape.ends

    def created(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> None:
        """A node was made."""
        before = self.tape.count
        self.tape.created(node, inputs, outputs)
        if self.measures is not None:
            self.measures.created(self.tape, node, outputs, before)


class _Watch:
    """Measures the nodes that one backward call runs."""

    def __init__(self, measures: Measures, tape: Tape) -> None:
        self.measures, self.tape = measures, tape
        self.number: int | None = None
        """The row of the node that is running."""
        self.since = 0
        self.opened: Inside | None = None
        self.outer: Inside | None = None

    def __call__(self, node: Node, grad: Any) -> None:
        """A node is about to run, with this gradient."""
        self.ended()
        measures, found = self.measures, self.measures.found
        self.number = self.tape.rows[self.tape.key(node)].number
        if "values" in measures.kinds and self.number not in found.gradients:
            several = grad if isinstance(grad, (list, tuple)) else [grad]
            found.gradients[self.number] = tuple(
                [None if g is None else summary(getattr(g, "_raw", g)) for g in several]
            )
        if "inside" in measures.kinds and node.__class__ is not AccumulateGrad and self.number not in found.inside:
            self.opened, self.outer = Inside.of(node, grad, values="values" in measures.kinds), measures.opened
            measures.opened = self.opened
            if self.opened is not None and node._operation is not None:
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


def _shape(raw: Any) -> tuple[int, ...]:
    return tuple(raw.shape)


def _shape_of(node: Node) -> tuple[int, ...] | None:
    return node._like[0] if isinstance(node._like, tuple) else () if not node._multiple else None
