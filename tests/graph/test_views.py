"""The graphs within the graph: whole graphs again, with the right parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.graph import (
    Edge,
    Graph,
    GraphError,
    Node,
    Output,
    Pass,
    Root,
    Slice,
    TensorType,
    Trace,
    backward,
    double_backward,
    forward,
    reachable,
    slice_to_roots,
    verify,
)
from autograph_cli.graph.views import is_cut, tracked
from autograph_cli.record.run import runner

VIEWS = (forward, backward, double_backward, slice_to_roots)


def names(graph: Graph) -> list[str]:
    return [root.name for root in graph.roots]


def test_every_view_of_every_graph_is_a_whole_graph(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        for view in VIEWS:
            part = view(trace.steps[0].graph)
            verify(part)
            assert view(part) == part


def test_a_view_knows_which_node_of_the_graph_each_of_its_is(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        graph = trace.steps[0].graph
        for view in VIEWS:
            part = view(graph)
            found = [graph[number] for number in part.numbers]
            assert [node.outputs for node in part] == [node.outputs for node in found]
            assert [node.source for node in part] == [node.source for node in found]


def test_a_part_of_a_view_knows_which_node_of_the_view_each_of_its_is(traces: dict[str, Trace]) -> None:
    view = forward(traces["higher_order"].steps[0].graph)
    part = Slice(end=("scores",)).of(view)
    assert len(part) < len(view)
    assert [node.outputs for node in part] == [view[number].outputs for number in part.numbers]


def test_a_view_of_all_nodes_has_those_that_it_leaves_as_they_are() -> None:
    made = Output(TensorType("float32", ()))
    leaf = Node(0, "leaf", "AccumulateGrad", "", (made,))
    graph = Graph((leaf, Node(1, "operation", "SinBackward0", "sin", (made,), (Edge(0),), (Edge(0),))), (Root("y", 1),))
    shown = backward(graph)
    assert shown[0] is leaf
    assert shown[1] == replace(graph[1], args=())


def test_forward_ends_at_a_gradient_that_a_loss_is_made_from(traces: dict[str, Trace]) -> None:
    part = forward(traces["higher_order"].steps[0].graph)
    assert names(part) == ["value", "scores", "penalty"]
    (border,) = filter(is_cut, part)
    assert (border.op, border.outputs[0].names, border.args) == ("…mm", ("slopes",), ())
    assert {node.order for node in part} == {0}


def test_backward_follows_a_penalty_into_the_gradients(traces: dict[str, Trace]) -> None:
    part = backward(traces["higher_order"].steps[0].graph, ["penalty"])
    assert {node.order for node in part} == {0, 1}
    assert not any(node.args for node in part)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_double_backward_shows_the_orders_that_were_asked_for(traces: dict[str, Trace], order: int) -> None:
    part = double_backward(traces["higher_order"].steps[0].graph, ["value"], order)
    assert {node.order for node in part} == set(range(order + 1))


def test_a_slice_holds_what_its_root_leads_to(traces: dict[str, Trace]) -> None:
    graph = traces["higher_order"].steps[0].graph
    part = slice_to_roots(graph, ["value"])
    assert [node.name for node in part] == ["AccumulateGrad", "SinBackward0", "PowBackward0", "MulBackward0"]
    assert len(reachable(graph, ["value"])) == 4


@pytest.mark.parametrize("view", VIEWS)
def test_an_unknown_root_lists_the_known_ones(traces: dict[str, Trace], view: type) -> None:
    with pytest.raises(GraphError, match=r"no root 'lost' here; known roots: 'z', 'loss'\."):
        view(traces["logits_loss"].steps[0].graph, ["lost"])


def test_a_derivative_is_no_root_of_the_forward_graph(traces: dict[str, Trace]) -> None:
    with pytest.raises(GraphError, match="'grad_x' is a derivative"):
        forward(traces["sinh_function"].steps[0].graph, ["grad_x"])


def test_a_long_chain_needs_no_recursion() -> None:
    one = (Output(TensorType("float32", ())),)
    nodes = [Node(0, "leaf", "AccumulateGrad", "", one)]
    nodes += [
        Node(i, "operation", "SinBackward0", "sin", one, (Edge(i - 1),), (Edge(i - 1),)) for i in range(1, 20_000)
    ]
    graph = Graph(tuple(nodes), (Root("y", 19_999),))
    for view in VIEWS:
        part = view(graph)
        verify(part)
        assert len(part) == 20_000


def test_without_untracked_operations_every_pass_is_left() -> None:
    kind = (Output(TensorType("float32", ())),)
    nodes = (
        Node(0, "leaf", "AccumulateGrad", "", kind),
        Node(1, "input", "Input", "", kind),
        Node(2, "untracked", "", "unbind", kind * 3, args=(Edge(1),)),
        Node(
            3,
            "operation",
            "AddcmulBackward0",
            "addcmul",
            kind,
            (Edge(0), None, None),
            (Edge(0), Edge(2, 1), Edge(2, 2)),
        ),
    )
    graph = Graph(nodes, (Root("y", 3),), (Pass(0, "backward", 1, False, (Edge(3),), None, (3, 0), (Edge(0),)),))
    found = tracked(graph)
    verify(found)
    assert [node.kind for node in found] == ["leaf", "input", "input", "operation"]
    assert found.passes == (Pass(0, "backward", 1, False, (Edge(3),), None, (3, 0), (Edge(0),)),)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([""] * 4, 4),
        ([""] * 5, 0),
        (["x", "x~2", "x~3", "x~4"], 4),
        (["x", "x~2", "x~3", "x~4", "x~5"], 0),
        (["x", "x~2", "x~3", "x~4", "y"], 5),
        (["x", "x~2", "x~3", "x~4", ""], 5),
    ],
)
def test_many_tensors_without_names_of_their_own_are_not_shown_where_they_are_gathered(
    names: list[str], shown: int
) -> None:
    kind = (Output(TensorType("float32", ())),)
    count = len(names)
    sources = [
        Node(number, "input", "Input", "", (Output(TensorType("float32", ()), (name,) if name else ()),))
        for number, name in enumerate(names)
    ]
    edges = tuple(map(Edge, range(count)))
    graph = Graph(
        (
            *sources,
            Node(count, "untracked", "", "stack", kind, args=edges),
            Node(count + 1, "leaf", "AccumulateGrad", "", kind),
            Node(
                count + 2,
                "operation",
                "MulBackward0",
                "mul",
                kind,
                (Edge(count + 1), None),
                (Edge(count + 1), Edge(count)),
            ),
        ),
        (Root("y", count + 2),),
    )
    assert [node.kind for node in forward(graph)].count("input") == shown


def test_what_a_transform_differentiates_is_in_the_forward_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(
        "import torch\n"
        "w = torch.ones(3, 2, requires_grad=True)\n"
        "g = torch.func.grad(lambda w: torch.vmap(lambda x: (x.sin() * 2).sum())(w).sum())(w)\n"
        "loss = g.exp().sum()\n"
        "loss.backward()\n"
    )
    trace = runner.record(runner.Target.of("script.py", ()))[1]
    ran = [node.op for node in forward(trace.steps[-1].graph) if node.computes]
    assert ran == ["alias", "sin", "mul", "sum", "sum", "…mul", "exp", "sum"]
