"""Derivatives of functions against finite differences, order by order, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

STEP = 1e-5
TOLERANCE = 1e-4
"""By how much a derivative may differ from finite differences, relative to the larger of it and 1."""
ELEMENTS = 24
"""So many numbers of the inputs are varied at most, spread over all of them."""


@dataclass(frozen=True, slots=True)
class Checked:
    """How the derivatives of one order came out."""

    name: str
    order: int
    error: float
    """The worst relative error, of the numbers that were varied."""
    worst: str = ""
    """Which number it is of, and both values; empty where all are right."""
    kinks: int = 0
    """Numbers where the derivative from the left is not that from the right; they are not compared."""

    @property
    def good(self) -> bool:
        return self.error <= TOLERANCE


class CannotCheck(Exception):
    """Why a function cannot be checked, as a sentence."""


def check(torch: Any, name: str, function: Callable[..., Any], args: Sequence[Any], orders: int) -> list[Checked]:
    """Compare the derivatives of each order with differences of those one order lower.

    Tensors of floating numbers among `args` are taken in float64; those that require grad are varied. Raises
    `CannotCheck`.
    """
    given = [_doubled(torch, x) for x in args]
    inputs = [x for x in given if isinstance(x, torch.Tensor) and x.requires_grad]
    if not inputs:
        raise CannotCheck("no input of it requires grad")
    if any(x.dtype.is_complex for x in inputs):
        raise CannotCheck("complex inputs are not checked")
    found = []
    for order in range(1, orders + 1):
        scalar = _scalar(torch, lambda: function(*given), inputs, order - 1)
        if abs(float(scalar().detach()) - float(scalar().detach())) > 0:
            raise CannotCheck("it gives other numbers each time that it is called")
        found.append(_compare(torch, name, order, scalar, inputs))
        if not found[-1].good:
            break  # what is derived from a wrong derivative tells nothing
    return found


def _doubled(torch: Any, x: Any) -> Any:
    if not isinstance(x, torch.Tensor) or not (x.dtype.is_floating_point or x.dtype.is_complex):
        return x
    wide = torch.complex128 if x.dtype.is_complex else torch.float64
    return x.detach().to(wide).clone().requires_grad_(x.requires_grad)


def _weighted(torch: Any, tensors: Sequence[Any]) -> Any:
    """The sum of all numbers, each with a weight of its own."""
    total = torch.zeros((), dtype=torch.float64)
    for position, x in enumerate(tensors):
        if isinstance(x, torch.Tensor) and x.dtype.is_floating_point:
            weights = torch.cos(torch.arange(x.numel(), dtype=torch.float64) + position).reshape(x.shape)
            total = total + (x.to(torch.float64) * weights).sum()
    return total


def _scalar(torch: Any, call: Callable[[], Any], inputs: Sequence[Any], order: int) -> Callable[[], Any]:
    """A number that depends on all derivatives of this order."""

    def value() -> Any:
        if order == 0:
            made = call()
            return _weighted(torch, made if isinstance(made, (tuple, list)) else [made])
        lower = _scalar(torch, call, inputs, order - 1)()
        return _weighted(torch, _gradients(torch, lower, inputs, create_graph=True))

    return value


def _gradients(torch: Any, scalar: Any, inputs: Sequence[Any], *, create_graph: bool) -> list[Any]:
    if not scalar.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(scalar, inputs, create_graph=create_graph, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def _compare(torch: Any, name: str, order: int, scalar: Callable[[], Any], inputs: Sequence[Any]) -> Checked:
    gradients = _gradients(torch, scalar(), inputs, create_graph=False)
    middle = float(scalar().detach())
    error, worst, kinks = 0.0, "", 0
    for position, (x, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        flat, analytic = x.detach().reshape(-1), gradient.detach().reshape(-1)
        for index in range(0, x.numel(), max(1, math.ceil(x.numel() * len(inputs) / ELEMENTS))):
            right, left = (_moved(torch, x, index, step, scalar) for step in (STEP, -STEP))
            mine, numeric = float(analytic[index]), (right - left) / (2 * STEP)
            off = abs(mine - numeric) / max(1.0, abs(mine), abs(numeric))
            sides = abs((right - middle) - (middle - left)) / STEP / max(1.0, abs(numeric))
            if sides > 100 * math.sqrt(STEP):
                kinks += 1
            elif not off <= error:
                error = off
                if not off <= TOLERANCE:
                    where = f"input {position}, number {index} ({float(flat[index]):.4g})"
                    worst = f"{where}: backward gives {mine:.6g}, finite differences give {numeric:.6g}"
    return Checked(name, order, error, worst, kinks)


def _moved(torch: Any, x: Any, index: int, step: float, scalar: Callable[[], Any]) -> float:
    """The number with one element of an input changed."""
    kept = x.detach().clone()
    with torch.no_grad():
        x.view(-1)[index] += step
    try:
        return float(scalar().detach())
    finally:
        with torch.no_grad():
            x.copy_(kept)
