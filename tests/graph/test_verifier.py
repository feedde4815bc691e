"""The checker names the first node that breaks a rule."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, GraphError, Node, Output, Pass, Root, TensorType, verify

ONE = (Output(TensorType("float32", (3,))),)
LEAF = Node(0, "leaf", "AccumulateGrad", "", ONE)
INPUT = Node(0, "input", "Input", "", ONE)
SIN = Node(1, "operation", "SinBackward0", "sin", ONE, (Edge(0),), (Edge(0),))
GRAD = Pass(0, "grad", 1, True, (Edge(1),), None, (1,))
COS = Node(2, "operation", "CosBackward0", "cos", ONE, (Edge(0),), order=1, parent=1, pass_id=0)


def test_a_good_graph_passes() -> None:
    verify(Graph((LEAF, SIN, COS), (Root("y", 1),), (GRAD,)))


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (Graph((SIN,)), "node 1 (SinBackward0) stands at position 0"),
        (Graph((replace(LEAF, kind="thing"),)), "is of kind 'thing'"),  # type: ignore[arg-type]
        (Graph((replace(LEAF, next=(None,)),)), "of kind leaf and cannot have next"),
        (Graph((replace(LEAF, outputs=()),)), "has 0 outputs instead of one"),
        (Graph((LEAF, replace(SIN, next=(Edge(7),)))), "node 1 (SinBackward0): next[0] points to node 7"),
        (Graph((LEAF, replace(SIN, args=(Edge(0, 1),)))), "args[0] points to output 1 of node 0"),
        (Graph((LEAF, replace(SIN, args=(Edge(-1),)))), "args[0] points to node -1"),
        (Graph((INPUT, SIN)), "points to node 0 (Input), an input, which has no gradient"),
        (Graph((LEAF, replace(SIN, next=(Edge(1),)))), "node 1 (SinBackward0) reaches itself through next"),
        (Graph((LEAF, replace(SIN, order=1))), "has order 1, but no pass made it"),
        (Graph((LEAF, replace(SIN, parent=0))), "has a parent, but no pass made it"),
        (Graph((LEAF, SIN, replace(COS, pass_id=3)), (), (GRAD,)), "comes from pass 3"),
        (Graph((LEAF, SIN, replace(COS, order=2)), (), (GRAD,)), "its pass 0 has order 1"),
        (Graph((LEAF, SIN, replace(COS, parent=9)), (), (GRAD,)), "node 9 as its parent"),
        (Graph((LEAF, SIN, replace(COS, parent=2)), (), (GRAD,)), "not above that of its parent"),
        (Graph((LEAF, SIN, COS), (), (replace(GRAD, ran=(2,)),)), "a pass is above all that it ran"),
        (Graph((LEAF, SIN, COS), (), (replace(GRAD, id=4),)), "pass 4 stands at position 0"),
        (Graph((LEAF,), (Root("y", 5),)), "root 'y' points to node 5"),
    ],
)
def test_a_broken_rule_is_named(graph: Graph, sentence: str) -> None:
    with pytest.raises(GraphError) as caught:
        verify(graph)
    assert sentence in str(caught.value)


def test_a_circle_is_found_behind_what_leads_to_it() -> None:
    circle = [replace(SIN, id=number, next=(Edge(target),), args=()) for number, target in ((1, 2), (2, 3), (3, 2))]
    with pytest.raises(GraphError, match=r"node [23] .* reaches itself"):
        verify(Graph((LEAF, *circle)))


def test_edges_to_later_nodes_are_no_circle() -> None:
    verify(Graph((LEAF, replace(SIN, next=(Edge(2),), args=()), replace(SIN, id=2, args=()))))
