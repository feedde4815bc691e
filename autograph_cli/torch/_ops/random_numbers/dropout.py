"""Dropout: parts of the input set to 0 at random, with PyTorch's own stream of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.cuda import drawing_for, moved
from ..._arrays.meta import Meta
from ..._core.arguments.arg_check import hands_on
from ..._core.base import dtypes
from ..._core.base.device import CPU
from ..._core.base.errors import refused
from ..._core.base.state import process_state, thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.docstrings import documented, in_place
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, functions
from ..._core.running.device_dispatch import kernels
from ..._core.streams import generator
from ..._core.streams.generator import stream_of
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, randomness
from ..._core.transforms.transforms import beside
from ..._kernels.random_numbers.random import in_memory_order
from ..pointwise import arithmetic
from ..pointwise.arithmetic import no_derivative
from ..shaping import views

ALPHA = 1.7580993408473766
"""The negative limit of `selu`, whose outputs alpha dropout keeps at mean 0 and variance 1."""

native_dropout_op = operation(
    "native_dropout(Tensor input, Tensor kept, float scale) -> (Tensor result0, Tensor result1)",
    nondifferentiable=("result1",),
    batch=batching.leading,
    input=lambda f, grad, kept, scale: grad * f.mul_Scalar(f.cast_like(kept, grad), scale),
)

native_dropout_backward = operation(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale)",
    node="NativeDropoutBackwardBackward0",
    saved={"grad_output": "grad_output"},
    pointwise=True,
    saves_all=True,
    grad_output=lambda f, grad, mask, scale: grad * f.mul_Scalar(f.cast_like(mask, grad), scale),
    mask=no_derivative("native_dropout_backward: mask", NotImplementedError),
)


def _chance(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise refused(ValueError, f"dropout probability has to be between 0 and 1, but got {p}")


def _dropout_of(name: str) -> Any:
    def hands(input: Any, p: float = 0.5, training: bool = "alpha" not in name, inplace: bool = False) -> Any:
        _chance(p)
        return "torch", name + "_" * bool(inplace), (input, p, training), {}

    return hands


def _times(input: Tensor, noise: Tensor, inplace: bool) -> Tensor:
    return input.mul_(noise) if inplace else arithmetic.mul(input, noise)


def _noise_shape(input: Tensor, feature: bool) -> Any:
    """Return where the noise is drawn: for every element, or for every channel."""
    raw = input._ag_raw
    if not feature:
        return raw
    if raw.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return kernels(raw).xp.empty((*raw.shape[:2], *[1] * (raw.ndim - 2)), raw.dtype)


def _check_dtype(input: Tensor) -> None:
    if dtypes.CATEGORY[input._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {dtypes.cpp_name(input._ag_raw.dtype)}"
        )


def _drop(input: Tensor, p: float, train: bool, inplace: bool, feature: bool = False) -> Tensor:
    if p == 0 or not train or input._ag_raw.size == 0:
        return input
    shape = _noise_shape(input, feature)
    if p == 1:
        return _times(input, make(np.zeros((), input._ag_raw.dtype)[()]), inplace)
    _check_dtype(input)
    if not (feature or inplace) and input.is_cuda:
        return native_dropout(input, p, True)[0]
    draw = lambda size: generator.dropout_noise(stream_of(None), size, input._ag_raw.dtype, p)  # noqa: E731
    return _times(input, _noise(draw, shape, input, p), inplace)


def _noise(draw: Any, like: Any, input: Tensor, p: float) -> Tensor:
    """A tensor of random numbers of the shape of an array, 0 with probability `p`; under vmap as its randomness
    says."""
    if thread_state.levels:
        nothing = lambda size: Meta(size, input._ag_raw.dtype)  # noqa: E731
        return randomness.drawn(like.shape, nothing if input.is_meta else draw)
    where = input.device
    if where is CPU:
        made = make(in_memory_order(draw, like)[()])
    else:
        with drawing_for(where):
            made = make(moved(in_memory_order(draw, like)[()], where))
    return _told(made, p)


def _told(noise: Tensor, p: float) -> Tensor:
    if process_state.observer is not None:
        process_state.observer.untracked("bernoulli", None, (), (noise,), (("p", p),))
    return noise


def _drop_alpha(input: Tensor, p: float, train: bool, inplace: bool, feature: bool = False) -> Tensor:
    if p == 0 or not train or input._ag_raw.size == 0:
        return input
    shape, kind = _noise_shape(input, feature), input._ag_raw.dtype
    if p == 1:
        return _times(input, make(np.zeros((), kind)[()]), inplace)
    draw = lambda size: generator.bernoulli(stream_of(None), size, kind, 1 - p)  # noqa: E731
    kept = _noise(draw, shape, input, p)
    a = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    scale = beside(kept, lambda t: _told(make((t._ag_raw * kind.type(a))[()]), p))
    shift = beside(
        kept,
        lambda t: _told(make(((t._ag_raw - kind.type(1)) * kind.type(ALPHA * a) + kind.type(ALPHA * a * p))[()]), p),
    )
    product = _times(input, scale, inplace)
    return product.add_(shift) if inplace else arithmetic.add(product, shift)


@hands_on(_dropout_of("dropout"))
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability `p`, the others grown by 1 / (1 - p); ValueError for a p that is no
    probability.

    >>> from autograph_cli import torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.functional.dropout(torch.ones(4))
    tensor([0., 0., 2., 0.])
    """
    _chance(p)
    return _drop(input, p, training, inplace)


