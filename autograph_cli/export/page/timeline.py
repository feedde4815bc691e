"""The moments of a script in true order: the operations of its forward, and the nodes that its backward passes ran."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograph_cli.export.ranks import in_turn
from autograph_cli.graph import Graph, Node


class Moment(Struct, frozen=True):
    """A node is made; or, in a pass, it runs."""

    node: int
    pass_id: int | None = None
    """The pass that runs it or, as a derivative, makes it."""
    runs: bool = False


def moments(graph: Graph) -> list[Moment]:
    """All that happened in a whole graph, in order: a pass that left no derivatives ran as soon as it could.

    Leaves and inputs are there from the start; a leaf's gradient is added where a pass ran its AccumulateGrad.
    """
    return list(_Clock(graph).moments())


class _Clock:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.left = [list(reversed(tuple(dict.fromkeys(entry.ran)))) for entry in graph.passes]
        self.todo = [set(entry.ran) for entry in graph.passes]
        makers = {node.pass_id for node in graph}
        self.makes = [entry.id in makers for entry in graph.passes]
        self.needs = [max([*entry.ran, *(root.node for root in entry.roots)], default=-1) for entry in graph.passes]
        self.at = 0
        """The first pass that is not over."""

    def moments(self) -> Iterator[Moment]:
        for node in self.graph:
            yield from self._before(node)
            if node.computes:
                yield Moment(node.id, node.pass_id)
            while self._is_due(node.id):
                yield from self._rest()
        while self.at < len(self.left):
            yield from self._rest()

    def _is_due(self, newest: int) -> bool:
        """Return whether the next pass makes no node that tells its time, while all nodes that it ran are there."""
        return self.at < len(self.left) and not self.makes[self.at] and self.needs[self.at] <= newest

    def _before(self, node: Node) -> Iterator[Moment]:
        """Yield the moments of passes before this node was made."""
        if not node.computes:
            return
        number = node.pass_id
        if number is None:
            if self.at < len(self.left) and self.makes[self.at] and self._has_begun():
                yield from self._rest()
            return
        while self.at < number:
            yield from self._rest()
        while node.parent in self.todo[number]:
            yield self._run(number)

    def _has_begun(self) -> bool:
        return len(self.left[self.at]) < len(self.graph.passes[self.at].ran)

    def _run(self, number: int) -> Moment:
        """The next node that a pass runs."""
        ran = self.left[number].pop()
        self.todo[number].remove(ran)
        return Moment(ran, number, True)

    def _rest(self) -> Iterator[Moment]:
        """The rest of the first pass that is not over."""
        while self.left[self.at]:
            yield self._run(self.at)
        self.at += 1


def execution_order(graph: Graph) -> list[int]:
    """The nodes of a backward graph in the order in which a backward pass runs them.

    The pass takes, of the nodes whose gradients are all there, the one that was made last; leaves at once.
    """
    edges = ((node.id, edge.node) for node in graph for edge in node.next if edge is not None)
    return in_turn(len(graph), edges, lambda number: (graph.nodes[number].kind == "operation", -number))
