"""The graphs of several ranks as one graph: a band for each that differs, and the collectives between the bands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.facts import bytes_text
from autograph_cli.graph.ranks import words
from autograph_cli.graph.records import Edge, Graph, ModuleCall, Node, Output, Pass, Root, TensorType
from autograph_cli.graph.trace import Collective

GRADIENT = ".grad"
"""The end of the name of a gradient."""


class Band(Struct, frozen=True):
    """Ranks of the same graph, which is drawn once, and the collectives that each of them began in the step."""

    ranks: tuple[int, ...]
    graph: Graph
    collectives: tuple[Collective, ...] = ()


def together(bands: Sequence[Band], *, gradients: bool) -> Graph:
    """One graph of all bands, each in a frame of its own; a collective stands outside of them, once for all ranks.

    Of several bands, each has its own `loss`: `loss#1` is that of rank 1, and of those that are drawn with it.

    With `gradients`, arrows lead to the collectives that reduced gradients, from their leaves; without, the data go
    from the operations that are collectives through what they have in common to those that use it.
    """
    joining = _Joining(gradients)
    for band in bands:
        joining.add(band, f"#{band.ranks[0]}" if len(bands) > 1 else "")
    return joining.graph()


class _Joining:
    def __init__(self, gradients: bool) -> None:
        self.gradients = gradients
        self.nodes: list[Node] = []
        self.calls: list[ModuleCall] = []
        self.roots: list[Root] = []
        self.passes: list[Pass] = []
        self.firsts: list[int] = []
        """The first node of each band."""
        self.between: dict[tuple[str, int, str], tuple[Collective, list[Edge]]] = {}
        """Each collective, and what leads to it."""

    def add(self, band: Band, mark: str) -> None:
        first, calls, passes = len(self.nodes), len(self.calls), len(self.passes)
        self.firsts.append(first)
        times = f"× {len(band.ranks)} ranks" if len(band.ranks) > 1 else "a graph of its own"
        self.calls.append(ModuleCall(calls, words(band.ranks), times))
        for call in band.graph.calls:
            above = calls if call.parent is None else calls + 1 + call.parent
            self.calls.append(replace(call, id=calls + 1 + call.id, parent=above))
        for node in band.graph:
            self.nodes.append(_named(_moved(node, first, calls, passes), mark))
        self.roots += [
            replace(root, name=_marked(root.name, mark), node=first + root.node) for root in band.graph.roots
        ]
        self.passes += [_moved_pass(entry, first, passes) for entry in band.graph.passes]
        find = _reduced if self.gradients else _parts
        for each in band.collectives:
            given = [Edge(first + edge.node, edge.nr) for edge in find(band.graph, each)]
            if given:
                self.between.setdefault((each.group, each.sequence, each.op), (each, []))[1].extend(given)

    def graph(self) -> Graph:
        for each, given in self.between.values():
            here = len(self.nodes)
            title = f"{each.op} {each.sequence}: {bytes_text(each.bytes)}"
            made = Node(here, "operation", title, title, (Output(self._type(given)),), source=each.source)
            if self.gradients:
                for leaf in given:
                    self.nodes[leaf.node] = replace(self.nodes[leaf.node], next=(Edge(here),))
            else:
                made = replace(made, args=tuple(given))
                self._give(set(given), Edge(here))
            self.nodes.append(made)
        return Graph(tuple(self.nodes), tuple(self.roots), tuple(self.passes), tuple(self.calls))

    def _give(self, old: set[Edge], new: Edge) -> None:
        """Let what uses these take this."""
        for node in self.nodes:
            if not old.isdisjoint(node.args):
                args = tuple([new if edge in old else edge for edge in node.args])
                self.nodes[node.id] = replace(node, args=args)

    def _type(self, given: Sequence[Edge]) -> TensorType:
        """Return what is exchanged: a tensor as it is, or gradients in one bucket."""
        own = [self.nodes[edge.node] for edge in given]
        types = [node.outputs[0].type for node in own if self._band(node) == self._band(own[0])]
        if len(types) == 1:
            return types[0]
        return TensorType(types[0].dtype, (sum(prod(each.shape) for each in types),), types[0].device)

    def _band(self, node: Node) -> int:
        """The number of the band that a node is in."""
        return bisect_right(self.firsts, node.id)


def _reduced(graph: Graph, each: Collective) -> list[Edge]:
    """The leaves of a graph whose gradients a collective reduced; of a bucket that tells none, the last that ran."""
    named = {name: node.id for node in graph if node.kind == "leaf" for name in node.outputs[0].names}
    names = [name.removesuffix(GRADIENT) for name in each.tensors if name.endswith(GRADIENT)]
    found = [Edge(named[name]) for name in names if name in named]
    if not found and each.during is not None and graph.passes:
        ran = graph.passes[-1].ran[: each.during]
        found = [Edge(number) for number in ran if graph[number].kind == "leaf"][-1:]
    return found


def _parts(graph: Graph, each: Collective) -> list[Edge]:
    """The operation of a graph that is a collective: that of its number, or else the first of its line."""
    known = [node for node in graph if _is_of(node, each)]
    number = "number", str(each.sequence)
    return [Edge(node.id) for node in [*[node for node in known if number in node.constants], *known][:1]]


def _is_of(node: Node, each: Collective) -> bool:
    """Return whether a node is the operation that a collective was part of: of its line, and called like it."""
    called = node.op.replace("_", "").lower()
    return node.computes and node.source == each.source and each.op.replace("_", "") in called


def _marked(name: str, mark: str) -> str:
    return name and f"{name}{mark}"


def _named(node: Node, mark: str) -> Node:
    outputs = [replace(each, names=tuple([_marked(name, mark) for name in each.names])) for each in node.outputs]
    return replace(node, outputs=tuple(outputs))


def _moved(node: Node, first: int, calls: int, passes: int) -> Node:
    def edge(old: Edge) -> Edge:
        return Edge(first + old.node, old.nr)

    in_module = node.kind == "leaf" and node.module
    return replace(
        node,
        id=first + node.id,
        next=tuple([None if old is None else edge(old) for old in node.next]),
        args=tuple(map(edge, node.args)),
        parent=None if node.parent is None else first + node.parent,
        pass_id=None if node.pass_id is None else passes + node.pass_id,
        call=calls + 1 + node.call if node.call is not None else None if in_module else calls,
    )


def _moved_pass(entry: Pass, first: int, passes: int) -> Pass:
    def edges(old: Sequence[Edge]) -> tuple[Edge, ...]:
        return tuple([Edge(first + edge.node, edge.nr) for edge in old])

    results = tuple([None if edge is None else Edge(first + edge.node, edge.nr) for edge in entry.results])
    ran = tuple([first + number for number in entry.ran])
    return replace(
        entry, id=passes + entry.id, roots=edges(entry.roots), ran=ran, inputs=edges(entry.inputs), results=results
    )
