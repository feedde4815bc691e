"""Tensors go to NumPy, DLPack, copies and pickles, and come from there, as PyTorch's do."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.record_exchange import EXPECTED, answer, expressions

KNOWN = json.loads(EXPECTED.read_text())


@for_each("expression", expressions())
def test_an_expression_gives_what_it_gives_in_pytorch(expression: str) -> None:
    assert answer(expression, torch) == KNOWN[expression]
