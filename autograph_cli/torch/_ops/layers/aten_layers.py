"""Layers and losses under `torch.` where their arguments come in another order than in `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.base.dtype_checks import parameters_fit
from ..._core.operations.docstrings import documented
from ..._core.operations.operation import operations
from ..._core.operations.registry import composite, functions
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..loss_functions import classification, likelihood_losses, losses
from ..pointwise import activations
from ..reducing import distances
from . import (
    attention,
    convolution,
    embedding,
    group_norm as grouped,
    interpolate,
    normalization,
)


@composite(method=False)
def batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.batch_norm`."""
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite(method=False)
def _native_batch_norm_legit(input: Tensor, weight: Any, bias: Any, *rest: Any) -> Any:
    """`native_batch_norm` with running statistics, or without them: (training, momentum, eps) alone."""
    if len(rest) == 3:
        return normalization.normalized_batch(normalization.batch_norm_no_stats, input, weight, bias, None, None, *rest)
    return normalization.normalized_batch(normalization.batch_norm_legit, input, weight, bias, *rest)


@composite(method=False)
def _batch_norm_with_update(
    input: Tensor, weight: Any, bias: Any, running_mean: Tensor, running_var: Tensor, momentum: float, eps: float
) -> Any:
    """`native_batch_norm` while training, and room that other devices reserve."""
    return normalization.normalized_batch(
        normalization.batch_norm_with_update, input, weight, bias, running_mean, running_var, True, momentum, eps
    )


@composite(method=False)
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `softmax` from that of its result."""
    made = activations.softmax_backward(grad_output, output, dim % max(output.ndim, 1))
    return made if input_dtype is None or made.dtype is input_dtype else made.to(input_dtype)


@composite(method=False)
def _upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Any,
    align_corners: bool,
    scales_h: Any = None,
    scales_w: Any = None,
    *,
    scale_factors: Any = None,
) -> Tensor:
    """`interpolate` with a filter as wide as the results are apart; scales as two numbers or as a list."""
    factors = tuple(scale_factors or (scales_h if isinstance(scales_h, (tuple, list)) else (scales_h, scales_w)))
    size = output_size or tuple(int(n * s) for n, s in zip(input._ag_raw.shape[2:], factors, strict=True))
    result: Tensor = interpolate.resizings["linear_aa", 2](input, tuple(size), align_corners, factors)
    return result


@composite(method=False)
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """The gradient of `max_pool2d` from that of its result."""
    result: Tensor = operations.max_pool2d_with_indices_backward(grad_output, self, indices)
    return result


@composite(method=False)
def instance_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.instance_norm`."""
    return grouped.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@composite(method=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Tensor:
    """`nn.functional.group_norm`."""
    return grouped.group_norm(input, num_groups, weight, bias, eps)


def _check_groups(input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int) -> None:
    """RuntimeError for counts that are not those of the tensors."""
    shape = list(input._ag_raw.shape)
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{shape} and num_groups={group}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and (t.ndim != 1 or t._ag_raw.size != C):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list((weight if weight is not None else t)._ag_raw.shape)} and input of shape {shape}"
            )
    if input._ag_raw.size != N * C * HxW:
        raise RuntimeError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )


@composite(method=False)
def native_group_norm(input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """The result of `group_norm`, with the means and the inverse deviations of the groups."""
    parameters_fit(input, weight, bias)
    _check_groups(input, weight, bias, N, C, HxW, group)
    return grouped.group_norm_op(input, weight, bias, group, eps)


@composite(method=False)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """`nn.functional.embedding_bag` with the table first: bags, the bag of each index, their sizes, positions of
    maxima."""
    if sparse:
        raise NotImplementedError("embedding_bag with sparse=True is not available in autograph's engine yet")
    padding = -1 if padding_idx is None else padding_idx
    return embedding.bag_op(
        weight, indices, offsets, scale_grad_by_freq, mode, False, per_sample_weights, include_last_offset, padding
    )


@composite(method=False)
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows at `indices` that are longer than `max_norm` down to it, in place."""
    embedding.renorm(input, indices, max_norm, norm_type)
    return input


@composite(method=False)
@autocasts("")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with its modes as numbers."""
    interpolate.check_grid(input, grid)
    result: Tensor = interpolate.grid_samplers[input.ndim - 2](
        input, grid, interpolation_mode, padding_mode, align_corners
    )
    return result


functions["grid_sampler_2d"] = functions["grid_sampler_3d"] = grid_sampler
functions["affine_grid_generator"] = interpolate.affine_grid_op
functions["convolution"] = convolution.convolution
functions["_trilinear"] = attention.trilinear
functions["_safe_softmax"] = lambda input, dim, dtype=None: attention.safe_softmax(
    input if dtype is None else input.to(dtype), dim % max(input.ndim, 1)
)


@composite(method=False)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = losses.NONE,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss` with its reduction as a number."""
    return classification.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _NAMES[reduction], zero_infinity
    )


_NAMES = {code: name for name, code in losses.REDUCTIONS.items()}


def _with_code(run: Callable[..., Tensor], tensors: int, *middle: str) -> Callable[..., Tensor]:
    """A loss whose last argument is the number of its reduction; `middle` names what stands between tensors and it.

    By default nothing is reduced: PyTorch's parser takes the `Mean` of the schema, which it cannot read, for 0.
    """

    def loss(*args: Any, reduction: int = losses.NONE, **kwargs: Any) -> Tensor:
        named = dict(zip((*middle, "reduction"), args[tensors:], strict=False))
        code = named.pop("reduction", reduction)
        return run(*args[:tensors], reduction=_NAMES[code], **named, **kwargs)

    doc = f"`nn.functional.{run.__name__}` with its reduction as a number: 0 none, 1 mean, 2 sum."
    return documented(loss, doc, run.__name__)


for _run, _tensors, *_middle in (
    (distances.cosine_embedding_loss, 3, "margin"),
    (distances.hinge_embedding_loss, 2, "margin"),
    (distances.margin_ranking_loss, 3, "margin"),
    (distances.triplet_margin_loss, 3, "margin", "p", "eps", "swap"),
    (likelihood_losses.poisson_nll_loss, 2, "log_input", "full", "eps"),
    (losses.binary_cross_entropy_with_logits, 2, "weight", "pos_weight"),
):
    functions[_run.__name__] = _with_code(_run, _tensors, *_middle)


@composite(method=False)
@autocasts("")
def kl_div(input: Tensor, target: Tensor, reduction: int = losses.NONE, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div` with its reduction as a number."""
    product = target * input
    each = operations.exp(target) * (target - input) if log_target else operations.xlogy(target, target) - product
    return losses.reduced(each, _NAMES[reduction])
