"""The formats for other programs hold every node and edge, and networkx reads them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.export import ExportError, render
from autograph_cli.graph import Graph, GraphError, ModuleCall, Trace, backward, forward
from tests.export.formats.test_formats import ODD, one_leaf

GEXF = "{http://gexf.net/1.3}"
VIEWS = {"forward": forward, "backward": backward}


def ends_of(graph: Graph, view: str) -> list[tuple[str, str]]:
    used = [(node.id, edge.node) for node in graph for edge in (*node.args, *node.next) if edge is not None]
    return sorted((f"n{b}", f"n{a}") if view == "forward" else (f"n{a}", f"n{b}") for a, b in used)


def read_gexf(made: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    root = ElementTree.fromstring(made)
    edges = [(str(edge.get("source")), str(edge.get("target"))) for edge in root.iter(f"{GEXF}edge")]
    return [str(node.get("id")) for node in root.iter(f"{GEXF}node")], edges


def read_cytoscape(made: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    found = json.loads(made)["elements"]
    edges = [(edge["data"]["source"], edge["data"]["target"]) for edge in found["edges"]]
    return [node["data"]["id"] for node in found["nodes"]], edges


READERS = {"gexf": read_gexf, "cytoscape": read_cytoscape}


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_node_and_edge_is_there(traces: dict[str, Trace], view: str, format: str) -> None:
    step = traces["higher_order"].steps[0]
    graph = VIEWS[view](step.graph)
    nodes, edges = READERS[format](render(step, view, format))
    assert nodes == [f"n{node.id}" for node in graph]
    assert sorted(edges) == ends_of(graph, view)


@pytest.mark.parametrize("name", ODD)
def test_a_gexf_keeps_names(name: str) -> None:
    root = ElementTree.fromstring(render(one_leaf(name), "forward", "gexf"))
    kinds = [found.get("value") for found in root.iter(f"{GEXF}attvalue") if found.get("for") == "type"]
    assert str(kinds[0]).endswith(": float32[3]")


@pytest.mark.parametrize("format", ["graphml", "gexf"])
def test_networkx_reads_the_same_graph(traces: dict[str, Trace], tmp_path: Any, format: str) -> None:
    networkx = pytest.importorskip("networkx")
    step = traces["higher_order"].steps[0]
    file = tmp_path / "graph.xml"
    file.write_bytes(render(step, "backward", format))
    found = getattr(networkx, f"read_{format}")(file)
    own = backward(step.graph).to_networkx(data=False)
    assert set(found.nodes) == {f"n{key}" for key in own.nodes}
    assert {(f"n{a}", f"n{b}") for a, b in own.edges()} == set(found.edges())
    assert {key: told["label"] for key, told in found.nodes(data=True)} == {
        f"n{key}": told["label"] for key, told in own.nodes(data=True)
    }


def test_networkx_finds_the_longest_path(traces: dict[str, Trace]) -> None:
    networkx = pytest.importorskip("networkx")
    graph = forward(traces["logits_loss"].steps[0].graph)
    path = networkx.dag_longest_path(graph.to_networkx())
    assert [graph[key].op for key in path][-1] == "binary_cross_entropy_with_logits"


def test_without_networkx_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(GraphError, match="to_networkx needs networkx: pip install networkx"):
        one_leaf("x").to_networkx()


# ---------------------------------------------------------------- Model Explorer


def test_model_explorer_gets_modules_as_namespaces_and_edges_to_nodes_that_are_there(traces: dict[str, Trace]) -> None:
    plain = traces["higher_order"].steps[0].graph
    calls = (
        ModuleCall(0, "net", "Net"),
        ModuleCall(1, "net.act", "Tanh", 0, 1, 2),
        ModuleCall(2, "net.act", "Tanh", 0, 2, 2),
    )
    nodes = tuple(replace(node, call=1) if node.op == "tanh" else node for node in plain)
    made = json.loads(render(replace(plain, nodes=nodes, calls=calls), "forward", "model-explorer", title="a.py"))
    (drawn,) = made["graphs"]
    assert made["label"].startswith("a.py · forward")
    assert drawn["groupNodeAttributes"]["net/net.act (1 of 2)"] == {"class": "Tanh", "parameters": "0"}
    by_id = {node["id"]: node for node in drawn["nodes"]}
    assert {node["namespace"] for node in drawn["nodes"]} == {"", "net/net.act (1 of 2)"}
    edges = sorted((edge["sourceNodeId"], key) for key, node in by_id.items() for edge in node["incomingEdges"])
    assert edges == sorted((f"n{edge.node}", f"n{node.id}") for node in forward(plain) for edge in node.args)


@pytest.mark.parametrize(
    ("view", "label"), [("forward", "tanh"), ("backward", "TanhBackward0"), ("double-backward", "TanhBackward0")]
)
def test_a_node_has_the_name_that_its_view_goes_by(traces: dict[str, Trace], view: str, label: str) -> None:
    made = json.loads(render(traces["higher_order"].steps[0], view, "model-explorer"))
    labels = {node["label"] for node in made["graphs"][0]["nodes"]}
    assert label in labels and "x" in labels
    assert not labels & ({"tanh", "TanhBackward0"} - {label})


@pytest.mark.parametrize("view", ["forward", "backward", "double-backward"])
def test_the_types_of_model_explorer_take_it(traces: dict[str, Trace], view: str) -> None:
    builder = pytest.importorskip("model_explorer.graph_builder")
    for trace in traces.values():
        (drawn,) = json.loads(render(trace.steps[0], view, "model-explorer"))["graphs"]
        for node in drawn.pop("nodes"):
            edges = [builder.IncomingEdge(**edge) for edge in node.pop("incomingEdges")]
            assert builder.GraphNode(**node, incomingEdges=edges).label
        assert builder.Graph(**drawn).id == view


def test_the_numbers_of_nodes_are_those_of_the_colour(traces: dict[str, Trace]) -> None:
    step = traces["logits_loss"].steps[0]
    (matmul,) = (node.id for node in forward(step.graph) if node.op == "mm")
    made = json.loads(render(step, "forward", "model-explorer-data", colour="bytes"))
    assert made["forward"]["results"][f"n{matmul}"] == {"value": 12}
    assert made == json.loads(render(step, "forward", "model-explorer-data"))
    with pytest.raises(ExportError, match="recorded on request only: autograph run --record time"):
        render(step, "forward", "model-explorer-data", colour="time")
