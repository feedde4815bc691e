"""Adamax: Adam by the largest gradient."""

from __future__ import annotations

from typing import Any

from ._checks import check_betas, check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class Adamax(Elementwise):
    """Adam with the (decaying) largest gradient instead of the mean square. ValueError for options out of
    range."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(eps=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay)
        names = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), names))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return (
            group["weight_decay"],
            1 - beta1,
            beta2,
            group["eps"],
            -(number(group["lr"], group) / (1 - beta1**step)),
        )

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        decay, rest1, beta2, eps, step_size = numbers
        if decay != 0:
            grad = f.add(grad, p, decay)
        mean, largest = state
        f.lerp_(mean, grad, rest1)
        f.maximum_(f.scale_(largest, beta2), f.shift_(f.abs(grad), eps))
        f.addcdiv_(p, mean, largest, step_size)
