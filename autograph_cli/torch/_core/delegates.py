"""What the functions of `torch.nn.functional` hand their arguments to, and so what errors about arguments name."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from .arg_check import PUBLIC, ByIndices, Check, Delegate, guarded, looks_itself

HOME = f"{PUBLIC}.nn.functional"
BOUND = frozenset(
    (
        "adaptive_avg_pool1d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "bilinear",
        "celu_",
        "channel_shuffle",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_similarity",
        "elu_",
        "gelu",
        "hardshrink",
        "hardtanh_",
        "leaky_relu_",
        "linear",
        "native_channel_shuffle",
        "one_hot",
        "pairwise_distance",
        "pdist",
        "pixel_shuffle",
        "pixel_unshuffle",
        "prelu",
        "relu_",
        "rrelu_",
        "scaled_dot_product_attention",
        "selu_",
        "softplus",
        "softshrink",
        "threshold_",
    )
)
"""Functions that are PyTorch's compiled ones themselves."""
OTHERS = {
    "affine_grid": "affine_grid_generator",
    "cross_entropy": "cross_entropy_loss",
    "dropout1d": "feature_dropout",
    "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout",
    "fold": "col2im",
    "grid_sample": "grid_sampler",
    "logsigmoid": "log_sigmoid",
    "nll_loss": "nll_loss_nd",
    "unfold": "im2col",
}
"""Functions that hand their arguments to one of another name."""
_TRAINED = ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")
RENAMED = {"embedding": {"indices": "input"}, **{name: {"train": "training"} for name in _TRAINED}}
"""Arguments that have another name there."""
_METHODS = frozenset(("softmax", "log_softmax"))
"""Functions that hand their arguments to a method."""
_UNLIKE = frozenset(
    ("interpolate", "upsample", "max_unpool1d", "max_unpool2d", "max_unpool3d", "embedding_bag", "grid_sample")
)
"""Functions that work on their arguments before they hand them on."""


_BY_INDICES = frozenset(
    f"{kind}max_pool{n}d"
    for kind in ("", "adaptive_", "fractional_")
    for n in (1, 2, 3)
    if (kind, n) != ("fractional_", 1)
)
"""Poolings, which give the indices too where they are asked for."""


def guard(functions: Mapping[str, Any]) -> dict[str, Any]:
    """The functions of `torch.nn.functional`, which look at their arguments."""
    return {
        name: guarded(_check(name, run), HOME)
        for name, run in functions.items()
        if isinstance(run, FunctionType) and not name.startswith("_") and name != "relu" and not looks_itself(run)
    }


def _check(name: str, run: Any) -> Check:
    found = _checked_by(name, run)
    found.public = name
    return found


def _checked_by(name: str, run: Any) -> Check:
    inner = OTHERS.get(name, name)
    if name in _BY_INDICES:
        return ByIndices(name, run)
    if name in BOUND or name == "logsigmoid":
        return Check("functional", inner, run)
    space = "Tensor" if name in _METHODS else "functional"
    return Delegate("" if name in _UNLIKE else space, inner, run, RENAMED.get(name))
