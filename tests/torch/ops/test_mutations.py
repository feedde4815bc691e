"""Calls that are almost right are taken and refused as PyTorch does it (record_mutations.py wrote a sample of them down)."""

import contextlib
import io
import json

import pytest

from autograph_cli import torch
from tests.torch.ops.mutations import EXPECTED, observe, scope

RECORDED = json.loads(EXPECTED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def said():
    names = scope(torch)
    with contextlib.redirect_stdout(io.StringIO()):
        return {call: observe(torch, call, names) for call in RECORDED["agreed"]}


def test_a_call_that_is_almost_right_is_answered_as_by_pytorch(said):
    assert {call: text for call, text in said.items() if text != RECORDED["agreed"][call]} == {}


def test_most_of_the_sample_agrees():
    agreed, different = len(RECORDED["agreed"]), len(RECORDED["different"])
    assert agreed > 0.955 * (agreed + different)
