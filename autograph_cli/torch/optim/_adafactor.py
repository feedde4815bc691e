"""Adafactor: the second moment of a matrix kept as one row and one column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor
from ._checks import options
from ._elementwise import count, number, start_counting
from .optimizer import Optimizer, evaluate, without_grad


class Adafactor(Optimizer):
    """Adaptive steps with little memory: squares of gradients are kept by their row and column means only.

    `eps` is (a floor for the second moment, None for the dtype's own; a floor for the parameter's size). ValueError for
    options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: Any = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for refused, text in (
            (not lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}"),
            (not beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is not None and not eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (not eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (not d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
            (not weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if refused:
                raise ValueError(text)
        super().__init__(params, options(locals(), "lr beta2_decay eps d weight_decay foreach maximize"))

    @without_grad
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient; returns the closure's loss."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self._state_of(p)
                    _update(p, -p.grad if group["maximize"] else p.grad, state, group)
        return loss

    def _state_of(self, p: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[p]
        if p.dtype.is_complex:
            raise RuntimeError("Adafactor does not support complex parameters")
        if p.grad is not None and p.grad.is_sparse:
            raise RuntimeError("Adafactor does not support sparse gradients")
        if not state:
            start_counting(state)
            grad: Any = p.grad
            if grad.ndim > 1:
                shape = list(grad.shape)
                state["row_var"] = grad.new_zeros([*shape[:-1], 1])
                state["col_var"] = grad.new_zeros([*shape[:-2], 1, shape[-1]])
            else:
                state["variance"] = functions["zeros_like"](grad)
        return state


def _update(p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    step, lr = count(state), number(group["lr"], group)
    floor, least_size = group["eps"]
    floor = functions["finfo"](p.dtype).eps if floor is None else floor
    share = step ** group["beta2_decay"]
    size = max(least_size, _root_mean_square(p)) * min(lr, 1 / step**0.5)
    if group["weight_decay"] != 0:
        p.mul_(1 - lr * group["weight_decay"])
    if grad.ndim > 1:
        row, column = state["row_var"], state["col_var"]
        row.lerp_(_mean_square(grad, -1), share)
        column.lerp_(_mean_square(grad, -2), share)
        moment = (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=floor))
    else:
        moment = state["variance"].lerp_(grad * grad, share).clone()
    change = moment.clamp_(min=floor * floor).rsqrt_().mul_(grad)
    p.add_(change, alpha=-size / max(1.0, _root_mean_square(change) / group["d"]))


def _root_mean_square(x: Any) -> float:
    return float(x.norm(2).item() / x.numel() ** 0.5)


def _mean_square(grad: Any, dim: int) -> Any:
    return functions["norm"](grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))
