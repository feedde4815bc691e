"""Graphs are matched by structure: what differs is reported, and nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, Output, Pass, Root, Source, TensorType, Trace, diff
from tests.graph.nets import BINARY, UNARY, inserted, leaf, net, operation, shuffled


def only(graph: Graph) -> list[int]:
    return [node.id for node in graph if node.kind == "operation"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_one_operation_inserted_among_a_thousand_is_all_that_is_reported(seed: int, named: bool) -> None:
    graph = net(1_000, named=named)
    chance = random.Random(seed)
    changed = inserted(graph, chance.choice(only(graph)), chance.choice(UNARY))
    for found, verb in ((diff(graph, changed), "gained"), (diff(changed, graph), "lost")):
        assert len(found.added) + len(found.removed) == 1
        assert not (found.changed or found.passes or found.new_roots or found.lost_roots)
        assert len(found.sentences) == 1
        assert f"forward {verb} a" in found.sentences[0]


def test_operations_inserted_here_and_there_among_ten_thousand_are_all_found() -> None:
    graph = changed = net(10_000)
    for seed in range(5):
        changed = inserted(changed, random.Random(seed).choice(only(changed)), "sigmoid")
    found = diff(graph, changed)
    assert len(found.added) == 5
    assert [changed[number].op for number in found.added] == ["sigmoid"] * 5
    assert not (found.removed or found.changed)


def test_graphs_that_have_nothing_in_common_are_compared_too() -> None:
    one = Graph((leaf(0), *(operation(n, UNARY[n % 3], n - 1) for n in range(1, 3_000))))
    other = Graph((leaf(0), *(operation(n, "sigmoid", n - 1) for n in range(1, 2_000))))
    assert diff(one, other)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(2, 60), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_in_which_nodes_were_made_is_no_difference(seed: int, other: int, size: int, named: bool) -> None:
    graph = net(size, seed, named=named)
    assert not diff(graph, shuffled(graph, other))


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(5, 60), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_another_operation_in_one_place_is_always_seen(seed: int, other: int, size: int, named: bool) -> None:
    graph = net(size, seed, named=named)
    number = random.Random(other).choice(only(graph))
    node = graph[number]
    op = "sub" if node.op != "sub" and node.op in BINARY else "cosh"
    changed = Graph(
        tuple(replace(n, op=op, name=f"{op.title()}Backward0") if n.id == number else n for n in graph), graph.roots
    )
    assert diff(graph, shuffled(changed, other))


def test_recorded_graphs_are_the_same_as_themselves(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        for step in trace.steps:
            assert not diff(step.graph, step.graph), trace.script


def test_a_thousand_equal_operations_in_a_row_are_counted() -> None:
    one, other = (
        Graph((leaf(0, "x"), *(operation(n, "relu", n - 1) for n in range(1, length))), (Root("y", length - 1),))
        for length in (1_000, 1_001)
    )
    found = diff(one, other)
    assert (len(found.added), len(found.removed), len(found.changed)) == (1, 0, 0)


X, W = leaf(0, "x"), leaf(1, "w")
MATRIX = TensorType("float32", (3, 4))


def graph_of(*nodes: object, root: int = -1, passes: tuple[Pass, ...] = ()) -> Graph:
    return Graph(tuple(nodes), (Root("y", len(nodes) - 1 if root < 0 else root),), passes)  # type: ignore[arg-type]


def backward(*leaves: int, root: int = 2, create_graph: bool = False) -> tuple[Pass, ...]:
    return (Pass(0, "backward", 1, create_graph, (Edge(root),), ran=(root, *leaves)),)


PRODUCT = graph_of(X, W, replace(operation(2, "mul", 0, 1), source=Source("a.py", 7)), passes=backward(0, 1))


def changed_node(number: int, **fields: object) -> Graph:
    nodes = tuple(replace(node, **fields) if node.id == number else node for node in PRODUCT)  # type: ignore[arg-type]
    return replace(PRODUCT, nodes=nodes)


CASES: dict[str, tuple[Callable[[], Graph], list[str]]] = {
    "another variable name": (lambda: changed_node(1, outputs=(Output(W.outputs[0].type, ("v",)),)), []),
    "another line": (lambda: changed_node(2, source=Source("a.py", 70)), []),
    "factors in another order": (lambda: changed_node(2, args=(Edge(1), Edge(0)), next=(Edge(1), Edge(0))), []),
    "another operation": (
        lambda: changed_node(2, op="div", name="DivBackward0"),
        ["`mul` became `div` (a.py:7)"],
    ),
    "another shape": (
        lambda: changed_node(2, outputs=(Output(MATRIX),)),
        ["`mul` (a.py:7) output float32[3] -> float32[3, 4]"],
    ),
    "another dtype of a leaf": (
        lambda: changed_node(1, outputs=(Output(TensorType("float64", (3,)), ("w",)),)),
        ["leaf `w` float32[3] -> float64[3]"],
    ),
    "a leaf that is an input": (
        lambda: replace(
            PRODUCT,
            passes=backward(0),
            nodes=(X, replace(W, kind="input", name="Input"), replace(PRODUCT[2], next=(Edge(0), None))),
        ),
        ["`w` no longer gets a gradient"],
    ),
    "a backward call that leaves out a leaf": (
        lambda: replace(PRODUCT, passes=backward(0)),
        ["`w` no longer gets a gradient"],
    ),
    "a cut gradient": (
        lambda: changed_node(2, next=(Edge(0), None)),
        ["`mul` (a.py:7) no longer sends a gradient to `w`"],
    ),
    "create_graph": (
        lambda: replace(PRODUCT, passes=backward(0, 1, create_graph=True)),
        ["`backward(mul)` now keeps a graph of its own (create_graph)"],
    ),
    "no backward call": (lambda: replace(PRODUCT, passes=()), ["`backward(mul)` is gone"]),
    "another result": (
        lambda: replace(PRODUCT, roots=(*PRODUCT.roots, Root("x", 0))),
        ["`x` is a result now"],
    ),
    "another leaf": (
        lambda: graph_of(X, W, PRODUCT[2], leaf(3, "b"), operation(4, "add", 2, 3), passes=backward(0, 1, 3, root=4)),
        ["`b` now gets a gradient", "forward gained an `add`, on `mul` and `b`"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_is_said_as_a_reviewer_would(case: str) -> None:
    make, expected = CASES[case]
    found = diff(PRODUCT, make())
    assert found.sentences == expected
    assert bool(found) == bool(expected)
    assert bool(found.to_text()) == bool(expected) or case == "another result"


def test_a_leaf_in_the_place_of_an_operation_cuts_the_gradient_off() -> None:
    tanh, exp = operation(1, "tanh", 0), operation(2, "exp", 1)
    one = graph_of(leaf(0, "w"), tanh, exp, passes=backward(0, 1, 2, root=2))
    other = graph_of(leaf(0, "w"), tanh, leaf(2, "h"), operation(3, "exp", 2), passes=backward(2, 3, root=3))
    assert diff(one, other).sentences[-1] == "`exp` no longer sends a gradient on to `tanh`: `h` is a leaf now"


def test_outputs_that_change_with_their_arguments_are_counted_not_listed() -> None:
    one, other = (
        graph_of(
            X, operation(1, "relu", 0, kind=kind), operation(2, "exp", 1, kind=kind), operation(3, "tanh", 2, kind=kind)
        )
        for kind in (TensorType("float32", (3,)), MATRIX)
    )
    assert diff(one, other).sentences == [
        "`relu` output float32[3] -> float32[3, 4]",
        "2 more outputs change type with that",
    ]


def test_what_is_not_asked_for_is_not_compared() -> None:
    other = changed_node(2, outputs=(Output(MATRIX),))
    assert not diff(PRODUCT, other, parts=["names", "dtypes"])
    assert diff(PRODUCT, changed_node(2, source=Source("a.py", 8)), parts=["lines"])


def test_a_renamed_variable_is_told_apart_from_differences() -> None:
    found = diff(PRODUCT, changed_node(1, outputs=(Output(W.outputs[0].type, ("v",)),)))
    assert found.renamed == (("w", "v"),)
    assert not found


def test_lines_that_are_alike_keep_their_labels_in_the_text() -> None:
    graph = net(40, 3)
    text = diff(graph, inserted(graph, only(graph)[5], "sigmoid")).to_text(context=0)
    marks = [line[0] for line in text.splitlines() if line[0] in "+-"]
    assert marks.count("+") == marks.count("-") + 1
    assert "sigmoid" in text


def test_json_names_what_differs(product: Graph) -> None:
    data = json.loads(diff(PRODUCT, changed_node(2, op="div", name="DivBackward0")).to_json())
    assert data["same"] is False
    assert data["changed"][0]["aspects"] == ["operation"]
    assert json.loads(diff(product, product).to_json()) == {
        "same": True,
        "sentences": [],
        "removed": [],
        "added": [],
        "changed": [],
        "passes": [],
        "renamed": [],
    }


def test_a_graph_has_the_diff_as_a_method(product: Graph) -> None:
    assert not product.diff(product)
    assert repr(product.diff(product)) == "<GraphDiff: the same>"
