"""Losses that compare element by element: two tensors to one number."""

from __future__ import annotations

import math
from typing import Any

from ..._core.base import dtypes
from ..._core.base.dtype_checks import check_cast, check_written, no_integers
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operation, operations
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.tape.wrapped_numbers import wrap_number
from ..._core.transforms import batching_rules
from ..pointwise import arithmetic
from ..reducing import reductions
from ..shaping import broadcasting
from ._loss_checks import check_logits, check_soft_margin

NONE, MEAN, SUM = 0, 1, 2
REDUCTIONS = {"none": NONE, "mean": MEAN, "sum": SUM}

# ---------------------------------------------------------------- formulas


def count(sizes: Any) -> int:
    return math.prod(sizes)


def mean_scaled(f: Any, grad: Any, sizes: Any, reduction: int) -> Any:
    """The gradient of a mean is that of a sum, over the number of elements."""
    return f.div_Scalar(grad, count(sizes)) if reduction == MEAN else grad


def folded(f: Any, losses: Any, reduction: int) -> Any:
    """The mean or the sum of losses, by operations."""
    return mean_scaled(f, losses if reduction == NONE else f.sum(losses), losses.shape, reduction)


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
        result = f.sub(f.log_sigmoid_forward(f.neg(x))[0], f.log_sigmoid_forward(x)[0] * pos_weight) * grad
    result = result if weight is None else result * weight
    return mean_scaled(f, result, x.shape, reduction)


def probability_target_gradient(f: Any, grad: Any, x: Any, weight: Any, reduction: int) -> Any:
    """-logit(x), the derivative of the binary cross entropy by its target."""
    result = f.neg(f.logit(x, None)) * grad
    result = result if weight is None else result * weight
    return mean_scaled(f, result, x.shape, reduction)


def probability_curve(f: Any, both: Any, x: Any, target: Any, weight: Any, reduction: int) -> Any:
    """The second derivative of the binary cross entropy by its input: (x^2 - 2xt + t) / (x (1 - x))^2."""
    spread = f.clamp_min(x * f.rsub_Scalar(x, 1), 1e-6)
    curve = f.div(f.add(f.sub(x * x, f.mul_Scalar(x * target, 2)), target), spread * spread)
    result = both * (curve if weight is None else curve * weight)
    return mean_scaled(f, result, x.shape, reduction)


def probability_cross(f: Any, both: Any, x: Any, weight: Any, reduction: int) -> Any:
    """The second derivative of the binary cross entropy by input and target."""
    result = f.neg(f.div(both, f.clamp_min(x * f.rsub_Scalar(x, 1), 1e-6)))
    return mean_scaled(f, result if weight is None else result * weight, x.shape, reduction)


def near(f: Any, both: Any, x: Any, target: Any, edge: Any, reduction: int) -> Any:
    """Return what is left of a gradient where prediction and target are less than `edge` apart."""
    distance = f.abs(f.sub(x, target))
    kept = f.masked_fill_Scalar(both, f.ge(distance, f.full_like_number(distance, edge)), 0)
    return mean_scaled(f, kept, x.shape, reduction)


def soft_margin_curve(f: Any, both: Any, x: Any, target: Any, reduction: int) -> Any:
    s = f.sigmoid(f.neg(x * target))
    return mean_scaled(f, both * target * target * s * f.rsub_Scalar(s, 1), x.shape, reduction)


# ---------------------------------------------------------------- operations

