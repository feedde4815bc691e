"""Losses of classes and of sequences of labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.arguments.arg_check import hands_on
from ..._core.base import dtypes
from ..._core.base.dtype_checks import refuse, same_scalar
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running.autocast import autocasts
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching_rules
from ..pointwise import activations, arithmetic
from ..pointwise.arithmetic import no_derivative
from ..pointwise.nonlinear import logsigmoid
from ..reducing import reductions
from ..shaping import views
from .losses import MEAN, NONE, SUM, reduced, reduction_code, reduction_name


def _nll(name: str, node: str, **traits: Any) -> Any:
    """The negative log likelihood, and its backward."""
    run = operation(
        f"{name}_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> "
        "(Tensor output, Tensor total_weight)",
        node=f"{node}Backward0",
        nondifferentiable=("total_weight",),
        autocast="fp32",
        batch=batching_rules.nll,
        constants=("weight",),
        **traits,
        self=lambda f, grad, self, target, weight, reduction, ignore_index, total_weight: getattr(
            f, f"{name}_backward"
        )(grad, self, target, weight, reduction, ignore_index, total_weight),
    )
    operation(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int "
        "ignore_index, Tensor total_weight)",
        node=f"{node}BackwardBackward0",
        batch=batching_rules.nll_backward,
        saves_all=True,
        constants=("weight", "total_weight"),
        grad_output=lambda f, grad, target, weight, reduction, ignore_index: getattr(f, f"{name}_forward")(
            grad, target, weight, reduction, ignore_index
        )[0],
        self=lambda f, grad: f.zeros_like(grad),
    )
    return run


nll = _nll("nll_loss", "NllLoss", refuses={"biuc": "nll_loss_out_frame"})
nll2d = _nll("nll_loss2d", "NllLoss2D")
multi_margin = operation(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1)",
    autocast="fp32",
    refuses={"biuce": "multi_margin_loss_cpu_kernel"},
    constants=("weight",),
    self=lambda f, grad, self, target, p, margin, weight, reduction: f.multi_margin_loss_backward(
        grad, self, target, p, margin, weight, reduction
    ),
)
operation(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? "
    "weight, int reduction)",
    has_derivative=False,
    saves_all=True,
    grad_output=no_derivative("multi_margin_loss_backward"),
    self=no_derivative("multi_margin_loss_backward"),
)
multilabel_margin = operation(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
    node="MultilabelMarginLossBackward0",
    nondifferentiable=("is_target",),
    autocast="fp32",
    refuses={"biuce": "multilabel_margin_loss_forward_out_frame"},
    self=lambda f, grad, self, target, reduction, is_target: f.multilabel_margin_loss_backward(
        grad, self, target, reduction, is_target
    ),
)
operation(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target)",
    has_derivative=False,
    saves_all=True,
    grad_output=no_derivative("multilabel_margin_loss_backward"),
    self=no_derivative("multilabel_margin_loss_backward"),
)


def _ctc_loss_log_probs(
    f: Any,
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: Any,
    log_alpha: Any,
    blank: Any,
    zero_infinity: Any,
) -> Any:
    return f._ctc_loss_backward(
        grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
    )


ctc = operation(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool "
    "zero_infinity) -> (Tensor neg_log_likelihood, Tensor log_alpha)",
    node="CtcLossBackward0",
    saved={
        "neg_log_likelihood": None,
        "log_alpha": None,
        "result0": "neg_log_likelihood",
        "result1": "log_alpha",
    },
    nondifferentiable=("log_alpha",),
    log_probs=_ctc_loss_log_probs,
)
operation(
    "_ctc_loss_backward(Tensor grad_output, Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
    "target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity)",
    has_derivative=False,
    saves_all=True,
    grad_output=no_derivative("_ctc_loss_backward"),
    log_probs=no_derivative("_ctc_loss_backward"),
    neg_log_likelihood=no_derivative("_ctc_loss_backward"),
)


# ---------------------------------------------------------------- negative log likelihood


_LABELS = (np.dtype(np.int64), np.dtype(np.uint8))


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    classes = input._ag_raw.shape[0 if input._ag_raw.ndim == 1 else 1]
    if input._ag_raw.ndim == 1 == target._ag_raw.ndim and target._ag_raw.shape[0] != 1:
        raise refused(
            ValueError, f"For 1D input, 1D target must have size 1, but got target size: {target._ag_raw.shape[0]}"
        )
    if input._ag_raw.ndim > 1 and input._ag_raw.shape[0] != target._ag_raw.shape[0]:
        raise refused(
            ValueError,
            f"Expected input batch_size ({input._ag_raw.shape[0]}) to match target batch_size "
            f"({target._ag_raw.shape[0]}).",
        )
    if input._ag_raw.ndim < 3 and target._ag_raw.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target._ag_raw.dtype not in _LABELS:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {_kind(target)}")
    if weight is not None and weight._ag_raw.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight._ag_raw.shape)}"
        )
    refuse("nll_loss_out_frame", input._ag_raw, "biuc")
    same_scalar(input, weight)


def _nll_any(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    """`nll_loss` for any number of dimensions, through the operation of one or two spatial ones as in PyTorch."""
    scores, labels = input._ag_raw, target._ag_raw
    plain = weight is None and scores.ndim == 2 and scores.dtype.kind == "f" and labels.dtype is _LABELS[0]
    if plain and labels.ndim == 1 and scores.shape[0] == labels.shape[0]:
        result: Tensor = nll(input, target, None, reduction, ignore_index)[0]
        return result
    if input._ag_raw.ndim < 1:
        raise refused(ValueError, f"Expected 1 or more dimensions (got {input.ndim})")
    if input._ag_raw.ndim != 1 and target._ag_raw.ndim == 0:
        raise refused(
            ValueError, f"Expected input batch_size ({input._ag_raw.shape[0]}) to match target batch_size (0)."
        )
    _check_classes(input, target, weight)
    if input._ag_raw.ndim in (1, 2):
        result = nll(input, target, weight, reduction, ignore_index)[0]
        return result
    shape, wanted = input._ag_raw.shape, (input._ag_raw.shape[0], *input._ag_raw.shape[2:])
    if target._ag_raw.shape[1:] != wanted[1:]:
        if input._ag_raw.ndim == 4:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
                if target._ag_raw.ndim != 3
                else f"size mismatch (got input: {list(shape)}, target: {list(target._ag_raw.shape)}"
            )
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target._ag_raw.shape)}")
    if input._ag_raw.ndim == 4:
        result = nll2d(input, target, weight, reduction, ignore_index)[0]
        return result
    rows = math.prod(shape[2:])
    flat = views.view if input._ag_raw.flags.c_contiguous else views.reshape
    pixels = flat(operations.contiguous(input), (shape[0], shape[1], 1, rows))
    labels = views.reshape(target, (shape[0], 1, rows))
    result = nll2d(pixels, labels, weight, reduction, ignore_index)[0]
    return views.view(result, wanted) if reduction == NONE else result


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probability that `input` (N, C, ...) gives to each target class."""
    return _nll_any(
        input, target, weight, reduction_code(reduction_name(reduction, size_average, reduce)), ignore_index
    )


