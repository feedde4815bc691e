"""Makes the derivative graph that a script did not ask for, of a step that is kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autograph_cli.engines.protocol import CannotDerive, Output, key_of, number_of
from autograph_cli.graph import Graph
from autograph_cli.graph.collector import resting
from autograph_cli.record.graphs.build import Span, build, types_of
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import COMPUTED, StepLog
from autograph_cli.record.log.saved_tensors import look
from autograph_cli.record.measure.measures import Measures
from autograph_cli.record.names.source_locations import Sources


def not_chosen(step: int) -> str:
    """That the derivative graph of a step was not made, and how to get it."""
    return (
        "not made for this step: the script asked for first derivatives only; of a step that is named by number it is "
        f"made (render FILE.py --step {step + 1}, run --steps {step + 1})"
    )


class Derivation:
    """A derivative graph, made when it is first asked for, or why there is none; several equal steps have one."""

    def __init__(self, make: Callable[[], Graph] | None, words: str | None) -> None:
        self._make, self.words = make, words
        self._graph: Graph | None = None

    def graph(self) -> Graph | None:
        """Return the graph."""
        if self._make is not None:
            self._graph, self._make = self._make(), None
        return self._graph


def signature(log: EventLog, step: StepLog, roots: Iterable[Output]) -> tuple[Any, ...]:
    """Return a key of a step: steps with the same key have equal derivative graphs. It holds operations with all that
    they were given, lines, modules, leaves and names."""
    known, types = log.known, log.engine.types
    places: dict[int, int] = {}
    calls: dict[int, int] = {}
    found: list[Any] = []
    first = step.passes[0].number if step.passes else 0

    def place(output: Output | None) -> Any:
        if output is None:
            return None
        key = key_of(output)
        if key not in places:
            places[key], event = len(places), known.get(log.leaves.get(key, key))
            if event is not None:
                kind = event.kind if event.followed or not event.is_operation else "earlier"
                of = event.cls if event.kind in COMPUTED else None
                found.append((kind, of, event.op, tuple(types_of(event, types)), event.owner, place(event.base)))
        return places[key], number_of(output), *log.names_of(output)

    for event in step.events:
        if event.kind in COMPUTED:
            within, call = [], event.call
            while call is not None:
                within.append((id(call.about), calls.setdefault(call.serial, len(calls))))
                call = call.parent
            site = None if event.site is None else (id(event.site[0]), event.site[1])
            made_by = None if event.made_by is None else event.made_by.number - first
            said = site, made_by, repr(event.constants), repr(event.plain), *within
            found.append((place(event.key), *map(place, event.next), "from", *map(place, event.args), "cut", *said))
    passes = [(entry.call, entry.create_graph, *map(place, entry.roots)) for entry in step.passes]
    return *found, *passes, *map(place, roots)


@resting()
def derive(
    log: EventLog,
    sources: Sources,
    span: Span,
    roots: Sequence[tuple[str, Any]],
    order: int = 0,
    *,
    custom: bool,
    measures: Measures | None = None,
) -> tuple[Callable[[], Graph] | None, str]:
    """Return what makes the graph of `span` with the gradients of `roots` by their leaves in it, and how it came about.

    `order` is the highest of which the script kept a graph. `custom`: go on where custom Functions are in the graph,
    whose Python code then runs once more. The graph is to be made when the step is over, with all that was measured in
    it.
    """
    names = ", ".join(f"`{name}`" for name, _ in roots)
    try:
        other = log.copy()
        if measures is not None:
            other.measures, other.engine.measured = measures, True
        leaves, found = other.engine.gradients([root for _, root in roots], custom=custom)
        gradients = list(_named(other, leaves, found))
        if not gradients:
            raise CannotDerive(f"not made: the gradients of {names} are constants, with no graph of their own")
        look(other, other.step)
        made = Span(other.step, [*span.roots, *gradients], span.found)
        return functools.partial(build, other, sources, made, at_last=True), (
            f"made by autograph from {names} and its leaves; the script itself {_kept(order)}"
        )
    except CannotDerive as reason:
        return None, str(reason)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return None, f"not made: autograph differentiated {names} once more, and that failed with {what}"


def _kept(order: int) -> str:
    """Return the words on what the script did instead."""
    if not order:
        return "asked for first derivatives only"
    return f"kept no graph of order {order + 1}"


def _named(log: EventLog, leaves: Sequence[Any], found: Iterable[Any]) -> Iterator[tuple[str, Output]]:
    """The gradients that have a graph, each named after its leaf."""
    for position, (leaf, gradient) in enumerate(zip(leaves, found, strict=True)):
        output = None if gradient is None or gradient.grad_fn is None else log.engine.output(gradient)
        if output is None:
            continue
        known = log.engine.output(leaf)
        names = [] if known is None else log.names_of(known)
        name = f"{names[0] if names else f'leaf {position}'}.grad"
        log.note(gradient, name)
        yield name, output
