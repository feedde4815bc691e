"""Values, graphs and gradients of many expressions, against what PyTorch gave (record_expressions.py writes them)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_expressions import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}


def assert_alike(got, want, what):
    """Equal dtypes and shapes, close numbers."""
    assert (got is None) == (want is None), f"{what}: {got} instead of {want}"
    if want is None:
        return
    assert got[:2] == want[:2], f"{what}: {got[:2]} instead of {want[:2]}"
    tolerance = TOLERANCE.get(want[0], 1e-7)
    numbers, wanted = (np.array(t[2], float) for t in (got, want))
    np.testing.assert_allclose(numbers, wanted, tolerance, tolerance, err_msg=what)


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@for_each("code", RECORDED)
def test_expression_gives_what_pytorch_gives(code):
    assert_same(observe(torch, code), RECORDED[code])


def assert_same(got, want):
    """The same graphs and errors, close values and gradients."""
    for key in ("graph", "graphs", "error"):
        assert got.get(key) == want.get(key), key
    assert_alike(got["value"], want["value"], "value")
    for key in ("first", "second"):
        for name, gradient in want.get(key, {}).items():
            assert_alike(got[key][name], gradient, f"{key} gradient of {name}")
    for name, gradient in got.get("recorded", {}).items():
        assert_alike(gradient, want["first"][name], f"recorded gradient of {name}")
