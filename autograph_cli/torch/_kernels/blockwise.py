"""Long computations over each element, a block at a time: what stands between its steps stays in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BLOCK = 1 << 18
"""Elements of a block: a few arrays of them fit a third-level cache, and calls cost nothing beside them."""


def by_blocks(run: Callable[..., Any], *arrays: Any) -> Any:
    """`run(*arrays)`, for a function of the elements alone of arrays of one shape, which keeps their dtype."""
    first = arrays[0]
    if first.size <= BLOCK or any(x.__class__ is not np.ndarray or x.shape != first.shape for x in arrays):
        return run(*arrays)
    flat = [x.reshape(-1) for x in arrays]
    out = np.empty(first.size, first.dtype)
    for start in range(0, first.size, BLOCK):
        here = slice(start, start + BLOCK)
        out[here] = run(*(x[here] for x in flat))
    return out.reshape(first.shape)
