"""Layers and losses as ONNX operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from autograph_cli.export.exchange.onnx.model import Call, Unsupported, Writer


def _addmm(c: Call) -> list[str]:
    return [
        c.op("Gemm", c.args[1], c.args[2], c.args[0], alpha=float(c.plain("alpha", 1)), beta=float(c.plain("beta", 1)))
    ]


def _baddbmm(c: Call) -> list[str]:
    product = c.op("Mul", c.op("MatMul", *c.args[1:]), c.const(c.plain("alpha", 1)))
    return [c.op("Add", c.op("Mul", c.args[0], c.const(c.plain("beta", 1))), product)]


def _convolution(c: Call) -> list[str]:
    window = {
        "strides": c.plain("stride"),
        "pads": [*c.plain("padding")] * 2,
        "dilations": c.plain("dilation"),
        "group": c.plain("groups"),
    }
    if not c.plain("transposed"):
        return [c.op("Conv", *c.args, **window)]
    return [c.op("ConvTranspose", *c.args, output_padding=c.plain("output_padding"), **window)]


def _pool(c: Call, kind: str, **more: Any) -> str:
    kernel, stride = c.plain("kernel_size"), c.plain("stride") or c.plain("kernel_size")
    ceil = int(bool(c.plain("ceil_mode", False)))
    return c.op(
        kind, c.args[0], kernel_shape=kernel, strides=stride, pads=[*c.plain("padding")] * 2, ceil_mode=ceil, **more
    )


def _max_pool(c: Call) -> list[str]:
    return [_pool(c, "MaxPool", dilations=c.plain("dilation"))]


def _avg_pool(c: Call) -> list[str]:
    if c.plain("divisor_override") is not None:
        raise Unsupported("divisor_override")
    return [_pool(c, "AveragePool", count_include_pad=int(c.plain("count_include_pad", True)))]


def _adaptive_avg_pool(c: Call) -> list[str]:
    size = c.plain("output_size")
    sides = c.given[0].shape[-len(size) :]
    if any(side % part for side, part in zip(sides, size, strict=True)):
        raise Unsupported(f"{list(size)} parts of {list(sides)}")
    kernel = [side // part for side, part in zip(sides, size, strict=True)]
    return [c.op("AveragePool", c.args[0], kernel_shape=kernel, strides=kernel)]


def _resize(c: Call) -> list[str]:
    return [
        c.op(
            "Resize",
            c.args[0],
            "",
            "",
            c.ints(c.made[0].shape),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    ]


def _normalized(c: Call, x: str, axes: Sequence[int], eps: float) -> str:
    at = c.ints(axes)
    distance = c.op("Sub", x, c.op("ReduceMean", x, at, keepdims=1))
    variance = c.op("ReduceMean", c.op("Mul", distance, distance), at, keepdims=1)
    return c.op("Div", distance, c.op("Sqrt", c.op("Add", variance, c.const(eps))))


def _batch_norm(c: Call) -> list[str]:
    rank = len(c.given[0].shape)
    affine = "weight" in c.saved
    eps = c.plain("eps", 1e-5)
    column = c.ints([1, -1, *[1] * (rank - 2)])
    if c.plain("training"):
        found = _normalized(c, c.args[0], [0, *range(2, rank)], eps)
    else:
        mean, variance = (c.op("Reshape", name, column) for name in c.args[-2:])
        found = c.op("Div", c.op("Sub", c.args[0], mean), c.op("Sqrt", c.op("Add", variance, c.const(eps))))
    if affine:
        weight, bias = (c.op("Reshape", name, column) for name in c.args[1:3])
        found = c.op("Add", c.op("Mul", found, weight), bias)
    return [found]


def _layer_norm(c: Call) -> list[str]:
    rank = len(c.plain("normalized_shape"))
    if len(c.args) == 2:
        raise Unsupported("weight without bias")
    axes = list(range(len(c.given[0].shape) - rank, len(c.given[0].shape)))
    if len(c.args) == 1:
        return [_normalized(c, c.args[0], axes, c.plain("eps", 1e-5))]
    return [c.op("LayerNormalization", *c.args, axis=-rank, epsilon=c.plain("eps", 1e-5))]


def _group_norm(c: Call) -> list[str]:
    groups, batch = c.plain("group"), c.given[0].shape[0]
    rows = c.op("Reshape", c.args[0], c.ints([batch, groups, -1]))
    found = c.shaped(_normalized(c, rows, [2], c.plain("eps", 1e-5)))
    column = c.ints([1, -1, *[1] * (len(c.given[0].shape) - 2)])
    for kind, name in zip(("Mul", "Add"), c.args[1:], strict=False):
        found = c.op(kind, found, c.op("Reshape", name, column))
    return [found]


def _averaged(c: Call, each: str) -> list[str]:
    """A loss of each example as `reduction` says: 0 none, 1 mean, 2 sum."""
    kind = {1: "ReduceMean", 2: "ReduceSum"}.get(c.plain("reduction", 1))
    return [each if kind is None else c.op(kind, each, keepdims=0)]


def _loss(each: Callable[[Call, str, str], str]) -> Writer:
    def write(c: Call) -> list[str]:
        if len(c.args) > 2:
            raise Unsupported("with weights")
        return _averaged(c, each(c, *c.same()))

    return write


def _huber(c: Call, x: str, target: str) -> str:
    """Quadratic up to `delta`; `smooth_l1_loss` is the same over `beta`."""
    bound, smooth = c.plain("delta", c.plain("beta", 1.0)), c.plain("delta") is None
    if bound == 0:
        return c.op("Abs", c.op("Sub", x, target))
    distance = c.op("Abs", c.op("Sub", x, target))
    inner = c.op("Mul", c.op("Mul", distance, distance), c.const(0.5 / bound if smooth else 0.5))
    outer = c.op("Mul", c.op("Sub", distance, c.const(0.5 * bound)), c.const(1.0 if smooth else bound))
    return c.op("Where", c.op("Less", distance, c.const(bound)), inner, outer)


def _cross_entropy(c: Call, x: str, target: str) -> str:
    """- (t log x + (1 - t) log(1 - x)), no logarithm below -100."""

    def log(name: str) -> str:
        return c.op("Max", c.op("Log", name), c.const(-100.0))

    one = c.const(1.0)
    sides = (c.op("Mul", target, log(x)), c.op("Mul", c.op("Sub", one, target), log(c.op("Sub", one, x))))
    return c.op("Neg", c.op("Add", *sides))


def _squared(c: Call, x: str, target: str) -> str:
    distance = c.op("Sub", x, target)
    return c.op("Mul", distance, distance)


def _logits_loss(c: Call, x: str, target: str) -> str:
    """max(x, 0) - x t + log(1 + exp(-|x|))."""
    tail = c.op("Log", c.op("Add", c.op("Exp", c.op("Neg", c.op("Abs", x))), c.const(1.0)))
    return c.op("Add", c.op("Sub", c.op("Relu", x), c.op("Mul", x, target)), tail)


def _nll(c: Call) -> list[str]:
    reduction = ("none", "mean", "sum")[c.plain("reduction", 1)]
    ignored = c.plain("ignore_index", -100)
    return [c.op("NegativeLogLikelihoodLoss", *c.args, reduction=reduction, ignore_index=ignored)]


def _attention(c: Call) -> list[str]:
    query, key, value, *mask = c.args
    length, width = c.given[0].shape[-2:]
    turned = list(range(len(c.given[1].shape)))
    turned[-2:] = turned[-1], turned[-2]
    scale = c.plain("scale") or 1 / math.sqrt(width)
    scores = c.op("Mul", c.op("MatMul", query, c.op("Transpose", key, perm=turned)), c.const(scale))
    if c.plain("dropout_p", 0.0):
        raise Unsupported("with dropout")
    if c.plain("is_causal"):
        shape = c.ints([length, c.given[1].shape[-2]])
        seen = c.op("Trilu", c.op("Expand", c.const(1, "int64"), shape), upper=0)
        scores = c.op("Where", c.op("Cast", seen, to=9), scores, c.const(float("-inf")))
    if mask:
        scores = c.op("Add", scores, mask[0])
    return [c.op("MatMul", c.op("Softmax", scores, axis=-1), value)]


def _lstm(c: Call) -> list[str]:
    """One layer in one direction; PyTorch's gates i, f, g, o are i, o, f, c in ONNX."""
    size, first = c.plain("hidden_size"), c.ints([0])

    def turned(name: str) -> str:
        i, f, g, o = c.ops("Split", name, c.ints([size] * 4), results=4, axis=0)
        return c.op("Concat", i, o, f, g, axis=0)

    x, *weights, hidden, cell = c.args
    inward, across, *biases = (turned(name) for name in weights)
    bias = c.op("Unsqueeze", c.op("Concat", *biases, axis=0), first) if biases else ""
    rows = [c.op("Unsqueeze", name, first) for name in (inward, across, hidden, cell)]
    way = "reverse" if c.plain("reverse", False) else "forward"
    found = c.ops("LSTM", x, *rows[:2], bias, "", *rows[2:], results=3, hidden_size=size, direction=way)
    return [c.shaped(name, nr) for nr, name in enumerate(found)]


LAYERS: dict[str, Writer] = {
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "convolution": _convolution,
    "max_pool2d_with_indices": _max_pool,
    "max_pool3d_with_indices": _max_pool,
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _avg_pool),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_avg_pool),
    **dict.fromkeys(("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"), _resize),
    "native_batch_norm": _batch_norm,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "mse_loss": _loss(_squared),
    "smooth_l1_loss": _loss(_huber),
    "huber_loss": _loss(_huber),
    "binary_cross_entropy": _loss(_cross_entropy),
    "binary_cross_entropy_with_logits": _loss(_logits_loss),
    "nll_loss_forward": _nll,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "mkldnn_rnn_layer": _lstm,
}
"""By the name of the operation."""
