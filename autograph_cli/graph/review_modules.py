"""Modules that came or went as a whole, told by their names instead of all that is in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Graph, Node
from autograph_cli.graph.review_words import counted


class Modules:
    """The modules of one graph of which the other knows no tensor; `numbers` are the nodes without a like there."""

    def __init__(self, graph: Graph, numbers: Collection[int], other: Graph, matched: Collection[int]) -> None:
        self.graph = graph
        known = {path for node in other for path in _paths(node)}
        known |= {path for number in matched for path in _paths(graph[number])}
        self.nodes: dict[str, list[Node]] = defaultdict(list)
        """The nodes in each of these modules."""
        for number in numbers:
            path = next((path for path in _paths(graph[number]) if path not in known), "")
            if path and not graph[number].is_operation:
                self.nodes[path].append(graph[number])
        self._add_operations(numbers)
        self.covered = {node.id for nodes in self.nodes.values() for node in nodes}

    def _add_operations(self, numbers: Collection[int]) -> None:
        """Add the operations that ran in the modules, or were given tensors of theirs."""
        owner = {node.id: path for path, nodes in self.nodes.items() for node in nodes}
        for number in sorted(numbers):
            node = self.graph[number]
            if not node.is_operation or node.order or not owner:
                continue
            within = [path for path in _paths(node) if path in self.nodes]
            given = [owner[edge.node] for edge in node.args if edge.node in owner]
            path = (within or [] if node.module else given or [])[:1]
            if path:
                self.nodes[path[0]].append(node)
            if path and all(edge.node in owner for edge in node.args):
                owner[number] = path[0]

    def sentences(self, verb: str) -> Iterator[str]:
        """Yield one on each of these modules."""
        for path, nodes in self.nodes.items():
            operations = [node for node in nodes if node.is_operation]
            leaves = sum(node.kind == "leaf" for node in nodes)
            given = f" with {leaves} parameter{'s' * (leaves != 1)}" * bool(leaves)
            done = f": {counted(operations)}" if operations else ""
            yield f"forward {verb} the module `{visible(path)}`{given}{done}"


def _paths(node: Node) -> Iterator[str]:
    """Yield the modules that a node is in, by what it or its names say, the outermost first."""
    names = [name for output in node.outputs for name in output.names]
    for path in [node.module] if node.is_operation and node.module else [name.rpartition(".")[0] for name in names]:
        parts = path.split(".") if path else []
        yield from (".".join(parts[: at + 1]) for at in range(len(parts)))
