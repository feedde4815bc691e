"""log(1 + x) and exp(x) - 1 of float32 are the nearest numbers, with and without the compiled loops."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from tests.torch.kernels.compared import without_variants

EDGES = [
    0.0, -0.0, 1, -1, -2, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, 88.7, 88.8, 104, -104, -17, 2.0**-26, -1e-8,
]  # fmt: skip
KERNELS = {"log1p": cpu.log1p, "expm1": cpu.expm1}


@pytest.mark.parametrize("asked", [nullcontext, without_variants], ids=["compiled", "pure"])
@pytest.mark.parametrize("name", KERNELS)
def test_results_are_the_nearest(name: str, asked: Any) -> None:
    rng = np.random.default_rng(0)
    size = np.exp(rng.uniform(-60, 88, 20_000))
    with np.errstate(all="ignore"), asked():
        x = np.concatenate([EDGES, size, -size, rng.uniform(-1, 1, 20_000)]).astype("float32")
        wanted = getattr(np, name)(x.astype("float64"))
        found, each = KERNELS[name](x), [KERNELS[name](v) for v in x[: len(EDGES)]]
        apart = np.spacing(np.abs(wanted.astype("float32"))).astype("float64")
        finite = np.isfinite(wanted.astype("float32"))
        assert np.all(np.abs(found - wanted)[finite] <= 0.50001 * apart[finite])
        assert np.array_equal(found[~finite], wanted.astype("float32")[~finite], equal_nan=True)
    assert np.array_equal(np.signbit(found[x == 0]), np.signbit(x[x == 0]))
    assert np.array_equal(np.array(each), found[: len(EDGES)], equal_nan=True)


@pytest.mark.parametrize("kind", ["float16", "float64"])
def test_other_dtypes_are_numpys(kind: str) -> None:
    x = np.linspace(-0.9, 3, 50).astype(kind)
    assert np.array_equal(cpu.log1p(x), np.log1p(x))
    assert np.array_equal(cpu.expm1(x), np.expm1(x))
