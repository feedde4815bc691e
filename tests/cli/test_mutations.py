"""A script is changed in one way after another: each change is named in the snapshot's words, harmless ones are not."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from autograph_cli.graph import Snapshot, compare, read_snapshot
from autograph_cli.record import runner
from autograph_cli.testing.scripts import trace_sections

MODEL = """import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x ** 2


w1 = torch.ones(4, 3, requires_grad=True)
w2 = torch.ones(3, requires_grad=True)
x = torch.ones(2, 4, requires_grad=True)
target = torch.zeros(2)

hidden = torch.tanh(x @ w1)
frozen = hidden.detach().sum()
score = torch.softmax(hidden, dim=1) @ w2
cubed = Cube.apply(score - target)
(slope,) = torch.autograd.grad(cubed.sum(), x, create_graph=True)
loss = cubed.mean() + slope.pow(2).sum() * frozen
loss.backward()
"""

MUTATIONS: dict[str, tuple[str, str, list[str]]] = {
    "swap the arguments": (
        "cubed = Cube.apply(score - target)",
        "cubed = Cube.apply(target - score)",
        ["`sub` (model.py:24) takes its arguments in another order: (`score`, `target`) -> (`target`, `score`)"],
    ),
    "drop a detach": (
        "hidden.detach().sum()",
        "hidden.sum()",
        [
            "`mul` (model.py:26) now sends a gradient to `frozen` (model.py:22)",
            "forward gained a `sum` (model.py:22), on `hidden`",
        ],
    ),
    "add a detach": (
        "@ w2",
        "@ w2.detach()",
        ["`w2` no longer gets a gradient"],
    ),
    "freeze a leaf": (
        "w2 = torch.ones(3, requires_grad=True)",
        "w2 = torch.ones(3)",
        ["`w2` no longer gets a gradient"],
    ),
    "change a shape": (
        "target = torch.zeros(2)",
        "target = torch.zeros(1)",
        ["input `target` float32[2] -> float32[1]"],
    ),
    "change a dtype": (
        "target = torch.zeros(2)",
        "target = torch.zeros(2, dtype=torch.float64)",
        ["input `target` float32[2] -> float64[2]"],
    ),
    "add an operation": (
        "torch.tanh(x @ w1)",
        "torch.tanh(torch.relu(x @ w1))",
        ["forward gained a `relu` (model.py:21), on `mm`"],
    ),
    "leave an operation out": (
        "torch.tanh(x @ w1)",
        "x @ w1",
        ["forward lost a `tanh`"],
    ),
    "take another operation": (
        "torch.tanh(x",
        "torch.sigmoid(x",
        ["`tanh` became `sigmoid` (model.py:21)"],
    ),
    "add an operation inside the custom backward": (
        "return grad_output * 3 * x ** 2",
        "return (grad_output * 3 * x ** 2).exp()",
        ["backward of `Cube` (model.py:24) gained an `exp`"],
    ),
    "softmax along another dimension": (
        "dim=1",
        "dim=0",
        ["`softmax` (model.py:23) is called with dim=0, not dim=1"],
    ),
    "another exponent": (
        "slope.pow(2)",
        "slope.pow(4)",
        ["`pow` (model.py:26) is called with exponent=4, not exponent=2"],
    ),
    "no create_graph": (
        "x, create_graph=True)",
        "x, retain_graph=True)",
        ["`grad(sum)` (model.py:25) no longer keeps a graph of its own (create_graph)"],
    ),
    "a gradient by another tensor": (
        "torch.autograd.grad(cubed.sum(), x,",
        "torch.autograd.grad(cubed.sum(), w2,",
        ["`grad(sum)` (model.py:25) no longer goes to `x`", "`grad(sum)` (model.py:25) now goes to `w2`"],
    ),
    "a backward to some leaves only": (
        "loss.backward()",
        "loss.backward(inputs=[w1, x])",
        ["`w2` no longer gets a gradient"],
    ),
    "another reduction": (
        "cubed.mean()",
        "cubed.sum()",
        ["`mean` became `sum` (model.py:26)"],
    ),
    "another step": (
        "loss.backward()",
        "loss.backward()\n(w2 * 2).sum().backward()",
        ["the script made 2 steps, not 1"],
    ),
}

HARMLESS = {
    "rename a variable": [("hidden", "inner")],
    "rename a leaf": [("w1", "weight")],
    "move everything down": [("import torch\n", "import torch\n\n# a comment\n\n")],
    "make the leaves in another order": [
        ("w2 = torch.ones(3, requires_grad=True)\n", ""),
        ("target = ", "w2 = torch.ones(3, requires_grad=True)\ntarget = "),
    ],
    "name a result on the way": [
        ("score = torch.softmax(hidden, dim=1)", "soft = torch.softmax(hidden, dim=1)\nscore = soft")
    ],
    "print something": [("loss.backward()", "print(loss)\nloss.backward()")],
    "other numbers": [
        ("torch.ones(4, 3", "2 * torch.ones(4, 3"),
        ("w1 = 2 * torch.ones(4, 3, requires_grad=True)", "w1 = torch.full((4, 3), 2.0, requires_grad=True)"),
    ],
}


def taken(tmp_path: Path, source: str) -> Snapshot:
    script = tmp_path / "model.py"
    script.write_text(source)
    with contextlib.redirect_stdout(io.StringIO()):
        result, trace = runner.record(runner.Target.of(str(script)))
    assert result.exit_code == 0, result.failure
    return Snapshot("model.py", trace_sections(trace, ["graph"]), steps=trace.total_steps)


def mutated(source: str, old: str, new: str) -> str:
    assert old in source
    return source.replace(old, new)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_is_named(tmp_path: Path, mutation: str) -> None:
    old, new, expected = MUTATIONS[mutation]
    kept = read_snapshot(taken(tmp_path, MODEL).to_text())
    found = compare(kept, taken(tmp_path, mutated(MODEL, old, new)))
    for sentence in expected:
        assert any(line.startswith(sentence) for line in found.sentences), found.sentences


@pytest.mark.parametrize("change", HARMLESS)
def test_a_harmless_change_is_none(tmp_path: Path, change: str) -> None:
    kept = read_snapshot(taken(tmp_path, MODEL).to_text())
    source = MODEL
    for old, new in HARMLESS[change]:
        source = mutated(source, old, new)
    assert compare(kept, taken(tmp_path, source)).sentences == []
