"""Programs on `torch.func` and forward mode, against what PyTorch gave (record.py writes it)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from tests.cases import for_each
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


@for_each("name", CASES)
def test_program_gives_what_pytorch_gives(name):
    assert_alike(plain(CASES[name](torch)), RECORDED[name])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 1).mul_(x),
        lambda x: (x * 1).exp_(),
        lambda x: (x * 1).div_(x.flip(0)).pow_(2),
        lambda x: torch.nn.functional.conv1d(x.view(1, 1, 4), x[:2].view(1, 1, 2)).view(-1),
        lambda x: x * 3,
    ],
)
def test_second_derivatives_are_the_same_in_every_order_of_the_modes(function) -> None:
    def value(x):
        return function(x).sum()

    x = torch.tensor([0.6, 1.1, 0.3, 1.7], dtype=torch.float64)
    ways = [torch.func.jacfwd, torch.func.jacrev]
    found = [a(b(value))(x) for a in ways for b in ways]
    found.append(torch.autograd.functional.hessian(value, x))
    found.append(torch.autograd.functional.hessian(value, x, vectorize=True, outer_jacobian_strategy="forward-mode"))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])
