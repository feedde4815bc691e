"""Gradients by finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.base import dims
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..pointwise.arithmetic import div_scalar, mul_scalar
from ..reducing.statistics import diff
from ..shaping import views
from ..shaping.joining import cat


def _part(x: Tensor, dim: int, start: int | None, end: int | None) -> Any:
    return views.slice_op(x, dim, *views.window(start, end, 1, x._ag_raw.shape[dim]))


def _even_gradient(x: Tensor, dim: int, dx: Any, edge_order: int) -> Tensor:
    """Central differences over twice the distance `dx`, one-sided ones at the ends."""

    def at(start: int | None, end: int | None) -> Any:
        return _part(x, dim, start, end)

    before = at(0, -2)
    center = div_scalar(at(2, None) - before, dx)
    if edge_order == 1:
        first = at(0, 1)
        prepend = div_scalar(at(1, 2) - first, dx)
        last = at(-2, -1)
        append = div_scalar(at(-1, None) - last, dx)
    else:
        c, b = mul_scalar(at(2, 3), 0.5), mul_scalar(at(1, 2), 2)
        prepend = div_scalar(mul_scalar(at(0, 1), -1.5) + b - c, dx)
        c, b = mul_scalar(at(-1, None), 1.5), mul_scalar(at(-2, -1), 2)
        append = div_scalar(mul_scalar(at(-3, -2), 0.5) - b + c, dx)
    return cat([prepend, div_scalar(center, 2), append], dim)


def _uneven_gradient(x: Tensor, dim: int, positions: Tensor, edge_order: int) -> Tensor:
    """Differences of second order between positions at any distance."""

    def at(start: int | None, end: int | None) -> Any:
        return _part(x, dim, start, end)

    shape = [-1 if d == dim else 1 for d in range(x.ndim)]
    dx: Any = diff(positions, 1, 0)
    one, two = _part(dx, 0, 0, -1), _part(dx, 0, 1, None)
    # The graph has the nodes in PyTorch's order: what stands right is made first.
    below = one * (one + two)
    a = (-two / below).reshape(shape)
    below = one * two
    b = ((two - one) / below).reshape(shape)
    c = (one / (two * (one + two))).reshape(shape)
    last = c * at(2, None)
    middle = b * at(1, -1)
    center = a * at(0, -2) + middle + last
    if edge_order == 1:
        first, before = dx[0], at(0, 1)
        prepend = (at(1, 2) - before) / first
        last, before = dx[-1], at(-2, -1)
        append = (at(-1, None) - before) / last
    else:
        p, q = one[0], two[0]
        prepend = (
            -(2.0 * p + q) / (p * (p + q)) * at(0, 1) + (p + q) / (p * q) * at(1, 2) + -p / (q * (p + q)) * at(2, 3)
        )
        p, q = one[-1], two[-1]
        append = (
            q / (p * (p + q)) * at(-3, -2)
            + -(p + q) / (p * q) * at(-2, -1)
            + (2.0 * q + p) / (q * (p + q)) * at(-1, None)
        )
    return cat([prepend, center, append], dim)


@composite(method=False)
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The slope along each dimension, by differences of second order; `spacing` is one distance, one each, or
    coordinates."""
    where = tuple(range(input.ndim)) if dim is None else tuple(map(int, dims.wrap_all(dim, input.ndim)))
    spacing = 1.0 if spacing is None else spacing
    given = [spacing] * len(where) if not isinstance(spacing, (tuple, list)) else list(spacing)
    if isinstance(spacing, Tensor):
        given = [spacing]
    _check_gradient(input, given, where, edge_order)
    return tuple(
        _uneven_gradient(input, d, s, edge_order) if isinstance(s, Tensor) else _even_gradient(input, d, s, edge_order)
        for d, s in zip(where, given, strict=True)
    )


def _check_gradient(input: Tensor, given: list[Any], where: tuple[int, ...], edge_order: int) -> None:
    kinds = (np.dtype(k) for k in ("uint8",))
    if input._ag_raw.dtype in kinds:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if len(given) != len(where):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
            f"the same length, but got a spacing argument of length {len(given)} and a dim argument of length "
            f"{len(where)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for s, d in zip(given, where, strict=True):
        n = input._ag_raw.shape[d]
        if isinstance(s, Tensor) and s.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{s.ndim} dimensions!"
            )
        if isinstance(s, Tensor) and s._ag_raw.size != n:
            raise RuntimeError(
                f"torch.gradient expected the coordinates to have the length of the dimension, {n}, but got "
                f"{s._ag_raw.size}"
            )
        if n < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
