"""A linear layer and its cross entropy: composed of both, or some rows at a time."""

from __future__ import annotations

from typing import Any

from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operation
from ..._core.tape.tensor import Tensor
from ..matrices.linear import linear
from ..shaping import views
from .classification import cross_entropy
from .losses import NONE, REDUCTIONS, reduction_code

_ARGUMENTS = "Tensor[] tensors, bool has_bias, bool has_weight, int reduction, int ignore_index, int chunk"
_NODE = "GeneratedBackwardFor_torch_nn__linear_cross_entropy_batch_chunked{}_defaultBackward"
_RESULTS = "(Tensor result, Tensor by_rows, Tensor by_weight, Tensor by_bias)"
_KEPT = ("by_rows", "by_weight", "by_bias")


def spread(gradients: Any, has_bias: bool, has_weight: bool) -> list[Any]:
    """The gradients of [rows, weight, target, bias?, class weights?]."""
    by_rows, by_weight, by_bias = gradients
    return [by_rows, by_weight, None, *([by_bias] * has_bias), *([None] * has_weight)]


def each_row(
    f: Any, grad: Any, tensors: Any, has_bias: bool, has_weight: bool, ignore_index: int, chunk: int
) -> list[Any]:
    """The gradients of losses that were not folded; they are computed again, and have no graph."""
    if isinstance(grad, Tensor):
        raise RuntimeError("linear_cross_entropy in chunks and without a reduction cannot be differentiated twice")
    found = f.linear_cross_entropy_chunked_backward(grad, tensors, has_bias, has_weight, ignore_index, chunk)
    return spread(found, has_bias, has_weight)


folded = operation(
    f"linear_cross_entropy_chunked({_ARGUMENTS}) -> {_RESULTS}",
    node=_NODE.format(""),
    nondifferentiable=_KEPT,
    tensors=lambda f, grad, by_rows, by_weight, by_bias, has_bias, has_weight: spread(
        [by_rows * grad, by_weight * grad, by_bias * grad if has_bias else None], has_bias, has_weight
    ),
)
unfolded = operation(
    f"linear_cross_entropy_chunked.none({_ARGUMENTS}) -> {_RESULTS}",
    "linear_cross_entropy_chunked",
    node=_NODE.format("_no_reduction"),
    nondifferentiable=_KEPT,
    tensors=lambda f, grad, tensors, has_bias, has_weight, ignore_index, chunk: each_row(
        f, grad, tensors, has_bias, has_weight, ignore_index, chunk
    ),
)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """The cross entropy of a linear layer's results; `linear_weight` is (C, ..., in) for losses of more dimensions.

    With `options` (of class `nn.LinearCrossEntropyOptions`) some rows are computed at a time, where the arguments allow
    it. RuntimeError for shapes that do not go together.
    """
    _check_layer(input, linear_weight, linear_bias)
    if ignore_index is not None and target._ag_raw.dtype.kind == "f":
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    inner, ignored = linear_weight._ag_raw.shape[-1], -100 if ignore_index is None else ignore_index
    if inner != input._ag_raw.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {input._ag_raw.shape[-1]} and "
            f"{inner}, respectively"
        )
    features = linear_weight._ag_raw.shape[:-1]
    if options is not None and _can_chunk(target, reduction, label_smoothing, features[1:], linear_bias):
        return _chunked(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
    rows = linear_weight if len(features) == 1 else linear_weight.flatten(0, -2)
    bias = linear_bias if linear_bias is None or len(features) == 1 else linear_bias.flatten()
    scores = linear(input, rows, bias).unflatten(-1, features)
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _check_layer(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    features, inner = weight._ag_raw.shape[:-1], weight._ag_raw.shape[-1]
    if len(features) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight._ag_raw.shape)} requires "
            f"batched input, (N, {inner}), got unbatched input with shape {tuple(input._ag_raw.shape)}"
        )
    if bias is not None and bias._ag_raw.shape != features:
        raise RuntimeError(f"expected linear_bias shape {tuple(features)}, got {tuple(bias._ag_raw.shape)}")


def _can_chunk(target: Tensor, reduction: str, smoothing: float, out_features: Any, bias: Tensor | None) -> bool:
    if reduction in REDUCTIONS and smoothing == 0 and target._ag_raw.dtype.name == "int64" and not out_features:
        return True
    warn(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
        f"label_smoothing == 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, "
        f"label_smoothing={smoothing}, target.dtype={target.dtype}, out_features={tuple(out_features)}, tracing=False, "
        f"linear_bias.shape={None if bias is None else tuple(bias._ag_raw.shape)}."
    )
    return False


def _chunked(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None,
    class_weight: Tensor | None,
    reduction: str,
    ignored: int,
    options: Any,
) -> Tensor:
    single = input.ndim == 1
    rows = views.unsqueeze_op(input, 0) if single else input
    labels = views.unsqueeze_op(target, 0) if single and target.ndim == 0 else target
    if labels._ag_raw.shape != rows._ag_raw.shape[:1]:
        raise refused(
            ValueError,
            f"Expected input batch_size ({rows._ag_raw.shape[0]}) to match target batch_size "
            f"({labels._ag_raw.shape[0]}).",
        )
    code = reduction_code(reduction)
    tensors = [t for t in (rows, weight, labels, bias, class_weight) if t is not None]
    chunk = options.batch_chunk_size or max(rows._ag_raw.shape[0], 1)
    run = unfolded if code == NONE else folded
    found: Tensor = run(tensors, bias is not None, class_weight is not None, code, ignored, chunk)[0]
    return views.squeeze_dim(found, 0) if single else found
