"""Order statistics: medians, modes, the k-th smallest, running extremes, each with its indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from . import selection
from .selection import ordered

Chosen = tuple[Any, Any]
PARTED = 1 << 10
"""Elements from which a partition and the look for ties are faster than a sort."""


class OrderStatistics:
    """Kernels that choose elements by their order along a dimension."""

    xp: Any
    isnan: Any
    picked: Any
    slice: Any

    def _taken_at(self, a: Array, positions: Any, dim: int, keepdim: bool) -> Chosen:
        """Values and indices at `positions`, which has length 1 along `dim`."""
        if a.ndim == 0:
            return a.copy()[()], self.xp.zeros((), "int64")[()]
        positions = self.xp.ascontiguousarray(positions)
        values = self.picked(a, positions, dim)
        return (values, positions) if keepdim else (values.squeeze(dim)[()], positions.squeeze(dim)[()])

    def _stable_order(self, a: Array, dim: int) -> Any:
        return many_dims.along(self.xp.argsort, ordered(a), dim, kind="stable").astype("int64")

    def _ranked(self, a: Array, k: int, dim: int, among_equals: Any, few: int = 1) -> Any:
        """The positions of the elements that a sort would put at place `k`; in rows where others equal that one, and in
        fewer elements than `few`, `among_equals` chooses."""
        if a.__class__ is not np.ndarray or a.size < few:
            return among_equals(a, k, dim)
        a = ordered(a)
        result = self.slice(many_dims.along(np.argpartition, a, dim, k), dim, k, k + 1, 1).astype("int64")
        at = np.take_along_axis(a, result, dim)
        tied = np.count_nonzero(a == at, axis=dim) != 1  # none equals nan
        if tied.any():
            rows, chosen = np.moveaxis(a, dim, -1), np.moveaxis(result, dim, -1)
            chosen[tied] = among_equals(rows[tied], k, 1)
        return result

    def _in_stable_order(self, a: Array, k: int, dim: int) -> Any:
        return self.slice(self._stable_order(a, dim), dim, k, k + 1, 1)

    def _as_quickselect(self, a: Array, k: int, dim: int) -> Any:
        if not selection.follows(a):
            return self._in_stable_order(a, k, dim)
        return selection.rejoined([selection.kth(row, k) for row in selection.ranks(a, dim).tolist()], a, dim)

    def median_dim(self, a: Array, dim: int, keepdim: bool) -> Chosen:
        if a.ndim == 0:
            return self._taken_at(a, None, dim, keepdim)
        middle = (a.shape[dim] - 1) // 2
        positions = self._ranked(a, middle, dim, self._in_stable_order, PARTED)
        if a.dtype.kind in "fV":
            missing = self.isnan(a)
            first = self.xp.argmax(missing, axis=dim, keepdims=True).astype("int64")
            positions = self.xp.where(missing.any(axis=dim, keepdims=True), first, positions)
        return self._taken_at(a, positions, dim, keepdim)

    def nanmedian_dim(self, a: Array, dim: int, keepdim: bool) -> Chosen:
        if a.ndim == 0 or a.dtype.kind in "biu":
            return self.median_dim(a, dim, keepdim)
        known = self.xp.sum(~self.isnan(a), axis=dim, keepdims=True)
        middle = self.xp.maximum((known - 1) // 2, 0)
        positions = self.picked(self._stable_order(a, dim), middle, dim)
        if selection.follows(a):
            positions = self.xp.where(known == 0, selection.first_of_equal(a.shape[dim]), positions)
        return self._taken_at(a, positions, dim, keepdim)

    def median(self, a: Array) -> Any:
        return self.median_dim(a.reshape(-1), 0, False)[0] if a.size else self._no_median(a)

    def nanmedian(self, a: Array) -> Any:
        return self.nanmedian_dim(a.reshape(-1), 0, False)[0] if a.size else self._no_median(a)

    def _no_median(self, a: Array) -> Any:
        return self.xp.full((), np.nan, a.dtype)[()]

    def _modes(self, rows: Array) -> Any:
        return [selection.most_frequent(row) for row in rows.tolist()]

    def mode(self, a: Array, dim: int, keepdim: bool) -> Chosen:
        """The smallest of the most frequent values, at its last position."""
        if a.ndim == 0:
            return self._taken_at(a, None, dim, keepdim)
        if selection.follows(a):
            rows = np.moveaxis(ordered(a), dim, -1).reshape(-1, a.shape[dim])
            found = selection.rejoined(self._modes(rows), a, dim)
            return self._taken_at(a, found, dim, keepdim)
        order = self.xp.moveaxis(self._stable_order(a, dim), dim, -1)
        rising = self.picked(self.xp.moveaxis(a, dim, -1), order, -1)
        number = self.xp.arange(rising.shape[-1])
        starts = self.xp.ones(rising.shape, bool)
        starts[..., 1:] = rising[..., 1:] != rising[..., :-1]
        run = number - self.xp.maximum.accumulate(self.xp.where(starts, number, 0), axis=-1)
        last = self.xp.argmax(run, axis=-1, keepdims=True)
        positions = self.xp.moveaxis(self.picked(order, last, -1), -1, dim)
        return self._taken_at(a, positions, dim, keepdim)

    def kthvalue(self, a: Array, k: int, dim: int, keepdim: bool) -> Chosen:
        if a.ndim == 0:
            return self._taken_at(a, None, dim, keepdim)
        return self._taken_at(a, self._ranked(a, k - 1, dim, self._as_quickselect), dim, keepdim)

    def unique(self, a: Array, dim: Any) -> tuple[Any, Any, Any]:
        values, inverse, counts = self.xp.unique(
            ordered(a), return_inverse=True, return_counts=True, axis=dim, equal_nan=False
        )
        inverse = inverse.reshape(a.shape if dim is None else (-1,))
        return values.astype(a.dtype, copy=False), inverse.astype("int64"), counts.astype("int64")

    def cummax(self, a: Array, dim: int) -> Chosen:
        return self._running_extreme(self.xp.maximum, a, dim)

    def cummin(self, a: Array, dim: int) -> Chosen:
        return self._running_extreme(self.xp.minimum, a, dim)

    def _running_extreme(self, better: Any, a: Array, dim: int) -> Chosen:
        if a.ndim == 0 or a.size == 0:
            return a.copy()[()], self.xp.zeros(a.shape, "int64")[()]
        extreme = better.accumulate(a, axis=dim)
        number = self.xp.arange(a.shape[dim]).reshape([-1 if d == dim else 1 for d in range(a.ndim)])
        reached = (a == extreme) | (a != a)
        places = self.xp.maximum.accumulate(self.xp.where(reached, number, 0), axis=dim).astype("int64")
        return self.picked(a, places, dim), places
