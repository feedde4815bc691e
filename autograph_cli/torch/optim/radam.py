"""RAdam: Adam that waits until the variance of its own step is known."""

from __future__ import annotations

from typing import Any

from ._checks import check_betas, check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class RAdam(Elementwise):
    """Rectified Adam: plain momentum for the first steps, then Adam with a factor for the variance of the step.

    ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(eps=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay)
        names = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
        super().__init__(params, options(locals(), names))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def writes(self, group: dict[str, Any]) -> int:
        return 2 if group["decoupled_weight_decay"] and group["weight_decay"] else 1

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        left = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / left
        rectified = None
        if length > 5:
            rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
        shrink = 1 - lr * group["weight_decay"] if group["decoupled_weight_decay"] else None
        return (
            group["weight_decay"],
            shrink,
            1 - beta1,
            beta2,
            1 - beta2,
            group["eps"],
            1 - beta1**step,
            lr,
            rectified,
            left**0.5,
        )

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        decay, shrink, rest1, beta2, rest2, eps, correction, lr, rectified, root_left = numbers
        if decay != 0:
            if shrink is None:
                grad = f.add(grad, p, decay)
            else:
                f.scale_(p, shrink)
        mean, square = state
        f.lerp_(mean, grad, rest1)
        f.addcmul_(f.scale_(square, beta2), grad, grad, rest2)
        change = f.scale_(f.shrink_(f.scale(mean, 1), correction), lr)
        if rectified is not None:
            change = f.scale_(f.div_(f.scale_(change, root_left), f.shift_(f.sqrt(square), eps)), rectified)
        f.add_(p, change, -1)
