"""Kernels that take another way for many numbers than for few give the same numbers, for all pairs of special values."""

import itertools
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from tests.torch.kernels.compared import without_variants

VALUES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -2.5, 3.0, 7.0, -1e-5, 1e30, -1e30, np.inf, -np.inf, np.nan]
PAIRS = np.array(list(itertools.product(VALUES, VALUES)))
TIMES = 30
"""Copies of the pairs that are many."""


@pytest.mark.parametrize("asked", [nullcontext, without_variants])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["pow", "fmod", "logaddexp", "remainder"])
def test_many_pairs_give_what_few_give(name: str, dtype: str, asked: Any) -> None:
    a, b = PAIRS.T.astype(dtype)
    with np.errstate(all="ignore"), asked():
        few = getattr(cpu, name)(a.copy(), b.copy())
        many = getattr(cpu, name)(np.tile(a, TIMES), np.tile(b, TIMES))
    same(many, np.tile(few, TIMES))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", VALUES)
def test_many_numbers_to_one_power(exponent: float, dtype: str) -> None:
    a = np.array(VALUES, dtype)
    with np.errstate(all="ignore"):
        few = cpu.pow_Tensor_Scalar(a, exponent)
        many = cpu.pow_Tensor_Scalar(np.tile(a, 20 * TIMES), exponent)
        whole = cpu.pow(np.tile(a, 20 * TIMES), np.full(1, exponent, dtype))
    same(many, np.tile(few, 20 * TIMES))
    same(whole, np.tile(few, 20 * TIMES))


def same(found: Any, wanted: Any) -> None:
    """Equal to rounding, with the signs of zeros."""
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=0)
    zeros = wanted == 0
    assert (np.signbit(found[zeros]) == np.signbit(wanted[zeros])).all()
