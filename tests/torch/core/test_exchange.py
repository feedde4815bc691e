"""Tensors go to NumPy, DLPack, copies and pickles, and come from there, as PyTorch's do."""

import json

import pytest

from autograph_cli import torch
from tests.torch.core.record_exchange import EXPECTED, answer, expressions

KNOWN = json.loads(EXPECTED.read_text())


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_gives_what_it_gives_in_pytorch(expression: str) -> None:
    assert answer(expression, torch) == KNOWN[expression]
