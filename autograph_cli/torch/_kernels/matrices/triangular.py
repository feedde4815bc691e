"""Triangular systems of float32 and float64 over batches: small ones row by row in double precision, and larger ones by
blocks of rows, so that products do the work."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from ..variants import chosen

_SMALL = 64
"""Rows of a block."""
_TOGETHER = 16
_KINDS = (np.dtype("f4"), np.dtype("f8"))


@chosen
def substituted(
    b: Array,
    a: Array,
    upper: bool,
    unitriangular: bool = False,
    then: Any = None,
    pivots: Any = None,
    by_rows: bool = False,
) -> Array | None:
    """X with a X = b for one triangle of `a`, whose diagonal counts as 1 where it is `unitriangular`; column by column
    unless `by_rows`. Before it the rows of b are swapped with the `pivots`, numbered from 1 and one for each row of a
    matrix; and with the solution goes on the other triangle of `then`, which has the batch of `a`. None for arrays of
    other kinds."""
    if not a.__class__ is b.__class__ is np.ndarray or a.dtype != b.dtype or a.dtype not in _KINDS:
        return None
    batch = many_dims.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    small = a.shape[-1] <= _SMALL
    x = _sorted(x, pivots) if pivots is not None else x
    x = np.array(x, np.float64 if small else a.dtype, order="C")
    run = _row_by_row if small else _by_blocks
    run(x, a, upper, unitriangular)
    if then is not None:
        run(x, then, not upper, False)
    result = np.empty(x.shape if by_rows else (*batch, *x.shape[:-3:-1]), a.dtype)
    result = result if by_rows else result.swapaxes(-1, -2)
    result[...] = x
    return result


def _sorted(b: Array, pivots: Array) -> Array:
    """The rows after their swaps."""
    n, orders = b.shape[-2], []
    for swaps in pivots.reshape(math.prod(pivots.shape[:-2]), n).tolist():
        order = list(range(n))
        for i, other in enumerate(swaps):
            order[i], order[other - 1] = order[other - 1], order[i]
        orders.append(order)
    places = np.array(orders, np.int64).reshape(pivots.shape)
    return np.take_along_axis(b, np.broadcast_to(places, (*b.shape[:-1], 1)), -2)


def by_blocks(x: Array, a: Array, upper: bool, rows: int, solve: Callable[[Array, Array], Array]) -> None:
    """Put the solution in the place of the right hand side, so many rows at a time: `solve(a, b)` gives that of a block
    on the diagonal."""
    n = a.shape[-1]
    starts = range(0, n, rows)
    for start in reversed(starts) if upper else starts:
        here = slice(start, start + rows)
        known = slice(start + rows, n) if upper else slice(0, start)
        part = x[..., here, :]
        if known.start < known.stop:
            part -= a[..., here, known] @ x[..., known, :]
        part[...] = solve(a[..., here, here], part)


def _by_blocks(x: Array, a: Array, upper: bool, unitriangular: bool) -> None:
    by_blocks(x, a, upper, _SMALL, lambda a, b: substituted(b, a, upper, unitriangular, None, None, True))


def _row_by_row(x: Array, a: Array, upper: bool, unitriangular: bool) -> None:
    """Numbers that come from float32 are rounded to as many bits as it has: products of two are exact. For others,
    what a group of known rows takes away from the rest is added up before it is subtracted."""
    n, narrow, wide = a.shape[-1], a.dtype == np.float32, a.astype(np.float64)
    rows, many = range(n)[::-1] if upper else range(n), max(n, 1) if narrow else _TOGETHER
    for start in range(0, n, many):
        together = rows[start : start + many]
        for i in together:
            row = x[..., i, :]
            if not unitriangular and narrow:
                row *= 1 / wide[..., i, i, None]
            elif not unitriangular:
                row /= wide[..., i, i, None]
            if narrow:
                bits = row.view(np.uint64)
                bits += np.uint64(0x10000000)
                bits &= np.uint64(0xFFFFFFFFE0000000)
            near = slice(together[-1], i) if upper else slice(i + 1, together[-1] + 1)
            x[..., near, :] -= wide[..., near, i, None] * row[..., None, :]
        rest = slice(together[-1]) if upper else slice(together[-1] + 1, n)
        x[..., rest, :] -= sum(wide[..., rest, i, None] * x[..., None, i, :] for i in together)
