"""Softmax and its relatives."""

from __future__ import annotations

from typing import Any

from ..._arrays import Array
from ..half_precision import widened


class Softmax:
    """Functions that layers end with."""

    xp: Any
    held: Any
    number: Any
    where: Any
    row_sums: Any
    row_maxima: Any
    log_of_one_more: Any

    @widened
    def softmax(self, a: Array, dim: int) -> Any:
        if a.ndim == 0:
            return self.xp.ones_like(a)[()]
        if a.size == 0:
            return a
        power = a - self._maximum(a, dim)
        self.xp.exp(power, out=power)
        power /= self._total(power, dim)
        return power

    def _maximum(self, a: Array, dim: int) -> Any:
        if dim == a.ndim - 1 or dim == -1:
            return self.row_maxima(a)
        return self.xp.maximum.reduce(a, axis=dim, keepdims=True)

    def _total(self, a: Array, dim: int) -> Any:
        if dim == a.ndim - 1 or dim == -1:
            return self.row_sums(a)
        return self.xp.add.reduce(a, axis=dim, keepdims=True)

    @widened
    def softmax_backward(self, grad: Array, output: Any, dim: int) -> Any:
        if grad.ndim == 0:
            return grad - grad
        weighted = grad * output
        weighted -= output * self._total(weighted, dim)
        return weighted

    @widened
    def log_softmax(self, a: Array, dim: int) -> Any:
        if a.ndim == 0:
            return a - a
        if a.size == 0:
            return a
        centered = a - self._maximum(a, dim)
        centered -= self.xp.log(self._total(self.xp.exp(centered), dim))
        return centered

    @widened
    def log_softmax_backward(self, grad: Array, output: Any, dim: int) -> Any:
        if grad.ndim == 0:
            return grad - grad
        power = self.xp.exp(output)
        power *= self._total(grad, dim)
        return self.xp.subtract(grad, power, out=power)

    @widened
    def softplus(self, a: Array, beta: Any = 1, threshold: Any = 20) -> Any:
        scaled = a if beta == 1 else a * self.number(beta, a)
        low = self.log_of_one_more(self.xp.exp(scaled))
        return self.where(scaled > self.held(threshold, a), a, low if beta == 1 else low / self.number(beta, a))

    @widened
    def softplus_backward(self, grad: Array, a: Array, beta: Any, threshold: Any) -> Any:
        power = self.xp.exp(a * self.number(beta, a))
        return self.where(a * self.number(beta, a) > threshold, grad, grad * power / (power + self.number(1, a)))

    @widened
    def leaky_relu(self, a: Array, negative_slope: Any = 0.01) -> Any:
        low = a * self.number(negative_slope, a)
        return self.xp.maximum(a, low) if 0 <= negative_slope <= 1 else self.where(a > 0, a, low)

    @widened
    def leaky_relu_backward(self, grad: Array, a: Array, negative_slope: Any) -> Any:
        return self.where(a > 0, grad, grad * self.number(negative_slope, grad))
