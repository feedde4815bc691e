"""Batching of layers and lookups: convolutions and normalizations by channels, indices by offsets."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np

from ..base import dims
from ..operations.operation import operations
from ..running import dispatch
from ..running.device_dispatch import kernels
from ..tape.tensor import Tensor, make
from .batching import Call, Rule, apart, expanded, first_two, folded, loop, raised, reshaped
from .batching_rules import flat
from .transforms import core

f = operations


# ---------------------------------------------------------------- by channels


def by_channels(x: Tensor) -> Tensor:
    """(B, N, C, ...) as (N, B * C, ...)."""
    moved = f.transpose(x, 0, 1)
    shape = moved._ag_raw.shape
    return reshaped(moved, (shape[0], shape[1] * shape[2], *shape[3:]))


def from_channels(x: Tensor, size: int) -> Tensor:
    """(N, B * C, ...) as (B, N, C, ...)."""
    shape = x._ag_raw.shape
    return f.transpose(reshaped(x, (shape[0], size, shape[1] // size, *shape[2:])), 0, 1)


def convolution(call: Call) -> Any:
    image, kernel, bias, *geometry, groups = call.args
    size = call.size
    if not call.has("weight"):
        rank = len(call.shape("input"))
        if not call.has("input"):
            result = expanded(f.convolution(image, kernel, None, *geometry, groups), False, size)
        else:
            shared = None if call.has("bias") else bias
            result = apart(f.convolution(first_two(image), kernel, shared, *geometry, groups), size)
        if not call.has("bias"):
            return result
        row = (size, 1, bias._ag_raw.shape[1], *[1] * (rank - 2))
        return f.add(result, f.view(bias, row))
    bias = None if bias is None else first_two(call.full("bias"))
    result = f.convolution(
        by_channels(call.full("input")), first_two(call.full("weight")), bias, *geometry, groups * size
    )
    return from_channels(result, size)


def convolution_backward(call: Call) -> Any:
    grad, image, kernel, *geometry, groups, mask = call.args
    size = call.size
    grad, image = call.full("grad_output"), call.full("input")
    if not call.has("weight") and not mask[1]:
        found = f.convolution_backward(
            first_two(grad), first_two(image), kernel, *geometry, groups, (mask[0], False, False)
        )
        over = (1, *range(3, grad._ag_raw.ndim))
        by_bias = f.sum_dim_IntList(grad, over, False) if mask[2] else None
        return apart(found[0], size) if mask[0] else None, None, by_bias
    kernel = first_two(call.full("weight"))
    by_image, by_kernel, by_bias = f.convolution_backward(
        by_channels(grad), by_channels(image), kernel, *geometry, groups * size, mask
    )
    return (
        from_channels(by_image, size) if mask[0] else None,
        apart(by_kernel, size) if mask[1] else None,
        apart(by_bias, size) if mask[2] else None,
    )


def batch_norm(call: Call) -> Any:
    names = ("weight", "bias", "running_mean", "running_var")
    rows = [None if x is None else first_two(call.full(name)) for name, x in zip(names, call.args[1:5], strict=True)]
    out, *statistics = dispatch.run(call.op, (by_channels(call.full("input")), *rows, *call.args[5:]))
    found = [apart(s, call.size) if s._ag_raw.size else expanded(s, False, call.size) for s in statistics]
    return (from_channels(out, call.size), *found)


def batch_norm_backward(call: Call) -> Any:
    names = [p.name for p in call.op.tensors if p.name != "reserve"]
    args = list(call.args)
    for name in names:
        if args[i := call.position(name)] is not None:
            change = by_channels if name in ("grad_out", "input") else first_two
            args[i] = change(call.full(name))
    if "reserve" in (p.name for p in call.op.tensors) and call["reserve"] is not None:
        args[call.position("reserve")] = call["reserve"]
    image, weight, bias = dispatch.run(call.op, tuple(args))
    return (
        None if image is None else from_channels(image, call.size),
        None if weight is None else apart(weight, call.size),
        None if bias is None else apart(bias, call.size),
    )


def _scaled(call: Call, out: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`out * weight + bias`, where each has `shape` beside a sample of `out`."""
    for name, join in (("weight", f.mul), ("bias", f.add)):
        x = call[name]
        if x is not None:
            out = join(out, f.view(x, (call.size, *shape) if call.has(name) else shape))
    return out


