"""Adam for sparse gradients: rows without a gradient stay as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._arrays.sparse import Coo
from .._core.operations.registry import functions
from .._core.running.views import bump, changes
from .._core.tape.tensor import Tensor
from .._kernels.inplace import updates
from ._checks import check_betas
from ._elementwise import number
from .optimizer import Optimizer, evaluate, without_grad


class SparseAdam(Optimizer):
    """Adam whose means are kept for the rows that have a gradient only. ValueError for options out of range.

    RuntimeError for gradients that are not sparse.
    """

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for label, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0.0:
                raise ValueError(f"Invalid {label}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        params = [p for group in self.param_groups for p in group["params"]]
        wrong = [i for i, p in enumerate(params) if p.dtype.is_complex]
        if wrong:
            raise ValueError(f"Complex params at indices {wrong}: SparseAdam does not support complex parameters")

    @without_grad
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the rows that have a gradient; returns the closure's loss."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if not p.grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = functions["zeros_like"](p.detach())
                    state["exp_avg_sq"] = functions["zeros_like"](p.detach())
                state["step"] += 1
                _update(p, p.grad._ag_raw.coalesce(), state, group)
        return loss


def _update(p: Tensor, rows: Coo, state: dict[str, Any], group: dict[str, Any]) -> None:
    at, f = rows.indices[0], updates(p._ag_raw)
    if not len(at):
        return
    beta1, beta2 = group["betas"]
    step = state["step"]
    grad = -rows.values if group["maximize"] else rows.values
    mean, square = state["exp_avg"]._ag_raw, state["exp_avg_sq"]._ag_raw
    new_mean = f.add(mean[at], f.scale(grad - mean[at], 1 - beta1))
    new_square = f.add(square[at], f.scale(grad * grad - square[at], 1 - beta2))
    mean[at], square[at] = new_mean, new_square
    size = number(group["lr"], group) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    changes(p)
    p._ag_raw[at] += f.scale(f.div_(new_mean, f.shift_(f.sqrt(new_square), group["eps"])), -size)
    bump(p)
