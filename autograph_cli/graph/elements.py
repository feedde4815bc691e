"""The nodes and edges of a graph as plain attributes, as programs that measure and lay out graphs take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from autograph_cli.graph.extras import extra
from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.records import Graph, Node

NODE_KEYS: dict[str, type] = {
    "label": str, "kind": str, "name": str, "op": str, "type": str, "order": int, "pass": int, "parent": str,
    "source": str, "module": str, "bytes": int,
}  # fmt: skip
"""The keys that a node may have, with their types; empty ones are left out."""
EDGE_KEYS: dict[str, type] = {"role": str, "place": int, "nr": int, "type": str}
"""The role of an edge is `arg` or `next`, its place that among those of its user, `nr` the output that it is of."""


class Link(NamedTuple):
    """An edge with where it begins, where it ends, and its attributes."""

    source: str
    target: str
    attributes: dict[str, Any]


def node_rows(graph: Graph, *, data: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The id of each node, `n7`, and its attributes (`NODE_KEYS`).

    Its label is, along the data, the operation, and along the gradient, its `grad_fn`.
    """
    names = output_names(graph)
    for node in graph:
        yield f"n{node.id}", _told({"label": _label(node, names[node.id], data)} | _of_node(node, names[node.id]))


def edge_rows(graph: Graph, *, data: bool) -> Iterator[Link]:
    """The edges: along the data (`data`), from what is used to its user, or along the gradient."""
    for node in graph:
        for role, edges in (("arg", node.args), ("next", node.next)):
            for place, edge in enumerate(edges):
                if edge is not None:
                    user, used = f"n{node.id}", f"n{edge.node}"
                    kind = str(graph.nodes[edge.node].outputs[edge.nr].type)
                    attributes = _told({"role": role, "place": place, "nr": edge.nr, "type": kind})
                    yield Link(*((used, user) if data else (user, used)), attributes)


def to_networkx(graph: Graph, *, data: bool = True) -> Any:
    """The graph as a `networkx.MultiDiGraph`, whose nodes have their numbers as keys.

    Its edges lead along the data, or, if `data` is false, along the gradient; `NODE_KEYS` and `EDGE_KEYS` are the
    attributes. Raises `GraphError` without networkx.
    """
    networkx = extra("networkx", "to_networkx", "networkx")
    made = networkx.MultiDiGraph()
    made.add_nodes_from((int(key[1:]), attributes) for key, attributes in node_rows(graph, data=data))
    for link in edge_rows(graph, data=data):
        made.add_edge(int(link.source[1:]), int(link.target[1:]), **link.attributes)
    return made


def _label(node: Node, names: tuple[str, ...], data: bool) -> str:
    if node.computes or not (any(output.names for output in node.outputs) or node.kind != "untracked"):
        return (node.op or node.name) if data else (node.name or node.op)
    return ", ".join(names)


def _of_node(node: Node, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "kind": node.kind,
        "name": node.name,
        "op": node.op,
        "type": ", ".join(f"{name}: {output.type}" for name, output in zip(names, node.outputs, strict=True)),
        "order": node.order,
        "pass": node.pass_id,
        "parent": None if node.parent is None else f"n{node.parent}",
        "source": f"{node.source.file}:{node.source.line}" if node.source else "",
        "module": node.module,
        "bytes": sum(saved.bytes for saved in node.saved),
    }


def _told(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        key: visible(value) if isinstance(value, str) else value
        for key, value in attributes.items()
        if value not in (None, "")
    }
