"""Operations that few models have, and those that derivatives are made of, as ONNX operators."""

from __future__ import annotations

from autograph_cli.export.exchange.onnx.model import Call, Unsupported, Writer


def _truncated(c: Call, name: str) -> str:
    negative = c.op("Less", name, c.const(0))
    return c.op("Where", negative, c.op("Ceil", name), c.op("Floor", name))


def _fmod(c: Call) -> list[str]:
    sides = c.same()
    if len(sides) < 2:
        sides.append(c.const(c.plain("other")))
    return [c.op("Mod", *sides, fmod=1)]


def _logaddexp(c: Call) -> list[str]:
    left, right = c.same()
    far = c.op("Abs", c.op("Sub", left, right))
    tail = c.op("Log", c.op("Add", c.op("Exp", c.op("Neg", far)), c.const(1)))
    return [c.op("Add", c.op("Max", left, right), tail)]


def _xlogy(c: Call) -> list[str]:
    x, y = c.same()
    return [c.op("Where", c.op("Equal", x, c.const(0)), c.const(0), c.op("Mul", x, c.op("Log", y)))]


def _flip(c: Call) -> list[str]:
    dims = c.dims("dims")
    ends = [-1] * len(dims), [-(2**62)] * len(dims), dims, [-1] * len(dims)
    return [c.op("Slice", c.args[0], *map(c.ints, ends))]


def _roll(c: Call) -> list[str]:
    found, dims = c.args[0], c.plain("dims") or ()
    shifts = c.plain("shifts")
    shifts, dims = ((each,) if isinstance(each, int) else each for each in (shifts, dims))
    if not dims:
        raise Unsupported("without dims")
    for shift, dim in zip(shifts, dims, strict=True):
        size = c.given[0].shape[dim]
        cut = (-shift) % size if size else 0
        first, rest = c.ops("Split", found, c.ints([cut, size - cut]), results=2, axis=dim)
        found = c.op("Concat", rest, first, axis=dim)
    return [found]


def _padded(mode: str) -> Writer:
    def write(c: Call) -> list[str]:
        pad, rank = c.plain("padding"), len(c.given[0].shape)
        before, after = [0] * rank, [0] * rank
        for nr in range(len(pad) // 2):
            before[rank - 1 - nr], after[rank - 1 - nr] = pad[2 * nr], pad[2 * nr + 1]
        return [c.op("Pad", c.args[0], c.ints([*before, *after]), mode=mode)]

    return write


def _any(kind: str) -> Writer:
    """Whether one, or all, are true: the largest or smallest of them as numbers."""

    def write(c: Call) -> list[str]:
        numbers = c.cast(c.cast(c.args[0], c.given[0], "bool"), c.made[0], "int32")
        found = c.op(kind, numbers, c.ints(c.dims()), keepdims=0)
        return [c.shaped(c.op("Cast", found, to=9))]

    return write


def _bilinear(c: Call) -> list[str]:
    kind = "align_corners" if c.plain("align_corners") else "half_pixel"
    sizes = c.ints(c.made[0].shape)
    return [c.op("Resize", c.args[0], "", "", sizes, mode="linear", coordinate_transformation_mode=kind)]


def _threshold(c: Call) -> list[str]:
    above = c.op("Greater", c.args[0], c.const(c.plain("threshold")))
    return [c.op("Where", above, c.args[0], c.const(c.plain("value")))]


def _shrink(soft: bool) -> Writer:
    def write(c: Call) -> list[str]:
        lambd = c.plain("lambd", 0.5)
        return [c.op("Shrink", c.args[0], lambd=lambd, bias=lambd if soft else 0.0)]

    return write


def _against(c: Call) -> list[str]:
    """A gradient where a threshold was passed."""
    grad, x = c.args
    return [c.op("Where", c.op("Greater", x, c.const(c.plain("threshold", 0))), grad, c.const(0))]


def _leaky_backward(c: Call) -> list[str]:
    grad, x = c.args
    low = c.op("Mul", grad, c.const(c.plain("negative_slope", 0.01)))
    return [c.op("Where", c.op("Greater", x, c.const(0)), grad, low)]


def _tanh_backward(c: Call) -> list[str]:
    grad, result = c.args
    return [c.op("Mul", grad, c.op("Sub", c.const(1), c.op("Mul", result, result)))]


def _sigmoid_backward(c: Call) -> list[str]:
    grad, result = c.args
    return [c.op("Mul", grad, c.op("Mul", result, c.op("Sub", c.const(1), result)))]


def _softmax_backward(c: Call) -> list[str]:
    product = c.op("Mul", c.args[0], c.args[1])
    total = c.op("ReduceSum", product, c.ints([c.plain("dim")]), keepdims=1)
    return [c.op("Sub", product, c.op("Mul", c.args[1], total))]


def _log_softmax_backward(c: Call) -> list[str]:
    total = c.op("ReduceSum", c.args[0], c.ints([c.plain("dim")]), keepdims=1)
    return [c.op("Sub", c.args[0], c.op("Mul", c.op("Exp", c.args[1]), total))]


def _kl_div(c: Call) -> list[str]:
    x, target = c.same()
    if c.plain("log_target"):
        each = c.op("Mul", c.op("Exp", target), c.op("Sub", target, x))
    else:
        logs = c.op("Where", c.op("Greater", target, c.const(0)), c.op("Log", target), c.const(0))
        each = c.op("Mul", target, c.op("Sub", logs, x))
    kind = {1: "ReduceMean", 2: "ReduceSum"}.get(c.plain("reduction", 1))
    return [each if kind is None else c.op(kind, each, keepdims=0)]


MORE: dict[str, Writer] = {
    "trunc": lambda c: [_truncated(c, c.args[0])],
    "fmod": _fmod,
    "logaddexp": _logaddexp,
    "xlogy": _xlogy,
    "isnan": lambda c: [c.op("IsNaN", c.args[0])],
    "any": _any("ReduceMax"),
    "all": _any("ReduceMin"),
    "flip": _flip,
    "roll": _roll,
    **dict.fromkeys(("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"), _padded("reflect")),
    **dict.fromkeys(("replication_pad1d", "replication_pad2d", "replication_pad3d"), _padded("edge")),
    **dict.fromkeys(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), _bilinear),
    "threshold": _threshold,
    "softshrink": _shrink(soft=True),
    "hardshrink": _shrink(soft=False),
    "kl_div": _kl_div,
    "threshold_backward": _against,
    "leaky_relu_backward": _leaky_backward,
    "tanh_backward": _tanh_backward,
    "sigmoid_backward": _sigmoid_backward,
    **dict.fromkeys(("softmax_backward", "_softmax_backward_data"), _softmax_backward),
    **dict.fromkeys(("log_softmax_backward", "_log_softmax_backward_data"), _log_softmax_backward),
}
"""By the name of the operation."""
