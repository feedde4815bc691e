"""Inside of a backward: what was recorded on request, else the derivatives that the graph itself has."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograph_cli.graph import (
    Graph,
    GraphError,
    Measured,
    Node,
    Output,
    Root,
    TensorType,
    Trace,
    double_backward,
    open_node,
)

INSIDE = Graph(
    (Node(0, "input", "Input", "", (Output(TensorType("float32", ()), ("grad",)),)),), (Root("grad_self", 0),)
)


def test_what_was_recorded_on_request_is_shown(traces: dict[str, Trace]) -> None:
    whole = traces["logits_loss"].steps[0].graph
    nodes = tuple(replace(node, measured=Measured(inside=INSIDE)) if node.op == "mm" else node for node in whole)
    assert open_node(replace(whole, nodes=nodes), "mm") == (
        INSIDE,
        "inside MmBackward0: its formula, run once more on what it was given",
    )


def test_else_what_a_recorded_pass_left(traces: dict[str, Trace]) -> None:
    graph = traces["higher_order"].steps[0].graph
    parent = next(node.parent for node in graph if node.parent is not None)
    opened, words = open_node(graph, f"%{parent}")
    opened.verify()
    assert words.endswith("what a pass with create_graph recorded of it")
    assert {node.kind for node in opened} >= {"operation"}
    assert all(node.parent is None for node in opened)


def test_a_node_is_named_by_its_number_and_its_name_too(traces: dict[str, Trace]) -> None:
    graph = double_backward(traces["higher_order"].steps[0].graph)
    parent = next(node.parent for node in graph if node.parent is not None)
    node = graph[parent]
    assert open_node(graph, f"{node.name}%{node.id}") == open_node(graph, f"%{node.id}")
    with pytest.raises(GraphError, match="There is no 'Sin%"):
        open_node(graph, f"Sin%{node.id}")


def test_what_cannot_be_opened_is_told(traces: dict[str, Trace]) -> None:
    graph = traces["logits_loss"].steps[0].graph
    with pytest.raises(GraphError, match="'w' is no operation"):
        open_node(graph, "w")
    with pytest.raises(
        GraphError,
        match=r"no backward pass of this step ran it, or that was not recorded, .*: autograph run --record inside a\.py",
    ):
        open_node(graph, "loss", "a.py")
    nodes = tuple(replace(node, measured=Measured(inside=INSIDE)) if node.op == "mm" else node for node in graph)
    with pytest.raises(GraphError, match="There is nothing inside AddBackward0: no backward pass of this step ran it"):
        open_node(replace(graph, nodes=nodes), "add")
    graph = traces["higher_order"].steps[0].graph
    with pytest.raises(
        GraphError, match=r"'MulBackward0' is the name of \d+ nodes; open one of them: MulBackward0%\d+, "
    ):
        open_node(graph, "MulBackward0")