@hands_on(_dropout_of("feature_dropout"))
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, L) or (C, L)."""
    _chance(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _batched(input, 3, p, training, inplace)


def _batched(input: Tensor, ndim: int, p: float, training: bool, inplace: bool) -> Tensor:
    if input.ndim == ndim:
        return _drop(input, p, training, inplace, True)
    batch = views.unsqueeze_op(input, 0)
    return views.squeeze_dim(_drop(batch, p, training, inplace, True), 0)


@hands_on(_dropout_of("feature_dropout"))
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, H, W)."""
    _chance(p)
    if input.ndim not in (3, 4):
        warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error "
            "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
            "that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 3D or 4D inputs)."
        )
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _drop(input, p, training, inplace, True)


@hands_on(_dropout_of("feature_dropout"))
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _chance(p)
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error "
            "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
            "that dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 4D or 5D inputs)."
        )
    return _batched(input, 5, p, training, inplace)


@hands_on(_dropout_of("alpha_dropout"))
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` that keeps mean 0 and variance 1: dropped elements get the negative limit of `selu`."""
    _chance(p)
    return _drop_alpha(input, p, training, inplace)


@hands_on(_dropout_of("feature_alpha_dropout"))
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels."""
    _chance(p)
    return _drop_alpha(input, p, training, inplace, True)


@composite(method=False)
def native_dropout(input: Tensor, p: float, train: Any) -> tuple[Tensor, Tensor]:
    """The input after dropout, and which elements were kept."""
    if input._ag_raw.size == 0 or train is False:
        return input, make(kernels(input._ag_raw).xp.ones(input._ag_raw.shape, bool)[()])
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    draw = lambda size: moved(  # noqa: E731
        generator.dropout_mask(stream_of(None), size, 1 - p)[()], input.device
    )
    with drawing_for(input.device):
        kept = make(Meta(input._ag_raw.shape, bool)) if input.is_meta else randomness.drawn(input._ag_raw.shape, draw)
    result, mask = native_dropout_op(input, kept, scale)
    return result, mask


def _publish() -> None:
    """`torch.dropout(input, p, train)` and its relatives, in place too."""
    for name, drop, feature, what in (
        ("dropout", _drop, False, "each element with probability `p` 0, the others divided by 1 - p"),
        ("feature_dropout", _drop, True, "each channel with probability `p` 0, the others divided by 1 - p"),
        ("alpha_dropout", _drop_alpha, False, "each element with probability `p` at the lower limit of SELU"),
        ("feature_alpha_dropout", _drop_alpha, True, "each channel with probability `p` at the lower limit of SELU"),
    ):
        for changed in (False, True):
            doc = f"`input` with {what}; as it is unless `train`. RuntimeError unless 0 <= p <= 1."
            named = name + "_" * changed
            run = _dropping(drop, feature, changed)
            functions[named] = documented(run, in_place(name) if changed else doc, named)


def _dropping(drop: Any, feature: bool, inplace: bool) -> Any:
    def run(input: Tensor, p: float, train: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
        result: Tensor = drop(input, p, train, inplace, feature)
        return result

    return run


_publish()
