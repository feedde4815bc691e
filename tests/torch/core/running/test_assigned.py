"""Writes by index, mask and position leave what PyTorch leaves, or are refused in its words (record_assigned.py)."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.running.record_assigned import DTYPES, EXPECTED, VALUES, WRITES, played

KNOWN = json.loads(EXPECTED.read_text())


@for_each("dtype", DTYPES)
@for_each("write", WRITES)
def test_what_is_written_is_what_pytorch_writes(dtype, write):
    found = {value: played(torch, dtype, value, write) for value in VALUES}
    assert found == KNOWN[f"{dtype}: {write}"]
