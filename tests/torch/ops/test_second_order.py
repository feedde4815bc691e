"""The order in which nodes of second derivatives are made, against PyTorch (record_second_order.py writes it)."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_second_order import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())


@for_each("text", RECORDED)
def test_nodes_of_second_derivatives_are_numbered_as_in_pytorch(text):
    assert observe(torch, text) == RECORDED[text]
