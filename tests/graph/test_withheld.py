"""Where the backward of a custom Function returned None: found in the graph, and the way closed there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from autograph_cli.graph import Graph
from autograph_cli.graph.marks import marks_of
from autograph_cli.graph.withheld import withheld, without_withheld
from autograph_cli.record.run import runner

SCRIPT = """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a * 2, b * 2
    @staticmethod
    def backward(ctx, g, h):
        return {returned}
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
c, d = F.apply(a * 3, b * 3)
{after}
"""
FAILS = "try:\n    (c + d).sum().backward()\nexcept ZeroDivisionError:\n    pass"
CASES = {
    "both": ("2 * g, 2 * h", "(c + d).sum().backward()", []),
    "None for the first": ("None, 2 * h", "(c + d).sum().backward()", [0]),
    "None for both": ("None, None", "(c + d).sum().backward()", [0, 1]),
    "an output that is not used": ("2 * g, None if h is None else 2 * h", "c.sum().backward()", []),
    "it fails": ("1 / 0, h", FAILS, []),
    "what it sends a gradient to fails": (
        "2 * g, 2 * h",
        "c.grad_fn.next_functions[0][0].register_prehook(lambda g: 1 / 0)\n" + FAILS,
        [],
    ),
    "only one is asked for": ("2 * g, 2 * h", "(c + d).sum().backward(inputs=[b])", []),
}
ENGINES = [
    "builtin",
    pytest.param(
        "torch",
        marks=pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
        id="pytorch",
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_where_a_backward_returned_none(
    case: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    returned, after, expected = CASES[case]
    (tmp_path / "expr.py").write_text(SCRIPT.format(returned=returned, after=after))
    _, trace = runner.record(runner.Target.of("expr.py"), engine=engine)
    graph: Graph = trace.steps[0].graph
    assert [nr for _, nr in withheld(graph)] == expected
    words = [mark.words for mark in marks_of(graph) if mark.kind == "returned None"]
    assert words == [f"its backward returned None for input {nr}" for nr in expected]
    (closed,) = [node for node in without_withheld(graph) if node.is_custom]
    assert [nr for nr, edge in enumerate(closed.next) if edge is None] == expected
