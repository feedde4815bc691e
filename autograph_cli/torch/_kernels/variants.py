"""Compiled variants of kernels: the one place where the two meet.

A kernel stands once, in Python. Where the compiled modules are, the kernels of NumPy's arrays are
`either(variant, kernel)`, which asks the variant first if it takes the arguments. A variant gives the same bits. It may
look further and answer None, which leaves the call to the kernel; one that only changes an argument answers True.
Variants made of several compiled passes stand in `composed.py`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from .._compiled import compiled

Function = TypeVar("Function", bound=Callable[..., Any])
_chooser: Any = compiled("_core.running.fast_kernels")


class Variant(NamedTuple):
    """A variant of a kernel and the arguments that it takes."""

    place: str
    """A compiled module, without `fast_`, or `composed`, and the name of a function in it."""
    arrays: tuple[int, ...] = ()
    """The arguments that are arrays of float32 or float64 in one piece, of one dtype; of others it looks itself."""
    alike: bool = False
    """These arrays are of one shape, too."""
    laid: bool = False
    """Its results lie in memory as PyTorch's do, so that nothing needs to look at them."""

    def function(self) -> Callable[..., Any]:
        """Return the variant itself."""
        module, name = self.place.split(".")
        place = importlib.import_module(f".{module}", __package__) if module == "composed" else None
        result: Callable[..., Any] = getattr(place or compiled(f"_kernels.fast_{module}"), name)
        return result


def _laid(module: str, names: str, function: str = "") -> dict[str, Variant]:
    return {name: Variant(f"{module}.{function or name}", laid=True) for name in names.split()}


def _direct(module: str, names: str, function: str = "", *arrays: int) -> dict[str, Variant]:
    return {name: Variant(f"{module}.{function or name}", arrays, alike=True) for name in names.split()}


