"""16-bit floats: what folds many numbers into one computes in float32 and rounds once, as PyTorch does on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

NARROW = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))
"""The dtypes that are too coarse to add up in."""

IN_FLOAT32 = (
    "var",
    "std",
    "vector_norm",
    "cumprod",
    "logcumsumexp",
    "softmax",
    "softmax_backward",
    "log_softmax",
    "log_softmax_backward",
    "_safe_softmax",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "native_layer_norm",
    "native_layer_norm_backward",
    "native_batch_norm",
    "native_batch_norm_backward",
    "native_group_norm",
    "native_group_norm_backward",
    "nll_loss_forward",
    "avg_pool",
    "avg_pool_backward",
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d_backward",
    "scatter_add",
    "elu",
    "elu_backward",
    "silu",
    "silu_backward",
    "mish",
    "mish_backward",
    "softplus",
    "softplus_backward",
    "glu",
    "glu_backward",
    "log_sigmoid_forward",
    "log_sigmoid_backward",
    "hardswish",
    "tanh_backward",
    "sigmoid_backward",
    "lerp_Scalar",
    "sinc",
    "addcmul",
    "addcdiv",
    "addmm",
    "addmv",
    "baddbmm",
    "addbmm",
)
"""Kernels that run in float32 as a whole."""


def widened(run: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes in float32 where its first array is of 16 bits."""

    @functools.wraps(run)
    def wide(self: Any, a: Any, *rest: Any, **named: Any) -> Any:
        if a.dtype not in NARROW:
            return run(self, a, *rest, **named)
        result = run(self, _wide(a), *map(_wide, rest), **named)
        if named.get("dtype") is not None or any(isinstance(x, np.dtype) for x in rest):
            return result
        return tuple(_back(x, a.dtype) for x in result) if isinstance(result, tuple) else _back(result, a.dtype)

    return wide


def _wide(x: Any) -> Any:
    return x.astype(np.float32) if getattr(x, "dtype", None) in NARROW and hasattr(x, "strides") else x


def _back(x: Any, dtype: Any) -> Any:
    return x if x is None or x.dtype != np.float32 else x.astype(dtype)


def widen(kernels: type) -> None:
    """Let the kernels that `IN_FLOAT32` names, whatever else they are called, run in float32."""
    made = {getattr(kernels, name): widened(getattr(kernels, name)) for name in IN_FLOAT32}
    for name in dir(kernels):
        method = getattr(kernels, name)
        if callable(method) and method in made:
            setattr(kernels, name, made[method])
