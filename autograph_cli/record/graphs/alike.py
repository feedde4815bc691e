"""Equal steps share one graph: a loop that runs the same operations again makes the same records again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from autograph_cli.engines.protocol import Output, key_of, number_of
from autograph_cli.graph import Graph
from autograph_cli.record.graphs.build import Span
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import COMPUTED, OPERATION, BackwardEvent, Event, StepLog
from autograph_cli.record.names.source_locations import Site

MOST = 4
"""The most graphs that are remembered for later steps which are equal to theirs."""


class Signature(NamedTuple):
    """A key of a step at its backward call: steps with equal keys ran the same; see `derive.signature`."""

    key: tuple[Any, ...]
    places: Mapping[int, int]
    """The place in it of each node, leaf and input, by key."""
    events: int
    """The number of events that it tells of."""


class Differs(Exception):
    """A step has something in it of which the keys here do not tell."""


class Graphs:
    """The graphs of the last steps that differed."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known: dict[tuple[Any, ...], tuple[Graph, int, list[Any]]] = {}
        """With the number of nodes from earlier steps, and all of which the key holds an id."""

    def of(self, span: Span, make: Callable[[], Graph]) -> Graph:
        """Return the graph of a span: that of an earlier step which was equal, or the one that is made."""
        try:
            key = _key(self._log, span)
        except Differs:
            return make()
        span.step.signature = None
        found = self._known.get(key)
        if found is None:
            while len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            found = self._known[key] = make(), span.older, [*_held(span.step)]
        else:
            self._log.looks.append(span.step.looked)  # for what hangs on this step
        span.older = found[1]
        return found[0]


def _held(step: StepLog) -> Iterator[Any]:
    """Yield what a key of this step holds ids of."""
    sites = [entry.site for entry in step.passes]
    for event in step.events:
        sites += [event.site, *event.made_at]
        call = event.call
        while call is not None:
            yield call.about
            call = call.parent
    yield from {id(site[0]): site[0] for site in sites if site is not None}.values()


def _key(log: EventLog, span: Span) -> tuple[Any, ...]:
    """Return a key of all that the graph of a span is made from. A place is where the signature met something.

    Raises:
        Differs: The span has something from which no key is made.
    """
    step, alike = span.step, log.engine.alike
    signature = step.signature
    if alike is None or signature is None or signature.events != len(step.events) or not step.events:
        raise Differs
    if span.found is not None or log.arrays is not None:
        raise Differs  # numbers change in every step
    places, first = signature.places, step.events[0].number
    known, leaves = log.known, log.leaves
    events = [known.get(key) for key in places]
    if not leaves.keys().isdisjoint(places) or any(event is None or not _is_told(event, first) for event in events):
        raise Differs

    def place(output: Output | None) -> Any:
        if output is None:
            return None
        found = places.get(key_of(output))
        if found is None:
            raise Differs
        return found if output.__class__ is int else (found, number_of(output))

    numbers = [event.number for event in events if event is not None]
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    told = [_told(log, event, place) for event in events if event is not None]
    return (
        signature.key,
        tuple(order),
        sum(number < first for number in numbers),
        tuple(filter(None, told)),
        *_kept(step, places, alike, place),
        *[_pass(log, entry, first, place) for entry in step.passes],
        tuple([(name, place(output)) for name, output in span.roots]),
    )


def _is_told(event: Event, first: int) -> bool:
    """Return whether the signature holds all of an event: it is of the step itself, and of order 0."""
    return event.kind not in COMPUTED or (event.number >= first and event.made_by is None)


def _told(log: EventLog, event: Event, place: Callable[[Output], Any]) -> tuple[Any, ...] | None:
    """Return what the signature does not hold of an event: names that it has by now, or for want of better ones; what
    it was cut from; where its numbers came from, and what is told of them; the module that it belongs to."""
    names, borrowed = log.names.get(event.key), log.borrowed.get(event.key)
    if event.kind is OPERATION:
        return (place(event.key), _names(names), _names(borrowed)) if names or borrowed else None
    tensor = None if event.owner or event.kind in COMPUTED else event.ref()
    call = None if event.call is None else id(event.call.about)
    cut = tuple(map(place, event.cut))
    made_at = tuple(map(_site, event.made_at))
    owner = "" if tensor is None else log.modules.owner(tensor)
    data = () if log.data is None else log.data.facts.get(event.number, ())
    return place(event.key), _names(names), _names(borrowed), cut, made_at, owner, call, data


def _names(names: Mapping[int, Sequence[str]] | None) -> Any:
    return names and tuple([(nr, *some) for nr, some in names.items()])


def _site(site: Site | None) -> Any:
    return None if site is None else (id(site[0]), site[1])


def _kept(
    step: StepLog, places: Mapping[int, int], alike: Callable[..., Any], place: Callable[[Output | None], Any]
) -> Iterator[Any]:
    """Yield what the nodes keep, with the memory and the versions of it numbered as they are met."""
    for noted in step.looked:
        storages: dict[int, int] = {}
        versions: dict[int, int] = {}
        yield tuple(
            [
                (places[event.key], alike(kept, storages, versions, place))
                for event, kept in zip(noted.events, noted.kept, strict=True)
                if kept is not None and event.key in places
            ]
        )
        pairs = zip(noted.others, noted.memory, strict=True)
        yield tuple([(places.get(event.key), storages[at]) for event, at in pairs if at in storages])


def _pass(log: EventLog, entry: BackwardEvent, first: int, place: Callable[[Output | None], Any]) -> tuple[Any, ...]:
    ran = tuple([place(key) for key in entry.ran if key in log.known])
    asked = [tuple(map(place, outputs)) for outputs in (entry.inputs, entry.results)]
    return _site(entry.site), entry.failed, entry.order, entry.newest - first, ran, *asked
