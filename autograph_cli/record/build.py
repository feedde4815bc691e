"""Rows become records: the part of a tape that one step hangs on, as a `graph.Graph`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autograph_cli.graph import Edge, Graph, Kind, ModuleCall, Node, Pass, Root, Source, TensorType
from autograph_cli.graph import Output as OutputRecord
from autograph_cli.record.measures import Found
from autograph_cli.record.modules import CallRow
from autograph_cli.record.saved import Versions, places_of, records
from autograph_cli.record.sites import Sources, end_of
from autograph_cli.record.tape import Output, PassRow, Row, Tape, key_of, number_of
from autograph_cli.torch._core.node import AccumulateGrad, MetaLike, shape_dtype


@dataclass(slots=True)
class Span:
    """The rows of one step: those after number `first`, up to `last`; its backward calls; its roots by name."""

    first: int
    last: int
    passes: list[PassRow] = field(default_factory=list)
    roots: list[tuple[str, Output]] = field(default_factory=list)
    found: Found | None = None
    """What was measured in the step, if anything was to be."""


def build(tape: Tape, sources: Sources, span: Span) -> Graph:
    """The graph of a span: what was made in it, and what of earlier times its nodes, calls and roots hang on."""
    return _Builder(tape, sources, span).graph()


class _Builder:
    def __init__(self, tape: Tape, sources: Sources, span: Span) -> None:
        self.tape, self.sources, self.span = tape, sources, span
        rows = tape.rows
        starts = [key for key, row in tape.since(span.first) if row.number <= span.last and row.is_operation]
        starts += [key_of(output) for _, output in span.roots]
        starts += [key for entry in span.passes for key in entry.ran]
        self.rows = sorted([rows[key] for key in tape.closure(starts)])
        self.ids = {row.number: place for place, row in enumerate(self.rows)}
        makers = {entry.number: entry for entry in span.passes}
        makers |= {row.made_by.number: row.made_by for row in self.rows if row.made_by is not None}
        self.passes = [makers[number] for number in sorted(makers)]
        self.pass_ids = {entry.number: place for place, entry in enumerate(self.passes)}
        self.static = self._static_names()
        self.storages = self._storages()
        self.versions: Versions = {}
        self.given = {tape.lies[row.number] for row in self.rows if row.number in tape.lies}
        self.calls = self._calls()
        self.call_ids = {call.serial: place for place, call in enumerate(self.calls)}

    def graph(self) -> Graph:
        return Graph(
            tuple(map(self._node, self.rows)),
            tuple(self._roots()),
            tuple(map(self._pass, self.passes)),
            tuple(self._module_calls()),
        )

    def _edge(self, output: Output | None) -> Edge | None:
        row = None if output is None else self.tape.rows.get(key_of(output))
        place = None if row is None else self.ids.get(row.number)
        return None if place is None or output is None else Edge(place, number_of(output))

    def _edges(self, outputs: Iterable[Output]) -> tuple[Edge, ...]:
        return tuple([edge for edge in map(self._edge, outputs) if edge is not None])

    def _node(self, row: Row) -> Node:
        made_by, parent = row.made_by, None
        if made_by is not None and row.parent is not None and row.parent in self.tape.rows:
            above = self.tape.rows[row.parent]
            parent = self.ids.get(above.number) if above.order < row.order else None
        kind, name, op = describe(row)
        types = types_of(row)
        call = self._call(row)
        return Node(
            id=self.ids[row.number],
            kind=kind,
            name=name,
            op=op,
            outputs=tuple(
                [
                    OutputRecord(kept, self._names(row, nr), self.storages.get((row.number, nr)))
                    for nr, kept in enumerate(types)
                ]
            ),
            next=tuple(map(self._edge, row.next)),
            args=self._edges(row.args),
            order=row.order,
            parent=parent,
            pass_id=None if made_by is None else self.pass_ids[made_by.number],
            source=self._source(row),
            saved=records(self.tape.saved.get(row.number, ()), self.versions, self.given),
            measured=None if self.span.found is None else self.span.found.of(row, len(types)),
            module=row.owner or ("" if call is None else call.about.path),
            call=None if call is None else self.call_ids[call.serial],
        )

    def _call(self, row: Row) -> CallRow | None:
        """The call of a module that a node belongs to: a derivative to that of what it is one of."""
        while (
            row.module is None and row.made_by is not None and row.parent is not None and row.parent in self.tape.rows
        ):
            row = self.tape.rows[row.parent]
        return row.module if row.module is not None and row.module.serial in self.call_ids else None

    def _calls(self) -> list[CallRow]:
        """The calls of modules in which something of the graph was computed, and those around them, in order."""
        found: dict[int, CallRow] = {}
        for row in self.rows:
            call = row.module if row.is_operation else None
            while call is not None and call.serial not in found:
                found[call.serial] = call
                call = call.parent
        return [found[serial] for serial in sorted(found)]

    def _module_calls(self) -> Iterator[ModuleCall]:
        turns = Counter(id(call.about.ref() or call.about) for call in self.calls)
        met: Counter[int] = Counter()
        for place, call in enumerate(self.calls):
            about, key = call.about, id(call.about.ref() or call.about)
            met[key] += 1
            parent = None if call.parent is None else self.call_ids[call.parent.serial]
            yield ModuleCall(place, about.path, about.cls, parent, met[key], turns[key], about.parameters)

    def _source(self, row: Row) -> Source | None:
        return None if row.code is None else self.sources.source((row.code, row.offset))

    def _pass(self, entry: PassRow) -> Pass:
        ran = [self.tape.rows[key].number for key in entry.ran if key in self.tape.rows]
        return Pass(
            self.pass_ids[entry.number],
            entry.call,
            entry.order,
            entry.create_graph,
            self._edges(entry.roots),
            self.sources.source(entry.site),
            tuple([self.ids[number] for number in ran if number in self.ids]),
        )

    def _names(self, row: Row, nr: int) -> tuple[str, ...]:
        place = row.number, nr
        return (
            tuple(self.tape.names.get(place, ()))
            or self.static.get(place, ())
            or tuple(self.tape.borrowed.get(place, ()))
        )

    def _static_names(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """For variables of functions that returned: the last node that a line made has the name it assigns to."""
        last: dict[tuple[int, tuple[str | None, ...]], Row] = {}
        for row in self.rows:
            if row.code is None or row.made_by is not None:
                continue
            site = row.code, row.offset
            assignment = self.sources.assignment(site)
            names = () if assignment is None else assignment.names_at(end_of(site))
            if names:
                last[id(assignment), names] = row
        begun = self._begun()
        return {
            (row.number, nr): (name,)
            for (line, names), row in last.items()
            if row.number > begun.get(line, -1)
            for nr, name in enumerate(names)
            if name is not None and (len(names) == 1 or len(names) == len(types_of(row)))
        }

    def _begun(self) -> dict[int, int]:
        """The last node before a backward call, by the assignment that called: what it assigns came after."""
        found: dict[int, int] = {}
        for entry in self.passes:
            assignment = None if entry.site is None else self.sources.assignment(entry.site)
            newest = self.tape.rows.get(entry.last_key)
            if assignment is not None and newest is not None:
                found[id(assignment)] = max(found.get(id(assignment), -1), newest.number)
        return found

    def _storages(self) -> dict[tuple[int, int], int]:
        """The memory in which outputs lie that are kept for backward."""
        found: dict[tuple[int, int], int] = {}
        for row in self.rows:
            found.update(places_of(row, self.tape))
            if row.number in self.tape.lies:
                found[row.number, 0] = self.tape.lies[row.number]
        return found

    def _roots(self) -> Iterator[Root]:
        used: dict[str, int] = {}
        for name, output in self.span.roots:
            edge = self._edge(output)
            if edge is not None:
                used[name] = used.get(name, 0) + 1
                yield Root(name if used[name] == 1 else f"{name}~{used[name]}", edge.node, edge.nr)


def describe(row: Row) -> tuple[Kind, str, str]:
    """The kind of a row's node, its name, and that of its operation."""
    if row.cls is None:
        return "input", "Input", ""
    name = row.cls.__name__
    if row.cls is AccumulateGrad:
        return "leaf", name, ""
    operation = row.cls._operation
    return "operation", name, row.op or (name.removesuffix("Backward") if operation is None else operation.name)


def types_of(row: Row) -> list[TensorType]:
    """The types of a row's outputs."""
    several = row.cls is not None and row.cls._multiple
    return [_type(like) for like in (row.like if several else [row.like])]


def _type(like: Any) -> TensorType:
    if like is None:  # an output of a custom Function that is no tensor
        return TensorType("object", ())
    shape, dtype = shape_dtype(like)
    return TensorType(dtype.name, tuple(shape), "meta" if like.__class__ is MetaLike else "cpu")
