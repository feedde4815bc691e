"""Adadelta: steps in the unit of the parameter."""

from __future__ import annotations

from typing import Any

from ._checks import check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class Adadelta(Elementwise):
    """The gradient scaled by the ratio of the running sizes of steps and gradients. ValueError for options out of
    range."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_nonnegative(eps=eps, weight_decay=weight_decay)
        names = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, options(locals(), names))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        return -number(group["lr"], group), group["rho"], group["eps"], group["weight_decay"]

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        lr, rho, eps, decay = numbers
        if decay != 0:
            grad = f.add(grad, p, decay)
        square, changes = state
        f.addcmul_(f.scale_(square, rho), grad, grad, 1 - rho)
        size = f.sqrt_(f.shift_(f.scale(square, 1), eps))
        change = f.mul(f.div_(f.sqrt_(f.shift_(f.scale(changes, 1), eps)), size), grad)
        f.addcmul_(f.scale_(changes, rho), change, change, 1 - rho)
        f.add_(p, change, lr)
