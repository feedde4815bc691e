"""Loops in a graph: runs of operations that repeat with the same lines, the same types and the same wiring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograph_cli.graph.records import Edge, Graph, Node

FEWEST = 3
"""Turns that make a loop worth being shown as one."""
CANDIDATES = 6
"""Distances to the next operations of the same kind that are tried as the length of a turn."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a node stands in a loop."""

    loop: int
    offset: int
    turn: int
    turns: int


def find_turns(graph: Graph) -> dict[int, Seat]:
    """The seat of every operation that is part of a loop, loops of each order by themselves.

    Two turns are alike if their operations have the same names, lines, modules and types, and if every edge leads to
    the same place of the same or of the turn before, to the same node outside, or to a leaf or an input of one type.
    """
    finder = _Finder(graph)
    for order in sorted({node.order for node in graph}):
        finder.search([node.id for node in graph if node.order == order and node.kind == "operation"])
    return finder.seats


class _Finder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.seats: dict[int, Seat] = {}
        self.loops = 0
        self.place: dict[int, int] = {}
        kinds: dict[tuple[object, ...], int] = {}
        self.kind = [kinds.setdefault(_kind(graph, node), len(kinds)) for node in graph]

    def search(self, row: Sequence[int]) -> None:
        """Find the loops in these operations, from the first on, each as long as it gets."""
        self.place = {number: at for at, number in enumerate(row)}
        following: dict[int, list[int]] = {}
        for at, number in enumerate(row):
            following.setdefault(self.kind[number], []).append(at)
        rank = {at: i for places in following.values() for i, at in enumerate(places)}
        start = 0
        while start < len(row):
            places, i = following[self.kind[row[start]]], rank[start]
            best, length = 0, 0
            for other in places[i + 1 : i + 1 + CANDIDATES]:
                period = other - start
                covered = self.covered(row, start, period)
                if covered >= (FEWEST - 1) * period and covered + period > best:
                    best, length = covered + period, period
                if best == len(row) - start:
                    break
            if not best:
                start += 1
                continue
            end = start + best
            start += self.shift(row, start, length, best)
            turns = (end - start) // length
            for at in range(turns * length):
                self.seats[row[start + at]] = Seat(self.loops, at % length, at // length, turns)
            self.loops += 1
            start += turns * length

    def shift(self, row: Sequence[int], start: int, period: int, size: int) -> int:
        """How much later the turns begin if as few edges as can be lead from one into the next."""

        def carried(shift: int) -> int:
            begin = start + shift + period
            used = [edge.node for number in row[begin : begin + period]
                    for edge in {*self.graph.nodes[number].args, *self.graph.nodes[number].next} if edge]  # fmt: skip
            return sum(start <= self.place.get(number, -1) < begin for number in used)

        # Of several such places, the one at which the last turn ends with the run.
        shifts = range(min(period, size - FEWEST * period + 1))
        return min(shifts, key=lambda shift: (carried(shift), (size - shift) % period != 0, shift))

    def covered(self, row: Sequence[int], start: int, period: int) -> int:
        """How many operations from `start` on are like those one turn later."""
        at = start
        while at + period < len(row) and self.alike(row[at], row[at + period], period):
            at += 1
        return at - start

    def alike(self, one: int, other: int, period: int) -> bool:
        a, b = self.graph.nodes[one], self.graph.nodes[other]
        return self.kind[one] == self.kind[other] and all(
            self.same(x, y, period)
            for mine, its in ((a.args, b.args), (a.next, b.next))
            for x, y in zip(mine, its, strict=True)
        )

    def same(self, one: Edge | None, other: Edge | None, period: int) -> bool:
        if one is None or other is None:
            return one is other
        if one.nr != other.nr:
            return False
        if one.node == other.node:
            return True
        a, b = self.graph.nodes[one.node], self.graph.nodes[other.node]
        if a.kind != "operation" or b.kind != "operation":
            return a.kind == b.kind and a.outputs[one.nr].type == b.outputs[other.nr].type
        if one.node in self.place and other.node in self.place:
            return self.place[other.node] - self.place[one.node] == period
        first, second = self.seats.get(one.node), self.seats.get(other.node)
        return bool(first and second and (first.loop, first.offset) == (second.loop, second.offset))


def _kind(graph: Graph, node: Node) -> tuple[object, ...]:
    line = (node.source.file, node.source.line) if node.source else None
    parent = None if node.parent is None else graph.nodes[node.parent].name
    types = tuple(output.type for output in node.outputs)
    return node.name, node.op, node.order, line, node.module, types, parent, len(node.args), len(node.next)
