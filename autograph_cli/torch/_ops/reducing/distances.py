"""Distances and similarities of vectors, and the losses that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..._core.arguments.arg_check import hands_on
from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.base.state import thread_state
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..loss_functions.losses import number_minus, reduced, reduction_name
from ..pointwise import arithmetic
from ..pointwise.clamping import clamp_min_scalar
from ..pointwise.nonlinear import undifferentiated
from ..shaping import broadcasting
from . import reductions

norm_dim = operation(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[] dim, bool keepdim=False)",
    lambda f, a, p, dim, keepdim: f.vector_norm(a, 2 if p is None else p, dim, keepdim),
    node="NormBackward1",
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, p, result, dim, keepdim: reductions.norm_gradient(
        f, grad, self, p, result, dim, keepdim
    ),
)
pdist_op = operation(
    "_pdist_forward(Tensor self, float p=2)",
    refuses={"eE": "pdist"},
    node="PdistBackward0",
    self=lambda f, grad, self, p, result: f._pdist_backward(grad, self, p, result),
)
operation(
    "_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist)",
    node="PdistBackwardBackward0",
    saves_all=True,
    grad_output=undifferentiated("_pdist_backward"),
    self=undifferentiated("_pdist_backward"),
    pdist=undifferentiated("_pdist_backward"),
)

EPSILON = 1e-12


@composite(method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension."""
    last = max(x1.ndim, x2.ndim) - 1
    return norm_dim(operations.add_Scalar(arithmetic.sub(x1, x2), eps), float(p), (last,), keepdim)


@composite(method=False)
@autocasts("")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`.

    >>> from autograph_cli import torch
    >>> torch.cosine_similarity(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]), dim=0)
    tensor(0.)
    """
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    alike = x1._ag_raw.dtype is x2._ag_raw.dtype
    common = x1._ag_raw.dtype if alike else dtypes.result_dtype(x1._ag_raw, x2._ag_raw)
    if dtypes.CATEGORY[common] != dtypes.FLOATING:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtypes.cpp_name(common)}")
    if not alike:
        x1, x2 = (x if x._ag_raw.dtype == common else operations._to_copy(x, common) for x in (x1, x2))
    if x1._ag_raw.shape != x2._ag_raw.shape:
        shape = dims.broadcast(x1._ag_raw.shape, x2._ag_raw.shape)
        x2, x1 = broadcasting.expand(x2, shape), broadcasting.expand(x1, shape)
    d = dims.wrap_all(dim, x1.ndim)
    length1, length2 = _lengths((x1, x2), d, eps)
    unit2, unit1 = arithmetic.true_divide(x2, length2), arithmetic.true_divide(x1, length1)
    return reductions.sum_dim(arithmetic.mul(unit1, unit2), d or reductions.wrapped_dims(dim, x1))


def _lengths(vectors: Iterable[Tensor], d: Any, eps: float) -> list[Tensor]:
    """The norms, raised to `eps` where they are less; the gradient passes as if they had not been."""
    sizes = [operations.clone(reductions.vector_norm(x, 2, d, True)) for x in vectors]
    before, thread_state.grad = thread_state.grad, False
    try:
        for size in sizes:
            run_inplace(clamp_min_scalar.op, (size, eps))
    finally:
        thread_state.grad = before
    return sizes


@composite(method=False)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distance of every pair of rows, as one vector."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if dtypes.CATEGORY[input._ag_raw.dtype] != dtypes.FLOATING:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return pdist_op(operations.contiguous(input), float(p))


# ---------------------------------------------------------------- losses


@autocasts("fp32")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    name = reduction_name(reduction, size_average, reduce)
    zeros = operations.zeros_like(input.detach())
    dtypes.check_held(margin := float(margin), input._ag_raw.dtype)
    whole = input._ag_raw.dtype.kind in "iu"
    far = operations.clamp_min(number_minus(int(margin) if whole else margin, input), 0)
    losses = operations.where(target != 1, far, zeros) + operations.where(target != -1, input, zeros)
    return reduced(losses, name)


@autocasts("fp32")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin); RuntimeError for tensors of different numbers of dimensions."""
    name = reduction_name(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    product = -target * arithmetic.sub(input1, input2)
    return reduced(operations.clamp_min(operations.add_Scalar(product, float(margin)), 0), name)


@autocasts("fp32")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    name = reduction_name(reduction, size_average, reduce)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    d = (target.ndim,)
    product = reductions.sum(input1 * input2, d)
    squares = [operations.add_Scalar(reductions.sum(x * x, d), EPSILON) for x in (input1, input2)]
    cosine = arithmetic.true_divide(product, operations.sqrt(squares[0] * squares[1]))
    zeros = operations.zeros_like(cosine.detach())
    close = number_minus(1, cosine)
    apart = operations.clamp_min(operations.sub_Scalar(cosine, margin), 0)
    losses = operations.where(target == 1, close, zeros) + operations.where(target == -1, apart, zeros)
    return reduced(losses, name)


def _triplet_of(anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, *rest: Any, **named: Any) -> Any:
    if margin <= 0:
        raise refused(ValueError, f"margin must be greater than 0, got {margin}")
    named = {name: x for name, x in named.items() if name not in ("size_average", "reduce", "reduction")}
    return "torch", "triplet_margin_loss", (anchor, positive, negative, margin, *rest[:3]), named


@hands_on(_triplet_of)
@autocasts("fp32")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin); `swap` takes the nearer of the two negatives."""
    name = reduction_name(reduction, size_average, reduce)
    if margin <= 0:
        raise refused(ValueError, f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = arithmetic.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(operations.clamp_min(arithmetic.sub(operations.add_Scalar(near, margin), far), 0), name)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[..., Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` of any distance."""
    if reduction not in ("mean", "sum", "none"):
        raise refused(ValueError, f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise refused(ValueError, f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = arithmetic.minimum(far, distance(positive, negative))
    return reduced(operations.clamp_min(near + margin - far, 0), reduction)
