"""Adam."""

from __future__ import annotations

from typing import Any

from .._core.tape.tensor import Tensor
from ._checks import check_betas, check_fused, check_nonnegative, options, refuse_tensor
from ._elementwise import Elementwise, number


class Adam(Elementwise):
    """Adaptive moments: p -= lr m / (sqrt(v) + eps), where m and v are corrected running means of g and g squared.

    `amsgrad` divides by the largest v so far; `decoupled_weight_decay` shrinks the parameter instead of changing g.
    ValueError for options out of range.

    >>> from autograph_cli import torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> w.grad = torch.tensor([2.0])
    >>> torch.optim.Adam([w], lr=0.1).step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    kernel = "adam"
    sparse_text = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_tensor("lr", lr, foreach, capturable)
        check_nonnegative(lr=lr, eps=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay)
        if not any(all(isinstance(b, kind) for b in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            refuse_tensor(f"betas[{i}]", beta, foreach, capturable)
        betas = tuple(betas)
        names = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
        )
        super().__init__(params, options(locals(), names))
        check_fused(fused, foreach, differentiable)

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def writes(self, group: dict[str, Any]) -> int:
        return 2 if group["decoupled_weight_decay"] and group["weight_decay"] else 1

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        lr = number(group["lr"], group)
        beta1, beta2 = (number(b, group) for b in group["betas"])
        decay = group["weight_decay"]
        shrink = 1 - lr * decay if group["decoupled_weight_decay"] else None
        return (
            decay,
            shrink,
            1 - (beta1 if isinstance(beta1, Tensor) else float(beta1)),
            beta2,
            1 - beta2,
            (1 - beta2**step) ** 0.5,
            group["eps"],
            -lr / (1 - beta1**step),
        )

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        decay, shrink, rest1, beta2, rest2, correction, eps, step_size = numbers
        if decay != 0:
            if shrink is None:
                grad = f.add(grad, p, decay)
            else:
                f.scale_(p, shrink)
        mean, square = state[0], state[1]
        f.lerp_(mean, grad, rest1)
        f.addcmul_(f.scale_(square, beta2), grad, grad, rest2)
        if len(state) == 3:
            square = f.maximum_(state[2], square)
        f.addcdiv_(p, mean, f.shift_(f.shrink_(f.sqrt(square), correction), eps), step_size)
