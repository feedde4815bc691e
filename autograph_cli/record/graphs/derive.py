"""Makes the derivative graphs that a script did not ask for, of steps that may be kept."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autograph_cli.engines.protocol import CannotDerive, Output, key_of, number_of
from autograph_cli.graph import Graph
from autograph_cli.graph.collector import resting
from autograph_cli.graph.errors import message
from autograph_cli.record.graphs.alike import Signature
from autograph_cli.record.graphs.build import Span, build, describe, types_of
from autograph_cli.record.graphs.roots import is_operation, made_in, name_of
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import COMPUTED, Event, StepLog
from autograph_cli.record.log.saved_tensors import look
from autograph_cli.record.log.signals import held, of_the_script
from autograph_cli.record.measure.measures import Measures
from autograph_cli.record.names.modules import CallEvent
from autograph_cli.record.names.source_locations import Sources

LARGE = 20_000
"""The signature of a step with more events is a hash: it would take as much memory as the graph."""
MOST_DERIVED = 4
"""The most derivative graphs that are kept for later steps that are equal to theirs."""
FEW = 16
"""The number of differing steps for which a derivative graph is made."""
_SUMS = frozenset("add add_ sub sub_ cat stack".split())
_LINEAR = frozenset(
    "sum mean mul mul_ div div_ neg dot vdot inner mv mm bmm matmul trace select slice index view _unsafe_view reshape "
    "flatten t transpose permute squeeze unsqueeze expand clone alias unbind split".split()
)
"""Operations of which the result is linear in each of their tensors."""
Made = tuple[Callable[[], Graph | None] | None, str | None]
"""A function that makes a derivative graph, if there is one, and how it came about or why there is none."""


def not_chosen(step: int) -> str:
    """Return the note that the derivative graph of a step was not made, and how to get it."""
    return (
        "not made for this step: the script asked for first derivatives only; of a step that is named by number it is "
        f"made (render FILE.py --step {step + 1}, run --steps {step + 1})"
    )


class Derivation:
    """A derivative graph, made when it is first asked for, or why there is none; several equal steps have one."""

    def __init__(self, make: Callable[[], Graph | None] | None, words: str | None) -> None:
        self._make, self.words = make, words
        self._graph: Graph | None = None

    def graph(self) -> Graph | None:
        """Return the graph."""
        if self._make is not None:
            self._graph, self._make = self._make(), None
        return self._graph


class Derivations:
    """The derivative graphs of a run; `look_back` is called before one is made. With `custom`, they are made also where
    custom Functions are in the graph."""

    def __init__(
        self, log: EventLog, sources: Sources, look_back: Callable[[], None], measures: Measures | None, *, custom: bool
    ) -> None:
        self._log, self._sources, self._look_back, self._measures = log, sources, look_back, measures
        self._custom = custom
        self._known: dict[tuple[Any, ...], Derivation] = {}
        """By the signature of the steps that they are of."""
        self.count = 0
        """The number of graphs made so far."""
        self.others: set[threading.Thread] = set()
        """The threads that are not the script's."""

    def of_call(self, roots: Sequence[Any], call: str, *, chosen: bool) -> Made:
        """Return what makes that of the step whose last backward `call` is of these roots: one for all that are equal,
        unless something is measured; of more than a few that differ, only of those that are `chosen`."""
        log, tensor = self._log, self._log.engine.tensor
        outputs = [output for output in map(log.engine.root, roots) if output is not None]
        key = None
        if self._measures is None:
            made = signature(log, log.step, outputs)
            log.step.signature = made if made.events < LARGE else None
            key = made.key, call
        found = None if key is None else self._known.get(key)
        if found is None:
            if not chosen and self.count >= FEW:
                return None, None
            self.count += 1
            self._look_back()
            named = [(self._name(root), root) for root in roots if isinstance(root, tensor)]
            found = Derivation(*self.of_roots(named, call))
            if key is not None:
                while len(self._known) >= MOST_DERIVED:
                    del self._known[next(iter(self._known))]
                self._known[key] = found
        return found.graph, found.words

    def _name(self, root: Any) -> str:
        output = self._log.engine.output(root)
        return "" if output is None else name_of(self._log, output)

    def of_roots(self, roots: Sequence[tuple[str, Any]], call: str = "") -> Made:
        """Return what makes that of the step that is going on, if its own script made none; of these roots all the same
        where `call` differentiates derivatives: `grad` what hangs on any, `backward`, which trains on losses with
        derivatives in them, a derivative itself, or what is linear in it."""
        log, step = self._log, self._log.step
        highest = max((event.order for event in step.events if event.is_operation), default=0)
        if highest and not (call and _hang_on_derivatives(log, [root for _, root in roots], alone=call != "grad")):
            return None, ""
        used = {key_of(output) for event in step.events for output in event.next if output is not None}
        chosen: dict[Output, tuple[str, Any]] = {}
        for name, root in roots:
            output = log.engine.output(root)
            if output is not None and is_operation(log, output) and key_of(output) not in used:
                chosen.setdefault(output, (name, root))
        if not chosen:
            return None, self._constant()
        if not self.others.union([threading.current_thread()]).issuperset(threading.enumerate()):
            return None, "not made: other threads of the script were running"
        found = [(name, output) for name, output in made_in(log, step) if output not in chosen]
        starts = [(name, output) for output, (name, _) in chosen.items()]
        span, roots = Span(step, [*starts, *found], step.found), list(chosen.values())
        with contextlib.nullcontext() if self._measures is None else self._measures.pausing():
            made, why = derive(log, self._sources, span, roots, highest, custom=self._custom, measures=self._measures)
        return made, why if made else self._constant() or why

    def _constant(self) -> str:
        """Return what to say where the script asked for a graph of the gradient, and its backward left none."""
        for entry in self._log.step.passes:
            if entry.create_graph and not entry.failed:
                position = self._sources.source(entry.site)
                where = f" ({position.file}:{position.line})" if position else ""
                return (
                    f"`{entry.call}` with create_graph=True{where} recorded nothing: its gradients are constants, "
                    "cut from the leaves"
                )
        return ""


