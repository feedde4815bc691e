"""The deviation of operations from float64: rounding is told from fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.graph import Graph
from autograph_cli.record.run import runner

CASES = {
    "tanh": ("y = x.tanh()", (3e-7, 3e-7)),
    "addmm": ("y = torch.addmm(b, x, w)", (1e-6, 1e-6)),
    "softmax": ("y = x.softmax(1)", (1e-6, 1e-5)),
    "layer_norm": ("y = torch.nn.functional.layer_norm(x, (4,))", (1e-6, 1e-5)),
    "add_": ("y = (x * 1).add_(2)", (3e-7, 3e-7)),
}


def recorded(line: str, tmp_path: Path) -> Graph:
    path = tmp_path / "expr.py"
    path.write_text(
        "import torch\ntorch.manual_seed(0)\nx = torch.randn(3, 4, requires_grad=True)\n"
        f"b, w = torch.randn(2, requires_grad=True), torch.randn(4, 2)\n{line}\n(y ** 3).sum().backward()\n"
    )
    return runner.record(runner.Target.of(str(path)), record=("values", "deviation"))[1].steps[0].graph


@pytest.mark.parametrize("case", CASES)
def test_operations_are_right_to_rounding(case: str, tmp_path: Path) -> None:
    line, most = CASES[case]
    graph = recorded(line, tmp_path)
    node = next(node for node in graph if "y" in node.outputs[0].names)
    assert node.measured is not None
    assert len(node.measured.deviation) == 2
    for off, limit in zip(node.measured.deviation, most, strict=True):
        assert off is not None
        assert off < limit


def test_numbers_are_kept_of_each_backward_call(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(
        "import torch\nx = torch.ones(3, requires_grad=True)\nx.register_hook(lambda g: g * 2)\ny = x * 3\n"
        "y.sum().backward(retain_graph=True)\n(y * 5).sum().backward()\n"
    )
    graph = runner.record(runner.Target.of(str(path)), record=("values",))[1].steps[0].graph
    leaf, product = graph[0], graph[1]
    assert leaf.measured is not None
    assert product.measured is not None
    assert [flow.pass_id for flow in product.measured.flows] == [0, 1]
    given = [flow.given[0] for flow in leaf.measured.flows]
    sent = [flow.sent[0] for flow in product.measured.flows]
    numpy = pytest.importorskip("numpy")
    assert [numpy.frombuffer(each.data, "f4").tolist() for each in sent if each] == [[3.0] * 3, [15.0] * 3]
    assert [numpy.frombuffer(each.data, "f4").tolist() for each in given if each] == [[6.0] * 3, [30.0] * 3]
