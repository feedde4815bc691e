"""`autograph check` compares derivatives of custom Functions with finite differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Check = Callable[..., Result]

SCRIPT = """import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return {forward}
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return {backward}
F.apply(torch.tensor([0.5, {point}], requires_grad=True)).sum().backward()
"""


@pytest.fixture
def check(cli: Callable[..., Result], tmp_path: Path) -> Check:
    """Check a script with one Function."""

    def run(forward: str, backward: str, *options: str, point: float = 2.0) -> Result:
        (tmp_path / "expr.py").write_text(SCRIPT.format(forward=forward, backward=backward, point=point))
        return cli("check", "expr.py", *options)

    return run


CASES = [
    # forward, backward, the orders that are right, whether the next is wrong
    ("x ** 3", "g * 3 * x ** 2", 3, False),
    ("torch.sin(x)", "g * torch.cos(x)", 3, False),
    ("x ** 3", "g * 2 * x ** 2", 0, True),
    ("x ** 3", "g * 3 * x.detach() ** 2", 1, True),
    ("x ** 4", "g * 4 * x ** 2 * x.detach()", 1, True),
    ("x * 5", "g * 5", 3, False),
]


@pytest.mark.parametrize(("forward", "backward", "right", "wrong"), CASES)
def test_orders_are_right_up_to_the_first_wrong_one(
    check: Check, forward: str, backward: str, right: int, wrong: bool
) -> None:
    result = check(forward, backward, "--order", "3", "--json")
    found = json.loads(result.stdout)
    assert [one["order"] for one in found if one["good"]] == list(range(1, right + 1))
    assert [one["order"] for one in found if not one["good"]] == ([right + 1] if wrong else [])
    assert result.exit_code == wrong


def test_a_wrong_derivative_is_shown_with_both_values(check: Check) -> None:
    line = check("x ** 3", "g * 2 * x ** 2").stdout
    assert "order 1  WRONG by" in line
    assert "input 0, number 1 (2): backward gives 4.32242, finite differences give 6.48363" in line


def test_a_kink_is_counted_and_not_compared(check: Check) -> None:
    result = check("x.abs()", "g * x.sign()", "--order", "1", point=0.0)
    assert result.stdout.endswith(", 1 kink left out\n")
    assert result.exit_code == 0


def test_what_cannot_be_repeated_is_named(check: Check) -> None:
    result = check("x * torch.rand(2).to(x.dtype)", "g")
    assert "F is not checked: it gives other numbers each time that it is called." in result.output


def test_an_unknown_name_is_refused_with_those_that_are_there(check: Check) -> None:
    result = check("x * 2", "g * 2", "G")
    assert result.exit_code == 2
    assert "expr.py applied no custom Function G; there are: F." in result.output


def test_a_script_without_functions(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("import torch\n")
    assert cli("check", "expr.py").stdout == "No custom Function was applied to a tensor that requires grad.\n"
