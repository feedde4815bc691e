"""Programs on `torch.func` and forward mode, against what PyTorch gave (record.py writes it)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from tests.torch.func.cases import CASES
from tests.torch.func.record import EXPECTED, plain

RECORDED = json.loads(EXPECTED.read_text())


def assert_alike(got, want, where=""):
    if isinstance(want, dict) and "numbers" in want:
        assert (got["dtype"], got["shape"]) == (want["dtype"], want["shape"]), where
        np.testing.assert_allclose(got["numbers"], want["numbers"], 1e-8, 1e-9, err_msg=where)
    elif isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            assert_alike(got[key], want[key], f"{where}.{key}")
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for i, pair in enumerate(zip(got, want, strict=True)):
            assert_alike(*pair, f"{where}[{i}]")
    else:
        assert got == want, where


@pytest.mark.parametrize("name", CASES)
def test_program_gives_what_pytorch_gives(name):
    assert_alike(plain(CASES[name](torch)), RECORDED[name])