@autocasts("fp32")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of logits (N, C, ...) and targets: class indices, or probabilities of the shape of `input`.

    >>> from autograph_cli import torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    code = reduction_code(reduction_name(reduction, size_average, reduce))
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    d = 0 if input._ag_raw.ndim == 1 else 1
    alike = target._ag_raw.shape == input._ag_raw.shape
    if alike and target.dtype.is_floating_point:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_targets(input, target, weight, code, label_smoothing, d)
    if alike and (input._ag_raw.ndim != 1 or input._ag_raw.shape[0] != 1):
        raise RuntimeError("Expected floating point type for target with class probabilities, got Long")
    plain = input._ag_raw.ndim > 1 and input._ag_raw.dtype.kind == "f"
    scores = (activations.log_softmax_op if plain else activations.log_softmax)(input, d)
    if label_smoothing == 0:
        return _nll_any(scores, target, weight, code, ignore_index)
    return _smoothed(scores, target, weight, code, ignore_index, label_smoothing, d)


def _weight_beside(weight: Tensor, input: Tensor, d: int) -> Tensor:
    shape = [1] * input._ag_raw.ndim
    shape[d] = weight._ag_raw.shape[0]
    return views.view(weight, tuple(shape))


def _smoothed(
    scores: Tensor, target: Tensor, weight: Tensor | None, code: int, ignore_index: int, smoothing: float, d: int
) -> Tensor:
    """A part of the loss for the target class, the rest for all classes alike."""
    sharp = _nll_any(scores, target, weight, code, ignore_index)
    weighted = scores if weight is None else arithmetic.mul(scores, _weight_beside(weight, scores, d))
    ignored = target == ignore_index
    even = operations.neg(reductions.sum_dim(weighted, (d,)))
    run_inplace(operations.masked_fill_Scalar.op, (even, ignored, 0.0))
    if code == SUM:
        even = reductions.sum_all(even)
    elif code == MEAN and weight is None:
        even = arithmetic.true_divide(reductions.sum_all(even), reductions.sum_all(~ignored))
    elif code == MEAN and weight is not None:
        kept = weight.gather(0, target.masked_select(~ignored).flatten())
        even = arithmetic.true_divide(reductions.sum_all(even), reductions.sum_all(kept))
    classes = scores._ag_raw.shape[d]
    return operations.mul_Scalar(sharp, 1 - smoothing) + operations.mul_Scalar(even, smoothing / classes)


