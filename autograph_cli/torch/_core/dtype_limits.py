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
    "e": {f"special_{name}": f"{name}_cpu" for name in _NO_HALF},
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
    },
    "biuce": {
        "multi_margin_loss": "multi_margin_loss_cpu_kernel",
        "multilabel_margin_loss_forward": "multilabel_margin_loss_forward_out_frame",
    },
    "buce": {"avg_pool3d": "avg_pool3d_out_frame"},
    "buc": {"avg_pool2d": "avg_pool2d"},
    "iu": {"im2col": "im2col_out_cpu"},
    "biu": {"silu": "silu_cpu", "logcumsumexp": "logcumsumexp_out_cpu"},
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
    "b": {"abs": "abs_cpu", "dot": "dot", "trace": "trace"},
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
    ("clamp", "clamp_min", "clamp_max", "hardtanh"), (NotImplementedError, "clamp is not supported for complex types")
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
}
"""What is said of complex numbers by operations that say more than that a kernel lacks them."""
_NEED_DIMENSIONS = ("cummax", "cummin", "kthvalue", "mode")
"""What does not come to its kernel with a tensor of no dimensions."""
_REFUSED = {name: (kinds, kernel) for kinds, kernels in _KERNELS.items() for name, kernel in kernels.items()}
_OF_8_BITS = """
    _to_copy _to_copy_plain abs all any cat clone clone_format constant_pad_nd copy diag_embed embedding eq eq_Scalar
    fill_Scalar fill_Tensor fill_functional_Scalar fill_functional_Tensor index index_put index_select isnan isreal masked_select mm
    mul ne ne_Scalar repeat roll select_copy stack where zero
"""
_FLOAT8 = frozenset(_OF_8_BITS.split())
"""What is computed in dtypes of 8 bits, beside views."""
_FLOAT8_NUMBERS = ("abs", "mm", "mul")
"""What of that is not computed in float8_e8m0fnu, whose numbers are scales."""


def check_float8(op: Any, raws: list[Any]) -> None:
    """NotImplementedError where an operation is given numbers of 8 bits and PyTorch does not compute with them."""
    for raw in () if op.view else raws:
        scale = raw.dtype.name == "float8_e8m0fnu" and op.identifier in _FLOAT8_NUMBERS
        if raw.dtype in dtypes.FLOAT8 and (scale or op.identifier not in _FLOAT8):
            kernel = _REFUSED.get(op.identifier, ("", f"{op.name.strip('_')}_cpu"))[1]
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.cpp_name(raw.dtype)}'")


def limited(identifier: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operation, which refuses dtypes in PyTorch's words if it computes in more than PyTorch does."""
    refused, missing = _REFUSED.get(identifier, ("", ""))
    said = _COMPLEX.get(identifier)
    kinds = refused + "c" * (said is not None)
    if not kinds:
        return kernel

    always = identifier not in _NEED_DIMENSIONS

    @functools.wraps(kernel)
    def run(first: Any, *rest: Any) -> Any:
        kind = first.dtype.kind
        if (kind in kinds or (kind == "f" and first.dtype.char in kinds)) and (always or first.ndim):
            raise _refusal(missing, said, first, rest)
        return kernel(first, *rest)

    return run


def _refusal(missing: str, said: tuple[type[Exception], str] | None, raw: Any, rest: tuple[Any, ...]) -> Exception:
    if said is not None and raw.dtype.kind == "c":
        return said[0](said[1])
    if missing in ("softmax", "log_softmax"):
        missing += "_lastdim_kernel_impl" if rest[0] in (raw.ndim - 1, -1) or not raw.ndim else "_kernel_impl"
    return NotImplementedError(f"\"{missing}\" not implemented for '{dtypes.cpp_name(raw.dtype)}'")
