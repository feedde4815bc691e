"""The share of a gradient that may be rounding: by the size of the terms, whose sum may come to next to nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from autograph_cli.graph.aligned import Compared, at, flow_in, noise_of
from autograph_cli.graph.numbers import largest
from autograph_cli.graph.records import Exact, Graph, Node

MOST = 1_000.0
"""An operation is not taken to multiply a gradient by more."""


class Rounding:
    """The most that rounding makes in each number of one backward call, on the way through nodes without a like."""

    def __init__(
        self,
        graph: Graph,
        call: int,
        senders: Mapping[tuple[int, int], Sequence[tuple[int, int]]],
        coarsest: Sequence[float],
        known: Callable[[int], Compared | None],
    ) -> None:
        """`known` tells how far apart is what a node and its like were given, if they were compared."""
        self.graph, self.call, self.senders = graph, call, senders
        self.coarsest, self.known = coarsest, known
        self.found: dict[int, float] = {}

    def sent(self, number: int, made: Exact | None) -> float:
        """The share of each number that a node sent on that may be rounding: its own, and the share in its inputs."""
        flow = flow_in(self.graph[number], self.call)
        if flow is None or made is None:
            return 0.0
        node = self.graph[number]
        is_sum = made.count <= max((each.count for each in flow.given if each is not None), default=0)
        by = max(factor(self.graph, node), _gain(self.graph, node)) if is_sum else 1.0
        return noise_of(self.coarsest[number], flow.given, made, by) + self._given(number) * largest(made)

    def _given(self, number: int) -> float:
        """Return the share of a node's inputs that may be rounding."""
        stack = [number]
        while stack:
            now = stack[-1]
            known = self.known(now)
            users = [] if known is not None or now in self.found else self._users(now)
            missing = [user for user, _ in users if user not in self.found]
            stack += missing
            if missing:
                continue
            stack.pop()
            if known is not None:
                is_rounding = known.level != "parted" and math.isfinite(known.relative)
                self.found[now] = known.relative if is_rounding else 0.0
            elif now not in self.found:
                flow = flow_in(self.graph[now], self.call)
                size = max((largest(each) for each in flow.given if each is not None), default=0.0) if flow else 0.0
                self.found[now] = sum(self.sent(*each) for each in users) / size if size else 0.0
        return self.found[number]

    def _users(self, number: int) -> list[tuple[int, Exact | None]]:
        """The nodes that sent a gradient to one, with what they sent."""
        users = [each for nr in range(len(self.graph[number].outputs)) for each in self.senders.get((number, nr), ())]
        flows = [(user, flow_in(self.graph[user], self.call), nr) for user, nr in users]
        return [(user, None if flow is None else at(flow.sent, nr)) for user, flow, nr in flows]


def factor(graph: Graph, node: Node) -> float:
    """Return what a node may multiply a gradient by before it adds it up: the largest number that it computed with."""
    return max([1.0, *(largest(each) for each in _numbers(graph, node))])


def _gain(graph: Graph, node: Node) -> float:
    """Return by how much a node makes numbers larger, each from its like: a norm divides by a deviation."""
    made = [] if node.measured is None else [each for each in node.measured.exact if each is not None]
    pairs = [(out, given) for out in made for given in _numbers(graph, node) if given.count == out.count]
    ratios = [largest(out) / size for out, given in pairs if (size := largest(given))]
    return min([MOST, *ratios]) if ratios else 1.0


def _numbers(graph: Graph, node: Node) -> list[Exact]:
    measured = [(graph[edge.node].measured, edge.nr) for edge in node.args]
    found = [at(each.exact, nr) for each, nr in measured if each is not None]
    return [each for each in found if each is not None]
