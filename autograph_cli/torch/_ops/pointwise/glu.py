"""The gated linear unit: one half of a tensor times the sigmoid of the other."""

from __future__ import annotations

from typing import Any

from ..._core.base import dims
from ..._core.operations.operation import operation
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching


def _halves(f: Any, x: Any, dim: int) -> tuple[Any, Any]:
    n = x.shape[dim] // 2
    return f.slice(x, dim, 0, n, 1), f.slice(x, dim, n, 2 * n, 1)


def _glu_again(f: Any, grad: Any, x: Any, dim: int) -> Any:
    """The derivative of glu's backward by its gradient."""
    (by_first, by_second), (first, second) = _halves(f, grad, dim), _halves(f, x, dim)
    s = f.sigmoid(second)
    return by_first * s + by_second * first * (s * f.rsub_Scalar(s, 1))


def _glu_twice(f: Any, grad: Any, grad_output: Any, x: Any, dim: int) -> Any:
    (by_first, by_second), (first, second) = _halves(f, grad, dim), _halves(f, x, dim)
    s = f.sigmoid(second)
    slope = s * f.rsub_Scalar(s, 1)
    curve = slope * f.rsub_Scalar(f.mul_Scalar(s, 2), 1)
    by_gate = by_first * grad_output * slope + by_second * grad_output * first * curve
    return f.cat([by_second * grad_output * slope, by_gate], dim)


glu_op = operation(
    "glu(Tensor self, int dim)",
    refuses={"biuc": "glu_cpu"},
    batch=batching.leading,
    self=lambda f, grad, self, dim: f.glu_backward(grad, self, dim),
)
operation(
    "glu_backward(Tensor grad_output, Tensor self, int dim)",
    batch=batching.leading,
    saves_all=True,
    grad_output=lambda f, grad, self, dim: _glu_again(f, grad, self, dim),
    self=lambda f, grad, grad_output, self, dim: _glu_twice(f, grad, grad_output, self, dim),
)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, times the sigmoid of the second."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")

    d = dims.wrap(dim, input.ndim)
    n = input._ag_raw.shape[d]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {n}")
    return glu_op(input, d)
