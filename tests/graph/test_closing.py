"""Closed modules in a graph: one node for each, with what it is given and what others use of it."""

from __future__ import annotations

from autograph_cli.graph import close_modules, to_text
from tests.export.nets import Net, layers, linear


def test_a_closed_module_is_one_line() -> None:
    assert to_text(close_modules(layers(2), 1)) == (
        "graph: 4 nodes (3 operations, 1 leaf)\n"
        "order 0\n"
        "  leaf x: float32[3]\n"
        "  %1: float32[3] = model.blocks.0: Block {2 nodes, 3 parameters}(x)\n"
        "  %2: float32[3] = model.blocks.1: Block {2 nodes, 3 parameters}(%1)\n"
        "  y0: float32[3] = sum(%2)  grad_fn SumBackward0(%2)\n"
        "roots\n"
        "  y0 = y0\n"
    ).replace("y0: float32[3] = sum", "%3: float32[3] = sum").replace("y0 = y0", "y0 = %3")


def test_what_is_not_so_deep_stays_open() -> None:
    graph = layers(2)
    assert len(close_modules(graph, 3)) == len(graph)
    assert [node.op for node in close_modules(graph, 0) if node.op] == ["model: Model {4 nodes, 6 parameters}", "sum"]


def test_a_closed_module_whose_result_nobody_uses_has_a_name() -> None:
    net = Net()
    x = net.leaf("x")
    linear(net, "dropped", x)
    text = to_text(close_modules(net.graph(net.op("sum", x)), 0))
    assert "  %1: float32[3] = dropped: Linear {1 node, 3 parameters}(x)\n" in text


def test_the_closed_graph_holds_the_rules_of_graphs() -> None:
    for depth in range(4):
        close_modules(layers(3), depth).verify()
