"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ._checks import check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class ASGD(Elementwise):
    """Gradient descent with decay that also keeps the average of the parameters, in `state[p]["ax"]`.

    ValueError for options out of range.
    """

    capturable_text = "params, mus, etas, and state_steps"
    scalars = {"eta": 0.0, "mu": 1.0}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(weight_decay=weight_decay)
        names = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), names))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def writes(self, group: dict[str, Any]) -> int:
        return 2

    def start(self, p: Any, group: dict[str, Any], names: tuple[str, ...], state: dict[str, Any]) -> None:
        super().start(p, group, names, state)
        _keep(state["eta"], float(group["lr"]))

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        eta, mu = float(state["eta"]._ag_raw), float(state["mu"]._ag_raw)
        lr, lambd = number(group["lr"], group), group["lambd"]
        _keep(state["eta"], float(lr / ((1 + lambd * lr * step) ** group["alpha"])))
        _keep(state["mu"], 1 / max(1, step - group["t0"]))
        return group["weight_decay"], 1 - lambd * eta, -eta, mu

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        decay, shrink, step_size, mu = numbers
        if decay != 0:
            grad = f.add(grad, p, decay)
        f.add_(f.scale_(p, shrink), grad, step_size)
        mean = state[0]
        if mu != 1:
            f.add_(mean, f.scale_(f.add(p, mean, -1), mu))
        else:
            f.copy_(mean, p)


def _keep(scalar: Any, value: float) -> None:
    scalar._ag_raw = scalar._ag_raw.dtype.type(value)
