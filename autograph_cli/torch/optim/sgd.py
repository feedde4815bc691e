"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ._checks import check_fused, check_lr, check_nonnegative, options
from ._elementwise import Elementwise, number


class SGD(Elementwise):
    """p -= lr g, with momentum, Nesterov's too, and weight decay.

    ValueError for negative options and for Nesterov momentum without momentum or with dampening.

    >>> from autograph_cli import torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> w.grad = torch.tensor([2.0])
    >>> torch.optim.SGD([w], lr=0.1, momentum=0.9).step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    kernel = "sgd"
    counts_steps = False
    sparse_text = None
    _first = False
    """True if the parameter at hand has no momentum yet."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_nonnegative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        names = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        super().__init__(params, options(locals(), names))
        check_fused(fused, foreach, differentiable)

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def take_rows(self, grad: Any, group: dict[str, Any]) -> Any:
        if group["weight_decay"]:
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return grad.dense()

    def _state_of(self, p: Any, group: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        state: dict[str, Any] = self.state[p]
        self._first = state.get("momentum_buffer") is None
        if self._first:
            self.start(p, group, names, state)
        return state

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        return (
            -number(group["lr"], group),
            group["momentum"],
            None if self._first else 1 - group["dampening"],
            number(group["weight_decay"], group),
            group["nesterov"],
        )

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        lr, momentum, share, weight_decay, nesterov = numbers
        if weight_decay != 0:
            grad = f.add(grad, p, weight_decay)
        if state:
            buffer = state[0]
            if share is None:
                f.copy_(buffer, f.detached(grad))
            else:
                f.add_(f.scale_(buffer, momentum), grad, share)
            grad = f.add(grad, buffer, momentum) if nesterov else buffer
        f.add_(p, grad, lr)
