"""How single operations are batched: tables for families, a function for each that needs more than its arguments
changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import dims, dispatch
from .batching import Call, Rule, aligned, expanded, folded, leading, loop, pointwise, raised, reshaped, rules, shifted
from .device_dispatch import kernels
from .operation import operations
from .stand_in import SENTENCES
from .tensor import Tensor, Wrapped, make
from .transforms import core
from .views import geometry, spanned

f = operations


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Note a function as the rule of the operations of these identifiers."""

    def decorate(run: Rule) -> Rule:
        rules.update(dict.fromkeys(names, run))
        return run

    return decorate


def family(run: Rule, names: str) -> None:
    """One rule for many operations."""
    rules.update(dict.fromkeys(names.split(), run))


family(pointwise, "_cdist_forward _euclidean_dist alias alias_copy _prelu_kernel")
family(
    leading,
    """
    softmax softmax_backward log_softmax log_softmax_backward _safe_softmax view _unsafe_view view_copy transpose
    transpose_copy transpose__fresh select select_copy select_backward slice slice_copy slice_backward squeeze_dim
    squeeze__dim squeeze_copy_dim diagonal diagonal_copy diagonal_backward split split_copy split_with_sizes
    split_with_sizes_copy unsafe_split unsafe_split_with_sizes unbind unbind_copy rot90 narrow_copy slice_scatter
    select_scatter diagonal_scatter overlap_add frames_of view_as_real view_as_complex view_as_real_copy
    view_as_complex_copy tril triu sort sort_stable topk gather scatter_src scatter_value scatter_reduce
    scatter_reduce_two scatter_add kthvalue mode median_dim nanmedian_dim max_dim min_dim amax amin any all cumsum
    cumprod cummax cummin logcumsumexp logsumexp count_nonzero sum_dim_IntList mean_dim nansum var std var_mean std_mean
    prod_dim_int linalg_vector_norm norm_ScalarOpt_dim hash_tensor glu glu_backward linalg_cross _fft_c2c _fft_r2c
    _fft_c2r log_sigmoid_forward linalg_solve_ex linalg_solve_triangular triangular_solve linalg_inv_ex linalg_det
    linalg_slogdet linalg_pinv linalg_matrix_exp linalg_cholesky_ex cholesky cholesky_solve cholesky_inverse linalg_qr
    linalg_svd linalg_eigh linalg_eig geqrf linalg_lu_factor_ex linalg_lu lu_unpack linalg_lu_solve
    linalg_householder_product ormqr linalg_ldl_factor_ex _prelu_kernel_backward rrelu_with_noise
    rrelu_with_noise_backward native_dropout one_hot constant_pad_nd pixel_shuffle pixel_unshuffle
""",
)
family(partial(leading, empty=False), "squeeze_dims squeeze__dims squeeze_copy_dims flip")
family(partial(leading, more=1), "unsqueeze unsqueeze_copy unsqueeze_in_place stack diag_embed")
family(
    folded,
    """
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
    replication_pad2d_backward replication_pad3d_backward max_pool2d_with_indices max_pool3d_with_indices
    max_pool2d_with_indices_backward max_pool3d_with_indices_backward adaptive_max_pool2d adaptive_max_pool3d
    adaptive_max_pool2d_backward adaptive_max_pool3d_backward
    fractional_max_pool2d_backward fractional_max_pool3d_backward avg_pool2d avg_pool3d avg_pool2d_backward
    avg_pool3d_backward _adaptive_avg_pool2d _adaptive_avg_pool3d _adaptive_avg_pool2d_backward
    _adaptive_avg_pool3d_backward max_unpool2d max_unpool3d grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
    grid_sampler_3d_backward channel_shuffle clone_format im2col col2im
""",
)


@rule("_unique2", "unique_dim", "unique_consecutive", "masked_select")
def _depends_on_values(call: Call) -> Any:
    """The shape of the result would differ from sample to sample."""
    if call.op.name == "masked_select" and not call.has("mask"):
        shape = dims.broadcast(call.shape("self"), call.shape("mask"))
        shape = shape or (1,)
        x = f.expand(raised(call["self"], True, len(shape)), (call.size, *shape))
        mask = f.expand(call["mask"], shape)
        places = tuple(make(d.astype(np.int64)) for d in np.nonzero(mask._raw))
        return f.index(x, [None, *places])
    raise RuntimeError(SENTENCES[call.op.name])


