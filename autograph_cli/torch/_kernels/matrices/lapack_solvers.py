"""Solvers and factorizations by LAPACK, with the routines that PyTorch takes: systems and inverses of real matrices,
and in float32 also those that `numpy.linalg` would compute in double precision. Each gives None where there is no
LAPACK, or where it found nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array
from .lapack import each, has
from .triangular import substituted

_SINGLE, _DOUBLE = np.dtype("f4"), np.dtype("f8")
SMALL = 16
"""Systems of so few rows take no longer in double precision."""
FEW, MANY = 40, 200
"""Between so many columns, the inverse of R is found in less time than what it spares."""
_ONE = np.ones(1, _SINGLE)
_UNREAD = np.zeros(1, np.int64)
"""The place for an answer of LAPACK's that is not read."""


def _real(*arrays: Array) -> bool:
    return arrays[0].dtype.kind == "f" and has(*arrays)


def _narrow(*arrays: Array) -> bool:
    return arrays[0].dtype == _SINGLE and has(*arrays)


def _turned(a: Array, kind: Any = None) -> Array:
    """A copy of the matrices, column by column."""
    return np.array(a.swapaxes(-1, -2), kind, order="C")


def _told(a: Array) -> tuple[int, Array]:
    """Return how many matrices there are, and where it is told what was found of each."""
    count = math.prod(a.shape[:-2]) if a.ndim > 2 else 1
    return count, np.zeros((count, 1), np.int64)


def _factored(a: Array) -> tuple[Array, Array, Array]:
    """LU factors, the rows that were swapped, and where each matrix is singular (0: nowhere)."""
    n = a.shape[-1]
    lu, (count, info) = _turned(a, _DOUBLE if n <= SMALL else None), _told(a)
    pivots = np.empty((count, n), np.int64)
    each("getrf", lu.dtype, count, n, n, lu, n, pivots, info)
    if np.count_nonzero(info):
        unknown = np.isnan(a).any((-2, -1)).reshape(count)  # OpenBLAS takes a pivot that is nan for 0
        lu.reshape(count, n, n)[unknown], info[unknown] = np.nan, 0
    return lu, pivots, info


def _substituted(b: Array, lu: Array, pivots: Array, kind: Any) -> Array:
    """The solutions of right hand sides in this dtype, column by column."""
    factors = lu.swapaxes(-1, -2)
    swaps = pivots.reshape(*lu.shape[:-1], 1)
    x: Any = substituted(b.astype(lu.dtype, copy=False), factors, False, True, factors, swaps)
    return x.swapaxes(-1, -2).astype(kind, order="C", copy=x.dtype != kind).swapaxes(-1, -2)


def _inverted(lu: Array, pivots: Array, like: Array, scale: Any = _ONE) -> Array:
    """The inverses times a number, or one for each matrix, column by column."""
    n, count = lu.shape[-1], len(pivots)
    if n > SMALL and lu.dtype == _SINGLE:
        made, room = lu.copy(), _room("getri", lu.dtype, n)
        each("getri", lu.dtype, count, n, made, n, pivots, np.empty(room, lu.dtype), room, _UNREAD)
        if made.all() and np.isfinite(made).all():
            flat = made.reshape(count, n * n) * np.asarray(scale).reshape(-1, 1)
            return flat.reshape(lu.shape).astype(like.dtype, copy=False).swapaxes(-1, -2)
    # The signs of zeros are those of solutions for the unit matrix.
    x = np.zeros(lu.shape)
    x.reshape(count, n * n)[:, :: n + 1] = np.asarray(scale).reshape(-1, 1)
    return _substituted(x, lu.astype(_DOUBLE, copy=False), pivots, like.dtype)


def _shown(info: Array, a: Array) -> Any:
    return info.astype(np.int32).reshape(a.shape[:-2])[()]


def solved(a: Array, b: Array) -> tuple[Array, Any] | None:
    """X with a X = b, column by column, and where each matrix is singular (0: nowhere)."""
    if not _real(a, b):
        return None
    lu, pivots, info = _factored(a)
    return _substituted(b, lu, pivots, b.dtype), _shown(info, a)


