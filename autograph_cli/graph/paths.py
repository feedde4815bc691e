"""The paths between two positions of a graph: how many there are, and the shortest and the longest of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush

from msgspec import Struct

from autograph_cli.graph.names import output_names
from autograph_cli.graph.records import Edge, Graph
from autograph_cli.graph.slices import find_nodes
from autograph_cli.graph.views import Targets, backward_edges
from autograph_cli.graph.walk import reached

Path = tuple[int, ...]
"""Ids of nodes, from the start to the end."""
Position = tuple[int, int | None]
"""A node, and one of its outputs or any (None)."""
_Steps = dict[int, list[int]]


class Paths(Struct, frozen=True):
    """The paths between two positions; a node that takes one tensor twice is on one path, not on two."""

    count: int = 0
    """The number of paths."""
    shortest: tuple[Path, ...] = ()
    """The shortest ones, the shortest first: all, where they are not more than was asked for."""
    longest: tuple[Path, ...] = ()
    """The longest of the others, the longest first."""

    def __bool__(self) -> bool:
        return self.count > 0


def paths(
    graph: Graph,
    starts: Iterable[Position],
    ends: Iterable[Position],
    limit: int = 10,
    targets: Targets = backward_edges,
) -> Paths:
    """Count the paths from `starts` to `ends`, and list at most `limit` of them.

    Counting takes time in proportion to the edges, however many paths there are. A path ends at the first end it meets.

    >>> from autograph_cli.graph import Edge, Node, Output, TensorType
    >>> kind = (Output(TensorType("float32", ())),)
    >>> leaf = Node(0, "leaf", "AccumulateGrad", "", kind)
    >>> once = Node(1, "operation", "TanhBackward0", "tanh", kind, (Edge(0),))
    >>> twice = Node(2, "operation", "MulBackward0", "mul", kind, (Edge(1), Edge(0)))
    >>> paths(Graph((leaf, once, twice)), [(2, 0)], [(0, 0)])
    Paths(count=2, shortest=((2, 0), (2, 1, 0)), longest=())
    """
    begin = list(dict.fromkeys(node for node, _ in starts))
    goal: dict[int, set[int | None]] = {}
    for node, nr in ends:
        goal.setdefault(node, set()).add(nr)
    steps = _steps_between(graph, begin, goal, targets)
    order = _sorted(steps, begin)
    begin = [node for node in begin if node in steps]
    count = _count(steps, order, begin, goal)
    if count <= limit:
        return Paths(count, tuple(_best(steps, order, begin, goal, count, longest=False)))
    half = (limit + 1) // 2
    shortest = _best(steps, order, begin, goal, half, longest=False)
    known = set(shortest)
    longest = [path for path in _best(steps, order, begin, goal, limit, longest=True) if path not in known]
    return Paths(count, tuple(shortest), tuple(longest[: limit - half]))


def find_positions(graph: Graph, name: str) -> list[Position]:
    """The outputs of this name: a root's, a variable's (`x`, or `x~2` for its second holder), `%7`, an operation's.

    Raises `GraphError`, with similar names, for a name that is not there.
    """
    found = [(root.node, root.nr) for root in graph.roots if root.name == name] or [
        (node.id, nr)
        for node, printed in zip(graph.nodes, output_names(graph), strict=True)
        for nr, output in enumerate(node.outputs)
        if name == printed[nr] or name in output.names
    ]
    return list(found) if found else [(node, None) for node in find_nodes(graph, [name])]


def known_names(graph: Graph) -> list[str]:
    """The names of roots and variables, in order of making, each once."""
    named = [name for node in graph.nodes for output in node.outputs for name in output.names[:1]]
    return list(dict.fromkeys([*(root.name for root in graph.roots), *named]))


def leading_to(graph: Graph, ends: Iterable[Position]) -> set[int]:
    """The nodes from which a path leads to one of these positions, the nodes of the positions themselves included."""
    goal: dict[int, set[int | None]] = {}
    for node, nr in ends:
        goal.setdefault(node, set()).add(nr)
    return set(_steps_between(graph, range(len(graph)), goal, backward_edges)) | set(goal)


def _hits(edge: Edge, goal: dict[int, set[int | None]]) -> bool:
    wanted = goal[edge.node]
    return None in wanted or edge.nr in wanted


def _steps_between(graph: Graph, begin: Sequence[int], goal: dict[int, set[int | None]], targets: Targets) -> _Steps:
    """Return the next nodes of each node on a path; ends have none."""
    forth: _Steps = {}
    back: _Steps = {}
    stack = list(begin)
    met = set(stack)
    while stack:
        node = stack.pop()
        if node in goal:
            continue
        following = [e.node for e in targets(graph.nodes[node]) if e.node not in goal or _hits(e, goal)]
        forth[node] = following = list(dict.fromkeys(following))
        for other in following:
            back.setdefault(other, []).append(node)
            if other not in met:
                met.add(other)
                stack.append(other)
    alive = set(reached((node for node in goal if node in met), lambda node: back.get(node, ())))
    return {node: [other for other in forth.get(node, ()) if other in alive] for node in alive}


def _sorted(steps: _Steps, begin: Iterable[int]) -> list[int]:
    """The nodes, each before those that it goes on to."""
    waiting = dict.fromkeys(steps, 0)
    for following in steps.values():
        for other in following:
            waiting[other] += 1
    order = [node for node, count in waiting.items() if not count]
    for node in order:  # grows while it is walked
        for other in steps[node]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _count(steps: _Steps, order: Iterable[int], begin: Iterable[int], goal: Collection[int]) -> int:
    """The number of paths; a node's own number is let go once it was handed on, for such numbers grow long."""
    counts = dict.fromkeys(begin, 1)
    total = 0
    for node in order:
        its = counts.pop(node, 0)
        if node in goal:
            total += its
        for other in steps[node]:
            counts[other] = counts.get(other, 0) + its
    return total


def _best(
    steps: _Steps, order: Sequence[int], begin: Iterable[int], goal: Collection[int], wanted: int, *, longest: bool
) -> list[Path]:
    """The first paths by length: what is left of the way is known, so each step is one towards a path of the answer."""
    choose: Callable[[list[int]], int] = max if longest else min
    sign = -1 if longest else 1
    left: dict[int, int] = {}
    for node in reversed(order):
        left[node] = 0 if node in goal else 1 + choose([left[other] for other in steps[node]])
    heap: list[tuple[int, int, _Link]] = []
    for node in begin:
        heappush(heap, (sign * left[node], len(heap), (node, None)))
    found: list[Path] = []
    pushed = len(heap)
    while heap and len(found) < wanted:
        length, _, link = heappop(heap)
        node = link[0]
        while node not in goal:
            following = steps[node]
            node = next(other for other in following if left[other] == left[node] - 1)
            for other in following:
                if other != node:
                    pushed += 1
                    heappush(heap, (length + sign * (left[other] - left[node]), -pushed, (other, link)))
            link = (node, link)
        found.append(tuple(reversed(list(_unlinked(link)))))
    return found


_Link = tuple[int, "_Link | None"]
"""The newest node of a way, and the way before it."""


def _unlinked(link: _Link | None) -> Iterator[int]:
    while link is not None:
        yield link[0]
        link = link[1]


def count_words(count: int) -> str:
    """A number of paths in words: exact up to a million million, then its power of ten.

    >>> count_words(3), count_words(2**1000)
    ('3', 'about 10^301')
    """
    return str(count) if count < 10**12 else f"about 10^{int(count.bit_length() * 0.30102999566)}"