def layer_norm(call: Call) -> Any:
    image, shape, weight, bias, eps = call.args
    if not call.has("weight") and not call.has("bias"):
        return f.native_layer_norm(image, shape, weight, bias, eps)
    out, mean, rstd = f.native_layer_norm(call.full("input"), shape, None, None, eps)
    lead = out._ag_raw.ndim - 1 - len(shape)
    return _scaled(call, out, (*[1] * lead, *shape)), mean, rstd


def layer_norm_backward(call: Call) -> Any:
    """Weight and bias gather over what is in front, so their gradients are worked out sample by sample."""
    mask = call["output_mask"]
    if call.has("weight") or call.has("bias") or mask[1] or mask[2]:
        return loop(call)
    args = call.every(lambda t, batched: t)
    for name in ("grad_out", "input", "mean", "rstd"):
        args[call.position(name)] = call.full(name)
    image, *nothing = dispatch.run(call.op, tuple(args))
    return (image, *(None if t is None else expanded(t, False, call.size) for t in nothing))


def group_norm(call: Call) -> Any:
    image, weight, bias, group, eps = call.args
    image = call.full("input")
    shared = not call.has("weight") and not call.has("bias")
    given = (weight, bias) if shared else (None, None)
    out, mean, rstd = (apart(t, call.size) for t in f.native_group_norm(first_two(image), *given, group, eps))
    if not shared:
        out = _scaled(call, out, (1, image._ag_raw.shape[2], *[1] * (image._ag_raw.ndim - 3)))
    return out, mean, rstd


# ---------------------------------------------------------------- attention


def attention(call: Call) -> Any:
    """Samples are folded into the batch; a mask is laid out for each."""
    query, key, value = (first_two(call.full(name)) for name in ("query", "key", "value"))
    mask = call["attn_mask"]
    if mask is not None:
        n = len(call.shape("query"))
        mask = raised(call.full("attn_mask"), True, n)
        shape = mask._ag_raw.shape
        mask = first_two(f.expand(mask, (call.size, call.shape("query")[0], *shape[2:])))
    found = dispatch.run(call.op, (query, key, value, call["is_causal"], mask, call["scale"]))
    return apart(found, call.size)


def attention_backward(call: Call) -> Any:
    return loop(call) if call["attn_mask"] is not None else folded(call)


# ---------------------------------------------------------------- lookups

_ZERO = make(np.int64(0))


def counted(size: int, like: Tensor, step: int = 1) -> Tensor:
    """0, step, 2 * step, ..., on the device of a tensor."""
    return make(kernels(core(like)._ag_raw).xp.arange(size, dtype=np.int64) * step)


def _offsets(call: Call, index: Tensor, step: int) -> Tensor:
    """Indices into the first dimension of each sample, as indices into that of all samples together."""
    starts = counted(call.size, index, step)
    return f.add(index, f.view(starts, (call.size, *[1] * (index._ag_raw.ndim - 1))))


def embedding(call: Call) -> Any:
    weight, indices, padding, by_frequency, sparse = call.args
    if not call.has("weight") and not by_frequency:
        return f.embedding(weight, indices, padding, by_frequency, sparse)
    if by_frequency or sparse or padding >= 0:
        return loop(call)
    rows = weight._ag_raw.shape[1]
    return f.embedding(first_two(weight), _offsets(call, call.full("indices"), rows), -1, False, False)


def embedding_backward(call: Call) -> Any:
    _, _, rows, padding, by_frequency = call.args
    if by_frequency or padding >= 0:
        return loop(call)
    positions = _offsets(call, call.full("indices"), rows)
    return apart(
        f.embedding_dense_backward(call.full("grad_output"), positions, rows * call.size, -1, False), call.size
    )


def _beside_index(call: Call) -> Any:
    """Along one dimension by an index that all samples share."""
    args = call.every(lambda t, batched: expanded(t, batched, call.size))
    args[call.position("index")] = call["index"]
    args[call.position("dim")] = call["dim"] + 1
    if "value" in (p.name for p in call.op.tensors):
        return loop(call)
    return dispatch.run(call.op, tuple(args))


def _as_positions(call: Call, like: tuple[int, ...]) -> Tensor:
    """An index of each sample, laid out as `gather` and `scatter` want it for a sample of shape `like`."""
    dim = call["dim"] + 1
    index = call.full("index")
    index = f.view(index, (call.size, *[1] * (dim - 1), index._ag_raw.shape[1], *[1] * (len(like) - dim)))
    return f.expand(index, (call.size, *like[: dim - 1], index._ag_raw.shape[dim], *like[dim:]))


