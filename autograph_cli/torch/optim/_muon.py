"""Muon: steps along the nearest orthogonal matrix to the momentum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor, make
from .._kernels.inplace import orthogonalize
from ._checks import options
from ._elementwise import number
from .optimizer import Optimizer, evaluate, without_grad

_RATES = ("original", "match_rms_adamw")


class Muon(Optimizer):
    """Momentum made orthogonal by `ns_steps` Newton-Schulz steps in bfloat16; for the matrices of hidden layers.

    ValueError for options out of range and for parameters that are not 2-d.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Any = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for label, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{label} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        names = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        super().__init__(params, options(locals(), names))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    @without_grad
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient; returns the closure's loss."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, p.grad, group)
        return loss

    def _update(self, p: Any, grad: Any, group: dict[str, Any]) -> None:
        if p.dtype.is_complex:
            raise RuntimeError("Muon does not support complex parameters")
        if grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        state, lr = self.state[p], number(group["lr"], group)
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = functions["zeros_like"](grad)
        buffer = state["momentum_buffer"]
        buffer.lerp_(grad, 1 - group["momentum"])
        change = grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
        change = make(orthogonalize(change._ag_raw, group["ns_coefficients"], group["ns_steps"], group["eps"]))
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(change, alpha=-float(lr * _factor(group["adjust_lr_fn"], *p.shape)))


def _factor(rule: str | None, rows: int, columns: int) -> float:
    """Return how much larger the step of a matrix of this shape is."""
    if rule == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
