"""log(1 + x) and exp(x) - 1 of float32: computed in double precision by series, and rounded.

C's library has them one number after the other, and NumPy has vector code for some processors only; sums and products
alone are the same everywhere, here and in the compiled loops (fast_special.pyx).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array
from .._compiled import compiled
from .blockwise import by_blocks

_fast: Any = compiled("_kernels.fast_special")
_LOG_OF_2 = math.log(2)
_SMALLEST = 2.0**-26
"""Below it, log(1 + x) is x."""
_ONE, _HIGH = np.int64(0x3FF << 52), np.int64(-1 << 52)
"""The bits of 1, and where the exponent and the sign are."""
_TO_ROOT = np.int64(0x95F619980C433)
"""What brings the bits of the root of 1/2 to those of 1."""


def _log1p(a: Array) -> Any:
    """1 + x is 2**e m with m between the roots of 1/2 and 2, whose logarithm is 2 artanh((m - 1) / (m + 1))."""
    x = a.astype(np.float64)
    y = x + 1.0
    bits = y.view(np.int64)
    moved = bits + _TO_ROOT
    m = (bits - (moved & _HIGH) + _ONE).view(np.float64)
    e = (moved >> 52).astype(np.float64)
    e -= 1023.0
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    t = z * (1.0 / 13) + 1.0 / 11
    for k in (9, 7, 5, 3, 1):
        t *= z
        t += 1.0 / k
    found = e * _LOG_OF_2 + 2.0 * s * t
    if not 0 < y.min(initial=1.0) <= y.max(initial=1.0) < math.inf:
        found = np.where(y > 0, np.where(y < math.inf, found, y), np.where(y == 0, -math.inf, math.nan))
    return np.where(abs(x) < _SMALLEST, x, found).astype(np.float32)


def _expm1(a: Array) -> Any:
    """x is k log(2) + r, so that it is 2**k (exp(r) - 1) + (2**k - 1)."""
    x = a.astype(np.float64).clip(-40.0, 100.0)
    k = np.rint(x * (1 / _LOG_OF_2))
    r = x - k * _LOG_OF_2
    t = r * (1.0 / math.factorial(10)) + 1.0 / math.factorial(9)
    for n in range(8, 0, -1):
        t *= r
        t += 1.0 / math.factorial(n)
    t *= r
    scale = (np.where(k == k, k, 0.0).astype(np.int64) + 1023 << 52).view(np.float64)
    return np.copysign(scale * t + (scale - 1.0), x).astype(np.float32)


def _of_float32(name: str, series: Callable[[Array], Any]) -> Any:
    def run(self: Any, a: Array, out: Any = None) -> Any:
        if a.dtype.char != "f" or a.__class__ not in (np.ndarray, np.float32):
            return getattr(self.xp, name)(a, out=out)
        found = getattr(_fast, name)(a, out) if _fast else None
        if found is None:
            found = by_blocks(series, a) if a.ndim else series(np.asarray(a).reshape(1))
            found = found.reshape(a.shape)[()]
            if out is not None:
                out[...] = found
        return found if out is None else out

    return run


class NearZero:
    """Kernels of real numbers that keep their digits near 0."""

    log_of_one_more = _of_float32("log1p", _log1p)
    expm1 = _of_float32("expm1", _expm1)
