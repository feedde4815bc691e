"""Batching rules of single operations that need more than changed arguments: the `batch` of their records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.stand_in import MISSING, dynamic_shape
from ..._arrays.storages import spanned
from ..base import dims
from ..operations.operation import operations
from ..running import dispatch
from ..running.device_dispatch import kernels
from ..running.views import geometry
from ..tape.tensor import Tensor, Wrapped, make
from .batching import Call, Rule, aligned, expanded, folded, leading, loop, pointwise, raised, reshaped, shifted
from .transforms import core

f = operations


def shape_by_values(call: Call) -> Any:
    """Refused: the shape of the result would differ from sample to sample."""
    raise RuntimeError(dynamic_shape(call.op.name))


def masked_select(call: Call) -> Any:
    if call.has("mask"):
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
            f"each batch this would return a differently shaped Tensor. {MISSING}"
        )
    shape = dims.broadcast(call.shape("self"), call.shape("mask")) or (1,)
    x = f.expand(raised(call["self"], True, len(shape)), (call.size, *shape))
    mask = f.expand(call["mask"], shape)
    positions = tuple(make(d.astype(np.int64)) for d in mask._ag_raw.nonzero())
    return f.index(x, [None, *positions])


# ---------------------------------------------------------------- shapes


def expand(call: Call) -> Any:
    size = call["size"]
    return dispatch.run(call.op, (raised(call["self"], True, len(size)), (call.size, *size)))


def repeat(call: Call) -> Any:
    repeats = call["repeats"]
    return dispatch.run(call.op, (raised(call["self"], True, len(repeats)), (1, *repeats)))


def permute(call: Call) -> Any:
    return dispatch.run(call.op, (call["self"], (0, *(d + 1 for d in call["dims"]))))


def t(call: Call) -> Any:
    x = call["self"]
    return f.transpose(x, 1, 2) if x._ag_raw.ndim == 3 else f.alias(x)


def t_copy(call: Call) -> Any:
    x = call["self"]
    return f.transpose_copy(x, 1, 2) if x._ag_raw.ndim == 3 else f.alias(x)


def unfold(call: Call) -> Any:
    """Unfold a batch of tensors; a number is a vector of one window."""
    if call["self"]._ag_raw.ndim > 1:
        return leading(call)
    windows = dispatch.run(call.op, (f.unsqueeze(call["self"], 1), 1, *call.args[2:]))
    return f.squeeze_dim(windows, 1)


def unfold_backward(call: Call) -> Any:
    return leading(call) if call["input_sizes"] else loop(call)


def cdist_backward(call: Call) -> Any:
    """Return the gradient of distances between points whose batches are not broadcast."""
    return leading(call) if len(set(call.ranks())) == 1 else loop(call)


def _single(x: Tensor) -> tuple[int, ...]:
    """The dimensions of a sample that have one element."""
    return tuple(d for d, n in enumerate(x._ag_raw.shape) if d and n == 1)


def squeeze(call: Call) -> Any:
    x = call["self"]
    single = _single(x)
    return f.view(x, tuple(n for d, n in enumerate(x._ag_raw.shape) if d not in single))


def squeeze_dim(call: Call) -> Any:
    return f.squeeze_dims(call["self"], (call["dim"] + 1,))


def squeeze_copy(call: Call) -> Any:
    return f.squeeze_copy_dims(call["self"], _single(call["self"]))


def as_strided(call: Call) -> Any:
    x, size, stride, *offset = call.args
    own = x._ag_raw.strides[0] // x._ag_raw.itemsize
    _check_reach(x, (call.size, *size), (own, *stride), (offset or [0])[0] or 0)
    return dispatch.run(call.op, (x, (call.size, *size), (own, *stride), *offset))


def _check_reach(x: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    """RuntimeError where a window of a plain tensor would leave its memory."""
    base = x if x._base is None else x._base
    if isinstance(x, Wrapped) or isinstance(base, Wrapped):
        return
    start = offset + geometry(x._ag_raw, base._ag_raw)[2]
    if start < 0 or spanned(size, stride, start) > base._ag_raw.size:
        raise RuntimeError(
            f"result = tensor.as_strided({list(size[1:])}, {list(stride[1:])}, {offset}) can access memory outside of "
            "`tensor`"
        )


def cat(call: Call) -> Any:
    """Concatenate tensors with dimensions; empty vectors among them are left out."""
    tensors, dim = call.args
    pairs = list(zip(tensors, call.marks[0], strict=True))
    rank = max(call.ranks())
    kept = [expanded(t, m, call.size) for t, m in pairs if t._ag_raw.ndim - m == rank]
    return f.cat(kept, shifted(dim, rank))


def roll(call: Call) -> Any:
    x, shifts, over = call.args
    if over:
        return leading(call)
    shape = x._ag_raw.shape
    return reshaped(f.roll(flat(x), shifts, (1,)), shape)


def flat(x: Tensor) -> Tensor:
    """Each sample as a vector."""
    shape = x._ag_raw.shape
    return reshaped(x, (shape[0], math.prod(shape[1:])))


def to_copy(call: Call) -> Any:
    laid_out = str(call["memory_format"]).endswith(("channels_last", "channels_last_3d"))
    return folded(call) if laid_out else pointwise(call)


def copy(call: Call) -> Any:
    """The first tensor overwritten by the second one, which is broadcast."""
    names = [p.name for p in call.op.tensors]
    target = call.full(names[0])
    return f.copy(target, raised(call[names[1]], call.has(names[1]), target._ag_raw.ndim - 1))


def masked_fill(call: Call) -> Any:
    if not call.has("value"):
        return pointwise(call)
    x, mask, value = aligned(call)
    return f.where(mask, f._to_copy(value, x._ag_raw.dtype) if value._ag_raw.dtype != x._ag_raw.dtype else value, x)


# ---------------------------------------------------------------- reductions of everything


def over_all(
    name: str, *, vector: bool = False, tail: Callable[[Call], tuple[Any, ...]] = lambda call: (False,)
) -> Rule:
    """The reduction `name` over all dimensions of a sample; `vector`: over those of the flattened one."""

    def run(call: Call) -> Any:
        x = call["self"]
        flattened = vector or x._ag_raw.ndim == 1
        x, over = (flat(x), (1,)) if flattened else (x, tuple(range(1, x._ag_raw.ndim)))
        return getattr(f, name)(x, 1 if vector else over, *tail(call))

    return run


def over_all_with_dtype(name: str, **options: Any) -> Rule:
    """The same of an operation that takes a dtype."""
    made = over_all(name, tail=lambda call: (False,), **options)

    def run(call: Call) -> Any:
        if call["dtype"] is None:
            return made(call)
        return made(Call(call.op, (f._to_copy(call["self"], call["dtype"]), None), call.marks, call.size))

    return run


def norm(call: Call) -> Any:
    return f.norm_ScalarOpt_dim(flat(call["self"]), call["p"], (1,), False)


def arg_reduction(call: Call) -> Any:
    """Over one dimension, or over the flattened sample."""
    x, dim, keep = call.args
    if dim is not None:
        return leading(call)
    result = dispatch.run(call.op, (flat(x), 1, False))
    if not keep:
        return result
    shape = (call.size, *[1] * (x._ag_raw.ndim - 1))
    return reshaped(result, shape) if isinstance(result, Tensor) else tuple(reshaped(r, shape) for r in result)


def trace(call: Call) -> Any:
    return f.sum_dim_IntList(f.diagonal(call["self"], 0, 1, 2), (1,), False)


# ---------------------------------------------------------------- products


def mm(call: Call) -> Any:
    return _product(call, "self", "mat2")


def _product(call: Call, left: str, right: str) -> Any:
    """Matrix times matrix, or a batch of them; a factor that all samples share is not copied."""
    if call.has(left) == call.has(right):
        return f.matmul(call[left], call[right])
    shared = call.shape(right if call.has(left) else left)
    if len(shared) == 2:
        return f.matmul(call[left], call[right])
    return f.matmul(call.full(left), call.full(right))


def mv(call: Call) -> Any:
    return _matrix_vector(call, "self", "vec")


def _matrix_vector(call: Call, matrix: str, vector: str) -> Any:
    if not call.has(vector):
        return f.matmul(call[matrix], call[vector])
    return f.squeeze_dim(f.matmul(call[matrix], f.unsqueeze(call[vector], 2)), 2)


def dot(call: Call) -> Any:
    return _dot(call, *(call.full(p.name) for p in call.op.tensors))


def vdot(call: Call) -> Any:
    left, right = (call.full(p.name) for p in call.op.tensors)
    return _dot(call, f.conj(left), right)


def _dot(call: Call, left: Tensor, right: Tensor) -> Any:
    return reshaped(f.matmul(f.unsqueeze(left, 1), f.unsqueeze(right, 2)), (call.size,))


def _added(call: Call, product: Tensor) -> Any:
    """beta * self + alpha * product; what is multiplied by 0 does not count, be it nan."""
    beta, alpha = call["beta"], call["alpha"]
    product = product if alpha == 1 else f.mul_Scalar(product, alpha)
    if beta == 0:
        return product
    summand = raised(call["self"], call.has("self"), product._ag_raw.ndim - 1)
    return f.add(summand if beta == 1 else f.mul_Scalar(summand, beta), product, alpha=1)


def addmm(call: Call) -> Any:
    return _added(call, _in_all(call, "self", _product(call, "mat1", "mat2"), ("mat1", "mat2")))


def baddbmm(call: Call) -> Any:
    return _added(call, _in_all(call, "self", _product(call, "batch1", "batch2"), ("batch1", "batch2")))


def addbmm(call: Call) -> Any:
    product = f.matmul(call.full("batch1"), call.full("batch2"))
    return _added(call, f.sum_dim_IntList(product, (1,), False))


def addmv(call: Call) -> Any:
    return _added(call, _in_all(call, "self", _matrix_vector(call, "mat", "vec"), ("mat", "vec")))


def addr(call: Call) -> Any:
    return _added(call, f.unsqueeze(call.full("vec1"), 2) * f.unsqueeze(call.full("vec2"), 1))


def _in_all(call: Call, _: str, product: Tensor, factors: tuple[str, str]) -> Tensor:
    """A product with the batch in front, also when only the summand has one."""
    return product if any(map(call.has, factors)) else expanded(product, False, call.size)


# ---------------------------------------------------------------- losses of elements

NONE, MEAN = 0, 1


def loss(call: Call) -> Any:
    """Element by element, and reduced sample by sample."""
    args, position = aligned(call), call.position("reduction")
    reduction, args[position] = args[position], NONE
    losses = dispatch.run(call.op, tuple(args))
    over = tuple(range(1, losses._ag_raw.ndim))
    if reduction == NONE or not over:
        return losses
    return (f.mean_dim if reduction == MEAN else f.sum_dim_IntList)(losses, over, False)


def loss_backward(call: Call) -> Any:
    args, position = aligned(call), call.position("reduction")
    shape = (
        f.sub(args[1], args[2], alpha=1)._ag_raw.shape
        if args[1]._ag_raw.shape != args[2]._ag_raw.shape
        else args[1]._ag_raw.shape
    )
    rank = max(call.ranks())
    count = math.prod(shape[-rank:]) if rank else 1
    reduction, args[position] = args[position], NONE
    args[1] = expanded(args[1], len(args[1]._ag_raw.shape) > rank, call.size)
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
    kind = call["self"]._ag_raw.dtype
    if weight is None:
        return dim, counts, target, f._to_copy(counts, kind)
    rows = f.gather(call.full("weight").detach(), 1, flat(target))
    return dim, counts, target, reshaped(rows, target._ag_raw.shape) * f._to_copy(counts, kind)


def nll(call: Call) -> Any:
    dim, counts, target, weights = _classes(call)
    picked = f.squeeze_dim(f.gather(call.full("self"), dim, f.unsqueeze(target, dim)), dim)
    losses = f.neg(f.masked_fill_Scalar(picked, f.logical_not(counts), 0) * weights)
    over = tuple(range(1, losses._ag_raw.ndim))
    if call["reduction"] == NONE:
        return losses, make(kernels(core(losses)._ag_raw).zeros((call.size,), losses._ag_raw.dtype))
    total = f.sum_dim_IntList(weights, over, False) if over else weights
    summed = f.sum_dim_IntList(losses, over, False) if over else losses
    return (f.div(summed, total) if call["reduction"] == MEAN else summed), total


def nll_backward(call: Call) -> Any:
    dim, _, target, weights = _classes(call)
    grad = call.full("grad_output")
    if call["reduction"] == MEAN:
        grad = f.div(grad, call.full("total_weight").detach())
    grad = f.neg(raised(grad, True, target._ag_raw.ndim - 1) * weights)
    nothing = f.zeros_like(call.full("self"))
    return f.scatter_src(nothing, dim, f.unsqueeze(target, dim), f.unsqueeze(grad, dim))
