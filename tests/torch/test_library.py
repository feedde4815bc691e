"""Operators of one's own: they compute, differentiate, batch and fail as with PyTorch, and are drawn like built-in ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograph_cli import capture, torch
from autograph_cli.graph import backward, forward
from tests.torch.record_library import CASES, EXPECTED, outcomes

RECORDED = json.loads(EXPECTED.read_text("utf-8"))
WORDED_OTHERWISE = ("pair(v)", "pair(v, v, 1, 2, 3)", "pair(v, v, foo=1)", "same(v)", "front(v)")
"""Errors whose class is PyTorch's, and whose words name the operator otherwise."""


@pytest.fixture(scope="module")
def found() -> list[str]:
    return outcomes(torch)


def test_the_cases_are_those_that_were_recorded() -> None:
    assert [case for case, _ in RECORDED] == CASES


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number])
def test_an_operator_does_what_it_does_with_pytorch(found: list[str], number: int) -> None:
    case, wanted = RECORDED[number]
    if case in WORDED_OTHERWISE:
        assert found[number].partition(":")[0] == wanted.partition(":")[0] == "RuntimeError"
    else:
        assert found[number] == wanted


def test_a_batch_without_a_rule_runs_example_by_example_and_says_so() -> None:
    @torch.library.custom_op("own::slow", mutates_args=())
    def slow(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with pytest.warns(UserWarning, match="performance drop.*own::slow.*register_vmap"):
        assert torch.vmap(slow)(torch.zeros(2, 3)).tolist() == [[1.0] * 3] * 2


def test_an_operator_is_drawn_under_its_name(autograph: Any, tmp_path: Path) -> None:
    @torch.library.custom_op("own::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.asarray(x.detach().numpy() ** 3))

    cube.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = torch.tensor([2.0], requires_grad=True)
    y = cube(x) * 1
    (graph,) = [capture(y)]
    assert [node.op for node in forward(graph).nodes] == ["", "own::cube", "mul"]
    assert "GeneratedBackwardFor_own_cube_defaultBackward" in backward(graph).to_text()
    (tmp_path / "s.py").write_text(
        "import torch\n"
        "@torch.library.custom_op('own::twice', mutates_args=())\n"
        "def twice(x: torch.Tensor) -> torch.Tensor:\n"
        "    return x + x\n"
        "twice.register_autograd(lambda ctx, g: g * 2)\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = twice(x).sum()\n"
        "y.backward()\n"
    )
    for view in ("--forward", "--backward", "--double-backward"):
        shown = autograph("render", "s.py", view, "-f", "dot", "-o", "-")
        assert shown.returncode == 0, shown.stderr
        assert "own::twice" in shown.stdout or "own_twice" in shown.stdout
    assert autograph("snapshot", "s.py").returncode == 0
    assert autograph("snapshot", "--check", "s.py").returncode == 0
