"""Activations and their derivatives, each in few passes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_STEP = 64
_REACH = 6
_ORDERS = {8: 6, 4: 3, 2: 2}
"""How many derivatives each element size needs for its last digit, 1/128 at most from a point of the table."""


def _erf_table(orders: int = _ORDERS[8]) -> Any:
    """Taylor coefficients of erf around multiples of 1/64: its derivatives are Hermite polynomials times exp(-x^2)."""
    centers = np.arange(-_REACH * _STEP, _REACH * _STEP + 1) / _STEP
    table = [np.array([math.erf(c) for c in centers])]
    scale = 2 / math.sqrt(math.pi) * np.exp(-centers * centers)
    before, hermite = np.zeros_like(centers), np.ones_like(centers)
    for n in range(orders):
        table.append(scale * hermite * (-1) ** n / math.factorial(n + 1))
        before, hermite = hermite, 2 * centers * hermite - 2 * n * before
    return np.stack(table)


_ERF = _erf_table()


class Activation:
    """Kernels of activations; `<name>_backward` is the gradient by the input."""

    xp: Any
    number: Any
    where: Any
    sigmoid: Any
    kept: Any

    def error_function(self, a: Any) -> Any:
        """erf, to the last digits of its dtype: the Taylor polynomial around the nearest point of a table."""
        kind, order = ("float64", _ORDERS[8]) if a.itemsize == 8 else ("float32", _ORDERS[a.itemsize])
        wide = self.xp.clip(a.astype(kind, copy=False), -_REACH, _REACH)
        place = self.xp.rint(wide * wide.dtype.type(_STEP))
        rest = wide - place * wide.dtype.type(1 / _STEP)
        index = self.xp.fmax(place, -_REACH * _STEP).astype("int32") + _REACH * _STEP
        table = self.xp.asarray(_ERF[: order + 1], kind)
        total = self.xp.take(table[order], index)
        for n in reversed(range(order)):
            total = total * rest
            total += self.xp.take(table[n], index)
        return self.xp.asarray(total).astype(a.dtype, copy=False)[()]

    def gelu(self, a: Any, approximate: str = "none") -> Any:
        half, one = self.number(0.5, a), self.number(1, a)
        if approximate == "tanh":
            return half * a * (one + self.xp.tanh(self._gelu_inner(a)))
        return half * a * (one + self.error_function(a * self.number(math.sqrt(0.5), a)))

    def _gelu_inner(self, a: Any) -> Any:
        return self.number(math.sqrt(2 / math.pi), a) * (a + self.number(0.044715, a) * a * a * a)

    def gelu_backward(self, grad: Any, a: Any, approximate: str = "none") -> Any:
        half, one = self.number(0.5, a), self.number(1, a)
        if approximate == "tanh":
            t = self.xp.tanh(self._gelu_inner(a))
            slope = self.number(math.sqrt(2 / math.pi), a) * (one + self.number(3 * 0.044715, a) * a * a)
            return grad * (half * (one + t) + half * a * (one - t * t) * slope)
        cdf = half * (one + self.error_function(a * self.number(math.sqrt(0.5), a)))
        density = self.xp.exp(-half * a * a) * self.number(1 / math.sqrt(2 * math.pi), a)
        return grad * (cdf + a * density)

    def silu(self, a: Any) -> Any:
        return a * self.sigmoid(a)

    def silu_backward(self, grad: Any, a: Any) -> Any:
        s, one = self.sigmoid(a), self.number(1, a)
        return grad * (s * (one + a * (one - s))).conj()

    def _tanh_softplus(self, a: Any) -> Any:
        return self.xp.tanh(self.xp.maximum(a, self.number(0, a)) + self.xp.log1p(self.xp.exp(-self.xp.abs(a))))

    def mish(self, a: Any) -> Any:
        return a * self._tanh_softplus(a)

    def mish_backward(self, grad: Any, a: Any) -> Any:
        t = self._tanh_softplus(a)
        return grad * (t + a * self.sigmoid(a) * (self.number(1, a) - t * t))

    def elu(self, a: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
        low = self.xp.expm1(self.xp.minimum(a, self.number(0, a)) * self.number(input_scale, a)) * self.number(alpha * scale, a)
        return self.where(a <= 0, low, a * self.number(scale, a))

    def elu_backward(self, grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any) -> Any:
        """`x` is the input, or the result of an in-place call."""
        weight = self.number(alpha * scale, x)
        if is_result:
            low = (x + weight) * self.number(input_scale, x)
        else:
            low = self.xp.exp(self.xp.minimum(x, self.number(0, x)) * self.number(input_scale, x)) * (
                weight * self.number(input_scale, x))  # fmt: skip
        return grad * self.where(x <= 0, low, self.number(scale, x))

    def celu(self, a: Any, alpha: Any = 1.0) -> Any:
        return self.elu(a, alpha, 1, 1 / alpha)

    def hardtanh(self, a: Any, low: Any = -1, high: Any = 1) -> Any:
        return self.xp.minimum(self.xp.maximum(a, self.number(low, a)), self.number(high, a))

    def hardtanh_backward(self, grad: Any, a: Any, low: Any, high: Any) -> Any:
        return self.kept(grad, ~((a <= low) | (a >= high)))

    def hardsigmoid(self, a: Any) -> Any:
        return self.hardtanh(a + self.number(3, a), 0, 6) / self.number(6, a)

    def hardsigmoid_backward(self, grad: Any, a: Any) -> Any:
        return self.where((a > -3) & (a < 3), grad * self.number(1 / 6, a), self.number(0, grad))

    def hardswish(self, a: Any) -> Any:
        return a * self.hardsigmoid(a)

    def hardswish_backward(self, grad: Any, a: Any) -> Any:
        middle = grad * (a / self.number(3, a) + self.number(0.5, a))
        return self.where(a <= -3, self.number(0, grad), self.where(a < 3, middle, grad))

    def softshrink(self, a: Any, lambd: Any = 0.5) -> Any:
        edge = self.number(lambd, a)
        return self.where(a > edge, a - edge, self.where(a < -edge, a + edge, a * self.number(0, a)))

    def softshrink_backward(self, grad: Any, a: Any, lambd: Any) -> Any:
        return self.kept(grad, ~((a >= -lambd) & (a <= lambd)))

    def hardshrink(self, a: Any, lambd: Any = 0.5) -> Any:
        return self.kept(a, ~((a >= -lambd) & (a <= lambd)))

    hardshrink_backward = softshrink_backward

    def threshold(self, a: Any, threshold: Any, value: Any) -> Any:
        return self.where(a <= threshold, self.number(value, a), a)

    def _prelu_kernel(self, a: Any, weight: Any) -> Any:
        return self.where(a > 0, a, weight * a)

    def _prelu_kernel_backward(self, grad: Any, a: Any, weight: Any) -> Any:
        zero = self.number(0, grad)
        return self.where(a > 0, grad, weight * grad), self.where(a > 0, zero, a * grad)

    def glu(self, a: Any, dim: int) -> Any:
        first, second = self.xp.split(a, 2, dim)
        return first * self.sigmoid(second)

    def glu_backward(self, grad: Any, a: Any, dim: int) -> Any:
        first, second = self.xp.split(a, 2, dim)
        s = self.sigmoid(second)
        scaled = grad * s
        return self.xp.concatenate([scaled, scaled * (self.number(1, s) - s) * first], dim)

    def log_sigmoid_forward(self, a: Any) -> Any:
        """The logarithm of the sigmoid, and exp(-|x|) for the way back."""
        power = self.xp.exp(-self.xp.abs(a))
        return self.xp.minimum(a, self.number(0, a)) - self.xp.log1p(power), power

    def log_sigmoid_backward(self, grad: Any, a: Any, power: Any) -> Any:
        one = self.number(1, a)
        share = power / (one + power)
        return grad * self.where(a < 0, one - share, share)

    def rrelu_with_noise(self, a: Any, noise: Any, lower: Any, upper: Any, training: bool) -> Any:
        return a * noise if training else self.where(a > 0, a, a * self.number((lower + upper) / 2, a))

    def rrelu_with_noise_backward(self, grad: Any, a: Any, noise: Any, lower: Any, upper: Any, training: bool) -> Any:
        if training and upper - lower > 1e-6:
            return grad * noise
        return self.where(a > 0, grad, grad * self.number((lower + upper) / 2, grad))