def inverse(a: Array) -> tuple[Array, Any] | None:
    """The inverses of float32, column by column, and where each matrix is singular."""
    if not _narrow(a):
        return None
    lu, pivots, info = _factored(a)
    if np.count_nonzero(info):
        lu = lu.astype(_DOUBLE)
    return _inverted(lu, pivots, a), _shown(info, a)


def scaled_inverse(a: Array, scale: Any) -> Array | None:
    """The transposes of the inverses of float32, times a number for each; none where one is singular."""
    if not _narrow(a):
        return None
    lu, pivots, info = _factored(a.swapaxes(-1, -2))
    return None if np.count_nonzero(info) else _inverted(lu, pivots, a, scale)


def adjugate(a: Array, scale: Any) -> Array | None:
    """The transpose of the adjugate of real matrices, times a number for each. The determinant is that of the factors,
    so that what is wrong in both is not there; where it is 0 nothing is found."""
    if not _real(a):
        return None
    lu, pivots, _ = _factored(a.swapaxes(-1, -2))
    odd = np.count_nonzero(pivots != np.arange(1, a.shape[-1] + 1), -1).reshape(a.shape[:-2]) % 2
    det = np.multiply.reduce(lu.diagonal(0, -2, -1), -1, np.float64)
    if not det.all():
        return None
    return _inverted(lu, pivots, a, np.where(odd, -det, det) * scale)


_ASKING: dict[str, Callable[..., tuple[Any, ...]]] = {
    "getri": lambda room, none, whole, n: (n, none, n, whole, *room),
    "syevd": lambda room, none, whole, job, part, n: (job, part, n, none, n, none, *room, whole, -1),
    "gesdd": lambda room, none, whole, job, m, n: (job, m, n, none, m, none, none, m, none, n, *room, whole),
    "geqrf": lambda room, none, whole, m, n: (m, n, none, m, none, *room),
    "ormqr": lambda room, none, whole, m, n, k: (b"L", b"T", m, k, n, none, m, none, none, m, *room),
    "gelsy": lambda room, none, whole, m, n, k: (m, n, k, none, m, none, max(m, n), whole, none, whole, *room),
}
"""The arguments, but for the last one, of a routine that is asked how much room it needs: it says so in the first
number of `room`, whose second is -1."""


def bunch_kaufman(a: Array) -> tuple[Array, Array, Array] | None:
    """L and D of symmetric matrices in one lower triangle, the pivots, and the first zero block (0: none)."""
    if a.dtype.kind not in "fc" or not has(a):
        return None
    n, (count, info) = a.shape[-1], _told(a)
    factors, pivots = _turned(a), np.empty((count, n), np.int64)
    room = max(n, 1) * 64
    each("sytrf", a.dtype, count, b"L", n, factors, n, pivots, np.empty(room, a.dtype), room, info)
    batch = a.shape[:-2]
    lower = np.triu(factors).swapaxes(-1, -2)
    return lower, pivots.astype(np.int32).reshape(*batch, n), info.astype(np.int32).reshape(batch)[()]


@functools.lru_cache
def _room(name: str, kind: np.dtype[Any], *sizes: Any) -> int:
    """The best size of what a routine works in, by asking it."""
    asked, whole, info = np.zeros(1, kind), np.zeros(1, np.int64), np.zeros(1, np.int64)
    each(name, kind, 1, *_ASKING[name]((asked, -1), np.zeros(1, kind), whole, *sizes), info)
    return math.ceil(float(asked[0]))


def singular_values(a: Array, full: bool, vectors: bool) -> tuple[Array, Array, Array] | None:
    """U, S and the transpose of V of float32, column by column; U and V are empty where they are not asked for."""
    if not _narrow(a):
        return None
    m, n = a.shape[-2:]
    k = min(m, n)
    job = b"N" if not vectors else b"A" if full else b"S"
    rows, columns = (m, n) if full else (k, k)
    work, (count, info) = _turned(a), _told(a)
    batch = a.shape[:-2]
    u = np.empty((*batch, rows, m) if vectors else (0,), a.dtype)
    v = np.empty((*batch, n, columns) if vectors else (0,), a.dtype)
    s = np.empty((count, k), a.dtype)
    room = _room("gesdd", a.dtype, job, m, n)
    space, marks = np.empty(room, a.dtype), np.empty(8 * k, np.int64)
    each("gesdd", a.dtype, count, job, m, n, work, m, s, u, m, v, max(columns, 1), space, room, marks, info)
    if np.count_nonzero(info):
        return None
    s = s.reshape(*batch, k)
    return (u.swapaxes(-1, -2), s, v.swapaxes(-1, -2)) if vectors else (u, s, v)


