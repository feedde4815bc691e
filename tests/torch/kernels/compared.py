"""Arrays for compiled kernels, and the comparison of these with NumPy's way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

KINDS = ("float32", "float64")
COMPILED = ("_fast", "_elements", "_joining", "_passes", "_rows", "_selection", "_special", "_tables", "_triangles")
"""What kernels call the compiled modules that they ask."""


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


def both(monkeypatch: Any, module: Any, run: Callable[[], Any], *others: Any) -> None:
    """The same with the compiled kernels of a module, and of others, and without."""
    assert any(getattr(module, name, None) is not None for name in COMPILED)
    with np.errstate(all="ignore"):
        found = run()
        with monkeypatch.context() as without:
            for each in (module, *others):
                for name in COMPILED:
                    without.setattr(each, name, None, raising=False)
            wanted = run()
    same(found, wanted)