_RESAMPLED = """
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d
    upsample_bicubic2d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    _upsample_bilinear2d_aa _upsample_bicubic2d_aa
"""
family(folded, _RESAMPLED)
family(folded, " ".join(f"{name}_backward" for name in _RESAMPLED.split()))


# ---------------------------------------------------------------- shapes


@rule("expand", "expand_copy")
def _expand(call: Call) -> Any:
    size = call["size"]
    return dispatch.run(call.op, (raised(call["self"], True, len(size)), (call.size, *size)))


@rule("repeat")
def _repeat(call: Call) -> Any:
    repeats = call["repeats"]
    return dispatch.run(call.op, (raised(call["self"], True, len(repeats)), (1, *repeats)))


@rule("permute", "permute_copy")
def _permute(call: Call) -> Any:
    return dispatch.run(call.op, (call["self"], (0, *(d + 1 for d in call["dims"]))))


@rule("t", "t_copy")
def _t(call: Call) -> Any:
    x = call["self"]
    swapped = f.transpose_copy if call.op.name == "t_copy" else f.transpose
    return swapped(x, 1, 2) if x._raw.ndim == 3 else f.alias(x)


@rule("unfold", "unfold_copy")
def _unfold(call: Call) -> Any:
    """Of a number too, which is a vector of one window."""
    if call["self"]._raw.ndim > 1:
        return leading(call)
    windows = dispatch.run(call.op, (f.unsqueeze(call["self"], 1), 1, *call.args[2:]))
    return f.squeeze_dim(windows, 1)


@rule("unfold_backward")
def _unfold_backward(call: Call) -> Any:
    return leading(call) if call["input_sizes"] else loop(call)


@rule("_cdist_backward")
def _cdist_backward(call: Call) -> Any:
    """Of points whose batches are not broadcast."""
    return leading(call) if len(set(call.ranks())) == 1 else loop(call)


@rule("squeeze", "squeeze_copy")
def _squeeze(call: Call) -> Any:
    x = call["self"]
    run = f.squeeze_copy_dims if call.op.name == "squeeze_copy" else f.squeeze_dims
    return run(x, tuple(d for d, n in enumerate(x._raw.shape) if d and n == 1))


@rule("as_strided", "_reshape_alias")
def _as_strided(call: Call) -> Any:
    x, size, stride, *offset = call.args
    own = x._raw.strides[0] // x._raw.itemsize
    _check_reach(x, (call.size, *size), (own, *stride), (offset or [0])[0] or 0)
    return dispatch.run(call.op, (x, (call.size, *size), (own, *stride), *offset))


