"""Normalizations folded into the layer before them, for inference."""

from __future__ import annotations

import copy
from typing import Any

from ... import _namespace as torch
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _scale(bn_rv: Any, bn_eps: float, bn_w: Any) -> Any:
    scale = torch.rsqrt(bn_rv + bn_eps)
    return scale if bn_w is None else bn_w * scale


def _parameters(weight: Any, bias: Any, of: Any, old_bias: Any) -> tuple[Any, Any]:
    wants = of.requires_grad
    return Parameter(weight, wants), Parameter(bias, wants if old_bias is None else old_bias.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Any, Any]:
    """Weight and bias of a convolution that normalizes too."""
    scale = _scale(bn_rv, bn_eps, bn_w)
    bias = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    shape = [1, -1] if transpose else [-1, 1]
    weight = conv_w * scale.reshape(shape + [1] * (conv_w.ndim - 2))
    shift = (bias - bn_rm) * scale
    return _parameters(weight, shift if bn_b is None else shift + bn_b, conv_w, conv_b)


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    """Weight and bias of a linear map that normalizes too."""
    scale = _scale(bn_rv, bn_eps, bn_w)
    bias = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    shift = (bias - bn_rm) * scale
    return _parameters(linear_w * scale.unsqueeze(-1), shift if bn_b is None else shift + bn_b, linear_w, linear_b)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what it and the normalization after it do; both must be in eval mode."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear map that does what it and the normalization after it do; both must be in eval mode."""
    _check(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Only support fusion for bn with running stats.")
