"""What functions see and may do inside transforms, against what PyTorch said (record.py writes it)."""

import json

import pytest

from autograph_cli import torch
from tests.torch.func.inside import EXPRESSIONS, OTHERWISE, TRANSFORMS, said
from tests.torch.func.record import INSIDE

RECORDED = json.loads(INSIDE.read_text())


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_inside_a_transform_all_is_as_in_pytorch(transform):
    wrong = {}
    for code in EXPRESSIONS:
        want, got = RECORDED[transform][code], said(torch, transform, code)
        if (got == want) is ((transform, code) in OTHERWISE):
            wrong[code] = (got, want)
    assert not wrong