VARIANTS: dict[str, Variant] = {
    # Views.
    **_laid("views", "slice select unbind view expand diagonal windows permute transpose t unsqueeze"),
    **_laid("views", "reshape", "view"),
    # Element by element.
    **_laid("pointwise", "cast_in_format"),
    **_direct("halves", "to_float32"),
    **_direct("halves", "_back", "rounded"),
    "lerp_Scalar": Variant("pointwise.lerp_scalar", (0, 1), alike=True, laid=True),
    **_direct("pointwise", "sigmoid", "logistic"),
    **_direct("pointwise", "silu", "swish"),
    **_direct("pointwise", "chosen"),
    **_direct("pointwise", "sign hardsigmoid hardswish", "", 0),
    **_direct("pointwise", "tanh_backward sigmoid_backward hardswish_backward", "", 0, 1),
    **_direct("pointwise", "log_sigmoid_backward", "", 0, 1, 2),
    **_direct("composed", "relu between clamp leaky_relu softplus _prelu_kernel", "", 0),
    **_direct("composed", "hypot threshold_backward softplus_backward silu_backward", "", 0, 1),
    **_direct("composed", "elu_backward", "", 0, 5),
    **_direct("composed", "elu"),
    **_direct("composed", "gelu _gelu _gelu_inner erf error_function", "", 0),
    **_direct("composed", "_gelu_backward _gelu_tanh_backward", "", 0, 1),
    **_direct("composed", "_gelu_tanh"),
    **_direct("special", "lgamma digamma", "", 0),
    **_direct("composed", "_library", "", 1),
    **_direct("special", "log_of_one_more", "log1p"),
    **_direct("special", "expm1"),
    **_direct("elements", "remainder chebyshev rational", "", 0),
    **_direct("special", "_tanh_softplus", "tanh_softplus"),
    **_direct("special", "log_sigmoid_forward", "log_sigmoid"),
    **_direct("rows", "glu glu_backward"),
    # Losses.
    **_laid("rows", "nll_loss_forward"),
    **_direct("composed", "_entries"),
    **_direct("composed", "_smooth_l1 _huber _logits_losses", "", 0, 1),
    # Rows, columns, everything.
    **_laid("rows", "softmax log_softmax logsumexp native_layer_norm native_group_norm native_batch_norm"),
    **_direct("rows", "softmax_backward log_softmax_backward"),
    **_direct("rows", "native_layer_norm_backward native_group_norm_backward"),
    **_direct("rows", "native_batch_norm_backward batch_norm_backward", "native_batch_norm_backward"),
    **_laid("rows", "_scaled_dot_product_flash_attention_for_cpu", "attention"),
    **_direct("rows", "_attended", "attention"),
    **_direct("rows", "_added_rows", "row_sums", 0),
    **_direct("composed", "sum sum_dim_IntList", "total"),
    **_direct("composed", "mean mean_dim", "mean"),
    **_direct("composed", "var std amax amin cumsum cumprod"),
    **_direct("elements", "_products_of_rows", "row_products", 0),
    **_direct("composed", "vector_norm linalg_vector_norm", "norm"),
    # Orders.
    **_direct("composed", "sort topk kthvalue median_dim _modes"),
    **_direct("composed", "_running_extreme", "", 1),
    **_direct("order", "unique"),
    # Windows of images.
    **_laid("convolution", "convolution"),
    **_direct("convolution", "_small_gradients", "gradients"),
    **_direct("convolution", "_copied_windows", "columns", 0),
    **_direct("convolution", "images", "", 0),
    **_direct("convolution", "_shifted_images", "shifted_images", 0),
    **_laid("pooling", "max_pool2d_with_indices", "max_pool"),
    **_direct("pooling", "max_pool"),
    **_laid("pooling", "avg_pool2d", "avg_pool"),
    **_direct("pooling", "avg_pool"),
    **_laid("pooling", "_adaptive_avg_pool2d", "adaptive_avg_pool2d"),
    **_direct("pooling", "put_planes", "", 0),
    **_direct("pooling", "_window_shares", "window_sums_backward", 0),
    **_laid("padding", "reflection_pad1d reflection_pad2d", "reflection"),
    **_laid("padding", "reflection_pad1d_backward reflection_pad2d_backward", "reflection_backward"),
    **_laid("padding", "replication_pad1d replication_pad2d", "replication"),
    **_laid("padding", "replication_pad1d_backward replication_pad2d_backward", "replication_backward"),
    # Positions and parts.
    **_laid("indexing", "scatter_add", "scattered"),
    **_direct("indexing", "index", "picked"),
    **_direct("indexing", "all_below one_hot gather"),
    **_direct("indexing", "scatter_src", "scatter"),
    **_direct("composed", "nonzero tril triu _values_at added_at"),
    **_direct("tables", "add_rows"),
    **_direct("composed", "_bags _largest grid_sampler grid_sampler_backward"),
    **_laid("joining", "flip"),
    **_direct("joining", "cat", "joined"),
    **_direct("composed", "stack"),
    # Matrices.
    **_laid("products", "dot"),
    **_direct("products", "matmul mm bmm mv", "product"),
    **_direct("products", "add_product"),
    **_direct("composed", "addmm _cdist_forward"),
    **_direct("composed", "_pdist_forward", "", 0),
    **_direct("composed", "linalg_cholesky_ex linalg_qr lu_factor lu_unpack"),
    **_direct("lapack", "_each_at", "each"),
    **_direct("triangular", "substituted"),
    # Random numbers.
    **_direct("variates", "_each", "each"),
    # Recurrent layers.
    "_lstm_step": Variant("recurrent.step", (0, 1, 2, 3, 4, 5)),
    "_lstm_step_back": Variant("recurrent.step_back", (0, 1, 2, 3, 4, 5)),
    "_lstm_derivatives": Variant("recurrent.derivatives", (0, 1, 2)),
}
"""The variants, by the names of their kernels: methods of `Kernels`, or functions (see `chosen`)."""


def unwidened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return what such a kernel runs where its first array is in float32 or float64; any other kernel itself."""
    run = getattr(kernel, "unwidened", kernel)
    owner = getattr(kernel, "__self__", None)
    return run if run is kernel or owner is None else functools.partial(run, owner)


def widened_as(kernel: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run`, which is to take the place of what `kernel` runs, with the wrapping that `kernel` has."""
    rounded = getattr(kernel, "rounded", None)
    return run if rounded is None else functools.partial(rounded, run)


def straight(function: Callable[..., Any], careful: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that runs `function` on a first array in float32 or float64, and `careful` on any other."""
    return careful if function is careful or not _chooser else _chooser.straight(function, careful)


def _either(variant: Variant, kernel: Callable[..., Any]) -> Callable[..., Any]:
    return _chooser.either(variant.function(), kernel, variant.arrays, variant.alike, variant.laid)  # type: ignore[no-any-return]


def chosen(function: Function) -> Function:
    """A function, with its compiled variant before it."""
    return _either(VARIANTS[function.__name__], function) if _chooser else function  # type: ignore[return-value]


def install(kernels: Any) -> None:
    """Put the variants before the kernels of NumPy's arrays."""
    for name, variant in VARIANTS.items() if _chooser else ():
        kernel = getattr(kernels, name, None)
        if kernel is not None:  # a function, which `chosen` wraps, otherwise
            run = _either(variant, unwidened(kernel))
            setattr(kernels, name, straight(run, widened_as(kernel, run)))
