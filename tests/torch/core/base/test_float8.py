"""Dtypes of 8 bits: their numbers, what moves them, and what is refused, as PyTorch has it."""

import json
from typing import Any

import pytest

from autograph_cli import torch
from tests.torch.core.base.record_float8 import DTYPES, EXPECTED, outcomes

RECORDED = json.loads(EXPECTED.read_text())


@pytest.fixture(autouse=True)
def _as_before() -> Any:
    """A dtype of 8 bits sends all operations full dispatch from then on; other tests are to take the short one."""
    from autograph_cli.torch._core.base.state import process_state as state

    before = state.float8
    yield
    if state.float8 and not before:
        state.float8, state.special = False, state.special - 1


@pytest.mark.parametrize("kind", DTYPES)
def test_a_dtype_of_8_bits_is_pytorchs(kind: str) -> None:
    assert outcomes(torch, kind) == RECORDED[kind]


@pytest.mark.parametrize("kind", DTYPES)
def test_every_number_survives_the_way_through_float32(kind: str) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(getattr(torch, kind))
    back = every.float().to(getattr(torch, kind))
    same = (back.view(torch.uint8) == every.view(torch.uint8)) | every.isnan()
    assert bool(same.all())
    assert torch.equal(back.isnan(), every.isnan())
