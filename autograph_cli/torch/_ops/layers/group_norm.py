"""Normalization of groups of channels, and of each image by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments.arg_check import hands_on
from ..._core.base.caching import cached
from ..._core.base.dtype_checks import parameters_fit
from ..._core.base.state import thread_state
from ..._core.operations.operation import operation, operations
from ..._core.running.views import bump, changes
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching_layers
from ..._core.transforms.transforms import Batched
from ..shaping import views
from ._norm_checks import check_spatial, check_values, group_norm_of, instance_norm_of
from .normalization import _batch_norm_any, _both_or_none, _shown, added

Sizes = tuple[int, ...]

group_norm_op = operation(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int group, float eps) -> "
    "(Tensor result0, Tensor result1, Tensor result2)",
    saved={
        "N": lambda input_sizes: input_sizes[0],
        "C": lambda input_sizes: input_sizes[1],
        "HxW": lambda input_sizes: math.prod(input_sizes[2:]),
        "eps": "eps",
    },
    refuses={"biuc": "GroupNormKernelImpl"},
    memory_format="channels_last",
    batch=batching_layers.group_norm,
    joint={
        ("input", "weight", "bias"): lambda f, grads, input, result1, result2, weight, group, mask: (
            group_norm_gradients(f, grads, input, result1, result2, weight, group, mask)
        )
    },
)


def group_norm_gradients(
    f: Any, grads: Any, input: Any, mean: Any, rstd: Any, weight: Any, group: int, mask: Any
) -> Any:
    """The gradients of input, weight and bias, composed of operations as PyTorch composes them to differentiate again.

    The input's gradient is `slope * grad + curve * input + shift` with numbers for each group.
    """
    if f is not operations and grads[1] is None and grads[2] is None:
        return f.native_group_norm_backward(grads[0], input, mean, rstd, weight, group, mask)
    (n, c), rest = input.shape[:2], math.prod(input.shape[2:])
    each = c // group
    cells, beside = (n, group, each, rest), (n, group, 1, 1)
    grad, by_mean, by_rstd = (
        None if g is None else f.reshape(g, s) for g, s in zip(grads, (cells, beside, beside), strict=True)
    )
    x, mean, rstd = f.reshape(input, cells), f.reshape(mean, beside), f.reshape(rstd, beside)
    gamma = None if weight is None else f.reshape(weight, (1, group, each, 1))
    by_product = by_sum = image = None
    if grad is not None:
        by_product = f.unsqueeze_in_place(f.sum_dim_IntList(grad * x, (3,), False), 3)
        by_sum = f.unsqueeze_in_place(f.sum_dim_IntList(grad, (3,), False), 3)
    if mask[0]:
        cube = rstd * rstd * rstd
        parts = _group_norm_image(f, grad, by_product, by_sum, x, mean, rstd, cube, gamma, each * rest)
        parts.append(_group_statistics(f, by_mean, by_rstd, x, cube, each * rest))
        total = added(parts)
        image = None if total is None else f.reshape(total, tuple(input.shape))
    if grad is None:
        return image, None, None
    kernel = bias = None
    if mask[1]:
        kernel = f.reshape(f.sum_dim_IntList(f.sub(by_product, by_sum * mean) * rstd, (0,), False), (c,))
    if mask[2]:
        bias = f.reshape(f.sum_dim_IntList(by_sum, (0,), False), (c,))
    return image, kernel, bias


def _group_statistics(f: Any, by_mean: Any, by_rstd: Any, x: Any, cube: Any, count: int) -> Any:
    """The gradient of the input through the mean and the inverse deviation."""
    parts = []
    if by_rstd is not None:
        slope = f.mul_Scalar(f.mul_Scalar(cube, -0.5) * by_rstd, 2 / count)
        parts.append(slope * f.sub(x, f.mean_dim(x, (2, 3), True)))
    if by_mean is not None:
        parts.append(f.div_Scalar(f.expand(by_mean, tuple(x.shape)), count))
    return added(parts)


def _group_norm_image(
    f: Any, grad: Any, by_product: Any, by_sum: Any, x: Any, mean: Any, rstd: Any, cube: Any, gamma: Any, count: int
) -> list[Any]:
    if grad is None:
        return []

    def fold(t: Any) -> Any:
        return f.unsqueeze_in_place(f.sum_dim_IntList(t if gamma is None else t * gamma, (2,), False), 2)

    product, total = fold(by_product), fold(by_sum)
    slope = rstd if gamma is None else rstd * gamma
    curve = f.mul_Scalar(f.sub(total * mean, product) * cube, 1 / count)
    shift = f.sub(f.neg(curve) * mean, f.mul_Scalar(total * rstd, 1 / count))
    return [slope * grad + curve * x + shift]


@hands_on(group_norm_of)
def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Mean 0 and variance 1 for each group of channels of each sample."""
    shapes = (
        input._ag_raw.shape,
        None if weight is None else weight._ag_raw.shape,
        None if bias is None else bias._ag_raw.shape,
    )
    _check_groups(*shapes, num_groups)
    parameters_fit(input, weight, bias)
    result: Tensor = group_norm_op(input, weight, bias, num_groups, eps)[0]
    return result


@cached
def _check_groups(size: Sizes, weight: Sizes | None, bias: Sizes | None, num_groups: int) -> None:
    if len(size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}")
    channels = size[1]
    check_values([size[0] * channels // num_groups, num_groups, *size[2:]])
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{_shown(size)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t != (channels,):
            shown = t if weight is None else weight  # as PyTorch has it
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {_shown(shown)} and input of shape {_shown(size)}"
            )


def _cast(t: Tensor, kind: np.dtype[Any]) -> Tensor:
    return t if t._ag_raw.dtype == kind else operations._to_copy(t, kind)


@hands_on(instance_norm_of)
def instance_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`batch_norm` of each sample by itself."""
    if use_input_stats:
        if math.prod(input._ag_raw.shape[2:]) == 1:
            check_spatial(input.size())
    elif running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    _both_or_none(running_mean, running_var)
    n, c = input._ag_raw.shape[:2]
    many: Callable[[Any], Any] = lambda t: None if t is None else t.repeat(n)  # noqa: E731
    mean: Any
    var: Any
    kind = (input if weight is None else weight)._ag_raw.dtype
    mean, var = [None if t is None else many(_cast(t, kind)) for t in (running_mean, running_var)]
    weight, bias = many(weight), many(bias)
    rows = views.reshaped(operations.contiguous(input), (1, n * c, *input._ag_raw.shape[2:]))
    out = _batch_norm_any(rows, mean, var, weight, bias, use_input_stats, momentum, eps)
    for running, moved in ((running_mean, mean), (running_var, var)):
        if use_input_stats and running is not None:
            if isinstance(moved, Batched):
                with_grad, thread_state.grad = thread_state.grad, False
                running.copy_(views.view(moved, (n, c)).mean(0))
                thread_state.grad = with_grad
                continue
            changes(running)
            each = moved._ag_raw.reshape(n, c)
            running._ag_raw[...] = each.mean(0, np.result_type(each.dtype, np.float32)).astype(kind)
            bump(running)
    return views.view_op(out, input._ag_raw.shape)
