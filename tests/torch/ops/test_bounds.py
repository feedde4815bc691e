"""Positions that a tensor has not, against PyTorch (record_bounds.py writes it)."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_bounds import EXPECTED, POSITIONS, SHAPES, cases, observe

RECORDED = json.loads(EXPECTED.read_text())


@for_each("shape", SHAPES)
@for_each("at", POSITIONS)
def test_positions_out_of_bounds_are_refused_as_in_pytorch(shape, at):
    mine = [case for case in cases() if case.startswith(f"{shape} {at} ")]
    assert mine
    assert {case: observe(torch, case) for case in mine} == {case: RECORDED[case] for case in mine}


def test_every_case_was_recorded():
    assert cases() == list(RECORDED)