bce_with_logits = operation(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
    "reduction=1)",
    autocast="fp32",
    batch=batching_rules.loss,
    constants=("weight", "pos_weight"),
    complex_gradient=False,
    self=lambda f, grad, self, target, weight, pos_weight, reduction: logits_gradient(
        f, grad, self, target, weight, pos_weight, reduction
    ),
    target=lambda f, grad, self, weight, pos_weight, reduction: target_gradient(
        f, grad, self, weight, pos_weight, reduction
    ),
)
bce = operation(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
    constants=("weight",),
    autocast="fp32",
    batch=batching_rules.loss,
    self=lambda f, grad, self, target, weight, reduction: f.binary_cross_entropy_backward(
        grad, self, target, weight, reduction
    ),
    target=lambda f, grad, self, weight, reduction: probability_target_gradient(f, grad, self, weight, reduction),
)
operation(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction)",
    batch=batching_rules.loss_backward,
    saves_all=True,
    constants=("weight",),
    grad_output=lambda f, grad, self, target, weight, reduction: folded(
        f, f.binary_cross_entropy_backward(grad, self, target, weight, NONE), reduction
    ),
    self=lambda f, grad, grad_output, self, target, weight, reduction: probability_curve(
        f, grad * grad_output, self, target, weight, reduction
    ),
    target=lambda f, grad, grad_output, self, weight, reduction: probability_cross(
        f, grad * grad_output, self, weight, reduction
    ),
)
mse = operation(
    "mse_loss(Tensor self, Tensor target, int reduction=1)",
    promotes=True,
    pointwise=False,
    autocast="fp32",
    refuses={"biuc": "mse_cpu"},
    batch=batching_rules.loss,
    self=lambda f, grad, self, target, reduction: f.mse_loss_backward(grad, self, target, reduction),
    target=lambda f, grad, self, target, reduction: f.mse_loss_backward(grad, target, self, reduction),
)
operation(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)",
    batch=batching_rules.loss_backward,
    saves_all=True,
    grad_output=lambda f, grad, self, target, reduction: folded(
        f, f.mul_Scalar(f.sub(self, target), 2) * grad, reduction
    ),
    self=lambda f, grad, grad_output, self_sizes, reduction: mean_scaled(
        f, f.mul_Scalar(grad * grad_output, 2), self_sizes, reduction
    ),
    target=lambda f, grad, grad_output, self_sizes, reduction: f.neg(
        mean_scaled(f, f.mul_Scalar(grad * grad_output, 2), self_sizes, reduction)
    ),
)
smooth_l1 = operation(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
    promotes=True,
    node="SmoothL1LossBackward0",
    pointwise=False,
    autocast="fp32",
    refuses={"biuc": "smooth_l1_cpu"},
    batch=batching_rules.loss,
    self=lambda f, grad, self, target, reduction, beta: f.smooth_l1_loss_backward(grad, self, target, reduction, beta),
    target=lambda f, grad, self, target, reduction, beta: f.smooth_l1_loss_backward(
        grad, target, self, reduction, beta
    ),
)
operation(
    "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta)",
    node="SmoothL1LossBackwardBackward0",
    batch=batching_rules.loss_backward,
    saves_all=True,
    grad_output=lambda f, grad, self, target, reduction, beta: folded(
        f, f.smooth_l1_loss_backward(grad, self, target, NONE, beta), reduction
    ),
    self=lambda f, grad, grad_output, self, target, reduction, beta: near(
        f, f.div_Scalar(grad * grad_output, beta), self, target, beta, reduction
    ),
    target=lambda f, grad, grad_output, self, target, reduction, beta: f.neg(
        near(f, f.div_Scalar(grad * grad_output, beta), self, target, beta, reduction)
    ),
)
huber = operation(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0)",
    promotes=True,
    pointwise=False,
    autocast="fp32",
    refuses={"biuc": "huber_cpu"},
    batch=batching_rules.loss,
    self=lambda f, grad, self, target, reduction, delta: f.huber_loss_backward(grad, self, target, reduction, delta),
    target=lambda f, grad, self, target, reduction, delta: f.huber_loss_backward(grad, target, self, reduction, delta),
)
operation(
    "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta)",
    batch=batching_rules.loss_backward,
    saves_all=True,
    grad_output=lambda f, grad, self, target, reduction, delta: folded(
        f, f.huber_loss_backward(grad, self, target, NONE, delta), reduction
    ),
    self=lambda f, grad, grad_output, self, target, reduction, delta: near(
        f, grad * grad_output, self, target, delta, reduction
    ),
    target=lambda f, grad, grad_output, self, target, reduction, delta: f.neg(
        near(f, grad * grad_output, self, target, delta, reduction)
    ),
)
soft_margin = operation(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1)",
    constants=("target",),
    autocast="fp32",
    batch=batching_rules.loss,
    self=lambda f, grad, self, target, reduction: f.soft_margin_loss_backward(grad, self, target, reduction),
)
operation(
    "soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)",
    constants=("target",),
    batch=batching_rules.loss_backward,
    saves_all=True,
    grad_output=lambda f, grad, self, target, reduction: folded(
        f, f.soft_margin_loss_backward(grad, self, target, NONE), reduction
    ),
    self=lambda f, grad, grad_output, self, target, reduction: soft_margin_curve(
        f, grad * grad_output, self, target, reduction
    ),
)


# ---------------------------------------------------------------- what the functions share


