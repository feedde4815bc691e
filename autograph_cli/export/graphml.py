"""A graph as GraphML, for programs that measure and lay out graphs (Gephi, yEd, networkx, igraph)."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from autograph_cli.graph import Edge, Graph, Node
from autograph_cli.graph.names import output_names, visible

_NODE_KEYS = {
    "label": "string",
    "kind": "string",
    "name": "string",
    "op": "string",
    "type": "string",
    "order": "int",
    "pass": "int",
    "parent": "string",
    "source": "string",
    "module": "string",
    "bytes": "long",
}
_EDGE_KEYS = {"role": "string", "place": "int", "nr": "int", "type": "string"}


def to_graphml(graph: Graph, *, data: bool) -> str:
    """Write the graph; edges lead along the data (`data`), from what is used to its user, or along the gradient.

    The role of an edge is `arg` or `next`, its position the number among those of its user, `nr` the output that it is
    of.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for domain, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        lines += [
            f'<key id="{domain}_{key}" for="{domain}" attr.name="{key}" attr.type="{kind}"/>'
            for key, kind in keys.items()
        ]
    lines.append('<graph id="autograph" edgedefault="directed">')
    names = output_names(graph)
    for node in graph:
        lines += _element(f'<node id="n{node.id}">', "node", _of_node(node, names[node.id]), "</node>")
    for number, (user, role, position, edge) in enumerate(_edges(graph)):
        ends = (edge.node, user) if data else (user, edge.node)
        opening = f'<edge id="e{number}" source="n{ends[0]}" target="n{ends[1]}">'
        kind = str(graph.nodes[edge.node].outputs[edge.nr].type)
        lines += _element(opening, "edge", {"role": role, "place": position, "nr": edge.nr, "type": kind}, "</edge>")
    return "\n".join([*lines, "</graph>", "</graphml>"]) + "\n"


def _edges(graph: Graph) -> Iterator[tuple[int, str, int, Edge]]:
    for node in graph:
        for role, edges in (("arg", node.args), ("next", node.next)):
            for position, edge in enumerate(edges):
                if edge is not None:
                    yield node.id, role, position, edge


def _of_node(node: Node, names: tuple[str, ...]) -> dict[str, object]:
    return {
        "label": ", ".join(names) if not node.computes else node.op or node.name,
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


def _element(opening: str, domain: str, values: dict[str, object], closing: str) -> list[str]:
    """One element with its values; what is empty is left out."""
    data = [
        f"<data key={quoteattr(f'{domain}_{key}')}>{escape(visible(str(value)))}</data>"
        for key, value in values.items()
        if value not in (None, "")
    ]
    return [opening + "".join(data) + closing]
