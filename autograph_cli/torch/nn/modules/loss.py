"""Losses: functions of a prediction and a target as modules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..._core.base.user_warnings import warn
from .. import functional as F
from ._layer import Layer
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
    "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


def _reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Return what the two older settings mean."""
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.")
    return meant


class _Loss(Layer):
    """A loss; tensors among its settings are buffers."""

    reduction: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        of = self.__dict__
        older = of.pop("size_average", None), of.pop("reduce", None)
        if older != (None, None):
            self.reduction = _reduction(*older)

    def __init_subclass__(cls, call: str | None = None, **more: Any) -> None:
        super().__init_subclass__(call=call, shows=None if call is None else "", **more)
        if call is not None:
            cls.__constants__ = [name for name in cls.__constants__ if name not in ("size_average", "reduce")]

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return getattr(F, self._ag_function)(*inputs, **named, **self._ag_settings())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("weight", "pos_weight") and name not in self._buffers:
            self.register_buffer(name, value)
        else:
            super().__setattr__(name, value)


class _WeightedLoss(_Loss):
    """A loss with a `weight` for each class or element."""


class L1Loss(_Loss, call="l1_loss"):
    """|input - target|."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MSELoss(_Loss, call="mse_loss"):
    """(input - target)^2."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class SmoothL1Loss(_Loss, call="smooth_l1_loss"):
    """Squares below `beta`, absolute values above."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    beta: float = 1.0


class HuberLoss(_Loss, call="huber_loss"):
    """Squares below `delta`, absolute values above."""

    reduction: str = "mean"
    delta: float = 1.0


class KLDivLoss(_Loss, call="kl_div"):
    """The divergence of the target's distribution from the input's, which is given by its logarithms."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    log_target: bool = False


class NLLLoss(_WeightedLoss, call="nll_loss"):
    """Minus the logarithm of the probability of the target's class."""

    weight: Any = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"


class NLLLoss2d(NLLLoss):
    """`NLLLoss`, under its older name for pictures."""


class CrossEntropyLoss(_WeightedLoss, call="cross_entropy"):
    """`NLLLoss` of `log_softmax`; the target holds classes, or probabilities of them.

    >>> from autograph_cli import torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor(1.3863)
    """

    weight: Any = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class BCELoss(_WeightedLoss, call="binary_cross_entropy"):
    """Cross entropy of probabilities and targets of 0 to 1."""

    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class BCEWithLogitsLoss(_WeightedLoss, call="binary_cross_entropy_with_logits"):
    """`BCELoss` of sigmoid(input)."""

    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    pos_weight: Any = None


class PoissonNLLLoss(_Loss, call="poisson_nll_loss"):
    """Minus the logarithm of the Poisson distribution with the predicted rate at the target."""

    log_input: bool = True
    full: bool = False
    size_average: Any = None
    eps: float = 1e-8
    reduce: Any = None
    reduction: str = "mean"


class GaussianNLLLoss(_Loss, call="gaussian_nll_loss", keyword_only=True):
    """Minus the logarithm of the normal distribution with the predicted mean and variance at the target."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class HingeEmbeddingLoss(_Loss, call="hinge_embedding_loss"):
    """x where the target is 1, max(0, margin - x) where it is -1."""

    margin: float = 1.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class CosineEmbeddingLoss(_Loss, call="cosine_embedding_loss"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MarginRankingLoss(_Loss, call="margin_ranking_loss"):
    """max(0, -target * (x1 - x2) + margin)."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class SoftMarginLoss(_Loss, call="soft_margin_loss"):
    """log(1 + exp(-target * x))."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MultiLabelMarginLoss(_Loss, call="multilabel_margin_loss"):
    """Hinge loss between the classes that are labels and those that are not."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MultiLabelSoftMarginLoss(_WeightedLoss, call="multilabel_soft_margin_loss"):
    """`BCEWithLogitsLoss` averaged over the classes."""

    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MultiMarginLoss(_WeightedLoss, call="multi_margin_loss"):
    """Hinge loss between the target's class and the others, to the power `p` (1 or 2)."""

    p: int = 1
    margin: float = 1.0
    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise AssertionError("weight must be None or have dim=1")


class TripletMarginLoss(_Loss, call="triplet_margin_loss"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class TripletMarginWithDistanceLoss(_Loss, call="triplet_margin_with_distance_loss", keyword_only=True):
    """`TripletMarginLoss` with a distance of the caller's."""

    distance_function: Any = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.margin <= 0:
            raise ValueError(f"margin must be greater than 0, got {self.margin}")
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()


class CTCLoss(_Loss, call="ctc_loss"):
    """Minus the logarithm of the probability of a sequence, over all its alignments with the input."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


_ACCUMULATIONS = ("accurate", "balanced", "compact", "auto")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Options of `LinearCrossEntropyLoss`: its rows are taken `batch_chunk_size` at a time. The other settings change
    nothing here."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        method, size = self.chunking_method, self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if not (method in (None, "auto") or re.fullmatch(r"aspect_ratio:\d+(\.\d+)?", str(method))):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in _ACCUMULATIONS:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")


class LinearCrossEntropyLoss(Module):
    """`CrossEntropyLoss` of a linear map that the loss owns."""

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Any = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.reduction, self.num_classes, self.out_features = reduction, num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        outputs = num_classes
        for n in out_features:
            outputs *= n
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Any, target: Any) -> Any:
        features = (self.num_classes, *self.out_features)
        weight = self.linear.weight.view(*features, -1)
        bias = None if self.linear.bias is None else self.linear.bias.view(features)
        return F.linear_cross_entropy(
            input,
            weight,
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
