"""Adagrad: the more a parameter has moved, the less it moves."""

from __future__ import annotations

from typing import Any

from ._checks import check_fused, check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class Adagrad(Elementwise):
    """The gradient divided by the root of the sum of its squares so far. ValueError for options out of range."""

    sparse_text = None

    def take_rows(self, grad: Any, group: dict[str, Any]) -> Any:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        return grad.dense()

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_nonnegative(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps
        )
        names = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
        super().__init__(params, options(locals(), names))
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self.start(p, group, ("sum",), self.state[p])

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def fill(self, group: dict[str, Any], name: str, complex_param: bool = False) -> Any:
        value = group["initial_accumulator_value"]
        return complex(value, value) if complex_param else value

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        lr = number(group["lr"], group) / (1 + (step - 1) * group["lr_decay"])
        return -lr, group["eps"], group["weight_decay"]

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        lr, eps, decay = numbers
        if decay != 0:
            grad = f.add(grad, p, decay)
        f.addcmul_(state[0], grad, grad, 1)
        f.addcdiv_(p, grad, f.shift_(f.sqrt(state[0]), eps), lr)
