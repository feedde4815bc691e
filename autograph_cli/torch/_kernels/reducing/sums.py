"""Sums over many elements, as products with ones where that is faster: BLAS adds up several times as fast as NumPy."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..._arrays import Array

_LONGEST = 1 << 14
"""Longer rows are added up by NumPy, whose rounding errors grow with the logarithm of their length only."""

_LINE = 512
_SHORT = 64
_SMALL = 1 << 13
_SHORTEST = 512
"""For fewer elements it does not pay."""


@functools.lru_cache(maxsize=64)
def _ones(n: int, kind: Any) -> Any:
    return np.ones(n, kind)


def _dense(a: Array) -> bool:
    return a.size >= _SHORTEST and a.__class__ is np.ndarray and a.dtype.char in "fd" and a.flags.c_contiguous


class Sums:
    """Sums over everything, over the last dimension, over the first, over all but the second."""

    xp: Any

    def total(self, a: Array) -> Any:
        """The sum of all elements: of lines of some hundred first, so that rounding errors stay small."""
        if a.size < 8 * _LINE or not _dense(a):
            return self.xp.add.reduce(a, axis=None)
        flat = a.reshape(-1)
        lines = flat[: flat.size // _LINE * _LINE].reshape(-1, _LINE) @ _ones(_LINE, a.dtype)
        rest = flat[flat.size // _LINE * _LINE :]
        return self.xp.add.reduce(lines) + self.xp.add.reduce(rest)

    def row_sums(self, a: Array) -> Any:
        """Sums over the last dimension, which stays, of length 1."""
        n = a.shape[-1]
        if not _dense(a) or n > _LONGEST:
            return self._added_rows(a)
        return (a.reshape(-1, n) @ _ones(n, a.dtype)).reshape(*a.shape[:-1], 1)

    def _added_rows(self, a: Array) -> Any:
        return self.xp.add.reduce(a, axis=-1, keepdims=True)

    def row_maxima(self, a: Array) -> Any:
        """The largest along the last dimension, which stays, of length 1: of short rows side by side, for NumPy takes
        longer to begin a row than to compare its elements."""
        n = a.shape[-1]
        if not _dense(a) or n > _SHORT or (n > 16 and a.size <= _SMALL):
            return self.xp.maximum.reduce(a, axis=-1, keepdims=True)
        rows = a.reshape(-1, n)
        while n > 16 and n % 2 == 0:
            n //= 2
            rows = self.xp.maximum(rows[:, :n], rows[:, n:])
        return self.xp.maximum.reduce(self.xp.ascontiguousarray(rows.T), axis=0).reshape(*a.shape[:-1], 1)

    def row_products(self, a: Array, b: Array) -> Any:
        """Sums of a b over the last dimension, which stays, of length 1."""
        if not _dense(a) or not _dense(b) or a.shape[-1] > _LONGEST:
            return self._added_rows(a * b)
        return self.xp.vecdot(a, b).reshape(*a.shape[:-1], 1)

    def column_sums(self, a: Array) -> Any:
        """Sums over the first of two dimensions."""
        if not _dense(a) or len(a) > _LONGEST:
            return self.xp.add.reduce(a, axis=0)
        return _ones(len(a), a.dtype) @ a

    def channel_sums(self, a: Array, b: Array = None) -> Any:
        """Sums of a, or of a b, over all dimensions but the second."""
        rest = math.prod(a.shape[2:]) if a.ndim > 2 else 0
        if not 0 < rest <= _LONGEST or not _dense(a) or (b is not None and not _dense(b)):
            return self.xp.add.reduce(a if b is None else a * b, axis=(0, *range(2, a.ndim)))
        lines = (*a.shape[:2], rest)
        if b is not None:
            return self.xp.add.reduce(self.xp.vecdot(a.reshape(lines), b.reshape(lines)), axis=0)
        return self.xp.add.reduce(self.row_sums(a.reshape(lines))[..., 0], axis=0)
