"""Formulas as they are printed: each is right, or it is not printed."""

from __future__ import annotations

import contextlib
import importlib.util
import os

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.engines import connect
from autograph_cli.formulas import formulas_of
from autograph_cli.formulas.records import FormulaError
from tests.export.random_graphs import random_graph
from tests.formulas.expressions import EXPRESSIONS
from tests.formulas.judged import judged
from tests.formulas.printed import Unreadable, read

needs_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
EVERY = int(os.environ.get("AUTOGRAPH_FORMULAS", "8"))
"""Of the expressions, each so-manieth is run with PyTorch too."""
NOT_WITH_PYTORCH = {"loss = M.unfold(1, 2, 1).pow(2).sum()", "loss = M.topk(2, dim=1).values.pow(2).sum()"}
"""What the graph of PyTorch tells too little of."""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_formula_is_right_or_not_printed(expression: str) -> None:
    verdict, printed = judged(expression, torch, {})
    assert verdict == EXPRESSIONS[expression], "\n".join(printed)


@needs_pytorch
@pytest.mark.parametrize("expression", list(EXPRESSIONS)[::EVERY])
def test_with_pytorch_it_is_as_well(expression: str) -> None:
    import torch as pytorch

    verdict, printed = judged(expression, pytorch, {"engine": connect("torch")})
    expected = "" if expression in NOT_WITH_PYTORCH else EXPRESSIONS[expression]
    assert verdict == expected, "\n".join(printed)


@pytest.mark.parametrize("seed", [762, 943, 1015])
def test_operations_with_arguments_that_their_shapes_do_not_take_are_passed_over(seed: int) -> None:
    with contextlib.suppress(FormulaError):
        formulas_of(random_graph(seed))


def test_what_reads_formulas_tells_a_wrong_one() -> None:
    names = {"x": np.array([1.0, 2.0, 3.0]), "m": np.array([True, False, True]), "W": np.ones((3, 2))}
    assert read("2x[0] - x[1]·3", names) == 2 - 6
    assert read("sum(x[m]²)/2 + ‖x‖^(2)", names) == 19
    assert read("at(x[0], 5) - at(x[[x > 1]], x[1:])", names).tolist() == [5, -2, -3]
    assert read("Wᵀ @ x", names).tolist() == [6, 6]
    with pytest.raises(Unreadable):
        read("mystery(x)", names)
