"""Unique elements, bins and histograms of raw arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.meta import readable


def consecutive(f: Any, a: Any, dim: Any) -> Any:
    rows = a.reshape(-1, 1) if dim is None else f.xp.moveaxis(a, dim, 0)
    rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    starts = f.xp.ones(len(rows), bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = f.xp.flatnonzero(starts)
    inverse = f.xp.cumsum(starts) - 1
    values = a.reshape(-1)[first] if dim is None else f.xp.take(a, first, axis=dim)
    counts = f.xp.diff(f.xp.append(first, len(rows)))
    return values, inverse.reshape(a.shape if dim is None else (-1,)).astype("int64"), counts.astype("int64")


def bincount(f: Any, a: Any, weights: Any, minlength: int) -> Any:
    if weights is None:
        return f.xp.bincount(a, minlength=minlength).astype("int64")
    found = f.xp.bincount(a, weights, minlength)
    return found.astype(weights.dtype if weights.dtype.kind == "f" else "float64")


def histc(f: Any, a: Any, bins: int, low: float, high: float) -> Any:
    low, high = value_range(a, low, high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    inside = a[(a >= low) & (a <= high)]
    # By one product, as PyTorch does it: close to an edge it decides otherwise than a comparison with the edge.
    place = ((inside - inside.dtype.type(low)) * inside.dtype.type(bins / (high - low))).astype(np.int64)
    return f.xp.bincount(f.xp.minimum(place, bins - 1), minlength=bins).astype(a.dtype)


def value_range(a: Any, low: float, high: float) -> tuple[float, float]:
    if low == high and readable(a):
        low, high = float(a.min()), float(a.max())
    if low == high:
        low, high = low - 1, high + 1
    return low, high
