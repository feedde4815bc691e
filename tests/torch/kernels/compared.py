"""Arrays for compiled kernels, and the comparison of these with NumPy's way."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._compiled import compiled

chooser: Any = compiled("_core.running.fast_kernels")
needs_compiled = pytest.mark.skipif(chooser is None, reason="the package was installed without its compiled modules")

KINDS = ("float32", "float64")


def numbers(kind: str, *shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def odd(kind: str, *shape: int) -> Any:
    """Numbers with ties, infinities, both zeros and what is none among them."""
    made = np.round(numbers(kind, *shape, seed=3) * 2)
    flat = made.reshape(-1)
    for i, value in enumerate((math.inf, -math.inf, math.nan, 1e30, -1e-30, math.inf)):
        flat[i * 5 :: 37] = value
    return made


def spread_out(a: Any) -> Any:
    """The same elements, not in one piece."""
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
        return
    if wanted is None:
        assert found is None
        return
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert found.size == 0 or found.strides == wanted.strides
    missing = np.isnan(wanted)
    assert np.array_equal(missing, np.isnan(found))
    assert np.where(missing, 0, found).tobytes() == np.where(missing, 0, wanted).tobytes()


@contextmanager
def without_variants() -> Iterator[None]:
    """No compiled variant of a kernel is asked meanwhile."""
    if chooser is not None:
        chooser.ask(False)
    try:
        yield
    finally:
        if chooser is not None:
            chooser.ask(True)


def both(run: Callable[[], Any]) -> None:
    """The same with the compiled variants of kernels and without."""
    with np.errstate(all="ignore"):
        found = run()
        with without_variants():
            wanted = run()
    same(found, wanted)
