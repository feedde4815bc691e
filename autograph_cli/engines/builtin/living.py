"""Records of living nodes of the built-in engine, read straight from them: their edges and the tensors they keep."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from autograph_cli.engines.builtin.saved import kept_outputs, look, saved
from autograph_cli.engines.protocol import Output, key_of, number_of
from autograph_cli.graph import Edge, Saved
from autograph_cli.torch._compiled import compiled
from autograph_cli.torch._core.tape.node import Node

Row = tuple[type[Node], Any, tuple[Edge | None, ...], tuple[Saved, ...]]
"""The class of a node, what tells the types of its outputs, where its gradients go, and what it keeps."""


fast: Any = compiled("fast_living", __package__)


def behind(node: Node, known: Container[int]) -> tuple[list[Node], bool]:
    """A node and all that it leads to which is not known; and whether one was made after a node that leads to it."""
    if fast is not None:
        return fast.behind(node, known)  # type: ignore[no-any-return]
    unseen, met, late = {node._ag_seq}, [node], False
    for there in met:  # grows while it is walked
        number = there._ag_seq
        for edge in there._ag_edges:
            if edge is not None:
                before = edge[0]._ag_seq
                late |= before > number
                if before not in unseen and before not in known:
                    unseen.add(before)
                    met.append(edge[0])
    return met, late


class Living:
    """Reads the nodes of one graph, each in its turn."""

    def __init__(self, positions: dict[int, int], number: Callable[[Any], int]) -> None:
        self.positions, self.number = positions, number
        """The position of each node in the graph, by number, and the function that gives a node's number."""
        self.edges = list(map(Edge, range(len(positions))))
        """To the first output of each node."""
        self.further: dict[tuple[int, int], Edge] = {}
        """To other outputs."""
        self.storages: dict[int, int] = {}
        """The numbers of the memory that was met, by its id."""
        self.kept_in: dict[Output, int] = {}
        """The memory of each output that is kept, with the position of its node for a number."""

    def rows(self, nodes: list[Node]) -> list[Row]:
        """Return what there is to tell of these nodes."""
        return fast.rows(self, nodes) if fast is not None else list(map(self._row, nodes))

    def _row(self, node: Node) -> Row:
        following = tuple([None if edge is None else self.edge(*edge) for edge in node._ag_edges])
        return node.__class__, node._ag_output_meta, following, self.kept(node, following)

    def edge(self, node: Node, nr: int) -> Edge:
        """The edge to an output."""
        position = self.positions.get(node._ag_seq)
        if position is None:
            position = self.positions[self.number(node)]
        return self.further.setdefault((position, nr), Edge(position, nr)) if nr else self.edges[position]

    def kept(self, node: Node, following: tuple[Edge | None, ...]) -> tuple[Saved, ...]:
        """Return what a node keeps, which leads there."""
        looked = next(look((node,)))
        if looked is None:
            return ()
        cls = node.__class__
        kept, places = saved(cls, looked, self.storages, 0)
        if places is not None:  # copies from before a change in place are told by the numbers of nodes
            places = tuple([self._told(edge) if isinstance(edge, tuple) else edge for edge in places[0]]), places[1]
        outputs = [None if edge is None else (edge.node, edge.nr) for edge in following]
        for output, storage in kept_outputs(self.positions[node._ag_seq], cls, outputs, kept, places):
            self.kept_in[output if number_of(output) else key_of(output)] = storage
        return kept

    def _told(self, edge: tuple[int, int]) -> Output | None:
        position = self.positions.get(edge[0])
        return None if position is None else (position, edge[1])
