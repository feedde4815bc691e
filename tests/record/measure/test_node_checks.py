"""`--record check`: the derivative of each node, at the inputs that it saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.graph import Graph, from_json, to_json
from autograph_cli.record.run import runner

CUBE = """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * {factor} * x**2
"""


def checked(tmp_path: Path, script: str, kinds: tuple[str, ...] = ("check",)) -> Graph:
    """The first step of a script, with its nodes checked, as a trace has it."""
    path = tmp_path / "expr.py"
    path.write_text(f"import torch\ntorch.manual_seed(0)\n{script}")
    result, trace = runner.record(runner.Target.of(str(path)), record=kinds)
    assert result.exit_code == 0
    return from_json(to_json(trace)).steps[0].graph


RIGHT = [
    "x = torch.randn(3, 4, requires_grad=True)\n(x.tanh() @ x.T).logsumexp(0).sum().backward()",
    "x = torch.randn(2, 3, 5, 5, requires_grad=True)\nn = torch.nn.Conv2d(3, 2, 3)\nn(x).relu().mean().backward()",
    "a = torch.randn(3, 3)\ns = (a @ a.T + torch.eye(3)).requires_grad_()\n"
    "(torch.linalg.cholesky(s).sum() + torch.linalg.eigvalsh(s).prod()).backward()",
    "z = torch.randn(3, dtype=torch.complex64, requires_grad=True)\n(z * z.conj()).abs().exp().sum().backward()",
    "x = torch.randn(4, requires_grad=True)\ntorch.nn.functional.dropout(x).sum().backward()",
    "x = torch.randn(4, requires_grad=True)\ny = x[1:] * 2\ny.mul_(x[0])\nx.view(2, 2).t().contiguous().sum().backward()",
    "x = torch.tensor([0.0, 1.0], requires_grad=True)\n(x.relu() + x.abs()).sum().backward()",
    "x = torch.randn(3, requires_grad=True)\n[g] = torch.autograd.grad((x**3).sum(), x, create_graph=True)\n"
    "g.pow(2).sum().backward()",
]


@pytest.mark.parametrize("script", RIGHT)
def test_right_derivatives_are_right_to_rounding(tmp_path: Path, script: str) -> None:
    graph = checked(tmp_path, script)
    errors = [node.measured.error for node in graph if node.measured and node.measured.error is not None]
    assert len(errors) >= 2
    assert max(errors) < 1e-5
    assert not [node.measured.wrong for node in graph if node.measured and node.measured.wrong]


def test_operations_in_place_are_checked_at_what_they_were_given(tmp_path: Path) -> None:
    graph = checked(
        tmp_path,
        "x = torch.randn(3, requires_grad=True)\ny = x * 2\ny.mul_(x)\ny.sin_()\ny.add_(x, alpha=3)\ny.pow_(2)\n"
        "y.clamp_(min=0.1)\ny.sum().backward()",
    )
    errors = {node.op: node.measured.error for node in graph if node.measured and node.op.endswith("_")}
    assert set(errors) == {"mul_", "sin_", "add_", "pow_", "clamp_"}
    assert all(error is not None and error < 1e-5 for error in errors.values())


def test_of_a_graph_the_node_that_is_wrong_is_found(tmp_path: Path) -> None:
    graph = checked(
        tmp_path,
        CUBE.format(factor=2) + "x = torch.ones(2, requires_grad=True)\nCube.apply(x * 2).exp().sum().backward()",
    )
    wrong = {node.op: node.measured.wrong for node in graph if node.measured and node.measured.wrong}
    assert list(wrong) == ["Cube"]
    assert wrong["Cube"].startswith("order 1, input 0, number 1 (2): backward gives 4.32242")


def test_the_run_is_as_it_was_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = CUBE.format(factor=3) + (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout())\n"
        "optimizer = torch.optim.Adam(net.parameters())\n"
        "for step in range(3):\n"
        "    loss = Cube.apply(net(torch.randn(2, 3))).sum()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    print(loss.item(), net[0].weight.dtype, net[0].weight._version, torch.rand(()))\n"
    )
    checked(tmp_path, script)
    recorded = capsys.readouterr().out
    runner.run(runner.Target.of(str(tmp_path / "expr.py")))
    assert recorded == capsys.readouterr().out


def test_the_copies_that_are_checked_are_not_measured(tmp_path: Path) -> None:
    script = CUBE.format(factor=3) + (
        "x = torch.randn(3, requires_grad=True)\n"
        "[g] = torch.autograd.grad(Cube.apply(x @ torch.ones(3, 3)).sum(), x, create_graph=True)\ng.pow(2).sum().backward()"
    )
    found = []
    for kinds in (("time", "flops", "inside"), ("time", "flops", "inside", "check")):
        nodes = [(node.op, node.measured) for node in checked(tmp_path, script, kinds) if node.measured]
        found.append(
            [
                (
                    op,
                    told.time is None,
                    told.flops,
                    [run.flops for run in told.runs],
                    [it.op for it in told.inside or ()],
                )
                for op, told in nodes
            ]
        )
    assert found[0] == found[1]
    assert any(flops for _, _, flops, _, _ in found[0]) and any(inside for *_, inside in found[0])
