"""The text form: one node a line, stable unique names, types."""

from __future__ import annotations

from autograph_cli.graph import Edge, Graph, Node, Output, Root, Source, TensorType, Trace, backward, forward
from autograph_cli.graph.names import visible

ONE = TensorType("float32", (3, 4))


def test_the_forward_graph_of_a_layer(traces: dict[str, Trace]) -> None:
    assert forward(traces["logits_loss"].steps[0].graph).to_text() == (
        "graph: 8 nodes (4 operations, 2 leaves, 2 inputs)\n"
        "order 0\n"
        "  input x: float32[1, 5]\n"
        "  input target: float32[3]\n"
        "  leaf w: float32[5, 3]\n"
        "  %3: float32[1, 3] = mm(x, w)\n"
        "  %4: float32[3] = squeeze(%3)\n"
        "  leaf b: float32[3]\n"
        "  z: float32[3] = add(%4, b)\n"
        "  loss: float32[] = binary_cross_entropy_with_logits(z, target)\n"
        "roots\n"
        "  z\n"
        "  loss\n"
    )


def test_the_backward_graph_names_grad_fns_and_what_has_no_gradient(traces: dict[str, Trace]) -> None:
    text = backward(traces["logits_loss"].steps[0].graph).to_text()
    assert "  loss: float32[] = BinaryCrossEntropyWithLogitsBackward0(z, _)\n" in text


def test_derivatives_have_a_section_a_parent_and_a_pass(traces: dict[str, Trace]) -> None:
    text = traces["sinh_function"].steps[0].graph.to_text()
    assert "order 1\n  %3: float64[3, 3] = AddBackward0(%1.1, %1.2)  of out  pass 0\n" in text
    assert "passes\n  pass 0: grad() order 1, create_graph" in text


def test_a_name_that_is_used_again_stays_unique() -> None:
    def step(number: int) -> Node:
        return Node(number, "operation", "SinBackward0", "sin", (Output(ONE, ("y",)),), (Edge(number - 1),))

    text = Graph((Node(0, "leaf", "AccumulateGrad", "", (Output(ONE, ("x",)),)), step(1), step(2))).to_text()
    assert "  y: float32[3, 4] = SinBackward0(x)\n  y~2: float32[3, 4] = SinBackward0(y)\n" in text


def test_odd_names_are_quoted_and_stay_on_their_line() -> None:
    names = ('a"b', "line\nbreak", "<script>", "权重", "%1", "")
    nodes = tuple(Node(i, "input", "Input", "", (Output(ONE, (name,)),)) for i, name in enumerate(names))
    lines = Graph(nodes).to_text().splitlines()[2:]
    shown = [line.removeprefix("  input ").removesuffix(": float32[3, 4]") for line in lines]
    assert shown == ["'a\"b'", r"'line\nbreak'", "'<script>'", "权重", "'%1'", "''"]


def test_details_add_sources() -> None:
    node = Node(0, "operation", "SinBackward0", "sin", (Output(ONE),), source=Source("a.py", 3), module="net.0")
    graph = Graph((node,), (Root("y", 0),))
    assert "  %0: float32[3, 4] = sin()  # at a.py:3; in net.0\n" in graph.to_text(details=True)
    assert "a.py" not in graph.to_text()


def test_control_characters_become_escapes() -> None:
    assert visible("a\x00\u202e\ud800中") == "a\\x00\\u202e\\ud800中"
