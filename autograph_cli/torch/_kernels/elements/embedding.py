"""Rows of a table: lookups, bags of rows, and the gradients of the table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._arrays.meta import readable
from ..._arrays.sparse import Coo
from ..._core.base.errors import refused
from .indexing import all_below

SUM, MEAN, MAX = 0, 1, 2


class Embedding:
    """Kernels of lookups."""

    xp: Any
    number: Any
    where: Any
    added_at: Any

    def rows_added(self, rows: Any, positions: Any, count: int) -> Any:
        """A table of `count` rows, each the sum of the rows that belong to its position."""
        out = self.xp.zeros((count, *rows.shape[1:]), rows.dtype)
        if positions.size == 0:
            return out
        self.added_at(out, (positions,), rows)
        return out

    def _per_frequency(self, rows: Any, positions: Any, count: int) -> Any:
        return rows / self.xp.bincount(positions, minlength=count)[positions][:, None].astype(rows.dtype)

    def embedding(self, weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
        self.check_rows(indices, weight.shape[0])
        rows = weight.__class__ is np.ndarray and weight.flags.c_contiguous
        return weight.take(indices, 0) if rows else weight[indices]

    def check_rows(self, indices: Array, n: int) -> None:
        """IndexError for a row that is not there."""
        if indices.__class__ is np.ndarray and indices.size and all_below(indices, n):
            return
        if readable(indices) and (indices.min() < 0 or indices.max() >= n):
            raise refused(IndexError, "index out of range in self")

    def embedding_dense_backward(
        self, grad: Array, indices: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Any:
        positions = indices.reshape(-1)
        rows = grad.reshape(positions.size, grad.shape[-1])
        if padding_idx >= 0:
            rows, positions = rows[positions != padding_idx], positions[positions != padding_idx]
        if scale_grad_by_freq:
            rows = self._per_frequency(rows, positions, count)
        return self.rows_added(rows, positions, count)

    def embedding_sparse_backward(
        self, grad: Array, indices: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Any:
        if scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        positions = indices.reshape(-1)
        rows = grad.reshape(positions.size, grad.shape[-1])
        if padding_idx >= 0:
            rows, positions = rows[positions != padding_idx], positions[positions != padding_idx]
        return Coo(positions.astype("int64")[None], rows, (count, rows.shape[-1]))

    def _bag(
        self,
        weight: Array,
        indices: Array,
        offsets: Any,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample: Any,
        include_last_offset: bool,
        padding_idx: int,
    ) -> Any:
        """The bags, the bag of each index, the sizes of the bags without padding, and for 'max' where each maximum is
        from."""
        plain = indices.__class__ is np.ndarray and indices.size and all_below(indices, weight.shape[0])
        if not plain and readable(indices) and (indices.min() < 0 or indices.max() >= weight.shape[0]):
            raise RuntimeError(
                f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                f"{indices.min() if indices.min() < 0 else indices.max()}"
            )
        bags = offsets.size - (1 if include_last_offset else 0)
        bag_of = self._owners(offsets[:bags], indices.size)
        places, owner, factors = indices, bag_of, per_sample
        if padding_idx >= 0:
            kept = indices != padding_idx
            places, owner = indices[kept], bag_of[kept]
            factors = None if per_sample is None else per_sample[kept]
        sizes = self.xp.bincount(owner, minlength=bags)
        if mode == MAX:
            out, positions = self._largest(weight, owner, places, factors, bags)
            return out, bag_of, sizes, positions
        out = self._bags(weight, owner, places, factors, bags)
        if mode == MEAN:
            out = out / self.xp.maximum(sizes, 1)[:, None].astype(out.dtype)
        sizes = sizes if mode == MEAN else self.xp.zeros_like(sizes)
        return out, bag_of, sizes, sizes

    def _owners(self, offsets: Any, count: int) -> Any:
        """The bag of each of `count` indices, of bags that begin at these places."""
        if offsets.__class__ is np.ndarray and offsets.size and not offsets[0]:
            sizes = np.diff(offsets, append=count)
            if not (sizes < 0).any():
                return np.repeat(np.arange(sizes.size), sizes)
        return self.xp.searchsorted(offsets, self.xp.arange(count), side="right") - 1

    def _weighted(self, weight: Array, places: Array, factors: Any) -> Any:
        rows = weight[places]
        return rows if factors is None else rows * factors[:, None]

    def _bags(self, weight: Array, owner: Any, places: Array, factors: Any, bags: int) -> Any:
        """The sums of the rows at some places that belong together."""
        return self.rows_added(self._weighted(weight, places, factors), owner, bags)

    def _largest(self, weight: Array, owner: Any, places: Array, factors: Any, bags: int) -> Any:
        """The largest of these rows, number by number, and where each is from."""
        rows = self._weighted(weight, places, factors)
        out = self.xp.zeros((bags, rows.shape[1]), rows.dtype)
        positions = self.xp.zeros((bags, rows.shape[1]), "int64")
        if owner.size:
            starts = self.xp.flatnonzero(self.xp.concatenate([self.xp.ones(1, bool), owner[1:] != owner[:-1]]))
            heads, numbers = rows[starts], self.where(rows == rows, rows, self.number(-math.inf, rows))
            out[owner[starts]] = self.xp.maximum.reduceat(numbers, starts, axis=0)
            line = self.xp.arange(owner.size)[:, None]
            first = self.xp.where(numbers == out[owner], line, owner.size)
            # Nothing is larger than nan that comes first, and nan no larger than anything.
            chosen = self.xp.where(heads == heads, self.xp.minimum.reduceat(first, starts, axis=0), starts[:, None])
            out[owner[starts]] = self.xp.take_along_axis(rows, chosen, 0)
            positions[owner[starts]] = places[chosen]
        return out, positions

    def _embedding_bag(self, *args: Any) -> Any:
        return self._bag(*args)

    def _embedding_bag_backward(
        self,
        grad: Array,
        indices: Array,
        bag_of: Any,
        sizes: Any,
        positions: Any,
        count: int,
        scale_grad_by_freq: bool,
        mode: int,
        per_sample: Any,
        padding_idx: int,
    ) -> Any:
        if mode == MAX:
            out = self.xp.zeros((count, grad.shape[1]), grad.dtype)
            inside = self.xp.broadcast_to(sizes[:, None] > 0, positions.shape)
            columns = self.xp.broadcast_to(self.xp.arange(grad.shape[1]), positions.shape)
            self.xp.add.at(out, (positions[inside], columns[inside]), grad[inside])
            return out
        kept = indices != padding_idx if padding_idx >= 0 else self.xp.ones(indices.shape, bool)
        rows, owner = grad[bag_of[kept]], bag_of[kept]
        if mode == MEAN:
            rows = rows / sizes[owner][:, None].astype(grad.dtype)
        if per_sample is not None:
            rows = rows * per_sample[kept][:, None]
        if scale_grad_by_freq:
            rows = self._per_frequency(rows, indices[kept], count)
        return self.rows_added(rows, indices[kept], count)

    def _embedding_bag_per_sample(
        self, grad: Array, weight: Array, indices: Array, bag_of: Any, padding_idx: int
    ) -> Any:
        found = self.xp.add.reduce(grad[bag_of] * weight[indices], axis=1)
        return found if padding_idx < 0 else self.xp.where(indices == padding_idx, self.number(0, grad), found)

    def one_hot(self, a: Array, classes: int) -> Any:
        rows, flat = self.xp.zeros((a.size, classes), "int64"), a.reshape(-1)
        lines = self.xp.flatnonzero((flat >= 0) & (flat < classes))
        rows[lines, flat[lines]] = 1
        return rows.reshape(*a.shape, classes)
