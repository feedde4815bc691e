"""Attention: softmax of products of queries and keys, times values."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..half_precision import NARROW, widened


@functools.lru_cache(maxsize=64)
def _way(shapes: tuple[Any, ...], axes: tuple[tuple[int, ...], ...], kept: tuple[int, ...]) -> Any:
    """Return how three arrays are multiplied, two at a time: which two come first, and for both products how the
    factors and the result are turned and shaped; None where one has a dimension for itself that is summed, or is
    repeated."""
    sizes = {d: n for shape, each in zip(shapes, axes, strict=True) for d, n in zip(each, shape, strict=True)}
    shared = all(d in kept or sum(d in each for each in axes) > 1 for d in sizes)
    if not shared or any(tuple(sizes[d] for d in each) != shape for shape, each in zip(shapes, axes, strict=True)):
        return None
    given = [x for shape, each in zip(shapes, axes, strict=True) for x in (np.broadcast_to(0.0, shape), each)]
    first = np.einsum_path(*given, kept, optimize=True)[0][1]
    i, j = first if len(first) == 2 else (0, 1)
    k = 3 - i - j
    one, between = _product(axes[i], axes[j], {*axes[k], *kept}, sizes)
    two, end = _product(between, axes[k], {*kept}, sizes)
    return (i, j, k), one, two, None if end == kept else tuple(map(end.index, kept))


def _product(a: tuple[int, ...], b: tuple[int, ...], wanted: set[int], sizes: dict[int, int]) -> Any:
    """A sum of products of arrays with these dimensions as one of matrices, and the dimensions that it has."""
    batch = [d for d in a if d in b and d in wanted]
    summed = [d for d in a if d in b and d not in wanted]
    left, right = [d for d in a if d not in b], [d for d in b if d not in a]
    turns = (tuple(map(a.index, (*batch, *left, *summed))), tuple(map(b.index, (*batch, *summed, *right))))
    lead = tuple(sizes[d] for d in batch)
    rows, inner, columns = (math.prod([sizes[d] for d in each]) for each in (left, summed, right))
    shapes = (*lead, rows, inner), (*lead, inner, columns)
    end = (*batch, *left, *right)
    return (*turns, *shapes, tuple(sizes[d] for d in end)), end


class Attention:
    """Kernels over (..., positions, features)."""

    xp: Any
    number: Any
    below: Any
    where: Any
    softmax: Any
    row_maxima: Any
    row_sums: Any
    row_products: Any

    @widened
    def _safe_softmax(self, a: Array, dim: int) -> Any:
        """`softmax`, and zeros where everything is minus infinity."""
        if a.ndim == 0 or a.size == 0:
            return self.softmax(a, dim)
        top = self.xp.max(a, axis=dim, keepdims=True)
        power = self.xp.exp(a - self.where(self.xp.isneginf(top), self.number(0, a), top))
        total = self.xp.add.reduce(power, axis=dim, keepdims=True)
        return power / self.where(total == 0, self.number(1, a), total)

    def _attention_scores(self, q: Any, k: Any, causal: bool, mask: Array, scale: float | None) -> tuple[Any, Any]:
        factor = self.number(1 / math.sqrt(q.shape[-1]) if scale is None else scale, q)
        scores = self.xp.matmul(q, k.swapaxes(-1, -2))
        scores *= factor
        if mask is not None:
            scores = scores + mask
        if causal:
            self.xp.copyto(scores, -math.inf, where=~self.below((q.shape[-2], k.shape[-2]), 0))
        return scores, factor

    @widened
    def _scaled_dot_product_flash_attention_for_cpu(
        self, q: Any, k: Any, v: Any, causal: bool, mask: Array, scale: Any
    ) -> Any:
        """The result, and the logarithms of the sums of the exponentials."""
        return self._attended(q, self._for_each_head(q, k), self._for_each_head(q, v), causal, mask, scale)

    def _attended(self, q: Any, k: Any, v: Any, causal: bool, mask: Array, scale: Any) -> Any:
        """The same, of as many keys and values as queries."""
        scores, _ = self._attention_scores(q, k, causal, mask, scale)
        top = self.row_maxima(scores)
        self.xp.copyto(top, 0, where=top == -math.inf)
        power, total = self._shares(scores, top)
        top += self.xp.log(total)
        out = self.xp.matmul(power, v)
        if not q.flags.c_contiguous:  # Laid out as the queries are, as PyTorch's kernel leaves it.
            out, found = self.xp.empty_like(q), out
            out[...] = found
        return out, top[..., 0]

    def _for_each_head(self, q: Any, a: Any) -> Any:
        """Keys or values of each head of the queries, several of which may have them in common."""
        return a if a.shape[1] == q.shape[1] else self.xp.repeat(a, q.shape[1] // a.shape[1], 1)

    def _of_common(self, by_head: Any, a: Any) -> Any:
        """The gradient by keys or values, summed over the heads that have them in common."""
        if by_head.shape != a.shape:
            by_head = by_head.reshape(*a.shape[:2], -1, *a.shape[2:]).sum(2)
        return self._positions_first(by_head)

    def _shares(self, scores: Any, top: Any) -> tuple[Any, Any]:
        """The softmax of scores, in their memory, and the sums of the exponentials."""
        scores -= top
        power = self.xp.exp(scores, out=scores)
        total = self.row_sums(power)
        power /= self.where(total == 0, self.number(1, scores), total)
        return power, total

    def _by_score(self, by_share: Any, shares: Any, along: Any) -> Any:
        """The gradient by scores from that by their softmax, in its memory."""
        by_share -= along
        by_share *= shares
        return by_share

    def _positions_first(self, a: Array) -> Any:
        """The same array with positions before heads in memory."""
        return self.xp.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)

    @widened
    def _scaled_dot_product_flash_attention_for_cpu_backward(
        self, grad: Array, q: Any, k: Any, v: Any, output: Any, log_sum: Any, causal: bool, mask: Array, scale: Any
    ) -> Any:
        key, value = self._for_each_head(q, k), self._for_each_head(q, v)
        scores, factor = self._attention_scores(q, key, causal, mask, scale)
        scores -= self.where(log_sum == -math.inf, self.number(0, q), log_sum)[..., None]
        weights = self.xp.exp(scores, out=scores)
        by_score = self.xp.matmul(grad, value.swapaxes(-1, -2))
        by_score = self._by_score(by_score, weights, self.row_products(grad, output))
        by_score *= factor
        return (
            self._positions_first(self.xp.matmul(by_score, key)),
            self._of_common(self.xp.matmul(by_score.swapaxes(-1, -2), q), k),
            self._of_common(self.xp.matmul(weights.swapaxes(-1, -2), grad), v),
        )

    def _trilinear(self, a: Array, b: Array, c: Any, expand1: Any, expand2: Any, expand3: Any, summed: Any) -> Any:
        """The product of three tensors, each with dimensions left out, summed over some."""
        ndim, kind = a.ndim + len(expand1), a.dtype
        axes = tuple([tuple([d for d in range(ndim) if d not in left]) for left in (expand1, expand2, expand3)])
        kept = tuple([d for d in range(ndim) if d not in summed and (d in axes[0] or d in axes[1] or d in axes[2])])
        factors = [x.astype(self.xp.float32) if kind in NARROW else x for x in (a, b, c)]
        way = _way((a.shape, b.shape, c.shape), axes, kept)
        if way is None:
            given = [x for pair in zip(factors, axes, strict=True) for x in pair]
            return self.xp.einsum(*given, kept).astype(kind, copy=False)
        (i, j, k), one, two, turn = way
        found = self._multiplied(self._multiplied(factors[i], factors[j], *one), factors[k], *two)
        found = found if turn is None else found.transpose(turn).copy()
        return found.astype(kind, copy=False)

    def _multiplied(self, a: Array, b: Array, turn: Any, turn_b: Any, shape: Any, shape_b: Any, end: Any) -> Any:
        return self.xp.matmul(a.transpose(turn).reshape(shape), b.transpose(turn_b).reshape(shape_b)).reshape(end)
