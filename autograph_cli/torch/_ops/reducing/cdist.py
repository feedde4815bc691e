"""Distances between every row of one matrix and every row of another."""

from __future__ import annotations

import math
from typing import Any

from ..._core.base import dims
from ..._core.base.dtype_checks import same_scalar
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..matrices._errors import not_implemented
from ..shaping import broadcasting, views

cdist_op = operation(
    "_cdist_forward(Tensor x1, Tensor x2, float p)",
    refuses={"eE": "cdist"},
    node="CdistBackward0",
    batch=batching.pointwise,
    x1=lambda f, grad, x1, x2, p, result: f._cdist_backward(f.contiguous(grad), x1, x2, p, result),
    x2=lambda f, grad, x1, x2, p, result: f._cdist_backward(
        f.contiguous(_turned(f, grad)), x2, x1, p, f.contiguous(_turned(f, result))
    ),
)
cdist_backward = operation(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist)",
    node="CdistBackwardBackward0",
    batch=batching_rules.cdist_backward,
    saves_all=True,
    **{name: not_implemented("_cdist_backward") for name in ("grad", "x1", "x2", "cdist")},
)
euclidean_dist = operation(
    "_euclidean_dist(Tensor x1, Tensor x2)",
    refuses={"eE": "cdist"},
    node="EuclideanDistBackward0",
    batch=batching.pointwise,
    joint={("x1", "x2"): lambda f, grad, x1, x2, result: _euclidean_gradients(f, grad, x1, x2, result)},
)


def _turned(f: Any, x: Any) -> Any:
    return f.transpose(x, x.ndim - 2, x.ndim - 1)


def _euclidean_gradients(f: Any, grad: Any, x1: Any, x2: Any, result: Any) -> tuple[Any, Any]:
    """Both gradients of a distance d: (x1 - x2) grad / d and its negative, 0 where d is 0."""
    n = grad.ndim
    ratio = f.masked_fill_Scalar(f.div(grad, result), f.eq(result, f.zeros_like(result)), 0)
    by_first = f.sub(x1 * f.sum_dim_IntList(ratio, (n - 1,), True), f.matmul(ratio, x2))
    by_second = f.sub(
        x2 * f.unsqueeze(f.sum_dim_IntList(ratio, (n - 2,), False), n - 1), f.matmul(_turned(f, ratio), x1)
    )
    return by_first, by_second


@composite(method=False)
@autocasts("fp32")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm of the difference of each row of `x1` and each row of `x2`, over batches."""
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise refused(ValueError, f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {cpp_name(x._ag_raw.dtype)}")
    (n, k), (m, other) = x1._ag_raw.shape[-2:], x2._ag_raw.shape[-2:]
    if k != other:
        raise RuntimeError(f"{'X1 and X2'} must have the same number of columns. X1: {k} X2: {other}")
    same_scalar(x1, x2)
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1._ag_raw.dtype != x2._ag_raw.dtype:
        raise RuntimeError(f"expected scalar type {cpp_name(x1._ag_raw.dtype)} but found {cpp_name(x2._ag_raw.dtype)}")
    mode = modes.index(compute_mode)
    by_products = p == 2 and (mode == 1 or (mode == 0 and (n > 25 or m > 25)))
    if not by_products or 0 in (x1._ag_raw.size, x2._ag_raw.size):
        return cdist_op(x1, x2, float(p))
    batch = dims.broadcast(x1._ag_raw.shape[:-2], x2._ag_raw.shape[:-2])
    flat = (math.prod(batch),)
    left, right = (
        views.reshape(broadcasting.expand_op(x, (*batch, *plane)), (*flat, *plane)) if batch else x
        for x, plane in ((x1, x1._ag_raw.shape[-2:]), (x2, x2._ag_raw.shape[-2:]))
    )
    return views.view_op(euclidean_dist(left, right), (*batch, n, m))
