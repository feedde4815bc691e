"""Losses of distributions: Kullback-Leibler divergence and negative log-likelihoods."""

from __future__ import annotations

import math
from typing import Any

from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.arguments.arg_check import hands_on
from ..._core.base import dtypes
from ..._core.base.errors import refused
from ..._core.base.state import thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operations
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..pointwise import arithmetic
from ..reducing import reductions
from ..shaping import views
from ._loss_checks import asked_for_any
from .losses import REDUCTIONS, reduced, reduction_name


@autocasts("fp32")
def _divergences(input: Tensor, target: Tensor, log_target: bool) -> Any:
    if log_target:
        difference = arithmetic.sub(target, input)
        return operations.exp(target) * difference
    product = target * input
    return arithmetic.sub(operations.xlogy(target, target), product)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of a distribution `target` from logarithms of probabilities `input`; 'batchmean' is its sum over
    N."""
    reduction = reduction_name(reduction, size_average, reduce)
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release."
        )
    kinds = dtypes.CATEGORY[input._ag_raw.dtype], dtypes.CATEGORY[target._ag_raw.dtype]
    if kinds != (dtypes.FLOATING, dtypes.FLOATING):
        what = "Integral" if min(kinds) < dtypes.FLOATING else "Complex"
        raise RuntimeError(f"kl_div: {what} inputs not supported.")
    losses = _divergences(input, target, log_target)
    if reduction == "batchmean":
        total = reductions.sum(losses)
        return total / input._ag_raw.shape[0] if input.ndim else total
    return reduced(losses, reduction)


@autocasts("fp32")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts `target` for a Poisson rate; `full` adds Stirling's approximation."""
    reduction = reduction_name(reduction, size_average, reduce)
    if reduction not in (*REDUCTIONS,):
        raise refused(ValueError, reduction + " is not a valid value for reduction")
    if log_input:
        product = target * input
        losses = arithmetic.sub(operations.exp(input), product)
    else:
        losses = arithmetic.sub(input, target * operations.log(operations.add_Scalar(input, eps)))
    if full:
        half_log = operations.mul_Scalar(operations.log(operations.mul_Scalar(target, 2 * math.pi)), 0.5)
        stirling = arithmetic.sub(target * operations.log(target), target) + half_log
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


@hands_on(asked_for_any)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of `target` for normal distributions around `input` with variances `var`.

    ValueError for a negative variance, or one of a shape that does not fit.
    """
    negative = var < 0
    if (
        negative
        if isinstance(var, float)
        else readable(whole(negative._ag_raw)) and bool(whole(negative._ag_raw).any())
    ):
        raise refused(ValueError, "var has negative entry/entries")
    if isinstance(var, float):
        var = operations.mul_Scalar(operations.ones_like(input), var)
    size, given = input._ag_raw.shape, var._ag_raw.shape
    if given != size:
        if given == size[:-1]:
            var = views.unsqueeze(var, -1)
        elif len(given) != len(size) or any(n not in (m, 1) for n, m in zip(given, size, strict=True)):
            raise refused(ValueError, "var is of incorrect size")
    if reduction not in (*REDUCTIONS,):
        raise refused(ValueError, reduction + " is not valid")
    var = var.clone()
    before, thread_state.grad = thread_state.grad, False
    try:
        var.clamp_(min=eps)
    finally:
        thread_state.grad = before
    losses = (operations.log(var) + (input - target) ** 2 / var) * 0.5
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)
