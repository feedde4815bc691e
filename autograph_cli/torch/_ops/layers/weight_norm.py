"""Weights as a direction and a length."""

from __future__ import annotations

from typing import Any

from ..._core.operations import recomputed
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching_rules
from ..._kernels.layers.normalization import folded
from ..reducing.distances import norm_dim
from ..reducing.reductions import norm_gradient

norm_of_all = operation(
    "norm.Scalar(Tensor self, Scalar p=2)",
    lambda f, a, p: f.vector_norm(a, p, None, False),
    node="NormBackward0",
    batch=batching_rules.norm,
    self=lambda f, grad, self, p, result: norm_gradient(f, grad, self, p, result, None, False),
)
weight_norm_op = operation(
    "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor result0, Tensor result1)",
    node="WeightNormInterfaceBackward0",
    nondifferentiable=("result1",),
    recomputed=recomputed.weight_norm,
    joint={
        ("v", "g"): lambda f, grads, v, g, result1, dim: weight_norm_backward(
            f, f.contiguous(grads[0]), v, g, result1, dim
        )
    },
)


def weight_norm_backward(f: Any, grad: Any, v: Any, g: Any, norms: Any, dim: int) -> tuple[Any, Any]:
    """The gradients of `v * (g / norms)`; as in PyTorch, `norms` counts as a constant in their own derivatives."""
    matrix, over, beside = folded(tuple(v.shape), dim)
    along = f.view(f.sum_dim_IntList(f.view(grad * v, matrix), (over,), False), beside)
    return g / norms * (grad - v * (along / (norms * norms))), along / norms


@composite(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one (over all where `dim` is -1)."""
    if dim == -1:
        return norm_of_all(v, pow)
    if dim not in (0, v.ndim - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    matrix, over, beside = folded(tuple(v.shape), dim)
    return norm_dim(v.contiguous().view(matrix), pow, (over,), False).view(beside)


@composite(method=False)
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """v with its norm along `dim` replaced by g."""
    if dim not in (0, v.ndim - 1):
        return v * (g / norm_except_dim(v, 2, dim))
    result: Tensor = weight_norm_op(v.contiguous(), g.contiguous(), dim)[0]
    return result
