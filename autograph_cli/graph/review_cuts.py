"""The places where gradients newly end: at a `detach`, or within a `no_grad`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Edge, Graph, Node
from autograph_cli.graph.source import Source, Switch
from autograph_cli.graph.views import data_edges, walk

_DETACH = "detach"
"""The operation whose result is its argument without its history."""


class Cuts:
    """The operations that end a gradient in the new graph and did not in the old one; with the graphs swapped, those
    that did. `switches` are the statements around the lines of the new one, as far as they are known."""

    def __init__(
        self, old: Graph, new: Graph, origin: Mapping[int, int], switches: Mapping[Source, Switch] | None = None
    ) -> None:
        self.old, self.new, self.origin, self.switches = old, new, origin, switches or {}
        self.ends = [node for node in new if node.kind == "untracked" and self._is_new(node)]
        """The operations that were given something with a gradient, and left no node."""
        self.hidden = self._hidden()
        """The nodes that are untracked because of these."""

    def _is_new(self, node: Node) -> bool:
        before = self.origin.get(node.id)
        if before is None:
            return node.op == _DETACH and any(self._graded(edge) and edge.node in self.origin for edge in node.args)
        return bool(node.cut) and self.old[before].kind == "operation"

    def _graded(self, edge: Edge) -> bool:
        return self.new[edge.node].kind in ("operation", "leaf")

    def _hidden(self) -> set[int]:
        found = {node.id for node in self.ends}
        for node in sorted(self.new, key=lambda node: node.id):
            if node.kind == "untracked" and any(edge.node in found for edge in node.args):
                found.add(node.id)
        return found

    def groups(self) -> Iterator[tuple[str, list[Node]]]:
        """Yield each reason with its line, and the operations that ended a gradient for it."""
        found: dict[tuple[str, Source | None], list[Node]] = defaultdict(list)
        for node in self.ends:
            if node.op == _DETACH and node.id not in self.origin:
                found["detach", node.source].append(node)
            else:
                switch = self.switches.get(node.source) if node.source else None
                found[switch or ("no_grad", None)].append(node)
        for (reason, source), nodes in found.items():
            line = source or nodes[0].source
            yield f"{reason} at line {line.line} of {visible(line.file)}" if line else reason, nodes

    def subjects(self, nodes: list[Node]) -> list[Edge]:
        """The tensors that have no gradient for it: what was detached, or the last of what was computed without."""
        if nodes[0].op == _DETACH:
            return [next(edge for edge in node.args if self._graded(edge)) for node in nodes]
        within = self._after(nodes)
        named = {n for n in within if any(output.names for output in self.new[n].outputs)}
        those = self._last(named) or self._last(within)
        return [Edge(number) for number in sorted(those)]

    def _after(self, nodes: list[Node]) -> set[int]:
        found = {node.id for node in nodes}
        for node in self.new:
            before = self.origin.get(node.id)
            recorded = before is not None and self.old[before].kind == "operation"
            if node.kind == "untracked" and recorded and any(edge.node in found for edge in node.args):
                found.add(node.id)
        return found

    def _last(self, numbers: Iterable[int]) -> set[int]:
        """Return the nodes that no other one depends on."""
        left = set(numbers)
        for number in sorted(left, reverse=True):
            if number in left:
                left -= set(walk(self.new, [edge.node for edge in self.new[number].args], data_edges))
        return left

    def leaves(self, nodes: list[Node]) -> set[int]:
        """The leaves that these hang on."""
        return {n for n in walk(self.new, [node.id for node in nodes], data_edges) if self.new[n].kind == "leaf"}

    def still(self, edge: Edge) -> bool:
        """Return whether a gradient comes to a tensor in another way."""
        return any(edge == other for node in self.new for other in node.next)
