"""Functions of nan, infinities, zeros of both signs and no elements, against PyTorch (record_special_values.py writes it)."""

import json

import numpy as np

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_special_values import EXPECTED, cases, observe

RECORDED = json.loads(EXPECTED.read_text())
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2}


@for_each("case", cases())
def test_special_values_give_what_they_give_in_pytorch(case):
    got, want = observe(torch, case), RECORDED[case]
    if isinstance(want, str) or isinstance(got, str):
        assert got == want
        return
    assert got[0] == want[0]
    mine, theirs = (np.array(text.split(), float) for text in (got[1], want[1]))
    np.testing.assert_allclose(mine, theirs, TOLERANCE.get(case.partition(" ")[0], 1e-5), 1e-6)
    zeros = theirs == 0
    np.testing.assert_array_equal(np.signbit(mine)[zeros], np.signbit(theirs)[zeros])