def reduction_name(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """The reduction, also from the two flags that older scripts give."""
    if size_average is None and reduce is None:
        return reduction
    averaged, reduced = size_average is None or size_average, reduce is None or reduce
    name = "none" if not reduced else "mean" if averaged else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.")
    return name


def reduction_code(reduction: str) -> int:
    """0, 1 or 2 for 'none', 'mean' or 'sum'; ValueError for anything else."""
    if reduction.__class__ is str and reduction in REDUCTIONS:
        return REDUCTIONS[reduction]
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return MEAN
    raise refused(ValueError, f"{reduction} is not a valid value for reduction")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """All losses, their mean or their sum."""
    code = reduction_code(reduction)
    return losses if code == NONE else reductions.mean(losses) if code == MEAN else reductions.sum(losses)


def number_minus(number: float, x: Tensor) -> Tensor:
    """`number - x` as PyTorch's own code records it: the number is an operand of `sub`."""
    return arithmetic.sub(wrap_number(number, x), x)


def _paired(input: Tensor, target: Tensor) -> Any:
    """Both tensors in one shape; a warning where they were not."""
    if target._ag_raw.shape != input._ag_raw.shape:
        warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )
    return broadcasting.broadcast_tensors(input, target)


def _weighted(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Losses times weights; their mean is over the sum of the weights."""
    weighted = arithmetic.mul(losses, weight)
    code = reduction_code(reduction)
    if code == NONE:
        return weighted
    total = reductions.sum(weighted)
    return total if code == SUM else arithmetic.true_divide(total, reductions.sum(weight))


# ---------------------------------------------------------------- functions


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross entropy of sigmoid(input) and target, computed without overflow."""
    code = reduction_code(reduction_name(reduction, size_average, reduce))
    if target._ag_raw.shape != input._ag_raw.shape:
        raise refused(ValueError, f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if target._ag_raw.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    check_logits(input, target, weight, pos_weight)
    return bce_with_logits(input, target, weight, pos_weight, code)


@autocasts("fp32")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log x + (1 - t) log(1 - x)); RuntimeError for an x outside [0, 1], ValueError for shapes that differ."""
    code = reduction_code(reduction_name(reduction, size_average, reduce))
    if target._ag_raw.shape != input._ag_raw.shape:
        raise refused(
            ValueError,
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size.",
        )
    if target._ag_raw.dtype != input._ag_raw.dtype:
        raise RuntimeError(f"Found dtype {cpp_name(target._ag_raw.dtype)} but expected {cpp_name(input._ag_raw.dtype)}")
    if weight is not None:
        weight = broadcasting.expand(weight, broadcasting.broadcast_shapes(target._ag_raw.shape, weight._ag_raw.shape))
        check_written(input, weight._ag_raw.shape, weight._ag_raw.dtype)
    return bce(input, target, weight, code)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of the squared differences."""
    reduction = reduction_name(reduction, size_average, reduce)
    pair = _paired(input, target)
    if input._ag_raw.dtype.kind in "iub" and target._ag_raw.dtype.kind in "iub":
        no_integers("mse_cpu", input)
    if weight is not None:
        return _weighted(arithmetic.pow_scalar(arithmetic.sub(*pair), 2), weight, reduction)
    return mse(*pair, reduction_code(reduction))


@autocasts("fp32")
def _absolute(input: Tensor, target: Tensor) -> Tensor:
    result: Tensor = operations.abs(arithmetic.sub(input, target))
    return result


@autocasts("")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of the absolute differences."""
    reduction = reduction_name(reduction, size_average, reduce)
    losses = _absolute(*_paired(input, target))
    return reduced(losses, reduction) if weight is None else _weighted(losses, weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared differences below beta, absolute ones above; RuntimeError for a negative beta."""
    code = reduction_code(reduction_name(reduction, size_average, reduce))
    pair = _paired(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(_absolute(*pair), reduction)
    return smooth_l1(*pair, code, float(beta))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared differences below delta, delta times the absolute ones above."""
    pair = _paired(input, target)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    kind = dtypes.promote(input._ag_raw.dtype, target._ag_raw.dtype)
    check_cast(kind, input._ag_raw.dtype)
    if weight is not None:
        return reduced(arithmetic.mul(huber(*pair, NONE, float(delta)), weight), reduction)
    return huber(*pair, reduction_code(reduction), float(delta))


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target * input))."""
    check_soft_margin(input, target)
    return soft_margin(input, target, reduction_code(reduction_name(reduction, size_average, reduce)))
