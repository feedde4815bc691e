"""The checker of the records: every rule that everything else relies on, in linear time, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.records import UNGRADED, Edge, Graph, Node, Pass
from autograph_cli.graph.views import is_cut

KINDS = ("operation", "leaf", "input", "untracked")


def verify(graph: Graph) -> None:
    """Check ids, edges, orders, parents, passes and roots, and that nothing runs in a circle.

    Raises `GraphError`, naming the first node that breaks a rule.

    >>> verify(Graph())
    """
    later = False
    for position, node in enumerate(graph.nodes):
        if node.id != position:
            raise GraphError(f"{_title(node)} stands at position {position}; ids are dense and in order.")
        _check_kind(node)
        later |= _check_edges(graph, node)
        _check_origin(graph, node)
        if node.measured and node.measured.inside:
            if any(within.measured and within.measured.inside for within in node.measured.inside):
                raise GraphError(f"{_title(node)} has nodes inside, one of which has nodes inside again.")
            verify(node.measured.inside)
    for index, entry in enumerate(graph.passes):
        _check_pass(graph, index, entry)
    _check_calls(graph)
    for root in graph.roots:
        _check_target(graph, Edge(root.node, root.nr), f"root {root.name!r}")
    if later:
        _check_circles(graph, "next", lambda node: (edge.node for edge in node.next if edge is not None))
        _check_circles(graph, "args", lambda node: (edge.node for edge in node.args))


def _check_calls(graph: Graph) -> None:
    for position, call in enumerate(graph.calls):
        if call.id != position:
            raise GraphError(f"call {call.id} ({call.path}) stands at position {position}; ids are dense and in order.")
        if call.parent is not None and not 0 <= call.parent < position:
            raise GraphError(f"call {call.id} ({call.path}) has call {call.parent} as its parent, which comes later.")
    for node in graph.nodes:
        if node.call is not None and not 0 <= node.call < len(graph.calls):
            raise GraphError(f"{_title(node)} ran in call {node.call}, and there are {len(graph.calls)} calls.")


def _title(node: Node) -> str:
    return f"node {node.id} ({node.name})"


def _check_kind(node: Node) -> None:
    if node.kind not in KINDS:
        raise GraphError(f"{_title(node)} is of kind {node.kind!r}; a node is one of {', '.join(KINDS)}.")
    if node.kind == "untracked" and node.next:
        raise GraphError(f"{_title(node)} is of kind untracked and cannot have next.")
    if node.kind in ("operation", "untracked"):
        return
    if node.next or node.args:
        raise GraphError(f"{_title(node)} is of kind {node.kind} and cannot have next or args.")
    if len(node.outputs) != 1:
        raise GraphError(f"{_title(node)} is of kind {node.kind} and has {len(node.outputs)} outputs instead of one.")


def _check_edges(graph: Graph, node: Node) -> bool:
    """Check where the node's edges lead; whether one does not lead to a node before it, as in a circle."""
    nodes, count, number, later = graph.nodes, len(graph.nodes), node.id, False
    for field, edges in (("next", node.next), ("args", node.args)):
        for position, edge in enumerate(edges):
            if edge is None:
                continue
            if not (0 <= edge.node < count and 0 <= edge.nr < len((target := nodes[edge.node]).outputs)):
                _check_target(graph, edge, f"{_title(node)}: {field}[{position}]")
            later |= edge.node >= number
            if field == "next" and target.kind in UNGRADED:
                what = "an input" if nodes[edge.node].kind == "input" else "an untracked operation"
                raise GraphError(
                    f"{_title(node)}: next[{position}] points to {_title(nodes[edge.node])}, {what}, "
                    "which has no gradient."
                )
    return later


def _check_target(graph: Graph, edge: Edge, what: str) -> None:
    if not 0 <= edge.node < len(graph.nodes):
        raise GraphError(f"{what} points to node {edge.node}, and the graph has {len(graph.nodes)} nodes.")
    target = graph.nodes[edge.node]
    if not 0 <= edge.nr < len(target.outputs):
        raise GraphError(f"{what} points to output {edge.nr} of {_title(target)}, which has {len(target.outputs)}.")


def _check_origin(graph: Graph, node: Node) -> None:
    if node.pass_id is None:
        if node.order != 0 and not is_cut(node):  # of a view that has none of its pass
            raise GraphError(f"{_title(node)} has order {node.order}, but no pass made it.")
        if node.parent is not None:
            raise GraphError(f"{_title(node)} has a parent, but no pass made it.")
        return
    if not 0 <= node.pass_id < len(graph.passes):
        raise GraphError(f"{_title(node)} comes from pass {node.pass_id}, and there are {len(graph.passes)} passes.")
    order = graph.passes[node.pass_id].order
    if node.order != order:
        raise GraphError(f"{_title(node)} has order {node.order}, and its pass {node.pass_id} has order {order}.")
    if node.parent is None:
        return
    if not 0 <= node.parent < len(graph.nodes):
        raise GraphError(
            f"{_title(node)} has node {node.parent} as its parent, and the graph has {len(graph.nodes)} nodes."
        )
    parent = graph.nodes[node.parent]
    if parent.order >= node.order:
        raise GraphError(
            f"{_title(node)} has order {node.order}, which is not above that of its parent, "
            f"{_title(parent)}, order {parent.order}."
        )


def _check_pass(graph: Graph, index: int, entry: Pass) -> None:
    if entry.id != index:
        raise GraphError(f"pass {entry.id} stands at position {index}; ids are dense and in order.")
    if entry.order < 1:
        raise GraphError(f"pass {index} has order {entry.order}; a pass has order 1 or higher.")
    for what, edges in (("a root", entry.roots), ("an input", entry.inputs), ("a result", entry.results)):
        for edge in edges:
            if edge is not None:
                _check_target(graph, edge, f"{what} of pass {index}")
    if entry.results and len(entry.results) != len(entry.inputs):
        raise GraphError(f"pass {index} has {len(entry.results)} results of {len(entry.inputs)} inputs.")
    for ran in entry.ran:
        if not 0 <= ran < len(graph.nodes):
            raise GraphError(f"pass {index} ran node {ran}, and the graph has {len(graph.nodes)} nodes.")
        if graph.nodes[ran].order >= entry.order:
            raise GraphError(
                f"pass {index} has order {entry.order} and ran {_title(graph.nodes[ran])}, "
                f"order {graph.nodes[ran].order}; a pass is above all that it ran."
            )


def _check_circles(graph: Graph, field: str, targets: Callable[[Node], Iterable[int]]) -> None:
    waiting = [0] * len(graph.nodes)
    for node in graph.nodes:
        for target in targets(node):
            waiting[target] += 1
    ready = [number for number, count in enumerate(waiting) if count == 0]
    for number in ready:  # grows while it is walked
        for target in targets(graph.nodes[number]):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if len(ready) == len(graph.nodes):
        return
    raise GraphError(f"{_title(_on_circle(graph, waiting, targets))} reaches itself through {field}.")


def _on_circle(graph: Graph, waiting: list[int], targets: Callable[[Node], Iterable[int]]) -> Node:
    """A node of a circle: among what is left, each has a predecessor, so walking back must meet itself."""
    before = {target: node.id for node in graph.nodes if waiting[node.id] for target in targets(node)}
    number = next(index for index, count in enumerate(waiting) if count)
    met: set[int] = set()
    while number not in met:
        met.add(number)
        number = before[number]
    return graph.nodes[number]
