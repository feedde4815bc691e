"""The arithmetic of rules on tensors, for steps that are to be differentiated (`differentiable=True`)."""

from __future__ import annotations

from typing import Any

from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor


class Recorded:
    """`Updates` on tensors instead of arrays; values that a node saves are copied first, for later steps change
    them."""

    def add(self, a: Any, b: Any, alpha: Any = 1) -> Any:
        return a.clone() + b.clone() * alpha

    def mul(self, a: Any, b: Any) -> Any:
        return a.clone() * b.clone()

    def scale(self, a: Any, number: Any) -> Any:
        return a.clone() * number

    def addcmul(self, a: Any, b: Any, c: Any, value: Any) -> Any:
        return a + b.clone() * c.clone() * value

    def neg(self, a: Any) -> Any:
        return -a

    def abs(self, a: Any) -> Any:
        return a.clone().abs()

    def sqrt(self, a: Any) -> Any:
        return a.sqrt()

    def sign(self, a: Any) -> Any:
        return a.sign()

    def by_sign(self, sign: Any, above: Any, zero: Any, below: Any) -> Any:
        where, kept = functions["where"], sign.detach()
        return where(kept > 0, above, where(kept < 0, below, where(kept == 0, zero, kept)))

    def add_(self, a: Any, b: Any, alpha: Any = 1) -> Any:
        return a.add_(b.clone() * alpha) if isinstance(alpha, Tensor) else a.add_(b, alpha=alpha)

    def shift_(self, a: Any, number: Any) -> Any:
        return a + number

    def mul_(self, a: Any, b: Any) -> Any:
        return a.mul_(b.clone())

    def scale_(self, a: Any, number: Any) -> Any:
        return a.mul_(number)

    def div_(self, a: Any, b: Any) -> Any:
        return a / b

    def shrink_(self, a: Any, number: Any) -> Any:
        return a / number

    def addcmul_(self, a: Any, b: Any, c: Any, value: Any) -> Any:
        return a.add_(b.clone() * value * c.clone())

    def addcdiv_(self, a: Any, b: Any, c: Any, value: Any) -> Any:
        return a.add_(b.clone() * value / c.clone())

    def lerp_(self, a: Any, b: Any, weight: Any) -> Any:
        return a.add_((b - a) * weight)

    def sqrt_(self, a: Any) -> Any:
        return a.sqrt()

    def maximum_(self, a: Any, b: Any) -> Any:
        return a.copy_(functions["maximum"](a.clone(), b))

    def clamp_(self, a: Any, low: Any, high: Any) -> Any:
        return a.clamp_(low, high)

    def detached(self, a: Any) -> Any:
        return a.detach()

    def copy_(self, a: Any, b: Any) -> Any:
        return a.copy_(b)


recorded = Recorded()
