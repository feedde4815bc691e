"""Layers, their parameters after a seed, outputs, graphs and gradients, against PyTorch's (record_layers.py keeps them)."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.nn.record_layers import EXPECTED, observe
from tests.torch.ops.test_expressions import assert_alike

RECORDED = json.loads(EXPECTED.read_text())


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@for_each("row", RECORDED)
def test_layer_is_and_gives_what_it_does_in_pytorch(row):
    got, want = observe(torch, row), RECORDED[row]
    assert got["repr"] == want["repr"]
    for key in ("state", "grads", "after"):
        assert list(got[key]) == list(want[key])
        for name, recorded in want[key].items():
            assert_alike(got[key][name], recorded, f"{key} of {name}")
    assert got["graphs"] == want["graphs"]
    for number, recorded in enumerate(want["outputs"]):
        assert_alike(got["outputs"][number], recorded, f"output {number}")