def along_index(each: Rule = loop) -> Rule:
    """An operation along one dimension by an index; `each`: how, where samples have indices of their own."""

    def run(call: Call) -> Any:
        if not call.shape("self") or len(call.shape("index")) != 1:
            return loop(call)
        return each(call) if call.has("index") else _beside_index(call)

    return run


def gathered(call: Call) -> Any:
    """Return what `index_select` does, by an index of each sample."""
    return f.gather(call.full("self"), call["dim"] + 1, _as_positions(call, call.shape("self")))


def added(call: Call) -> Any:
    """Return what `index_add` does, likewise."""
    source = call.full("source")
    source = source if call["alpha"] == 1 else f.mul_Scalar(source, call["alpha"])
    return f.scatter_add(call.full("self"), call["dim"] + 1, _as_positions(call, call.shape("source")), source)


def copied(call: Call) -> Any:
    """Return what `index_copy` does, likewise."""
    positions = _as_positions(call, call.shape("source"))
    return f.scatter_src(call.full("self"), call["dim"] + 1, positions, call.full("source"))


def filled(call: Call) -> Any:
    """Return what `index_fill` with a number does, likewise."""
    return f.scatter_value(call.full("self"), call["dim"] + 1, _as_positions(call, call.shape("self")), call["value"])


def take(call: Call) -> Any:
    x, index = call.args
    if not call.has("self"):
        return f.take(x, index)
    rows, positions = flat(call.full("self")), call.full("index")
    count = rows._ag_raw.shape[1]
    column = flat(positions)
    column = f.where(f.lt(column, _ZERO), f.add_Scalar(column, count), column)
    return reshaped(f.gather(rows, 1, column), positions._ag_raw.shape)


# ---------------------------------------------------------------- advanced indexing


def _layout(call: Call) -> tuple[list[Any], int, int, int]:
    """Indices with one for the batch in front; how many dimensions they make, where those belong, how many are left.

    With an index for the batch the indexed dimensions come first, where without they stand instead of the first
    index if all indices are neighbours.
    """
    marks = call.marks[call.position("indices")]
    indices = call["indices"]
    given = [d for d, i in enumerate(indices) if i is not None]
    made = max(i._ag_raw.ndim - m for i, m in zip(indices, marks, strict=True) if i is not None)
    together = given[-1] - given[0] == len(given) - 1
    batch = f.view(counted(call.size, indices[given[0]]), (call.size, *[1] * made))
    laid = [None if i is None else raised(i, m, made) for i, m in zip(indices, marks, strict=True)]
    return [batch, *laid], made, given[0] if together else 0, len(call.shape("self")) - len(given)


def index(call: Call) -> Any:
    if not call.has("self"):
        return _index_shared(call)
    indices, made, before, rest = _layout(call)
    result = f.index(call.full("self"), indices)
    if not before:
        return result
    front = range(1 + made, 1 + made + before)
    return f.permute(result, (0, *front, *range(1, 1 + made), *range(1 + made + before, 1 + made + rest)))


def _index_shared(call: Call) -> Any:
    """Index a tensor that all samples share: the indices have one dimension more, which may not come out in front."""
    marks = call.marks[call.position("indices")]
    indices = call["indices"]
    given = [d for d, i in enumerate(indices) if i is not None]
    made = max(i._ag_raw.ndim - m for i, m in zip(indices, marks, strict=True) if i is not None)
    laid = [None if i is None else raised(i, m, made) for i, m in zip(indices, marks, strict=True)]
    result = f.index(call["self"], laid)
    together = given[-1] - given[0] == len(given) - 1
    before = given[0] if together else 0
    if not before:
        return result
    order = (before, *range(before), *range(before + 1, result._ag_raw.ndim))
    return f.permute(result, order)


def index_put(call: Call) -> Any:
    indices, made, before, _ = _layout(call)
    values, target = call["values"], call.full("self")
    picked = dims.broadcast(*(i._ag_raw.shape for i in indices if i is not None))
    picked += tuple(n for n, i in zip_longest(target._ag_raw.shape, indices[: target._ag_raw.ndim]) if i is None)
    shape = (*picked[1 + made : 1 + made + before], *picked[1 : 1 + made], *picked[1 + made + before :])
    values = f.expand(
        raised(values, call.has("values"), len(shape)), (call.size, *shape) if call.has("values") else shape
    )
    values = expanded(values, call.has("values"), call.size)
    if before:
        order = (
            *range(1 + before, 1 + before + made),
            *range(1, 1 + before),
            *range(1 + before + made, values._ag_raw.ndim),
        )
        values = f.permute(values, (0, *order))
    return dispatch.run(call.op, (target, indices, values, call["accumulate"]))
