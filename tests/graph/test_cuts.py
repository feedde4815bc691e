"""Why no gradient goes from one position to another, as far as the graph tells by itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, Node, Output, Source, TensorType
from autograph_cli.graph.cuts import behind, reasons
from tests.graph.nets import leaf, operation

VECTOR = TensorType("float32", (3,))


def given(number: int, name: str, dtype: str = "float32") -> Node:
    return Node(number, "input", "Input", "", (Output(TensorType(dtype, (3,)), (name,)),))


def at(node: Node, line: int) -> Node:
    return replace(node, source=Source("expr.py", line))


def without_edge(node: Node, position: int) -> Node:
    return replace(node, next=tuple(None if i == position else edge for i, edge in enumerate(node.next)))


SPLIT = Node(1, "operation", "UnbindBackward0", "unbind", (Output(VECTOR, ("a",)), Output(VECTOR, ("b",))), (Edge(0),))
CUTS = [
    (
        [leaf(0, "w"), given(1, "x"), at(without_edge(operation(2, "mul", 0, 1), 1), 7)],
        "x is an input of mul at expr.py:7, but does not require grad.",
    ),
    (
        [leaf(0, "w"), given(1, "x", "int64"), without_edge(operation(2, "mul", 0, 1), 1)],
        "x is an input of mul, but does not require grad: it is int64, and only floating ones carry gradients.",
    ),
    (
        [leaf(0, "w"), leaf(1, "x"), operation(2, "exp", 1), at(without_edge(operation(3, "mul", 0, 2), 1), 4)],
        "mul at expr.py:4 is given %2 (float32[3]) and sends it no gradient.",
    ),
    (
        [leaf(0, "x"), SPLIT, Node(2, "operation", "T", "tanh", (Output(VECTOR),), (Edge(1, 1),), (Edge(1, 1),))],
        "Other results of unbind lead there, and a does not.",
    ),
    ([leaf(0, "w"), leaf(1, "x"), operation(2, "exp", 0)], "No recorded operation uses x."),
]


@pytest.mark.parametrize(("nodes", "reason"), CUTS)
def test_the_reason_why_there_is_no_way_from_the_last_node_to_the_second(nodes: list[Node], reason: str) -> None:
    assert reasons(Graph(tuple(nodes)), [(len(nodes) - 1, 0)], [(1, 0)]) == [reason]


def test_a_leaf_with_other_uses_only_has_them_listed() -> None:
    nodes = [leaf(0, "w"), leaf(1, "x"), operation(2, "exp", 0)]
    nodes += [at(operation(number, "tanh", 1), number) for number in range(3, 10)]
    said = reasons(Graph(tuple(nodes)), [(2, 0)], [(1, 0)])
    assert said[0] == "x is used by tanh at expr.py:3, which %2 does not hang on."
    assert said[-1] == "... and by 2 more."
    assert len(said) == 6


def test_what_is_behind_a_place_is_all_that_it_hangs_on() -> None:
    graph = Graph((leaf(0), given(1, "x"), operation(2, "exp", 0), without_edge(operation(3, "mul", 2, 1), 1), leaf(4)))
    assert behind(graph, [(3, 0)]) == {0, 1, 2, 3}
