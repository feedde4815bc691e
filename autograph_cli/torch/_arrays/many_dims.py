"""Functions of arrays with more than 32 dimensions, for which NumPy fails or ends the process."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.dims import broadcast
from . import Array

MOST = 32
"""The dimensions of NumPy's older iterators; arrays may have twice as many."""


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """`numpy.broadcast_shapes`."""
    return np.broadcast_shapes(*shapes) if max(map(len, shapes), default=0) <= MOST else broadcast(*shapes)


def broadcast_arrays(xp: Any, *arrays: Any) -> Any:
    """`numpy.broadcast_arrays`."""
    if max(a.ndim for a in arrays) <= MOST:
        return xp.broadcast_arrays(*arrays)
    shape = broadcast(*(a.shape for a in arrays))
    return [xp.broadcast_to(a, shape) for a in arrays]


def along(function: Callable[..., Any], a: Array, dim: int, *rest: Any, **options: Any) -> Any:
    """`function(a, *rest, axis=dim)`, which works line by line."""
    if a.ndim <= MOST:
        return function(a, *rest, axis=dim, **options)
    lines = np.moveaxis(a, dim, -1)
    rows = lines.reshape(math.prod(lines.shape[:-1]), lines.shape[-1])
    found = function(rows, *rest, axis=-1, **options)
    return np.moveaxis(found.reshape(lines.shape), -1, dim)


def at(ufunc: Any, out: Array, positions: Any, values: Any) -> None:
    """`ufunc.at(out, positions, values)`."""
    arrays = [p.ndim for p in positions if p.__class__ is np.ndarray]
    if out.__class__ is not np.ndarray or out.ndim + max(arrays, default=0) <= MOST:
        ufunc.at(out, positions, values)
        return
    steps = [step // out.itemsize for step in out.strides]
    places: Any = np.zeros((1,) * out.ndim, np.intp)
    for d, (n, step) in enumerate(zip(out.shape, steps, strict=True)):
        places = places + (np.arange(n) * step).reshape(-1, *[1] * (out.ndim - d - 1))
    named = places[positions]
    memory = np.lib.stride_tricks.as_strided(out, (int(places.max(initial=-1)) + 1,), (out.itemsize,))
    ufunc.at(memory, named.reshape(-1), np.broadcast_to(values, named.shape).reshape(-1))
