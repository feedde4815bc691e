"""Softmax and its relatives."""

from __future__ import annotations

from typing import Any

from .._arrays import Array
from .._compiled import compiled
from .half_precision import widened

_fast: Any = compiled("_kernels.fast_rows")
_passes: Any = compiled("_kernels.fast_pointwise")
_special: Any = compiled("_kernels.fast_special")


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
        found = _fast.softmax(a, dim) if _fast else None
        if found is not None:
            return found
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
        found = _fast.softmax_backward(grad, output, dim) if _fast else None
        if found is not None:
            return found
        weighted = grad * output
        weighted -= output * self._total(weighted, dim)
        return weighted

    @widened
    def log_softmax(self, a: Array, dim: int) -> Any:
        if a.ndim == 0:
            return a - a
        if a.size == 0:
            return a
        found = _fast.log_softmax(a, dim) if _fast else None
        if found is not None:
            return found
        centered = a - self._maximum(a, dim)
        centered -= self.xp.log(self._total(self.xp.exp(centered), dim))
        return centered

    @widened
    def log_softmax_backward(self, grad: Array, output: Any, dim: int) -> Any:
        if grad.ndim == 0:
            return grad - grad
        found = _fast.log_softmax_backward(grad, output, dim) if _fast else None
        if found is not None:
            return found
        power = self.xp.exp(output)
        power *= self._total(grad, dim)
        return self.xp.subtract(grad, power, out=power)

    @widened
    def softplus(self, a: Array, beta: Any = 1, threshold: Any = 20) -> Any:
        if (
            _special
            and beta == 1
            and -65504 <= threshold <= 65504
            and (found := _special.softplus(a, threshold)) is not None
        ):
            return found
        if _passes and _passes.fits(a):
            scaled = self.xp.exp(a * self.number(beta, a))
            self.log_of_one_more(scaled, scaled)
            return _passes.softplus(a, scaled, p=beta, q=self.held(threshold, a), out=scaled)
        scaled = a if beta == 1 else a * self.number(beta, a)
        low = self.log_of_one_more(self.xp.exp(scaled))
        return self.where(scaled > self.held(threshold, a), a, low if beta == 1 else low / self.number(beta, a))

    @widened
    def softplus_backward(self, grad: Array, a: Array, beta: Any, threshold: Any) -> Any:
        power = self.xp.exp(a * self.number(beta, a))
        if _passes and -65504 <= threshold <= 65504 and _passes.fits(grad, a):
            return _passes.softplus_backward(grad, a, power, beta, threshold, power)
        return self.where(a * self.number(beta, a) > threshold, grad, grad * power / (power + self.number(1, a)))

    def leaky_relu(self, a: Array, negative_slope: Any = 0.01) -> Any:
        if _passes and 0 <= negative_slope <= 1 and _passes.fits(a):
            return _passes.leaky_relu(a, p=negative_slope)
        low = a * self.number(negative_slope, a)
        return self.xp.maximum(a, low) if 0 <= negative_slope <= 1 else self.where(a > 0, a, low)

    def leaky_relu_backward(self, grad: Array, a: Array, negative_slope: Any) -> Any:
        return self.where(a > 0, grad, grad * self.number(negative_slope, grad))
