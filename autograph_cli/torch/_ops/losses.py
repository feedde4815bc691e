"""Losses: operations that end in one number."""

from __future__ import annotations

from typing import Any

from .._core.operation import operation
from .._core.tensor import Tensor
from . import arithmetic, reductions

NONE, MEAN, SUM = 0, 1, 2
REDUCTIONS = {"none": NONE, "mean": MEAN, "sum": SUM}

bce_with_logits = operation(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)",
    self=lambda f, grad, self, target, weight, pos_weight, reduction: logits_gradient(
        f, grad, self, target, weight, pos_weight, reduction),
    target=lambda f, grad, self, weight, pos_weight, reduction: target_gradient(
        f, grad, self, weight, pos_weight, reduction),
)  # fmt: skip
mse = operation(
    "mse_loss(Tensor self, Tensor target, int reduction=1)", promotes=True,
    self=lambda f, grad, self, target, reduction: f.mse_loss_backward(grad, self, target, reduction),
    target=lambda f, grad, self, target, reduction: f.mse_loss_backward(grad, target, self, reduction),
)  # fmt: skip
mse_backward = operation(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)",
    grad_output=lambda f, grad, self, target, reduction: mse_twice(f, grad, self, target, reduction),
    self=lambda f, grad, grad_output, self_sizes, reduction: mean_scaled(
        f, f.mul_Scalar(grad * grad_output, 2), self_sizes, reduction),
    target=lambda f, grad, grad_output, self_sizes, reduction: f.neg(mean_scaled(
        f, f.mul_Scalar(grad * grad_output, 2), self_sizes, reduction)),
)  # fmt: skip


def count(sizes: Any) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def mean_scaled(f: Any, grad: Any, sizes: Any, reduction: int) -> Any:
    """The gradient of a mean is that of a sum, over the number of elements."""
    return f.div_Scalar(grad, count(sizes)) if reduction == MEAN else grad


def logits_gradient(f: Any, grad: Any, x: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    """(sigmoid(x) - target) * grad, with the weights of the classes and of the elements."""
    if pos_weight is None:
        result = f.sub(f.sigmoid(x), target) * grad
    else:
        t = pos_weight * target
        result = f.sub(f.sub(f.add_Scalar(t, 1), target) * f.sigmoid(x), t) * grad
    result = result if weight is None else result * weight
    return mean_scaled(f, result, x.shape, reduction)


def target_gradient(f: Any, grad: Any, x: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    """The derivative of the loss by its target: -x, or its form with class weights."""
    if pos_weight is None:
        result = f.neg(x) * grad
    else:
        result = f.sub(f.log_sigmoid_forward(f.neg(x))[0], pos_weight * f.log_sigmoid_forward(x)[0]) * grad
    result = result if weight is None else result * weight
    return mean_scaled(f, result, x.shape, reduction)


def mse_twice(f: Any, grad: Any, x: Any, target: Any, reduction: int) -> Any:
    scaled = f.mul_Scalar(f.sub(x, target), 2)
    product = scaled * grad
    if reduction == NONE:
        return product
    return mean_scaled(f, f.sum(product), x.shape, reduction)


def _reduction(reduction: str) -> int:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return REDUCTIONS[reduction]


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The binary cross entropy of sigmoid(input) and target, computed without overflow."""
    if target._raw.shape != input._raw.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return bce_with_logits(input, target, weight, pos_weight, _reduction(reduction))


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of the squared differences."""
    if weight is not None:
        squares = arithmetic.mul(mse(input, target, NONE), weight)
        return squares if reduction == "none" else reductions.sum(squares) if reduction == "sum" else reductions.sum(squares) / reductions.sum(weight)
    from .views import broadcast_tensors

    return mse(*broadcast_tensors(input, target), _reduction(reduction))


