"""`autograph inspect` shows all that a tensor knows of itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.conftest import Run

Cli = Callable[..., Result]
SCRIPT = """import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 40), torch.nn.Tanh(), torch.nn.Linear(40, 2))
x = torch.ones(5, 3)
def f(x):
    hidden = model(x)
    hidden.retain_grad()
    kept.append(hidden)
    inner = hidden * 2
    return inner.sum()
kept = []
for _ in range(2):
    loss = f(x)
    loss.backward()
weight = model[0].weight
row = weight[0]
row.register_hook(len)
weight.register_post_accumulate_grad_hook(len)
y = row * 2
left = torch.tensor([0.0, float("nan")], dtype=torch.float64)
never = torch.ones(2, requires_grad=True)
"""


@pytest.fixture
def facts(cli: Cli, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    def inspect(name: str) -> dict[str, Any]:
        (tmp_path / "expr.py").write_text(SCRIPT)
        result = cli("inspect", "expr.py", name, "--json")
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    return inspect


CASES: dict[str, dict[str, Any]] = {
    "weight": {
        "type": "float32[40, 3]",
        "also called": ["model.0.weight"],
        "is_leaf": True,
        "requires_grad": True,
        "grad_fn": None,
        "_version": 1,
        "is_view": False,
        "strides": "(3, 1)",
        "storage": "480 B",
        "storage shared with": ["row"],
        "hooks": ["register_post_accumulate_grad_hook: len"],
        "made by": "a leaf",
        "module": "model.0",
        "used by": ["SelectBackward0 row, expr.py:16"],
    },
    "row": {
        "is_leaf": False,
        "grad": "None: not a leaf, and retain_grad() was not called",
        "grad_fn": "SelectBackward0",
        "next_functions": ["torch::autograd::AccumulateGrad (weight)"],
        "is_view": True,
        "base": "model.0.weight: float32[40, 3]",
        "strides": "(1,)",
        "storage": "480 B",
        "storage shared with": ["model.0.weight", "weight"],
        "hooks": ["register_hook: len"],
        "made at": "expr.py:16  row = weight[0]",
        "used by": ["MulBackward0 y, expr.py:19"],
        "step": 3,
    },
    "loss": {
        "grad_fn": "SumBackward0",
        "next_functions": ["MulBackward0", "  AddmmBackward0", "  None"],
        "step": 2,
        "made by": "sum (SumBackward0)",
        "gradient that came": ["1"],
    },
    "kept[1]": {
        "retains_grad": True,
        "grad": ["float32[5, 2]", "[[2, 2],", " [2, 2],", " [2, 2],", " [2, 2],", " [2, 2]]"],
        "module": "model.2",
        "step": 2,
    },
    "model[2].bias": {"also called": ["model.2.bias"], "grad": ["float32[2]", "[20, 20]"], "is_leaf": True},
    "weight.grad": {"requires_grad": False, "grad_fn": None, "grad": None},
    "inner": {
        "now": "gone when the script was over; this is what the trace tells",
        "type": "float32[5, 2]",
        "made by": "mul (MulBackward0)",
        "made at": "expr.py:9  inner = hidden * 2",
        "used by": ["SumBackward0 loss, expr.py:10"],
    },
    "left": {"data": ["[0, nan]"], "dtype": "torch.float64", "requires_grad": False, "hooks": []},
    "never": {"grad": "None: no backward pass has come to it"},
}


@pytest.mark.parametrize("name", CASES)
def test_each_fact_is_that_of_the_tensor(facts: Callable[[str], dict[str, Any]], name: str) -> None:
    found = facts(name)
    assert {key: found.get(key, "?") for key in CASES[name]} == CASES[name]


def test_what_optimizers_hold_says_nothing_of_a_result_that_is_gone(cli: Cli, tmp_path: Path) -> None:
    script = "import torch\nw = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w])\n"
    script += "def f():\n    inner = w * 2\n    return inner.sum()\nf().backward()\nopt.step()\n"
    (tmp_path / "expr.py").write_text(script)
    assert "training" not in json.loads(cli("inspect", "expr.py", "inner", "--json").stdout)
    assert "training" in json.loads(cli("inspect", "expr.py", "w", "--json").stdout)


def test_many_numbers_are_summed_up_with_a_histogram(facts: Callable[[str], dict[str, Any]]) -> None:
    head, bars = facts("weight")["data"]
    assert head.startswith("min -0.5") and "mean" in head and "max 0.5" in head and len(bars) == 16


def test_the_text_has_a_row_for_each_fact(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(SCRIPT + "print('said')\n")
    result = cli("inspect", "expr.py", "row")
    lines = result.stdout.splitlines()
    assert lines[:2] == ["row", "  type                 float32[3]"]
    assert "  storage shared with  model.0.weight" in lines and "                       weight" in lines
    assert result.stderr == "said\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("los", "There is no tensor 'los' in expr.py; near it: loss."),
        ("bias", "near it: model.0.bias, model.2.bias."),
        ("zzz)(", "There is no tensor 'zzz)(' in expr.py; there are: model.0.weight, "),
        ("model", "near it: model.0.weight"),
        ("model[7].weight", "There is no tensor 'model[7].weight' in expr.py"),
        ("__import__('os').getcwd()", "There is no tensor"),
    ],
)
def test_a_name_that_leads_nowhere_is_answered_with_those_that_are_near(
    cli: Cli, tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "expr.py").write_text(SCRIPT)
    result = cli("inspect", "expr.py", name)
    assert result.exit_code == 2 and said in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(("file", "said"), [("expr.txt", "expr.txt is no script"), ("none.py", "Cannot read none.py")])
def test_what_cannot_be_run_is_told(cli: Cli, file: str, said: str) -> None:
    result = cli("inspect", file, "x")
    assert result.exit_code != 0 and said in result.stderr


def test_a_script_that_fails_is_inspected_as_far_as_it_came(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n1 / 0\n")
    result = cli("inspect", "expr.py", "y")
    assert result.exit_code == 2 and "ZeroDivisionError" in result.stderr and "MulBackward0" in result.stdout


@pytest.mark.parametrize("command", ["run", "profile", "inspect"])
def test_a_breakpoint_opens_the_debugger(python: Run, tmp_path: Path, command: str) -> None:
    script = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nbreakpoint()\nz = y.sum()\n"
    (tmp_path / "stop.py").write_text(script)
    done = python("-m", "autograph_cli", command, "stop.py", *(["y"] if command == "inspect" else []), input="p y\nc\n")
    assert done.returncode == 0, done.stderr
    assert "tensor([2., 2.], grad_fn=<MulBackward0>)" in done.stdout + done.stderr