def _check_reach(x: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    """RuntimeError where a window of a plain tensor would leave its memory."""
    base = x if x._base is None else x._base
    if isinstance(x, Wrapped) or isinstance(base, Wrapped):
        return
    start = offset + geometry(x._raw, base._raw)[2]
    if start < 0 or spanned(size, stride, start) > base._raw.size:
        raise RuntimeError(
            f"result = tensor.as_strided({list(size[1:])}, {list(stride[1:])}, {offset}) can access memory outside of "
            "`tensor`"
        )


@rule("cat")
def _cat(call: Call) -> Any:
    """Of tensors with dimensions; an empty vector may stand among them, and is left out."""
    tensors, dim = call.args
    pairs = list(zip(tensors, call.marks[0], strict=True))
    rank = max(call.ranks())
    kept = [expanded(t, m, call.size) for t, m in pairs if t._raw.ndim - m == rank]
    return f.cat(kept, shifted(dim, rank))


@rule("roll")
def _roll(call: Call) -> Any:
    x, shifts, over = call.args
    if over:
        return leading(call)
    shape = x._raw.shape
    return reshaped(f.roll(flat(x), shifts, (1,)), shape)


def flat(x: Tensor) -> Tensor:
    """Each sample as a vector."""
    shape = x._raw.shape
    return reshaped(x, (shape[0], math.prod(shape[1:])))


@rule("_to_copy")
def _to_copy(call: Call) -> Any:
    laid_out = str(call["memory_format"]).endswith(("channels_last", "channels_last_3d"))
    return folded(call) if laid_out else pointwise(call)


@rule("copy", "fill_Tensor", "fill_functional_Tensor")
def _copy(call: Call) -> Any:
    """The first tensor overwritten by the second one, which is broadcast."""
    names = [p.name for p in call.op.tensors]
    target = call.full(names[0])
    return f.copy(target, raised(call[names[1]], call.has(names[1]), target._raw.ndim - 1))


@rule("masked_fill_Tensor")
def _masked_fill(call: Call) -> Any:
    if not call.has("value"):
        return pointwise(call)
    x, mask, value = aligned(call)
    return f.where(mask, f._to_copy(value, x._raw.dtype) if value._raw.dtype != x._raw.dtype else value, x)


@rule("_to_copy_plain")
def _to_copy_plain(call: Call) -> Any:
    return _to_copy(call)


# ---------------------------------------------------------------- reductions of everything


def _over_all(
    name: str, *, vector: bool = False, tail: Callable[[Call], tuple[Any, ...]] = lambda call: (False,)
) -> Rule:
    """The reduction `name` over all dimensions of a sample; `vector`: over those of the flattened one."""

    def run(call: Call) -> Any:
        x = call["self"]
        flattened = vector or x._raw.ndim == 1
        x, over = (flat(x), (1,)) if flattened else (x, tuple(range(1, x._raw.ndim)))
        return getattr(f, name)(x, 1 if vector else over, *tail(call))

    return run


def _with_dtype(name: str, **options: Any) -> Rule:
    made = _over_all(name, tail=lambda call: (False,), **options)

    def run(call: Call) -> Any:
        if call["dtype"] is None:
            return made(call)
        return made(Call(call.op, (f._to_copy(call["self"], call["dtype"]), None), call.marks, call.size))

    return run


rules |= {
    "sum": _with_dtype("sum_dim_IntList"),
    "mean": _with_dtype("mean_dim"),
    "prod": _with_dtype("prod_dim_int", vector=True),
    "max": _over_all("amax"),
    "min": _over_all("amin"),
}


@rule("norm_Scalar")
def _norm(call: Call) -> Any:
    return f.norm_ScalarOpt_dim(flat(call["self"]), call["p"], (1,), False)


@rule("argmax", "argmin", "aminmax")
def _position(call: Call) -> Any:
    """Over one dimension, or over the flattened sample."""
    x, dim, keep = call.args
    if dim is not None:
        return leading(call)
    found = dispatch.run(call.op, (flat(x), 1, False))
    if not keep:
        return found
    shape = (call.size, *[1] * (x._raw.ndim - 1))
    return reshaped(found, shape) if isinstance(found, Tensor) else tuple(reshaped(r, shape) for r in found)


@rule("trace")
def _trace(call: Call) -> Any:
    return f.sum_dim_IntList(f.diagonal(call["self"], 0, 1, 2), (1,), False)


# ---------------------------------------------------------------- products


@rule("mm", "bmm")
def _mm(call: Call) -> Any:
    return _product(call, "self", "mat2")


def _product(call: Call, left: str, right: str) -> Any:
    """Matrix times matrix, or a batch of them; a factor that all samples share is not copied."""
    if call.has(left) == call.has(right):
        return f.matmul(call[left], call[right])
    shared = call.shape(right if call.has(left) else left)
    if len(shared) == 2:
        return f.matmul(call[left], call[right])
    return f.matmul(call.full(left), call.full(right))


@rule("mv")
def _mv(call: Call) -> Any:
    return _matrix_vector(call, "self", "vec")


def _matrix_vector(call: Call, matrix: str, vector: str) -> Any:
    if not call.has(vector):
        return f.matmul(call[matrix], call[vector])
    return f.squeeze_dim(f.matmul(call[matrix], f.unsqueeze(call[vector], 2)), 2)


@rule("dot", "vdot")
def _dot(call: Call) -> Any:
    left, right = (call.full(p.name) for p in call.op.tensors)
    left = f.conj(left) if call.op.name == "vdot" else left
    return reshaped(f.matmul(f.unsqueeze(left, 1), f.unsqueeze(right, 2)), (call.size,))


def _added(call: Call, product: Tensor) -> Any:
    """beta * self + alpha * product; what is multiplied by 0 does not count, be it nan."""
    beta, alpha = call["beta"], call["alpha"]
    product = product if alpha == 1 else f.mul_Scalar(product, alpha)
    if beta == 0:
        return product
    summand = raised(call["self"], call.has("self"), product._raw.ndim - 1)
    return f.add(summand if beta == 1 else f.mul_Scalar(summand, beta), product, alpha=1)


@rule("addmm")
def _addmm(call: Call) -> Any:
    return _added(call, _in_all(call, "self", _product(call, "mat1", "mat2"), ("mat1", "mat2")))


@rule("baddbmm")
def _baddbmm(call: Call) -> Any:
    return _added(call, _in_all(call, "self", _product(call, "batch1", "batch2"), ("batch1", "batch2")))


@rule("addbmm")
def _addbmm(call: Call) -> Any:
    product = f.matmul(call.full("batch1"), call.full("batch2"))
    return _added(call, f.sum_dim_IntList(product, (1,), False))


@rule("addmv")
def _addmv(call: Call) -> Any:
    return _added(call, _in_all(call, "self", _matrix_vector(call, "mat", "vec"), ("mat", "vec")))


@rule("addr")
def _addr(call: Call) -> Any:
    return _added(call, f.unsqueeze(call.full("vec1"), 2) * f.unsqueeze(call.full("vec2"), 1))


def _in_all(call: Call, _: str, product: Tensor, factors: tuple[str, str]) -> Tensor:
    """A product with the batch in front, also when only the summand has one."""
    return product if any(map(call.has, factors)) else expanded(product, False, call.size)


# ---------------------------------------------------------------- losses of elements

NONE, MEAN = 0, 1


@rule(
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy",
    "mse_loss",
    "smooth_l1_loss",
    "huber_loss",
    "soft_margin_loss",
)
def _loss(call: Call) -> Any:
    """Element by element, and reduced sample by sample."""
    args, place = aligned(call), call.place("reduction")
    reduction, args[place] = args[place], NONE
    losses = dispatch.run(call.op, tuple(args))
    over = tuple(range(1, losses._raw.ndim))
    if reduction == NONE or not over:
        return losses
    return (f.mean_dim if reduction == MEAN else f.sum_dim_IntList)(losses, over, False)


@rule(
    "binary_cross_entropy_backward",
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "huber_loss_backward",
    "soft_margin_loss_backward",
)
def _loss_backward(call: Call) -> Any:
    args, place = aligned(call), call.place("reduction")
    shape = (
        f.sub(args[1], args[2], alpha=1)._raw.shape if args[1]._raw.shape != args[2]._raw.shape else args[1]._raw.shape
    )
    rank = max(call.ranks())
    count = math.prod(shape[-rank:]) if rank else 1
    reduction, args[place] = args[place], NONE
    args[1] = expanded(args[1], len(args[1]._raw.shape) > rank, call.size)
    if reduction == MEAN:
        args[0] = f.div_Scalar(args[0], count)
    return dispatch.run(call.op, tuple(args))


# ---------------------------------------------------------------- negative log likelihood


def _classes(call: Call) -> tuple[int, Tensor, Tensor, Tensor]:
    """The dimension of classes, which targets count, the targets with 0 for those that do not, and their weights."""
    dim = 1 if len(call.shape("self")) == 1 else 2
    target = call.full("target")
    counts = f.logical_not(f.eq(target, make(np.int64(call["ignore_index"]))))
    target = f._to_copy(f.masked_fill_Scalar(target, f.logical_not(counts), 0), np.dtype(np.int64))
    weight = call["weight"]
    kind = call["self"]._raw.dtype
    if weight is None:
        return dim, counts, target, f._to_copy(counts, kind)
    rows = f.gather(call.full("weight").detach(), 1, flat(target))
    return dim, counts, target, reshaped(rows, target._raw.shape) * f._to_copy(counts, kind)


@rule("nll_loss_forward", "nll_loss2d_forward")
def _nll(call: Call) -> Any:
    dim, counts, target, weights = _classes(call)
    picked = f.squeeze_dim(f.gather(call.full("self"), dim, f.unsqueeze(target, dim)), dim)
    losses = f.neg(f.masked_fill_Scalar(picked, f.logical_not(counts), 0) * weights)
    over = tuple(range(1, losses._raw.ndim))
    if call["reduction"] == NONE:
        return losses, make(kernels(core(losses)._raw).zeros((call.size,), losses._raw.dtype))
    total = f.sum_dim_IntList(weights, over, False) if over else weights
    summed = f.sum_dim_IntList(losses, over, False) if over else losses
    return (f.div(summed, total) if call["reduction"] == MEAN else summed), total


@rule("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(call: Call) -> Any:
    dim, _, target, weights = _classes(call)
    grad = call.full("grad_output")
    if call["reduction"] == MEAN:
        grad = f.div(grad, call.full("total_weight").detach())
    grad = f.neg(raised(grad, True, target._raw.ndim - 1) * weights)
    nothing = f.zeros_like(call.full("self"))
    return f.scatter_src(nothing, dim, f.unsqueeze(target, dim), f.unsqueeze(grad, dim))
