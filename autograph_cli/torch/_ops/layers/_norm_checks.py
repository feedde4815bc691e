"""Checks of normalizations before they hand their arguments to the compiled functions that PyTorch has for them."""

from __future__ import annotations

import math
from typing import Any

from ..._core.base.errors import refused


def batch_norm_of(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: Any = False,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    if training:
        check_values(input.size())
    check_eps(training, eps)
    return "torch", "batch_norm", (input, weight, bias, running_mean, running_var, training, momentum, eps, True), {}


def check_values(size: Any) -> None:
    if math.prod((size[0], *size[2:])) == 1:
        raise refused(ValueError, f"Expected more than 1 value per channel when training, got input size {size}")


def check_eps(training: bool, eps: float) -> None:
    if training and eps <= 0.0:
        raise refused(ValueError, f"batch_norm eps must be positive during training, but got {eps}")
    if not training and eps < 0.0:
        raise refused(ValueError, f"batch_norm eps must be non-negative, but got {eps}")


def group_norm_of(input: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Any:
    if input.dim() >= 2:
        check_values([input.size(0) * input.size(1) // num_groups, num_groups, *input.size()[2:]])
    return "torch", "group_norm", (input, num_groups, weight, bias, eps, True), {}


def instance_norm_of(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    if use_input_stats:
        check_spatial(input.size())
    rest = (weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)
    return "torch", "instance_norm", (input, *rest), {}


def check_spatial(size: Any) -> None:
    if math.prod(size[2:]) == 1:
        raise refused(ValueError, f"Expected more than 1 spatial element when training, got input size {size}")


def padded_channels(input: Any, size: Any, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0) -> Any:
    front = (0, 0) if input.ndim == 3 else (0, 0, 0, 0)
    return "nn", "pad", (input, (*front, size // 2, (size - 1) // 2)), {}