def _hang_on_derivatives(log: EventLog, roots: Iterable[Any], *, alone: bool) -> bool:
    """Return whether one of these was made from what a backward pass recorded; `alone`: linear in it, and made from
    nothing else."""
    known, waiting = log.known, list(map(log.engine.root, roots))
    met: set[int] = set()
    found = False
    while waiting:
        output = waiting.pop()
        key = -1 if output is None else key_of(output)
        if output is None or key in met or key not in known:
            continue
        met.add(key)
        event = known[key]
        if event.order:
            found = True
            continue
        if alone and not _is_linear(event, describe(event, log.engine)[2]):
            return False
        waiting += event.next
    return found


def _is_linear(event: Event, op: str) -> bool:
    """Return whether what an operation made is linear in what it differentiates."""
    return op in _SUMS or (op in _LINEAR and sum(output is not None for output in event.next) == 1)


class _Hash:
    """Takes what a list would, and holds the hash of it alone."""

    value = 0

    def append(self, item: tuple[Any, ...]) -> None:
        self.value = hash((self.value, item))

    def __iter__(self) -> Iterator[int]:
        return iter((self.value,))


def signature(log: EventLog, step: StepLog, roots: Iterable[Output]) -> Signature:
    """Return a key of a step: steps with the same key have equal derivative graphs. It holds operations with all that
    they were given, lines, modules, leaves and names."""
    known, leaves, types = log.known, log.leaves, log.engine.types
    places: dict[int, int] = {}
    calls: dict[int, int] = {}
    found: list[Any] | _Hash = [] if len(step.events) < LARGE else _Hash()
    first = step.passes[0].number if step.passes else 0

    def place(output: Output | None) -> Any:
        if output is None:
            return None
        key = key_of(output)
        at = places.get(key)
        if at is None:
            at = places[key] = len(places)
            event = known.get(leaves.get(key, key))
            names = log.names.get(key)
            told = None if names is None else tuple([(nr, *some) for nr, some in names.items()])
            if event is not None:
                kind = event.kind if event.followed or not event.is_operation else "earlier"
                of = event.cls if event.kind in COMPUTED else None
                base = None if event.base is None else place(event.base)
                found.append((at, kind, of, event.op, event.owner, base, told, *types_of(event, types)))
            elif told:
                found.append((at, told))
        return at if output.__class__ is int else (at, number_of(output))

    def within(call: CallEvent | None) -> int | None:
        new, inner = [], call
        while inner is not None and inner.serial not in calls:
            new.append(inner)
            inner = inner.parent
        for each in reversed(new):
            calls[each.serial] = len(calls)
            found.append(("call", id(each.about), each.parent and calls[each.parent.serial]))
        return None if call is None else calls[call.serial]

    for event in step.events:
        if event.kind in COMPUTED:
            site = None if event.site is None else (id(event.site[0]), event.site[1])
            made_by = None if event.made_by is None else event.made_by.number - first
            said = [None if each is None else repr(each) for each in (event.constants, event.plain)]
            edges = [
                tuple([at if (at := places.get(x)) is not None else place(x) for x in outputs])  # type: ignore[arg-type]
                for outputs in (event.next, event.args)
            ]
            found.append((place(event.key), *edges, site, made_by, *said, within(event.call)))
    passes = [(entry.call, entry.create_graph, *map(place, entry.roots)) for entry in step.passes]
    return Signature((*found, *passes, *map(place, roots)), places, len(step.events))


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
    with held():
        try:
            return _differentiated(log, sources, span, roots, names, order, custom, measures)
        except CannotDerive as reason:
            return None, str(reason)
        except Exception as error:
            if of_the_script(error):
                raise
            what = f"{type(error).__name__}: {message(error)}"
            return None, f"not made: autograph differentiated {names} once more, and that failed with {what}"


def _differentiated(
    log: EventLog,
    sources: Sources,
    span: Span,
    roots: Sequence[tuple[str, Any]],
    names: str,
    order: int,
    custom: bool,
    measures: Measures | None,
) -> tuple[Callable[[], Graph], str]:
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
