"""Rprop: steps that depend on the signs of gradients only."""

from __future__ import annotations

from typing import Any

from ._checks import check_lr, options
from ._elementwise import Elementwise


class Rprop(Elementwise):
    """Each element has a step of its own, which grows while its gradient keeps its sign and shrinks when it turns.

    ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: Any = (0.5, 1.2),
        step_sizes: Any = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options(locals(), "lr etas step_sizes foreach maximize differentiable capturable"))

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("prev", "step_size")

    def fill(self, group: dict[str, Any], name: str, complex_param: bool = False) -> Any:
        if name == "prev":
            return 0
        lr = float(group["lr"])
        return complex(lr, lr) if complex_param else lr

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        return (*group["etas"], *group["step_sizes"])

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        shrink, grow, least, most = numbers
        before, size = state
        turned = f.sign(f.mul(grad, before))
        f.clamp_(f.mul_(size, f.by_sign(turned, grow, 1, shrink)), least, most)
        kept = f.by_sign(turned, grad, grad, 0)
        f.addcmul_(p, f.sign(kept), size, -1)
        f.copy_(before, kept)
