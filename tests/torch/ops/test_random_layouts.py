"""Random numbers in memory of any layout, against what PyTorch drew (record_random_layouts.py writes it)."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_random_layouts import EXPECTED, cases, observe

RECORDED = json.loads(EXPECTED.read_text())


@for_each(("layout", "draw"), cases())
def test_numbers_are_drawn_in_pytorchs_order(layout, draw):
    assert observe(torch, layout, draw) == pytest.approx(RECORDED[f"{layout} {draw}"], rel=2e-3, abs=1e-4)
