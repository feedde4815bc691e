"""Attention: softmax of products of queries and keys, times values."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .._arrays import Array
from .._compiled import compiled
from .half_precision import widened

_fast: Any = compiled("_kernels.fast_rows")


@functools.lru_cache(maxsize=64)
def _way(shapes: tuple[Any, ...], axes: tuple[Any, ...], kept: tuple[int, ...]) -> Any:
    """In which order `einsum` multiplies arrays of these shapes, which it takes long to find."""
    given = [x for shape, each in zip(shapes, axes, strict=True) for x in (np.broadcast_to(0.0, shape), each)]
    return np.einsum_path(*given, kept, optimize=True)[0]


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
        found = _fast.attention(q, k, v, causal, mask, scale) if _fast else None
        if found is not None:
            return found
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
        scores, factor = self._attention_scores(q, k, causal, mask, scale)
        scores -= self.where(log_sum == -math.inf, self.number(0, q), log_sum)[..., None]
        weights = self.xp.exp(scores, out=scores)
        by_score = self.xp.matmul(grad, v.swapaxes(-1, -2))
        by_score = self._by_score(by_score, weights, self.row_products(grad, output))
        by_score *= factor
        return (
            self._positions_first(self.xp.matmul(by_score, k)),
            self._positions_first(self.xp.matmul(by_score.swapaxes(-1, -2), q)),
            self._positions_first(self.xp.matmul(weights.swapaxes(-1, -2), grad)),
        )

    def _trilinear(self, a: Array, b: Array, c: Any, expand1: Any, expand2: Any, expand3: Any, summed: Any) -> Any:
        """The product of three tensors, each with dimensions left out, summed over some."""
        ndim = a.ndim + len(expand1)
        axes = [[d for d in range(ndim) if d not in left] for left in (expand1, expand2, expand3)]
        lengths = {d: n for x, dims in zip((a, b, c), axes, strict=True) for d, n in zip(dims, x.shape, strict=True)}
        kept = [d for d in range(ndim) if d not in summed and d in lengths]
        kind = a.dtype
        if kind.kind == "V":  # bfloat16: NumPy has no products of it
            a, b, c = (x.astype(self.xp.float32) for x in (a, b, c))
        factors = (a, b, c)
        way = _way(tuple([x.shape for x in factors]), tuple(map(tuple, axes)), tuple(kept))
        given = [x for pair in zip(factors, axes, strict=True) for x in pair]
        return self.xp.einsum(*given, kept, optimize=list(way)).astype(kind, copy=False)
