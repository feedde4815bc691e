"""The cross entropy of a linear layer, some rows at a time: the scores of all rows never stand in memory at once."""

from __future__ import annotations

from typing import Any

from ..._arrays import Array

MEAN, SUM = 1, 2


class Chunked:
    """Kernels over rows (N, in), a weight (C, in), class indices (N), and perhaps a bias and weights of the classes."""

    xp: Any
    number: Any
    _class_weights: Any

    def _rows(self, tensors: Any, has_bias: bool, has_weight: bool, ignore_index: int) -> Any:
        a, weight, target, *rest = tensors
        scale = rest[-1] if has_weight else None
        positions, each = self._class_weights(
            self.xp.broadcast_to(weight[:, 0], (len(a), len(weight))), target, scale, ignore_index
        )
        each = self.xp.ones(len(a), a.dtype) if each is None else each
        return a, weight, rest[0] if has_bias else None, positions, each

    def _chunk(self, rows: Any, weight: Array, bias: Array, positions: Any) -> tuple[Any, Any]:
        """Minus the logarithm of each target's probability, and the gradient of it by the scores."""
        scores = rows @ weight.T
        scores = scores if bias is None else scores + bias
        scores -= scores.max(1, keepdims=True)
        power = self.xp.exp(scores)
        total = power.sum(1, keepdims=True)
        lines = self.xp.arange(len(rows))
        losses = self.xp.log(total[:, 0]) - scores[lines, positions]
        power /= total
        power[lines, positions] -= self.number(1, power)
        return losses, power

    def linear_cross_entropy_chunked(
        self, tensors: Any, has_bias: bool, has_weight: bool, reduction: int, ignore_index: int, chunk: int
    ) -> Any:
        """The loss, and the gradients of rows, weight and bias, which a loss of one number determines at once."""
        a, weight, bias, positions, each = self._rows(tensors, has_bias, has_weight, ignore_index)
        share = each / each.sum() if reduction == MEAN else each
        losses, by_rows, by_weight, by_bias = self._all_chunks(
            a, weight, bias, positions, share if reduction else None, chunk
        )
        losses = self.xp.where(each == 0, self.number(0, a), losses * (share if reduction else each))
        return losses.sum() if reduction else losses, by_rows, by_weight, by_bias

    def linear_cross_entropy_chunked_backward(
        self, grad: Array, tensors: Any, has_bias: bool, has_weight: bool, ignore_index: int, chunk: int
    ) -> Any:
        """The gradients of rows, weight and bias from those of the losses of all rows."""
        a, weight, bias, positions, each = self._rows(tensors, has_bias, has_weight, ignore_index)
        return self._all_chunks(a, weight, bias, positions, grad * each, chunk)[1:]

    def _all_chunks(self, a: Array, weight: Array, bias: Array, positions: Any, share: Any, chunk: int) -> Any:
        """Losses and, where the share of each row is given, gradients."""
        losses, by_rows = self.xp.zeros(len(a), a.dtype), self.xp.zeros_like(a)
        by_weight, by_bias = self.xp.zeros_like(weight), self.xp.zeros(len(weight), weight.dtype)
        for start in range(0, len(a), chunk):
            rows = slice(start, start + chunk)
            losses[rows], slope = self._chunk(a[rows], weight, bias, positions[rows])
            if share is not None:
                slope *= share[rows, None]
                by_rows[rows] = slope @ weight
                by_weight += slope.T @ a[rows]
                by_bias += slope.sum(0)
        return losses, by_rows, by_weight, by_bias
