"""Operations on integers beside Python numbers that their dtype cannot hold, against PyTorch (record_number_operands.py)."""

import json
import math
import warnings

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_number_operands import EXPECTED, cases, numbers, observe

RECORDED = json.loads(EXPECTED.read_text())


@for_each("case", cases())
def test_numbers_beside_tensors_give_what_they_give_in_pytorch(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        got = observe(torch, case)
    unlike = [
        pair for pair in zip(numbers(case.partition(": ")[2]), got, RECORDED[case], strict=True) if not _same(*pair[1:])
    ]
    assert not unlike


def _same(got: str, want: str) -> bool:
    if got == want or "[" not in got or "[" not in want:
        return got == want
    (kind, _, mine), (other, _, theirs) = got.partition(" "), want.partition(" ")
    names = {"nan": math.nan, "inf": math.inf, "nanj": complex(0, math.nan), "infj": complex(0, math.inf)}
    return kind == other and eval(mine, names) == pytest.approx(eval(theirs, names), rel=1e-5, nan_ok=True)
