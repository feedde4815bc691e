"""A graph of any size as a few thousand nodes: calls of modules, and what ran one after the other, as one node each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.closing import Merging, measured_together
from autograph_cli.graph.nesting import Nesting
from autograph_cli.graph.records import Edge, Graph, Node, Values
from autograph_cli.graph.views import users_of

SEVERAL = 24
"""Calls directly in one that stay a node each; of more, those in a row are one."""
SHOWN = 200
"""Leaves and inputs of no module that stay a node each, if they are no more."""
NAMED = 3
"""Operations that a node names."""


class Outline(Struct, frozen=True):
    """The coarse graph."""

    graph: Graph
    place: dict[int, int]
    """The node that each node of the whole graph is a part of."""
    size: int
    """Nodes of the whole graph that one has, about."""


def outlined(graph: Graph, budget: int) -> Outline:
    """The graph with runs of its nodes merged, so that few times `budget` are left.

    A run never leads back into one before it, as nodes come after those that they were made of. Leaves, inputs and
    tensors that several runs use stay as they are.
    """
    size = -(-len(graph) // budget)
    runs = _Runs(graph, size)
    merging = _Merged(graph, runs.keys(), runs)
    coarse = merging.graph()
    last = {key: its[-1].id for key, its in merging.operations.items()}
    place = {
        number: merging.place[number if key is None else last[key]]
        for number, key in enumerate(merging.key)
        if key is None or key in last
    }
    ran = (dict.fromkeys(place[number] for number in entry.ran if number in place) for entry in graph.passes)
    passes = tuple(replace(entry, ran=tuple(its)) for entry, its in zip(coarse.passes, ran, strict=True))
    return Outline(_with_own_calls(replace(coarse, passes=passes)), place, size)


def _with_own_calls(graph: Graph) -> Graph:
    """The graph without the calls in which no node of it ran."""
    nesting = Nesting(graph)
    kept = sorted({call for node in graph for call in nesting.around(node.call)})
    new: dict[int | None, int | None] = {None: None} | {old: number for number, old in enumerate(kept)}
    calls = [
        replace(graph.calls[old], id=number, parent=new[graph.calls[old].parent]) for number, old in enumerate(kept)
    ]
    return replace(graph, nodes=tuple([replace(node, call=new[node.call]) for node in graph]), calls=tuple(calls))


class _Runs:
    """The runs of nodes, each by the number of its first one."""

    def __init__(self, graph: Graph, size: int) -> None:
        self.graph, self.size, self.nesting = graph, size, Nesting(graph)
        self.title: dict[int, str] = {}
        self.call: dict[int, int | None] = {}
        self.users = {used: its for used, its in users_of(graph).items() if not graph[used].computes}
        self.path: list[tuple[int, ...]] = [()] * len(graph)
        """The calls that each node ran in, the outermost first; of what was not computed, those of what comes next."""
        following: tuple[int, ...] = ()
        for node in reversed(graph.nodes):
            if node.computes:
                following = tuple(self.nesting.around(node.call))[::-1]
            self.path[node.id] = following

    def keys(self) -> list[int | None]:
        """The run of each node that is merged with others."""
        found: list[int | None] = [None] * len(self.graph)
        for start, end in self._cut(range(len(self.graph)), 0):
            if end - start > 1:
                found[start:end] = [start] * (end - start)
        outer = {used for used, its in self.users.items() if self.nesting.home(self.graph[used], its) is None}
        shown = outer if len(outer) <= SHOWN else set()
        shown.update(root.node for root in self.graph.roots if not self.graph[root.node].computes)
        for used, its in self.users.items():
            if used in shown or any(found[user] != found[used] for user in its):
                found[used] = None
        return found

    def _cut(self, span: range, depth: int) -> Iterator[tuple[int, int]]:
        """Cut a span, all of whose nodes ran in the same calls down to a depth, into runs."""
        parts = list(self._parts(span, depth))
        inner = [part for part in parts if part[2] is not None]
        if len(parts) == 1 and not inner:
            yield from self._pieces(span)
            return
        row: list[tuple[int, int, int | None]] = []
        for part in parts:
            if part[1] - part[0] >= self.size or len(inner) <= SEVERAL:
                yield from self._row(row)
                row = []
                if part[1] - part[0] <= self.size:
                    yield from self._row([part])
                else:
                    yield from self._cut(range(part[0], part[1]), depth + (part[2] is not None))
                continue
            row.append(part)
            if row[-1][1] - row[0][0] >= self.size:
                yield from self._row(row)
                row = []
        yield from self._row(row)

    def _pieces(self, span: range) -> Iterator[tuple[int, int]]:
        """Cut what ran in no further call into pieces that begin at one line, where a loop has that in each turn."""
        lines = [self.graph[number].source for number in span]
        start = 0
        while start < len(span):
            end = min(start + self.size, len(span))
            turn = next((at for at in range(end, min(end + self.size, len(span))) if lines[at] == lines[0]), end)
            yield self._run(span[start], span.start + turn, ())
            start = turn

    def _parts(self, span: range, depth: int) -> Iterator[tuple[int, int, int | None]]:
        """Yield where the calls of a depth begin and end in a span, and what stands between them."""
        for call, its in groupby(span, lambda number: self._at(number, depth)):
            numbers = list(its)
            yield numbers[0], numbers[-1] + 1, call

    def _at(self, number: int, depth: int) -> int | None:
        path = self.path[number]
        return path[depth] if len(path) > depth else None

    def _row(self, row: Sequence[tuple[int, int, int | None]]) -> Iterator[tuple[int, int]]:
        if row:
            yield self._run(row[0][0], row[-1][1], [call for _, _, call in row if call is not None])

    def _run(self, start: int, end: int, calls: Sequence[int]) -> tuple[int, int]:
        self.title[start] = self._title(calls)
        self.call[start] = self.nesting.common(path[-1] if path else None for path in self.path[start:end])
        return start, end

    def _title(self, calls: Sequence[int]) -> str:
        """`net.3: Block` of one call, `net.3–9: Block` of several in a row."""
        if not calls:
            return ""
        first, last = self.graph.calls[calls[0]], self.graph.calls[calls[-1]]
        around = first.path.rpartition(".")[0]
        to = "" if first is last else f"–{last.path.removeprefix(f'{around}.' if around else '')}"
        classes = list(dict.fromkeys(self.graph.calls[call].cls for call in calls))
        return f"{first.path}{to}: {', '.join(classes[:NAMED])}{'…' if len(classes) > NAMED else ''}"


class _Merged(Merging[int]):
    def __init__(self, whole: Graph, keys: Sequence[int | None], runs: _Runs) -> None:
        super().__init__(whole, keys)
        self.runs = runs

    def _closed(self, node: Node, key: int, used: dict[int, list[Edge]]) -> Node:
        following = [edge for member in self.members[key] for edge in member.next if edge is not None]
        return replace(super()._closed(node, key, used), next=self._given(key, following))

    def merged(self, key: int, node: Node, outputs: Sequence[Edge]) -> Node:
        operations = self.operations[key]
        names = Counter(member.op or member.name for member in operations)
        told = ", ".join(name for name, _ in names.most_common(NAMED)) + ("…" if len(names) > NAMED else "")
        words = f"{self.runs.title[key] or told} {{{len(operations):,} node{'s' * (len(operations) != 1)}}}"
        tracked = any(member.kind == "operation" for member in operations)
        return replace(
            node,
            kind="operation" if tracked else "untracked",
            name=words,
            op=words,
            saved=(),
            constants=(),
            cut=(),
            written=None,
            source=operations[0].source if len({member.source for member in operations}) == 1 else None,
            call=self.runs.call[key],
            measured=(measured := measured_together(operations))
            and replace(measured, values=self._of("values", outputs), gradients=self._of("gradients", outputs)),
        )

    def _of(self, fact: str, outputs: Sequence[Edge]) -> tuple[Values | None, ...]:
        """The numbers of the tensors that a run hands on."""
        each = [getattr(self.whole[edge.node].measured, fact, ())[edge.nr : edge.nr + 1] for edge in outputs]
        found = tuple([its[0] if its else None for its in each])
        return found if any(found) else ()
