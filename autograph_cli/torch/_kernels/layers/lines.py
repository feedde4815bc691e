"""Sums of a few elements along a dimension, each with its weight: what resizing and averages of bins are made of."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array
from ..._arrays.meta import Meta
from ..half_precision import widened

_SHORT = 1 << 14
"""Numbers of a matrix up to which a product with it costs less than reading elements by their positions."""


class Line(NamedTuple):
    """Results along a dimension. `layers` have the k-th element of each result that has so many: which results, which
    elements, and their weights. `matrix` (results, elements) is the same, None where it would be large."""

    length: int
    layers: tuple[tuple[Any, Any, Any], ...]
    matrix: Any

    def whole(self, n: int) -> Any:
        """The matrix of a line of n elements."""
        made = np.zeros((self.length, n))
        for where, elements, weights in self.layers:
            made[np.arange(self.length)[where], elements] += weights
        return made


def weighted(results: Any, elements: Any, weights: Any, m: int, n: int, dtype: Any) -> Line:
    """Return the line of m results, to which some of n elements are added by weights."""
    order = np.argsort(results, kind="stable")
    counts = np.bincount(results, minlength=m)
    starts, layers = np.cumsum(counts) - counts, []
    for k in range(counts.max()):
        there = np.flatnonzero(counts > k)
        chosen = order[starts[there] + k]
        in_row = there[-1] - there[0] + 1 == len(there)
        where = slice(int(there[0]), int(there[-1]) + 1) if in_row else there
        layers.append((where, elements[chosen], weights[chosen]))
    made = Line(m, tuple(layers), None)
    return made._replace(matrix=made.whole(n).astype(dtype)) if n * m <= _SHORT else made


class Lines:
    """Kernels over the last dimensions of images, one after the other."""

    xp: Any
    matmul: Any
    placed: Any

    def along(self, a: Array, lines: Any) -> Any:
        """Each of the last dimensions summed as its line says. A matrix multiplies each element by each weight, also by
        0, so infinite ones and nan would be in all results of a row: then each element goes only where it belongs."""
        dims = a.shape[-len(lines) :]
        plain = a.__class__ is np.ndarray and a.dtype.char in "fd" and 1 not in dims
        multiply = np.matmul if plain else self.matmul
        short = all(each.matrix is not None for each in lines)
        if not (short and (isinstance(a, Meta) or math.isfinite(self.xp.add.reduce(a, axis=None)))):
            return self._summed(a, lines)
        for back, each in enumerate(reversed(lines), 1):
            matrix = self.placed(each.matrix)
            if back < 3:
                a = multiply(a, matrix.T) if back == 1 else multiply(matrix, a)
            else:
                a = self.xp.moveaxis(self.matmul(self.xp.moveaxis(a, -back, -1), matrix.T), -1, -back)
        return self.xp.ascontiguousarray(a)

    @widened
    def _summed(self, a: Array, lines: Any) -> Any:
        for back, each in enumerate(reversed(lines), 1):
            shape, rest = list(a.shape), (slice(None),) * (back - 1)
            shape[-back] = each.length
            out: Any = None
            for where, elements, weights in each.layers:
                part = self.xp.take(a, self.placed(elements), axis=-back)
                part *= self.placed(weights.astype(a.dtype)).reshape(-1, *[1] * (back - 1))
                if out is None and len(elements) == each.length:
                    out = part
                    continue
                out = self.xp.zeros(shape, a.dtype) if out is None else out
                out[(..., where if isinstance(where, slice) else self.placed(where), *rest)] += part
            a = out
        return a
