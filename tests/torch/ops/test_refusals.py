"""Wrong calls are refused in PyTorch's words (record_refusals.py wrote them down)."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_refusals import EXPECTED, observe

REFUSALS = json.loads(EXPECTED.read_text())


@for_each("call", REFUSALS)
def test_a_wrong_call_is_refused_in_the_words_of_pytorch(call):
    assert observe(torch, call) == REFUSALS[call]
