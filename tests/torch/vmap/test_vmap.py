"""`torch.vmap`: values, random numbers and errors as PyTorch gave them (record.py writes them)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.vmap.cases import cases
from tests.torch.vmap.programs import PROGRAMS
from tests.torch.vmap.record import EXPECTED, observe, plain

RECORDED = json.loads(EXPECTED.read_text())


def assert_alike(got, want):
    if isinstance(want, dict) and "numbers" in want:
        assert (got["dtype"], got["shape"]) == (want["dtype"], want["shape"])
        tolerance = 1e-8 if want["dtype"] == "float64" else 1e-5
        np.testing.assert_allclose(got["numbers"], want["numbers"], tolerance, tolerance)
    elif isinstance(want, (dict, list)):
        assert len(got) == len(want)
        for key in want if isinstance(want, dict) else range(len(want)):
            assert_alike(got[key], want[key])
    else:
        assert got == want


@for_each("code", cases())
def test_gives_what_pytorch_gives(code):
    assert_alike(observe(torch, code), RECORDED[code])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_pytorch_gives(name):
    assert_alike(plain(PROGRAMS[name](torch)), RECORDED[name])


def test_a_number_for_each_sample_does_not_fit_into_what_all_share():
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        torch.vmap(lambda x, y: x.add_(y), in_dims=(None, 0))(torch.zeros(3), torch.ones(2))
