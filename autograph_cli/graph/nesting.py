"""The call of a module that each node of a graph stands in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.graph.records import Graph, ModuleCall, Node

Use = tuple[int, int]
"""(user, what it uses), two nodes."""


def flattened(graph: Graph, depth: int) -> Graph:
    """The graph without the calls further in than `depth`: what ran in them ran in the call around them."""
    kept: list[ModuleCall] = []
    deep: list[int] = []
    new: list[int] = []
    for call in graph.calls:
        deep.append(1 if call.parent is None else deep[call.parent] + 1)
        parent = None if call.parent is None else new[call.parent]
        if parent is not None and deep[-1] > depth:
            new.append(parent)
            continue
        new.append(len(kept))
        kept.append(replace(call, id=len(kept), parent=parent))
    if len(kept) == len(graph.calls):
        return graph
    nodes = tuple(replace(node, call=None if node.call is None else new[node.call]) for node in graph)
    return replace(graph, nodes=nodes, calls=tuple(kept))


class Nesting:
    """The calls of a graph, one inside the other.

    An operation stands in the call that it ran in, and a derivative in that of what it is a derivative of. A leaf or an
    input stands in the call of the module that owns it, or in which it was made, as far as nobody outside uses it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.above = [call.parent for call in graph.calls]
        self.depth: list[int] = []
        for parent in self.above:
            self.depth.append(1 if parent is None else self.depth[parent] + 1)

    def around(self, call: int | None) -> Iterator[int]:
        """A call and those that it ran in, from the inside out."""
        while call is not None:
            yield call
            call = self.above[call]

    def common(self, calls: Iterable[int | None]) -> int | None:
        """The innermost call that all of these ran in."""
        calls = iter(calls)
        found = next(calls, None)
        for call in calls:
            while found != call and (found is not None or call is not None):
                if call is None or (found is not None and self.depth[found] >= self.depth[call]):
                    assert found is not None
                    found = self.above[found]
                else:
                    call = self.above[call]
        return found

    def home(self, node: Node, users: Sequence[int]) -> int | None:
        """The call that a node stands in, given those that use it."""
        if node.computes:
            return node.call
        if node.call is None and not node.module:
            return None
        inside = self.common(self.graph.nodes[user].call for user in users)
        if node.call is not None:
            return self.common((inside, node.call))
        return next((call for call in self.around(inside) if self.graph.calls[call].path == node.module), inside)

    def scattered(self, uses: Iterable[Use]) -> set[int]:
        """Parameters and buffers that several modules use, so that no box of a module holds all of their users."""
        users: dict[int, list[int]] = {}
        nodes = self.graph.nodes
        for user, used in uses:
            if nodes[used].module and nodes[used].call is None and not nodes[used].computes:
                users.setdefault(used, []).append(user)
        found = set()
        for used, its in users.items():
            home = self.home(nodes[used], its)
            inside = {nodes[user].call for user in its}
            if len(inside) > 1 and (home is None or self.graph.calls[home].path != nodes[used].module):
                found.add(used)
        return found
