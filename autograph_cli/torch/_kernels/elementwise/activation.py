"""Activations and their derivatives, each in few passes."""

from __future__ import annotations

from typing import Any

from ..._arrays import Array
from ..half_precision import NARROW, widened


class Activation:
    """Kernels of activations; `<name>_backward` is the gradient by the input."""

    xp: Any
    number: Any
    where: Any
    sigmoid: Any
    kept: Any
    held: Any
    _up_to: Any
    conj: Any
    between: Any
    at_most: Any
    log_of_one_more: Any
    expm1: Any

    def native_dropout(self, a: Array, kept: Array, scale: float) -> Any:
        return a * kept * self.number(scale, a), kept

    def native_dropout_backward(self, grad: Array, kept: Array, scale: float) -> Any:
        return grad * kept * self.number(scale, grad)

    @widened
    def silu(self, a: Array) -> Any:
        return a * self.sigmoid(a)

    @widened
    def silu_backward(self, grad: Array, a: Array) -> Any:
        s, one = self.sigmoid(a), self.number(1, a)
        slope = one - s
        slope *= a
        slope += one
        slope *= s
        return grad * self.conj(slope)

    def _tanh_softplus(self, a: Array) -> Any:
        return self.xp.tanh(self.xp.maximum(a, self.number(0, a)) + self.log_of_one_more(self.xp.exp(-self.xp.abs(a))))

    @widened
    def mish(self, a: Array) -> Any:
        share = self._tanh_softplus(a)
        share *= a
        return share

    @widened
    def mish_backward(self, grad: Array, a: Array) -> Any:
        t = self._tanh_softplus(a)
        return grad * (t + a * self.sigmoid(a) * (self.number(1, a) - t * t))

    @widened
    def elu(self, a: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
        low = self.expm1(self._times(self.at_most(a, self.number(0, a)), input_scale))
        return self.where(a <= 0, self._times(low, alpha * scale), self._times(a, scale))

    def _times(self, a: Array, factor: Any) -> Any:
        return a if factor == 1 else a * self.number(factor, a)

    @widened
    def elu_backward(self, grad: Array, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any) -> Any:
        """`x` is the input, or the result of an in-place call."""
        weight = self.number(alpha * scale, x)
        if is_result:
            low = (x + weight) * self.number(input_scale, x)
        else:
            low = self.xp.exp(self.xp.minimum(x, self.number(0, x)) * self.number(input_scale, x)) * (
                weight * self.number(input_scale, x)
            )
        return grad * self.where(x <= 0, low, self.number(scale, x))

    def celu(self, a: Array, alpha: Any = 1.0) -> Any:
        return self.elu(a, alpha, 1, 1 / alpha)

    def hardtanh(self, a: Array, low: Any = -1, high: Any = 1) -> Any:
        return self.between(a, self.held(low, a), self.held(high, a))

    def hardtanh_backward(self, grad: Array, a: Array, low: Any, high: Any) -> Any:
        return self.kept(grad, ~((a <= low) | (a >= high)))

    def hardsigmoid(self, a: Array) -> Any:
        moved = self.between(a + self.number(3, a), 0, 6)
        moved /= self.number(6, a)
        return moved

    def hardsigmoid_backward(self, grad: Array, a: Array) -> Any:
        return self.where((a > -3) & (a < 3), grad * self.number(1 / 6, a), self.number(0, grad))

    @widened
    def hardswish(self, a: Array) -> Any:
        share = self.hardsigmoid(a)
        share *= a
        return share

    def hardswish_backward(self, grad: Array, a: Array) -> Any:
        slope = a / self.number(3, a)
        slope += self.number(0.5, a)
        return self.kept(self.where(a < 3, slope * grad, grad), ~(a <= -3))

    def softshrink(self, a: Array, lambd: Any = 0.5) -> Any:
        edge = self.number(lambd, a)
        return self.where(a > edge, a - edge, self.where(a < -edge, a + edge, a * self.number(0, a)))

    def softshrink_backward(self, grad: Array, a: Array, lambd: Any) -> Any:
        return self.kept(grad, ~((a >= -lambd) & (a <= lambd)))

    def hardshrink(self, a: Array, lambd: Any = 0.5) -> Any:
        lambd = self.held(lambd, a)
        return self.kept(a, ~((a >= -lambd) & (a <= lambd)))

    hardshrink_backward = softshrink_backward

    def threshold(self, a: Array, threshold: Any, value: Any) -> Any:
        low = self.held(threshold, a)
        return self.where(self._up_to(a, threshold if a.dtype in NARROW else low), self.held(value, a), a)

    def _prelu_kernel(self, a: Array, weight: Array) -> Any:
        return self.where(a > 0, a, weight * a)

    def _prelu_kernel_backward(self, grad: Array, a: Array, weight: Array) -> Any:
        above = a > 0
        return self.where(above, grad, weight * grad), self.kept(a * grad, ~above)

    @widened
    def glu(self, a: Array, dim: int) -> Any:
        first, second = self._halves(a, dim)
        return first * self.sigmoid(second)

    def _halves(self, a: Array, dim: int) -> tuple[Any, Any]:
        middle, before = a.shape[dim] // 2, (slice(None),) * (dim % a.ndim)
        first, second = (*before, slice(None, middle)), (*before, slice(middle, None))
        return a[first], a[second]

    @widened
    def glu_backward(self, grad: Array, a: Array, dim: int) -> Any:
        first, second = self._halves(a, dim)
        s = self.sigmoid(second)
        scaled = grad * s
        return self.xp.concatenate([scaled, scaled * (self.number(1, s) - s) * first], dim)

    @widened
    def log_sigmoid_forward(self, a: Array) -> Any:
        """The logarithm of the sigmoid, and exp(-|x|) for the way back."""
        power = self.xp.exp(-self.xp.abs(a))
        return self.xp.minimum(a, self.number(0, a)) - self.log_of_one_more(power), power

    @widened
    def log_sigmoid_backward(self, grad: Array, a: Array, power: Any) -> Any:
        one = self.number(1, a)
        share = power / (one + power)
        return grad * self.where(a < 0, one - share, share)

    def rrelu_with_noise(self, a: Array, noise: Any, lower: Any, upper: Any, training: bool) -> Any:
        return a * noise if training else self.where(a > 0, a, a * self.number((lower + upper) / 2, a))

    def rrelu_with_noise_backward(
        self, grad: Array, a: Array, noise: Any, lower: Any, upper: Any, training: bool
    ) -> Any:
        if training:
            return grad * noise
        return self.where(a > 0, grad, grad * self.number((lower + upper) / 2, grad))
