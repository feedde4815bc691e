"""`torch.nn.functional`: layers and losses as functions."""
# ruff: noqa: F401  (names are here to be found)

from __future__ import annotations

import functools
from typing import Any

from .. import _missing
from .._core.arguments import delegates as _delegates
from .._core.arguments.overrides import NOBODY as _NOBODY, asked_instead as _asked_instead, looks as _looks
from .._core.base.state import process_state as _process_state
from .._core.base.user_warnings import warn
from .._core.running import calling as _calling
from .._ops.layers.attention import (
    bilinear as bilinear,
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from .._ops.layers.average_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
)
from .._ops.layers.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from .._ops.layers.embedding import embedding as embedding, embedding_bag as embedding_bag, one_hot as one_hot
from .._ops.layers.group_norm import group_norm as group_norm, instance_norm as instance_norm
from .._ops.layers.interpolate import (
    affine_grid as affine_grid,
    grid_sample as grid_sample,
    interpolate as interpolate,
    upsample as upsample,
    upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)
from .._ops.layers.multihead import multi_head_attention_forward as multi_head_attention_forward
from .._ops.layers.normalization import (
    batch_norm as batch_norm,
    layer_norm as layer_norm,
    local_response_norm as local_response_norm,
    normalize as normalize,
    rms_norm as rms_norm,
)
from .._ops.layers.padding import pad as pad
from .._ops.layers.pooling import (
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool3d as fractional_max_pool3d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from .._ops.layers.unpooling import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from .._ops.loss_functions.chunked import linear_cross_entropy as linear_cross_entropy
from .._ops.loss_functions.classification import (
    cross_entropy as cross_entropy,
    ctc_loss as ctc_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    nll_loss as nll_loss,
)
from .._ops.loss_functions.likelihood_losses import (
    gaussian_nll_loss as gaussian_nll_loss,
    kl_div as kl_div,
    poisson_nll_loss as poisson_nll_loss,
)
from .._ops.loss_functions.losses import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    huber_loss as huber_loss,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    smooth_l1_loss as smooth_l1_loss,
    soft_margin_loss as soft_margin_loss,
)
from .._ops.matrices.linear import linear as linear
from .._ops.pointwise.activations import (
    gumbel_softmax as gumbel_softmax,
    log_softmax as _log_softmax,
    softmax as _softmax,
    softplus_op as _softplus,
)
from .._ops.pointwise.glu import glu as glu
from .._ops.pointwise.nonlinear import (
    celu as celu,
    celu_ as celu_,
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    hardshrink_op as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    hardtanh_ as hardtanh_,
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    relu6 as relu6,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    selu_ as selu_,
    silu as silu,
    softshrink as softshrink,
    softsign as softsign,
    tanhshrink as tanhshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from .._ops.pointwise.unary import relu as _relu, sigmoid as sigmoid, tanh as tanh
from .._ops.random_numbers.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from .._ops.reducing.distances import (
    cosine_embedding_loss as cosine_embedding_loss,
    cosine_similarity as cosine_similarity,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from .._ops.shaping.columns import fold as fold, unfold as unfold
from .._ops.shaping.pixel_shuffle import (
    channel_shuffle as channel_shuffle,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)


@_looks
def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0), element by element."""
    if _process_state.asks and (result := _asked_instead(relu, (input, inplace), {})) is not _NOBODY:
        return result
    return input.relu_() if inplace else _relu(input)


def relu_(input: Any) -> Any:
    """`relu` in place."""
    return input.relu_()


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x) over its sum along `dim`."""
    return _softmax(input, _implicit(input, "softmax") if dim is None else dim, dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax` of -x."""
    axis = _implicit(input, "softmin") if dim is None else dim
    return (-input).softmax(axis) if dtype is None else (-input).softmax(axis, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _log_softmax(input, _implicit(input, "log_softmax") if dim is None else dim, dtype)


def _implicit(input: Any, name: str) -> int:
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input.dim() in (0, 1, 3) else 1


def _with_indices(pool: Any) -> Any:
    """The pooling that also returns where each maximum was."""
    return functools.partial(pool, return_indices=True)


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(
    _with_indices, (max_pool1d, max_pool2d, max_pool3d)
)
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    _with_indices, (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)
)
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = map(
    _with_indices, (fractional_max_pool2d, fractional_max_pool3d)
)
native_channel_shuffle = channel_shuffle
softplus = _softplus


_members = {name: run for name, run in globals().items() if not name.startswith("_")}
globals().update(_calling.overridable(_members, _delegates.guard(_members)))


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())
