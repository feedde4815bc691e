"""A graph as Google's Model Explorer reads it: nodes in the boxes of their modules, and numbers that colour them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from autograph_cli.graph import Edge, Graph, Node
from autograph_cli.graph.elements import NODE_KEYS, node_rows
from autograph_cli.graph.facts import FACTS, facts_of
from autograph_cli.graph.names import output_names, visible

_TOLD = [key for key in NODE_KEYS if key not in ("label", "type")]


def to_model_explorer(graph: Graph, view: str, title: str, shown: Collection[str], *, data: bool) -> str:
    """Write a collection of one graph, whose id is the view; the facts of `shown` are attributes of the nodes."""
    names = output_names(graph)
    rows = dict(node_rows(graph, data=data))
    incoming = _incoming(graph, data)
    homes = {call.path: call.id for call in reversed(graph.calls)}  # leaves stand in the first call of their module
    nodes = [_node(graph, homes, node, names[node.id], rows[f"n{node.id}"], incoming[node.id], shown) for node in graph]
    groups = {
        "/".join(_namespace(graph, call.id)): {"class": visible(call.cls), "parameters": str(call.parameters)}
        for call in graph.calls
    }
    drawn = {"id": view, "nodes": nodes, "groupNodeAttributes": groups}
    return json.dumps({"label": title or "autograph", "graphs": [drawn]}, ensure_ascii=False, indent=1) + "\n"


def to_node_data(view: str, word: str, amounts: Mapping[str, float]) -> str:
    """Write the numbers of nodes for the same graph: Model Explorer colours the nodes by them."""
    results = {key: {"value": amount} for key, amount in amounts.items()}
    colours = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f07828"}]
    return json.dumps({view: {"name": word, "results": results, "gradient": colours}}, indent=1) + "\n"


def _node(
    graph: Graph,
    homes: Mapping[str, int],
    node: Node,
    names: tuple[str, ...],
    row: Mapping[str, Any],
    incoming: list[dict[str, str]],
    shown: Collection[str],
) -> dict[str, Any]:
    told = {key: str(row[key]) for key in _TOLD if key in row}
    told |= {f"with {name}": value for name, value in node.constants}
    told |= {word: "\n".join(facts_of(node, (word,))) for word in FACTS if word in shown}
    return {
        "id": f"n{node.id}",
        "label": row["label"],
        "namespace": "/".join(_namespace(graph, homes.get(node.module) if node.call is None else node.call)),
        "attrs": _pairs(told),
        "incomingEdges": incoming,
        "outputsMetadata": [
            {"id": str(nr), "attrs": _pairs({"tensor_name": name, "shape": str(output.type)})}
            for nr, (name, output) in enumerate(zip(names, node.outputs, strict=True))
        ],
    }


def _incoming(graph: Graph, data: bool) -> list[list[dict[str, str]]]:
    """What leads to each node: along the data what it was given, along the gradient who sends it one."""
    found: list[list[dict[str, str]]] = [[] for _ in graph.nodes]

    def add(target: int, source: Edge) -> None:
        found[target].append(
            {
                "sourceNodeId": f"n{source.node}",
                "sourceNodeOutputId": str(source.nr),
                "targetNodeInputId": str(len(found[target])),
            }
        )

    for node in graph:
        for edge in (node.args or node.next) if data else node.next:
            if edge is not None:
                add(*((node.id, edge) if data else (edge.node, Edge(node.id))))
    return found


def _namespace(graph: Graph, call: int | None) -> list[str]:
    """The calls around a node, outermost first, those of one module told apart by their turn."""
    found: list[str] = []
    while call is not None:
        one = graph.calls[call]
        turn = f" ({one.turn} of {one.turns})" if one.turns > 1 else ""
        found.insert(0, visible(one.path).replace("/", "∕") + turn)
        call = one.parent
    return found


def _pairs(told: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"key": key, "value": visible(value) if "\n" not in value else value} for key, value in told.items() if value
    ]
