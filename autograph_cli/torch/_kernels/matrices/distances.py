"""Distances between rows."""

from __future__ import annotations

import math
from typing import Any

from ..._arrays import Array


class Distances:
    """Kernels of pairs of rows."""

    xp: Any
    number: Any
    vector_norm: Any

    def _pairs(self, n: int) -> Any:
        return self.xp.triu_indices(n, 1)

    def _pdist_forward(self, a: Array, p: float = 2) -> Any:
        first, second = self._pairs(a.shape[0])
        apart = a[first] - a[second]
        if p == 0:
            return self._unequal(apart)
        return self.vector_norm(apart, p, (1,)) if a.shape[1] else self.xp.zeros(len(first), a.dtype)

    def _unequal(self, apart: Array) -> Any:
        """Return how many of the last dimension are not 0; nan where one is nan."""
        return self.xp.where(apart == apart, apart != 0, apart).astype(apart.dtype).sum(-1)

    def distance_slope(self, difference: Any, distance: Any, p: float) -> Any:
        """The derivative of the p-norm of each row by its elements; `distance` stands beside as a column."""
        if p == 0:
            return self.xp.zeros_like(difference)
        if p == 1:
            return self.xp.sign(difference)
        if math.isinf(p):
            return self.xp.sign(difference) * (self.xp.abs(difference) == distance)
        safe = self.xp.where(distance == 0, self.number(1, distance), distance)
        power = self.xp.abs(difference) ** self.number(p - 1, difference) if p != 2 else self.xp.abs(difference)
        slope = self.xp.sign(difference) * power / safe ** self.number(p - 1, distance)
        return self.xp.where(distance == 0, self.number(0, slope), slope)

    def _pdist_backward(self, grad: Array, a: Array, p: float, distance: Any) -> Any:
        first, second = self._pairs(a.shape[0])
        out = self.xp.zeros_like(a)
        if a.size == 0:
            return out
        slope = grad[:, None] * self.distance_slope(a[first] - a[second], distance[:, None], p)
        self.xp.add.at(out, first, slope)
        self.xp.subtract.at(out, second, slope)
        return out
