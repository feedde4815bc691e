"""log(1 + x) and exp(x) - 1 of float32: computed in double precision and rounded, so that each is the nearest number.

NumPy has vector code for them on some processors only; the compiled loops (fast_special.pyx) add up a series.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array


def _of_float32(name: str) -> Any:
    def run(self: Any, a: Array, out: Any = None) -> Any:
        if a.dtype.char != "f" or a.__class__ not in (np.ndarray, np.float32):
            return getattr(self.xp, name)(a, out=out)
        result = getattr(np, name)(a, dtype=np.float64).astype(np.float32)
        if out is None:
            return result
        out[...] = result
        return out

    return run


class NearZero:
    """Kernels of real numbers that keep their digits near 0."""

    log_of_one_more = _of_float32("log1p")
    expm1 = _of_float32("expm1")
