"""The dtype of every result is PyTorch's: for each pair of dtypes, each number beside a tensor, 0-d and 1-d."""

import json

from autograph_cli import torch
from tests.torch.core.base.record_tables import EXPECTED, observe


def test_dtypes_are_those_of_pytorch():
    known = json.loads(EXPECTED.read_text())
    found = observe(torch)
    assert {k: v for k, v in found.items() if known[k] != v} == {}
    assert found.keys() == known.keys()