def eigenvalues(a: Array, half: str, vectors: bool) -> tuple[Array, Array] | None:
    """Return the eigenvalues of symmetric matrices of float32, of which one half is read, and the eigenvectors, column
    by column; empty where they are not asked for."""
    if not _narrow(a):
        return None
    n = a.shape[-1]
    turned, (count, info) = _turned(a), _told(a)
    values = np.empty((count, n), a.dtype)
    job, part = b"V" if vectors else b"N", half.encode()
    room, whole = _room("syevd", a.dtype, job, part, n), 3 + 5 * n
    space, marks = np.empty(room, a.dtype), np.empty(whole, np.int64)
    each("syevd", a.dtype, count, job, part, n, turned, n, values, space, room, marks, whole, info)
    if np.count_nonzero(info):
        return None
    shown = turned.swapaxes(-1, -2) if vectors else np.empty((0,), a.dtype)
    return values.reshape(a.shape[:-1]), shown


def least_squares(a: Array, b: Array, rcond: float) -> tuple[Array, Array] | None:
    """X with the least squares of a X - b of float32, of the smallest where there are many, as the first rows of what
    may have more, column by column; and the ranks."""
    if not _narrow(a, b):
        return None
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        batch = np.broadcast_shapes(batch, b.shape[:-2])
        a, b = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return _of_full_rank(a, b, rcond) or _of_any_rank(a, b, rcond)


def _squares(a: Array, count: int) -> Any:
    """The sum of the squares of the elements of each matrix."""
    return np.add.reduce((a * a).reshape(count, -1), 1)


def _of_full_rank(a: Array, b: Array, rcond: float) -> tuple[Array, Array] | None:
    """By a QR factorization, which needs no swaps of columns where their number is surely the rank: where no singular
    value is as small as `rcond` times the largest, by the norms of R and its inverse. None where it may be another, or
    the right hand sides have to be scaled."""
    (m, n), k = a.shape[-2:], b.shape[-1]
    if m < n or not FEW < n <= MANY or 2 * k < n:
        return None
    turned, (count, info) = _turned(a), _told(a)
    tau, room = np.empty((count, n), a.dtype), _room("geqrf", a.dtype, m, n)
    space = np.empty(max(room, _room("ormqr", a.dtype, m, n, k)), a.dtype)
    each("geqrf", a.dtype, count, m, n, turned, m, tau, space, room, info)
    r = turned.swapaxes(-1, -2)[..., :n, :]
    inverse = substituted(np.eye(n, dtype=a.dtype), r, True)
    x, right = _turned(b), _squares(b, count)
    known = _squares(inverse, count) * _squares(a, count) * rcond**2 < 1
    if not (known & (right > 0) & (right < math.inf)).all():
        return None
    each("ormqr", a.dtype, count, b"L", b"T", m, k, n, turned, m, tau, x, m, space, len(space), info)
    found = x.swapaxes(-1, -2)[..., :n, :]
    found[...] = substituted(found, r, True)
    return found, np.full(a.shape[:-2], n, np.int64)[()]


def _of_any_rank(a: Array, b: Array, rcond: float) -> tuple[Array, Array] | None:
    (m, n), k = a.shape[-2:], b.shape[-1]
    rows = max(m, n)
    x = np.empty((*a.shape[:-2], k, rows), a.dtype)
    x[..., :m] = b.swapaxes(-1, -2)
    x[..., m:] = 0
    turned, (count, info) = _turned(a), _told(a)
    order, ranks = np.zeros((count, n), np.int64), np.zeros((count, 1), np.int64)
    room = _room("gelsy", a.dtype, m, n, k)
    least, space = np.array([rcond], a.dtype), np.empty(room, a.dtype)
    each("gelsy", a.dtype, count, m, n, k, turned, m, x, rows, order, least, ranks, space, room, info)
    if np.count_nonzero(info):
        return None
    return x.swapaxes(-1, -2)[..., :n, :], ranks.reshape(a.shape[:-2])[()]
