"""erf and lgamma of float32 are the nearest numbers, with and without the compiled loops."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from tests.torch.kernels.compared import without_variants

EDGES = [0.0, -0.0, 1, 2, -1, -7, 8, 4, -4, 3.9192, 3.92, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, -1e9]
INPUTS = {
    "erf": np.linspace(-5, 5, 20_001),
    "lgamma": np.linspace(-12, 40, 20_001),
}


SERIES = {
    1: (-0.5772156649015329, 0.8224670334241132, -0.40068563438653143),
    2: (0.42278433509846714, 0.3224670334241132),
}
"""Taylor coefficients of lgamma at its zeros."""


def wanted(name: str, x: float) -> float:
    """As C's library has it, and infinity at a pole."""
    try:
        return float(getattr(math, name)(x))
    except (ValueError, OverflowError):
        return math.inf


@pytest.mark.parametrize("asked", [nullcontext, without_variants])
@pytest.mark.parametrize("name", INPUTS)
def test_results_are_the_nearest(name: str, asked: Any) -> None:
    x = np.concatenate([EDGES, INPUTS[name]]).astype("float32")
    with np.errstate(all="ignore"), asked():
        nearest: Any = np.array([wanted(name, v) for v in x.tolist()]).astype("float32")
        found = getattr(cpu, name)(x)
    assert found.dtype == x.dtype
    assert np.array_equal(found, nearest, equal_nan=True)
    assert np.array_equal(np.signbit(found[x == 0]), np.signbit(nearest[x == 0]))


@pytest.mark.parametrize("asked", [nullcontext, without_variants])
@pytest.mark.parametrize("zero", SERIES)
def test_lgamma_keeps_its_digits_near_its_zeros(zero: int, asked: Any) -> None:
    x = (zero + np.random.default_rng(0).standard_normal(2_000) * 1e-6).astype("float32")
    away = x.astype("float64") - zero
    nearest = sum(c * away ** (k + 1) for k, c in enumerate(SERIES[zero])).astype("float32")
    with asked():
        np.testing.assert_array_max_ulp(cpu.lgamma(x), nearest, 1)


@pytest.mark.parametrize("asked", [nullcontext, without_variants], ids=["as installed", "NumPy"])
def test_erf_of_float64_is_right_to_the_last_digit(asked: Any) -> None:
    small = np.geomspace(5e-324, 0.1, 5_001)
    halfway = np.arange(-1600, 1601) / 256 + 1 / 512  # the farthest from a point of the table
    values = np.concatenate([np.linspace(-6.5, 6.5, 20_001), small, -small, halfway, [math.inf, -math.inf, -0.0]])
    with asked():
        found, missing = cpu.error_function(values), cpu.error_function(np.array([math.nan]))
    wanted = np.array([math.erf(x) for x in values])
    assert (abs(found - wanted) <= 2 * np.spacing(abs(wanted))).all()
    assert (np.signbit(found) == np.signbit(values)).all()
    assert np.isnan(missing).all()
