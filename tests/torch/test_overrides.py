"""Subclasses and modes are asked instead of the functions that PyTorch asks them for, and get what they get there."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.record_overrides import EXPECTED, called, calls, printed, programs

KNOWN = json.loads(EXPECTED.read_text())


@for_each("code", calls())
def test_a_subclass_is_asked_for_the_functions_that_pytorch_asks_it_for(code):
    assert called(torch, code) == KNOWN["calls"][code]


@for_each("program", programs())
def test_a_program_prints_what_it_prints_on_pytorch(program):
    assert printed(torch, program) == KNOWN["programs"][program]
