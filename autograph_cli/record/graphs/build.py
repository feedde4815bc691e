"""Events become records: the part of the log that one step hangs on, as a `graph.Graph`."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from autograph_cli.engines.protocol import NodeFacts, Output, key_of, number_of
from autograph_cli.graph import (
    Edge,
    Graph,
    Kind,
    Measured,
    ModuleCall,
    Node,
    Output as OutputRecord,
    Pass,
    Root,
    Saved,
    TensorType,
)
from autograph_cli.graph.collector import resting
from autograph_cli.record.graphs.expressions import written_together
from autograph_cli.record.log.changes import output_of
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import INPUT, LEAF, OPERATION, UNTRACKED, BackwardEvent, Event, StepLog
from autograph_cli.record.log.forgetting import closure
from autograph_cli.record.log.saved_tensors import Versions, add_earlier, records, settle
from autograph_cli.record.measure.measures import Found
from autograph_cli.record.names.assigned_names import assigned_names
from autograph_cli.record.names.modules import CallEvent
from autograph_cli.record.names.source_locations import Sources

_number = attrgetter("number")


@dataclass(slots=True)
class Span:
    """The parts that a graph is built from: the events of a step, its backward calls, its roots by name."""

    step: StepLog
    roots: list[tuple[str, Output]] = field(default_factory=list)
    found: Found | None = None
    """The measurements of the step, if any were asked for."""
    ids: dict[int, int] = field(default_factory=dict)
    """The nodes that events became, by number: filled in when the graph is built, if numbers are asked for."""
    older: int = 0
    """The number of nodes from earlier steps, which come first: filled in when the graph is built."""


@resting()
def build(log: EventLog, sources: Sources, span: Span, *, at_last: bool = False) -> Graph:
    """The graph of a span: what was made in it, and what of earlier times its nodes, calls and roots hang on.

    `at_last`: nothing else is made from this log, so what has become records is let go, and in the end all of it: of a
    large graph that is as much as the records.
    """
    builder = _Builder(log, sources, span, at_last)
    if span.found is not None or log.arrays is not None:
        span.ids.update((event.number, position) for position, event in enumerate(builder.events))
    if span.found is not None:
        span.found.ids = span.ids
    first = span.step.begins_at(log.count)
    own = (position for position, event in enumerate(builder.events) if event.number >= first and event.kind != LEAF)
    span.older = next(own, len(builder.events))
    graph = builder.graph()
    if at_last:
        log.clear()
    return graph


def _events(log: EventLog, span: Span) -> list[Event]:
    """Return what the graph is made of, in order: the events of the step, its roots and calls, and all that they hang
    on."""
    known = log.known
    starts = [event.key for event in span.step.events if event.followed]
    starts += [key_of(output) for _, output in span.roots]
    starts += [key for entry in span.step.passes for key in entry.ran]
    first = {leaf: known[key].number for key, leaf in log.leaves.items() if key in known}
    every = [known[key] for key in closure(log, starts)]
    return sorted(every, key=(lambda event: first.get(event.key, event.number)) if first else _number)


def _passes(span: Span, events: Iterable[Event]) -> list[BackwardEvent]:
    """The backward calls of the step, and those that made some of the events, in order."""
    makers = {entry.number: entry for entry in span.step.passes}
    makers |= {maker.number: maker for maker in {event.made_by for event in events} if maker is not None}
    return [makers[number] for number in sorted(makers)]


def types_of(event: Event, types: Callable[[Any, Any], list[TensorType]]) -> list[TensorType]:
    """The types of what an event made, as the `types` of an engine read them."""
    if event.kind != UNTRACKED:
        return types(event.cls, event.like)
    return [types(None, like)[0] for like in event.like]


class _Edges(dict[Output | None, Edge | None]):
    """The edge to each output, one record for all that lead there; none to what is not in the graph."""

    def __init__(self, positions: Mapping[int, int], leaves: Mapping[int, int]) -> None:
        super().__init__(zip(positions, map(Edge, positions.values()), strict=True))
        self[None] = None
        for key in leaves:
            self.pop(key, None)
        self.positions, self.leaves = positions, leaves

    def __missing__(self, output: Output | None) -> Edge | None:
        assert output is not None
        key = key_of(output)
        position = self.positions.get(self.leaves.get(key, key))
        found = self[output] = None if position is None else Edge(position, number_of(output))
        return found


class _Builder:
    def __init__(self, log: EventLog, sources: Sources, span: Span, at_last: bool) -> None:
        self.log, self.sources, self.span, self.step = log, sources, span, span.step
        self.at_last = at_last
        self.saved, self.types = log.saved, log.engine.types
        memory = settle(log, span.step)
        self.storage_of = memory.of
        if at_last:
            span.step.looked.clear()
        self.events = _events(log, span)
        self.earlier = add_earlier(
            log, self.events, memory, next((entry.number for entry in span.step.passes), log.calls)
        )
        """The tensors that operations of earlier steps keep, by key."""
        self.ids = {event.key: position for position, event in enumerate(self.events)}
        self.edge = _Edges(self.ids, log.leaves).__getitem__
        self.passes = _passes(span, self.events)
        self.pass_ids = {entry.number: position for position, entry in enumerate(self.passes)}
        self.assigned = assigned_names(self.events, self.passes, sources, lambda event: len(self._types(event)))
        self.named = {*map(key_of, self.assigned), *log.names, *log.borrowed}
        """The keys of what may have names."""
        self.plain: dict[int, tuple[OutputRecord, ...]] = {}
        """The records of each type without a name or a storage, by its id."""
        self.constants: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
        """The arguments that are equal in many nodes, once."""
        self.storages = self._storages()
        self.versions: Versions = {}
        self.described: dict[tuple[Any, str], tuple[Kind, str, str]] = {}
        self.given = {self.storage_of[event.number] for event in self.events if event.number in self.storage_of}
        self.written = written_together(self.events)
        self.calls = self._calls()
        self.call_ids = {call.serial: position for position, call in enumerate(self.calls)}

    def graph(self) -> Graph:
        parents = [None if event.made_by is None else self._parent(event) for event in self.events]
        calls = list(map(self._call, self.events)) if self.calls else itertools.repeat(None)
        roots, passes = tuple(self._roots()), tuple(map(self._pass, self.passes))
        if self.at_last:
            self.log.known.clear()
            self.step.events.clear()
        nodes = tuple(map(self._node, itertools.count(), self._taken(), parents, calls))
        return Graph(nodes, roots, passes, tuple(self._module_calls()))

    def _taken(self) -> Iterator[Event]:
        """The events, each let go of when the next one is asked for."""
        self.events.reverse()
        while self.events:
            yield self.events.pop()

    def _parent(self, event: Event) -> int | None:
        above = None if event.parent is None else self.log.known.get(event.parent)
        return self.ids.get(above.key) if above is not None and above.order < event.order else None

    def _edges(self, outputs: Iterable[Output]) -> tuple[Edge, ...]:
        found = tuple(map(self.edge, outputs))
        return found if all(found) else tuple([edge for edge in found if edge is not None])  # type: ignore[return-value]

    def _node(self, position: int, event: Event, parent: int | None, call: CallEvent | None) -> Node:
        key, cls, following, made_by, site = event.key, event.cls, event.next, event.made_by, event.site
        of_operation = event.kind is OPERATION
        kind, name, op = (of_operation and self.described.get((cls, event.op))) or self._described(event)
        types = self.types(cls, event.like) if of_operation else self._types(event)
        if len(types) != 1 or key in self.named or event.base is not None:
            outputs = self._outputs(event, types)
        else:
            storage = self.storages.get(key)
            outputs = self._plain(types[0]) if storage is None else (OutputRecord(types[0], (), storage),)
        args = self._edges(event.args)
        same = following == event.args and len(args) == len(following)  # mostly: kept once
        noted = self.saved.pop(key, None) if self.at_last else self.saved.get(key)
        kept: tuple[Saved, ...] = ()
        if noted is not None:
            kept = self.earlier.get(key, noted[0])
        elif event.constants is not None:
            kept = self.log.engine.saved_constants(cls, event.constants)
        return Node(  # in the order of its fields: by name they take twice as long
            position,
            kind,
            name,
            op,
            outputs,
            args if same else tuple(map(self.edge, following)),
            args,
            0 if made_by is None else made_by.order,
            parent,
            None if made_by is None else self.pass_ids[made_by.number],
            None if site is None else self.sources.source(site),
            (not of_operation and self._owner(event)) or ("" if call is None else call.about.path),
            records(kept, self.versions, self.given) if kept else (),
            None if self.span.found is None else self._measured(event, len(outputs)),
            None if call is None else self.call_ids[call.serial],
            self._data(event) if event.plain is None else self._constants(event, kept),
            self._positions(event.cut, args) if event.cut else (),
            self.written.get(event.number),
        )

    def _positions(self, cut: Iterable[Output], args: Sequence[Edge]) -> tuple[int, ...]:
        """Return where among the arguments these are."""
        those = set(map(self.edge, cut))
        return tuple([position for position, edge in enumerate(args) if edge in those])

    def _described(self, event: Event) -> tuple[Kind, str, str]:
        """Return what `describe` says, which is the same of all operations of a class."""
        found = describe(event, self.log.engine)
        if event.kind is OPERATION:
            self.described[event.cls, event.op] = found
        elif event.kind == INPUT and event.op and not event.owner and not self._names(event, 0):
            return "untracked", "", event.op  # drawn at random, or filled, and at once computed with
        return found

    def _outputs(self, event: Event, types: Iterable[TensorType]) -> tuple[OutputRecord, ...]:
        key = event.key
        return tuple(
            [
                OutputRecord(type_, self._names(event, nr), self.storages.get((key, nr) if nr else key))
                for nr, type_ in enumerate(types)
            ]
        )

    def _plain(self, type_: TensorType) -> tuple[OutputRecord, ...]:
        """The only output of a node, without a name and in no memory that is kept."""
        if id(type_) not in self.plain:  # its record keeps it, so that its id stays its own
            self.plain[id(type_)] = (OutputRecord(type_),)
        return self.plain[id(type_)]

    def _owner(self, event: Event) -> str:
        """The module that a leaf or an input belongs to, which may have been called only after its tensor was met."""
        tensor = None if event.owner or event.kind not in (LEAF, INPUT) else event.ref()
        return event.owner if tensor is None else self.log.modules.owner(tensor)

    def _types(self, event: Event) -> list[TensorType]:
        return types_of(event, self.types)

    def _call(self, event: Event) -> CallEvent | None:
        """The call of a module that a node belongs to: a derivative to that of what it is one of."""
        while (
            event.call is None
            and event.made_by is not None
            and event.parent is not None
            and event.parent in self.log.known
        ):
            event = self.log.known[event.parent]
        return event.call if event.call is not None and event.call.serial in self.call_ids else None

    def _calls(self) -> list[CallEvent]:
        """The calls of modules in which something of the graph was computed, and those around them, in order."""
        found: dict[int, CallEvent] = {}
        for event in self.events:
            call = event.call
            if call is None or event.kind not in (OPERATION, UNTRACKED):
                continue
            while call is not None and call.serial not in found:
                found[call.serial] = call
                call = call.parent
        return [found[serial] for serial in sorted(found)]

    def _module_calls(self) -> Iterator[ModuleCall]:
        turns = Counter(call.about.key() for call in self.calls)
        met: Counter[int] = Counter()
        for position, call in enumerate(self.calls):
            about, key = call.about, call.about.key()
            met[key] += 1
            parent = None if call.parent is None else self.call_ids[call.parent.serial]
            yield ModuleCall(
                position, about.path, about.cls, parent, met[key], turns[key], about.parameters, about.layer
            )

    def _constants(self, event: Event, kept: Iterable[Saved]) -> tuple[tuple[str, str], ...]:
        """The plain arguments that are not among what the node keeps for its backward."""
        known = {saved.name for saved in kept if saved.type is None}
        given = self.log.engine.arguments(event.cls, event.plain)
        found = tuple([(name, value) for name, value in given if f"_saved_{name}" not in known])
        return self.constants.setdefault(found, found)

    def _data(self, event: Event) -> tuple[tuple[str, str], ...]:
        """Return the facts on the data of a leaf or an input."""
        return () if self.log.data is None else self.log.data.facts.get(event.number, ())

    def _measured(self, event: Event, outputs: int) -> Measured | None:
        assert self.span.found is not None
        measured = self.span.found.of(self.log.engine, event, outputs, self.pass_ids)
        if measured is None:
            return None
        if event.made_at:
            measured = replace(measured, made=tuple(dict.fromkeys(map(self.sources.source, event.made_at))))
        return measured if measured.inside is None else replace(measured, inside=self.sources.placed(measured.inside))

    def _pass(self, entry: BackwardEvent) -> Pass:
        inputs, results = self._differentiated(entry)
        return Pass(
            self.pass_ids[entry.number],
            entry.call,
            entry.order,
            entry.create_graph,
            self._edges(entry.roots),
            self.sources.source(entry.site),
            tuple([self.ids[key] for key in entry.ran if key in self.ids]),
            inputs,
            results,
            entry.failed,
        )

    def _differentiated(self, entry: BackwardEvent) -> tuple[tuple[Edge, ...], tuple[Edge | None, ...]]:
        """Return what a backward call differentiated by, and what came of it; of a call that named nothing, its
        leaves."""
        if not entry.inputs:
            events = [self.log.known[key] for key in entry.ran if key in self.log.known]
            leaves = {self.ids[event.key] for event in events if event.kind == LEAF and event.key in self.ids}
            return tuple(map(Edge, sorted(leaves))), ()
        both = [(self.edge(x), self.edge(found)) for x, found in zip(entry.inputs, entry.results, strict=True)]
        told = [(x, found) for x, found in both if x is not None]
        return tuple([x for x, _ in told]), tuple([found for _, found in told])

    def _names(self, event: Event, nr: int) -> tuple[str, ...]:
        log, key = self.log, event.key
        output = output_of(key, nr)
        if found := log.names.of(output):
            return tuple(found)
        if output in self.assigned:
            return (self.assigned[output],)
        found = log.borrowed.of(output)
        if not found and event.base is not None:
            found = log.names.of(event.base)  # what it is a view of
        return tuple(found)

    def _storages(self) -> dict[Output, int]:
        """The memory in which outputs are that are kept for backward."""
        found: dict[Output, int] = {}
        known, saved, look, storage_of = self.log.known, self.log.saved, self.log.engine.kept_outputs, self.storage_of
        earlier = self.earlier
        for event in self.events:
            number = event.key
            if number in saved:
                kept, positions, _ = saved[number]
                for output, storage in look(number, event.cls, event.next, earlier.get(number, kept), positions):
                    if output.__class__ is int:
                        if output in known:
                            found[output] = storage
                    elif (key := key_of(output)) in known:
                        found[output if number_of(output) else key] = storage
            if storage_of and event.number in storage_of:
                found[number] = storage_of[event.number]
        return found

    def _roots(self) -> Iterator[Root]:
        used: dict[str, int] = {}
        for name, output in self.span.roots:
            edge = self.edge(output)
            if edge is not None:
                used[name] = used.get(name, 0) + 1
                yield Root(name if used[name] == 1 else f"{name}~{used[name]}", edge.node, edge.nr)


def describe(event: Event, engine: NodeFacts) -> tuple[Kind, str, str]:
    """The kind of an event's node, its name, and that of its operation."""
    if event.kind == INPUT or (event.kind == UNTRACKED and not event.args):
        return "input", "Input", ""
    if event.kind == UNTRACKED:
        return "untracked", "", event.op
    if event.cls is None:
        return "leaf", "AccumulateGrad", ""
    name, operation = engine.names(event.cls)
    if event.kind == LEAF:
        return "leaf", name, ""
    return "operation", name, event.op or operation
