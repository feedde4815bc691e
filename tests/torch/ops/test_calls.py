"""Calls that were answered otherwise than by PyTorch are not so again (record_calls.py wrote down what it makes of them)."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.calls import EXPECTED, ROWS, observe, unlike

RECORDED = json.loads(EXPECTED.read_text(encoding="utf-8"))


def test_all_rows_are_recorded():
    assert list(RECORDED) == ROWS.read_text(encoding="utf-8").splitlines()


@for_each("call", RECORDED)
def test_a_call_gives_what_pytorch_gives(call):
    assert unlike(call, RECORDED[call], observe(torch, call)) is None


def test_what_differs_is_found():
    call = "F.relu6(G(S(T(6))))"
    assert unlike(call, RECORDED[call], observe(torch, "F.relu(G(S(T(6))))"))
    assert unlike(call, RECORDED[call], observe(torch, "F.relu6(S(T(6)))"))
