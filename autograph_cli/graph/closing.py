"""A graph with several nodes as one each: calls of modules closed, for a text that shows the outline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec.structs import replace

from autograph_cli.graph.nesting import Nesting
from autograph_cli.graph.records import Edge, Graph, Measured, Node
from autograph_cli.graph.views import edges_of, users_of

Key = TypeVar("Key", bound=Hashable)


def close_modules(graph: Graph, depth: int) -> Graph:
    """The graph with one node for each call of a module further in than `depth`, for each order in it.

    Its outputs are the tensors that are used outside; what only it uses is left out. Its name tells how much.
    """
    return _Closing(graph, _keys(graph, depth)).graph() if graph.calls else graph


class Merging(Generic[Key]):
    """Makes one node of all that have the same key, in the place of the last that computes."""

    def __init__(self, whole: Graph, keys: Sequence[Key | None]) -> None:
        self.whole, self.key = whole, keys
        self.members: dict[Key, list[Node]] = {}
        for node in whole:
            key = self.key[node.id]
            if key is not None:
                self.members.setdefault(key, []).append(node)
        its = {key: [node for node in members if node.computes] for key, members in self.members.items()}
        self.operations = {key: members for key, members in its.items() if members}
        self.position: dict[Edge, Edge] = {}
        """The new output for each old one."""
        self.place: dict[int, int] = {}
        """The numbers of the nodes that are left."""

    @abstractmethod
    def merged(self, key: Key, node: Node, outputs: Sequence[Edge]) -> Node:
        """The node, which stands for all of a key and has these of their outputs, with its words."""

    def graph(self) -> Graph:
        """The graph with the nodes of each key merged."""
        last = {its[-1].id: key for key, its in self.operations.items()}
        kept = [node for node in self.whole if self.key[node.id] is None or node.id in last]
        used = self._used()
        for number, node in enumerate(kept):
            its = used[last[node.id]] if node.id in last else [Edge(node.id, nr) for nr in range(len(node.outputs))]
            self.position |= {edge: Edge(number, nr) for nr, edge in enumerate(its)}
        new = self.place = {node.id: number for number, node in enumerate(kept)}
        nodes = []
        for number, node in enumerate(kept):
            moved = self._closed(node, last[node.id], used) if node.id in last else self._open(node)
            nodes.append(replace(moved, id=number, parent=None if node.parent is None else new.get(node.parent)))
        roots = [(root, self.position.get(Edge(root.node, root.nr))) for root in self.whole.roots]
        passes = tuple(
            replace(
                entry,
                roots=tuple(self.position[edge] for edge in entry.roots if edge in self.position),
                ran=tuple(new[ran] for ran in entry.ran if ran in new),
            )
            for entry in self.whole.passes
        )
        named = tuple(replace(root, node=edge.node, nr=edge.nr) for root, edge in roots if edge is not None)
        numbers = [self.whole.numbers[node.id] for node in kept] if self.whole.numbers else ()
        return Graph(tuple(nodes), named, passes, self.whole.calls, numbers)

    def _used(self) -> dict[Key, list[Edge]]:
        """The outputs of each key that are used outside of it, in order."""
        found: dict[Key, dict[Edge, None]] = {key: {} for key in self.members}
        outside = [Edge(root.node, root.nr) for root in self.whole.roots]
        outside += [edge for node in self.whole for edge in edges_of(node) if self.key[edge.node] != self.key[node.id]]
        for edge in sorted(outside, key=lambda edge: (edge.node, edge.nr)):
            key = self.key[edge.node]
            if key is not None and self.whole[edge.node].computes:
                found[key][edge] = None
        for key, its in self.operations.items():  # one is not used outside either if the result of a call is dropped
            found[key] = found[key] or dict.fromkeys(Edge(its[-1].id, nr) for nr in range(len(its[-1].outputs)))
        return {key: list(edges) for key, edges in found.items()}

    def _open(self, node: Node) -> Node:
        return replace(
            node,
            args=tuple(self.position[edge] for edge in node.args if edge in self.position),
            next=tuple(None if edge is None else self.position.get(edge) for edge in node.next),
        )

    def _closed(self, node: Node, key: Key, used: dict[Key, list[Edge]]) -> Node:
        """The node instead of all of a key; its edges are their `args`, or `next` in a graph without them."""
        args = self._given(key, [edge for member in self.members[key] for edge in member.args])
        following = self._given(key, [edge for member in self.members[key] for edge in member.next if edge is not None])
        outputs = tuple(self.whole[edge.node].outputs[edge.nr] for edge in used[key])
        node = replace(node, args=args, outputs=outputs, next=() if args else following)
        return self.merged(key, node, used[key])

    def _given(self, key: Key, edges: Iterable[Edge]) -> tuple[Edge, ...]:
        """Return those of these edges that lead out of the nodes of a key, each once."""
        moved = (self.position.get(edge) for edge in edges if self.key[edge.node] != key)
        return tuple(dict.fromkeys(edge for edge in moved if edge is not None))


def _keys(graph: Graph, depth: int) -> list[tuple[int, int] | None]:
    """The closed call that each node disappears in, with its order."""
    nesting, users = Nesting(graph), users_of(graph)

    def key(node: Node) -> tuple[int, int] | None:
        calls = list(nesting.around(nesting.home(node, users.get(node.id, ()))))
        return (calls[-1 - depth], node.order) if len(calls) > depth else None

    return [key(node) for node in graph]


class _Closing(Merging[tuple[int, int]]):
    """Makes one node of a call of a module."""

    def merged(self, key: tuple[int, int], node: Node, outputs: Sequence[Edge]) -> Node:
        call = self.whole.calls[key[0]]
        count = len(self.operations[key])
        words = f"{count} node{'s' * (count != 1)}" + (f", {call.parameters:,} parameters" if call.parameters else "")
        name = f"{call.path}: {call.cls}" + (f" (call {call.turn})" if call.turns > 1 else "")
        return replace(node, name=f"{name} {{{words}}}", op=f"{name} {{{words}}}", saved=(), source=None)


def measured_together(nodes: Iterable[Node]) -> Measured | None:
    """Return the times and the floating-point operations of several nodes together; the numbers of none of them."""
    each = [node.measured for node in nodes if node.measured is not None]
    if not each:
        return None

    def total(name: str) -> int | None:
        known = [value for one in each if (value := getattr(one, name)) is not None]
        return sum(known) if known else None

    return Measured(time=total("time"), backward_time=total("backward_time"), flops=total("flops"))
