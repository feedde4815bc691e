"""A graph as GraphML, GEXF and Cytoscape's JSON, for Gephi, yEd, Cytoscape and the like."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from autograph_cli.graph import Graph
from autograph_cli.graph.elements import EDGE_KEYS, NODE_KEYS, edge_rows, node_rows

_TYPES = {str: "string", int: "long"}
_DOMAINS = (("node", NODE_KEYS), ("edge", EDGE_KEYS))
_XML = '<?xml version="1.0" encoding="UTF-8"?>'


def to_graphml(graph: Graph, *, data: bool) -> str:
    """Write the graph; edges lead along the data (`data`), from what is used to its user, or along the gradient."""
    lines = [_XML, '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for domain, keys in _DOMAINS:
        lines += [
            f'<key id="{domain}_{key}" for="{domain}" attr.name="{key}" attr.type="{_TYPES[kind]}"/>'
            for key, kind in keys.items()
        ]
    lines.append('<graph id="autograph" edgedefault="directed">')

    def written(opening: str, domain: str, attributes: Mapping[str, Any]) -> str:
        values = "".join(
            f"<data key={quoteattr(f'{domain}_{key}')}>{escape(str(value))}</data>" for key, value in attributes.items()
        )
        return f"{opening}{values}</{domain}>"

    lines += [written(f'<node id="{key}">', "node", attributes) for key, attributes in node_rows(graph, data=data)]
    lines += [
        written(f'<edge id="e{number}" source="{link.source}" target="{link.target}">', "edge", link.attributes)
        for number, link in enumerate(edge_rows(graph, data=data))
    ]
    return "\n".join([*lines, "</graph>", "</graphml>"]) + "\n"


def to_gexf(graph: Graph, *, data: bool) -> str:
    """Write the graph as GEXF 1.3, whose nodes bear their labels; edges lead as in GraphML."""
    lines = [_XML, '<gexf xmlns="http://gexf.net/1.3" version="1.3">', '<graph defaultedgetype="directed">']
    for domain, keys in _DOMAINS:
        lines.append(f'<attributes class="{domain}">')
        lines += [f'<attribute id="{key}" title="{key}" type="{_TYPES[kind]}"/>' for key, kind in keys.items()]
        lines.append("</attributes>")

    def written(opening: str, domain: str, attributes: Mapping[str, Any]) -> str:
        values = "".join(
            f"<attvalue for={quoteattr(key)} value={quoteattr(str(value))}/>" for key, value in attributes.items()
        )
        return f"{opening}<attvalues>{values}</attvalues></{domain}>"

    def section(name: str, rows: Iterable[str]) -> list[str]:
        return [f"<{name}>", *rows, f"</{name}>"]

    lines += section(
        "nodes",
        (
            written(f'<node id="{key}" label={quoteattr(attributes["label"])}>', "node", attributes)
            for key, attributes in node_rows(graph, data=data)
        ),
    )
    lines += section(
        "edges",
        (
            written(f'<edge id="e{number}" source="{link.source}" target="{link.target}">', "edge", link.attributes)
            for number, link in enumerate(edge_rows(graph, data=data))
        ),
    )
    return "\n".join([*lines, "</graph>", "</gexf>"]) + "\n"


def to_cytoscape(graph: Graph, *, data: bool) -> str:
    """Write the graph as the elements of Cytoscape and Cytoscape.js, one a line; edges lead as in GraphML."""
    nodes = [json.dumps({"data": {"id": key, **told}}, ensure_ascii=False) for key, told in node_rows(graph, data=data)]
    edges = [
        json.dumps(
            {"data": {"id": f"e{number}", "source": link.source, "target": link.target, **link.attributes}},
            ensure_ascii=False,
        )
        for number, link in enumerate(edge_rows(graph, data=data))
    ]
    return '{{"elements": {{"nodes": [\n{}\n], "edges": [\n{}\n]}}}}\n'.format(",\n".join(nodes), ",\n".join(edges))