def _soft_targets(input: Tensor, target: Tensor, weight: Tensor | None, code: int, smoothing: float, d: int) -> Tensor:
    classes = input._ag_raw.shape[d]
    if weight is not None and weight._ag_raw.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight._ag_raw.shape)}"
        )
    scores = activations.log_softmax(input, d)
    if smoothing:
        target = operations.add_Scalar(operations.mul_Scalar(target, 1 - smoothing), smoothing / classes)
    products = arithmetic.mul(scores, target)
    if weight is not None:
        products = arithmetic.mul(products, _weight_beside(weight, scores, d))
    if code == NONE:
        result: Tensor = operations.neg(reductions.sum(products, (d,)))
        return result
    total = operations.neg(reductions.sum(products))
    return (
        total if code == SUM else operations.div_Scalar(total, input._ag_raw.size // classes if classes else math.nan)
    )


# ---------------------------------------------------------------- margins


def _multi_margin_of(
    input: Any, target: Any, p: Any = 1, margin: Any = 1.0, weight: Any = None, *_: Any, **__: Any
) -> Any:
    if p not in (1, 2):
        raise refused(ValueError, "only p == 1 and p == 2 supported")
    return "nn", "multi_margin_loss", (input, target, p, margin, weight), {}


@hands_on(_multi_margin_of)
@autocasts("fp32")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return how far other classes come closer to the target class than `margin`, to the power of `p` (1 or 2)."""
    code = reduction_code(reduction_name(reduction, size_average, reduce))
    if p not in (1, 2):
        raise refused(ValueError, "only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise refused(ValueError, "weight must be one-dimensional")
    _check_margin(input, target)
    if weight is not None and weight._ag_raw.shape != input._ag_raw.shape[-1:]:
        raise RuntimeError(
            f"inconsistent weight size, expected {input._ag_raw.shape[-1]} but got {list(weight._ag_raw.shape)}"
        )
    _check_long(target)
    dtypes.check_held(margin, input._ag_raw.dtype)
    return multi_margin(input, target, p, margin, weight, code)


def _check_margin(input: Tensor, target: Tensor) -> None:
    shape, size = input._ag_raw.shape, list(target._ag_raw.shape)
    if not (len(shape) <= 2 and shape[-1:] != (0,)):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}"
        )
    rows = shape[0] if len(shape) == 2 else 1
    if target._ag_raw.ndim > 1 or target._ag_raw.size != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {size}. Input has shape {list(shape)}."
        )


def _kind(tensor: Tensor) -> str:
    return cpp_name(tensor._ag_raw.dtype)


def _check_long(target: Tensor) -> None:
    if target._ag_raw.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {_kind(target)}")


@autocasts("fp32")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """Return how far other classes come closer to any target class than 1; targets end at the first -1."""
    code = reduction_code(reduction_name(reduction, size_average, reduce))
    shape = input._ag_raw.shape
    if not (len(shape) <= 2 and shape[-1:] != (0,)):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}"
        )
    if target._ag_raw.shape != shape and not (input._ag_raw.size == target._ag_raw.size == 1):
        raise RuntimeError(f"inconsistent target size: {list(target._ag_raw.shape)} for input of size: {list(shape)}")
    refuse("min_all", target._ag_raw, "c")
    _check_long(target)
    result: Tensor = multilabel_margin(input, target, code)[0]
    return result


@hands_on(lambda input, *_, **__: ("functional", "log_sigmoid", (input,), {}))
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of logits and labels, averaged over the classes."""
    name = reduction_name(reduction, size_average, reduce)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    each = reductions.sum(losses, (input._ag_raw.ndim - 1,)) / input.size(input._ag_raw.ndim - 1)
    return reduced(each, name)


# ---------------------------------------------------------------- sequences


def _lengths(x: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in (x._ag_raw.reshape(-1).tolist() if isinstance(x, Tensor) else x))


@composite(method=False)
@autocasts("fp32")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: log probabilities (T, N, C), label sequences (N, S) or in one row."""
    code = reduction_code(reduction) if isinstance(reduction, str) else reduction
    ends, lengths = _lengths(input_lengths), _lengths(target_lengths)
    single = log_probs.ndim == 2
    batch = views.unsqueeze_op(log_probs, 1) if single else log_probs
    _check_ctc(batch, targets, ends, lengths, blank)
    losses = ctc(batch, targets, ends, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        infinite = losses == math.inf
        losses = operations.where(infinite, operations.zeros_like(losses.detach()), losses)
    if code == MEAN:
        counts = functions["tensor"]([max(n, 1) for n in lengths], dtype=losses.dtype, device=losses.device)
        return reductions.mean(arithmetic.true_divide(losses, counts))
    if code == SUM:
        return reductions.sum(losses)
    return views.squeeze_dim(losses, 0) if single else losses


def _check_ctc(a: Tensor, targets: Tensor, ends: Any, lengths: Any, blank: int) -> None:
    t, n, c = a._ag_raw.shape
    if not 0 <= blank < c:
        raise RuntimeError("blank must be in label range")
    if len(ends) != n:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(lengths) != n:
        raise RuntimeError("target_lengths must be of size batch_size")
    for end in ends:
        if not 0 <= end <= t:
            raise RuntimeError(
                f"Expected input_lengths to have value at most {t}, but got value {end} (while checking arguments for "
                "ctc_loss_cpu)"
            )
    if any(m < 0 for m in lengths):
        raise RuntimeError("target_lengths must be non-negative")
    if (targets.ndim == 1 and sum(lengths) > targets._ag_raw.size) or (
        targets.ndim == 2 and targets._ag_raw.shape[0] != n
    ):
        raise RuntimeError(
            f"Expected tensor to have size {sum(lengths) if targets.ndim == 1 else n} at dimension 0, but got size "
            f"{targets._ag_raw.shape[0]} for argument #2 'targets' (while checking arguments for ctc_loss_cpu)"
        )
