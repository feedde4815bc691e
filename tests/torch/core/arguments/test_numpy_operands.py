"""Operators and calls take NumPy's arrays and numbers, and refuse them, as PyTorch's do."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.arguments.record_numpy_operands import EXPECTED, answer, beside, calls, pairs, world

KNOWN = json.loads(EXPECTED.read_text())


@for_each("pair", pairs())
def test_operators_give_what_they_give_in_pytorch(pair: str) -> None:
    assert beside(torch, *pair.split()) == KNOWN[pair]


@for_each("code", calls())
def test_a_call_gives_what_it_gives_in_pytorch(code: str) -> None:
    assert answer(code, world(torch)) == KNOWN["calls"][code]
