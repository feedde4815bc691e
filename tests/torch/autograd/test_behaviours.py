"""Hooks, custom Functions, saved tensors, the arguments of `grad`: each case as PyTorch does it (behaviours.py records it)."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.autograd.behaviours import CASES, EXPECTED, load, observe

load()
RECORDED = json.loads(EXPECTED.read_text())


@for_each("name", CASES)
def test_a_case_is_as_in_pytorch(name: str) -> None:
    assert observe(name, torch) == RECORDED[name]


def test_every_case_was_recorded() -> None:
    assert list(CASES) == list(RECORDED)
