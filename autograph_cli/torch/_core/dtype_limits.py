"""Dtypes that PyTorch does not compute some operations in, and what it says of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import dtypes

_NO_HALF = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "erfcx",
    "log_ndtr",
    "ndtri",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
    "zeta",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]
_KERNELS = {
    "eV": {
        **{f"special_{name}": f"{name}_cpu" for name in _NO_HALF},
        "_cdist_forward": "cdist",
        "_euclidean_dist": "cdist",
        "_pdist_forward": "pdist",
    },
    "biuc": {
        "gelu": "GeluKernelImpl",
        "elu": "elu_cpu",
        "elu_": "elu_cpu",
        "celu": "elu_cpu",
        "celu_": "elu_cpu",
        "leaky_relu": "leaky_relu_cpu",
        "leaky_relu_": "leaky_relu_cpu",
        "mish": "mish_cpu",
        "softplus": "softplus_cpu",
        "mse_loss": "mse_cpu",
        "smooth_l1_loss": "smooth_l1_cpu",
        "huber_loss": "huber_cpu",
        "native_layer_norm": "LayerNormKernelImpl",
        "native_group_norm": "GroupNormKernelImpl",
        "native_batch_norm": "batch_norm",
        "log_sigmoid_forward": "log_sigmoid_cpu",
        "hardswish": "hardswish_cpu",
        "hardsigmoid": "hardsigmoid_cpu",
        "softshrink": "softshrink_check",
        "hardshrink": "hardshrink_cpu",
        "glu": "glu_cpu",
        "nll_loss_forward": "nll_loss_out_frame",
        "frac": "frac_cpu",
        "round_decimals": "round_cpu",
        "rrelu_with_noise": "leaky_relu_cpu",
        "rrelu_with_noise_": "leaky_relu_cpu",
        "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
        "_adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
        "adaptive_max_pool2d": "adaptive_max_pool2d",
        "adaptive_max_pool3d": "adaptive_max_pool3d_cpu",
        "max_unpool2d": "max_unpool2d",
        "max_unpool3d": "max_unpool3d",
        "fractional_max_pool2d": "fractional_max_pool2d_out_frame",
        "fractional_max_pool3d": "fractional_max_pool3d_out_frame",
        "softmax": "softmax",
        "log_softmax": "log_softmax",
        "igamma": "igamma_cpu",
        "igammac": "igammac_cpu",
        "_prelu_kernel": "prelu_cpu",
        "max_pool1d": "max_pool1d_impl",
        "segment_reduce": "_segment_reduce_cpu",
    },
    "biuce": {
        "multi_margin_loss": "multi_margin_loss_cpu_kernel",
        "multilabel_margin_loss_forward": "multilabel_margin_loss_forward_out_frame",
    },
    "buce": {"avg_pool3d": "avg_pool3d_out_frame"},
    "buc": {"avg_pool2d": "avg_pool2d"},
    "iu": {"im2col": "im2col_out_cpu"},
    "biu": {
        "silu": "silu_cpu",
        "logcumsumexp": "logcumsumexp_out_cpu",
        "logaddexp": "logaddexp_cpu",
        "logaddexp2": "logaddexp2_cpu",
        "nextafter": "nextafter_cpu",
        "hypot": "hypot_cpu",
        "lerp_Scalar": "lerp_kernel_scalar",
        "lerp_Tensor": "lerp_kernel_tensor",
    },
    "bc": {
        "max_pool2d_with_indices": "max_pool2d",
        "max_pool3d_with_indices": "max_pool3d",
        "threshold": "threshold_cpu",
        "threshold_": "threshold_cpu",
        "nanmedian": "median_cpu",
        "nanmedian_dim": "median_out",
        "ceil": "ceil_vml_cpu",
        "floor": "floor_vml_cpu",
        "trunc": "trunc_vml_cpu",
        "kthvalue": "kthvalue_cpu",
        "median": "median_cpu",
    },
    "b": {
        "abs": "abs_cpu",
        "dot": "dot",
        "vdot": "dot",
        "trace": "trace",
        "addcmul": "addcmul_cpu_out",
        "pow": "pow",
        "median_dim": "median_out",
    },
    "c": {
        "max": "max_all",
        "min": "min_all",
        "cummax": "cummax_cpu",
        "cummin": "cummin_cpu",
        "mode": "mode_cpu",
        "_unique2": "unique",
        "unique_consecutive": "unique",
        "unique_dim": "unique",
    },
}
"""Kinds of dtypes (as NumPy calls them; e: float16) -> operation -> the name of the kernel that lacks them."""
_CLAMPED = dict.fromkeys(
    ("clamp", "clamp_min", "clamp_max", "hardtanh", "clamp_Tensor", "clamp_min_Tensor", "clamp_max_Tensor"),
    (NotImplementedError, "clamp is not supported for complex types"),
)
_COMPLEX: dict[str, tuple[type[Exception], str]] = {
    **_CLAMPED,
    "sort": (RuntimeError, " Sort does not support complex dtypes on CPU"),
    "sort_stable": (RuntimeError, " Sort does not support complex dtypes on CPU"),
    "topk": (RuntimeError, " topk does not support complex dtypes on CPU"),
    "max_dim": (RuntimeError, "max(): does not support complex input"),
    "min_dim": (RuntimeError, "min(): does not support complex input"),
    "sign": (
        NotImplementedError,
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    ),
    **{
        name: (RuntimeError, f"{name} not implemented for complex tensors.")
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    **{
        name: (NotImplementedError, f"{name} is not supported for complex inputs")
        for name in ("floor", "ceil", "trunc")
    },
    **{name: (RuntimeError, f"{name} is not supported for complex tensors.") for name in ("deg2rad", "rad2deg")},
}
"""What is said of complex numbers by operations that say more than that a kernel lacks them."""
_WORDS: dict[str, tuple[str, type[Exception], str]] = {
    "relu": ("b", RuntimeError, "Boolean inputs not supported for relu"),
    "topk": ("b", RuntimeError, "topk does not support bool dtypes on CPU"),
    "dist": ("iu", RuntimeError, "norm(): input dtype should be either floating point or complex. Got {} instead."),
    "renorm": (
        "biu",
        RuntimeError,
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
    ),
}
"""The same of other dtypes."""
_NEED_DIMENSIONS = ("cummax", "cummin", "kthvalue", "mode")
"""What does not come to its kernel with a tensor of no dimensions."""
_REFUSED = {name: (kinds, kernel) for kinds, kernels in _KERNELS.items() for name, kernel in kernels.items()}


def limited(identifier: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operation, which refuses dtypes in PyTorch's words if it computes in more than PyTorch does."""
    refused, missing = _REFUSED.get(identifier, ("", ""))
    said = _COMPLEX.get(identifier)
    words = _WORDS.get(identifier)
    kinds = refused + "c" * (said is not None) + (words[0] if words else "")
    if not kinds:
        return kernel

    always = identifier not in _NEED_DIMENSIONS

    @functools.wraps(kernel)
    def run(first: Any, *rest: Any) -> Any:
        kind = first.dtype.kind
        if (kind in kinds or (kind == "f" and first.dtype.char in kinds)) and (always or first.ndim):
            if words and kind in words[0]:
                raise words[1](words[2].format(dtypes.cpp_name(first.dtype)))
            raise _refusal(missing, said, first, rest)
        return kernel(first, *rest)

    return run


def _refusal(missing: str, said: tuple[type[Exception], str] | None, raw: Any, rest: tuple[Any, ...]) -> Exception:
    if said is not None and raw.dtype.kind == "c":
        return said[0](said[1])
    if missing in ("softmax", "log_softmax"):
        missing += "_lastdim_kernel_impl" if rest[0] in (raw.ndim - 1, -1) or not raw.ndim else "_kernel_impl"
    return NotImplementedError(f"\"{missing}\" not implemented for '{dtypes.cpp_name(raw.dtype)}'")
