"""RMSprop."""

from __future__ import annotations

from typing import Any

from ._checks import check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class RMSprop(Elementwise):
    """The gradient divided by its running root mean square; `centered`: by its running deviation.

    ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        names = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        super().__init__(params, options(locals(), names))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return tuple(names)

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        return (
            -number(group["lr"], group),
            group["alpha"],
            group["eps"],
            group["weight_decay"],
            group["momentum"],
            group["centered"],
        )

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        lr, alpha, eps, decay, momentum, centered = numbers
        if decay != 0:
            grad = f.add(grad, p, decay)
        square = state[0]
        f.addcmul_(f.scale_(square, alpha), grad, grad, 1 - alpha)
        if centered:
            mean = f.lerp_(state[-1], grad, 1 - alpha)
            size = f.sqrt_(f.addcmul(square, mean, mean, -1))
        else:
            size = f.sqrt(square)
        size = f.shift_(size, eps)
        if momentum > 0:
            f.add_(p, f.addcdiv_(f.scale_(state[1], momentum), grad, size, 1), lr)
        else:
            f.addcdiv_(p, grad, size, lr)
