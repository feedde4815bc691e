"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

from ._checks import check_betas, check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class NAdam(Elementwise):
    """Adam whose step looks ahead along the momentum; `momentum_decay` says how the momentum grows.

    ValueError for options out of range.
    """

    scalars = {"mu_product": 1.0}
    capturable_text = "params, mu_products and state_steps"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_nonnegative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        names = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
        )
        super().__init__(params, options(locals(), names))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def writes(self, group: dict[str, Any]) -> int:
        return 3 if group["decoupled_weight_decay"] and group["weight_decay"] else 2

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        lr, (beta1, beta2), decay = number(group["lr"], group), group["betas"], group["momentum_decay"]
        mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (at * decay)) for at in (step, step + 1))
        product = state["mu_product"]
        product._ag_raw = product._ag_raw.dtype.type(product._ag_raw * mu)
        so_far = float(product._ag_raw)
        shrink = 1 - lr * group["weight_decay"] if group["decoupled_weight_decay"] else None
        return (
            group["weight_decay"],
            shrink,
            1 - beta1,
            beta2,
            1 - beta2,
            1 - beta2**step,
            group["eps"],
            -lr * (1 - mu) / (1 - so_far),
            -lr * mu_next / (1 - so_far * mu_next),
        )

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        decay, shrink, rest1, beta2, rest2, correction, eps, by_grad, by_mean = numbers
        if decay != 0:
            if shrink is None:
                grad = f.add(grad, p, decay)
            else:
                f.scale_(p, shrink)
        mean, square = state
        f.lerp_(mean, grad, rest1)
        f.addcmul_(f.scale_(square, beta2), grad, grad, rest2)
        root = f.shift_(f.sqrt_(f.shrink_(f.scale(square, 1), correction)), eps)
        f.addcdiv_(p, grad, root, by_grad)
        f.addcdiv_(p, mean, root, by_mean)
