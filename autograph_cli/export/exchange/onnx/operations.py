"""Operations as ONNX operators: for each its name, and what writes it and returns the names of its results.

The definitions are those of the ONNX operator reference for opset 18 and of PyTorch's documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autograph_cli.export.exchange.onnx.indexing import INDEXING
from autograph_cli.export.exchange.onnx.layers import LAYERS
from autograph_cli.export.exchange.onnx.model import Call, Unsupported, Writer
from autograph_cli.export.exchange.onnx.more import MORE
from autograph_cli.graph.records import TensorType


def _one(write: Callable[[Call], str]) -> Writer:
    return lambda c: [write(c)]


def _named(kind: str, **attributes: Any) -> Writer:
    """An operator that takes what the operation takes, in the dtype of the result."""
    return lambda c: [c.op(kind, *c.same(), **attributes)]


def _with(kind: str, **names: str) -> Writer:
    """The same with attributes that are arguments of the operation, by their names there."""
    return lambda c: [c.op(kind, c.args[0], **{key: c.plain(name) for key, name in names.items()})]


def _pair(c: Call, dtype: str | None = None) -> list[str]:
    """Both sides of an operation, one of which may be a number."""
    sides = c.same(dtype)
    if len(sides) == 2:
        return sides
    if c.plain("self") is not None and "self" not in c.saved:
        return [c.const(c.plain("self"), dtype), *sides]
    number = c.plain("other", c.plain("exponent"))
    if number is None:
        raise Unsupported("its arguments are not known")
    return [*sides, c.const(number, dtype)]


def _sum_of(kind: str, turned: bool = False) -> Writer:
    def write(c: Call) -> list[str]:
        left, right = _pair(c)
        left, right = (right, left) if turned else (left, right)
        alpha = c.plain("alpha", 1)
        if alpha != 1:
            right = c.op("Mul", right, c.const(alpha))
        return [c.op(kind, left, right)]

    return write


def _compare(kind: str, negated: bool = False) -> Writer:
    def write(c: Call) -> list[str]:
        dtypes = [type_.dtype for type_ in c.given]
        number = c.plain("other")
        dtype = next(
            (each for each in dtypes if "float" in each), "float32" if isinstance(number, float) else dtypes[0]
        )
        found = c.op(kind, *_pair(c, "int64" if dtype == "bool" else dtype))
        return [c.op("Not", found) if negated else found]

    return write


def _of_bits(word: str) -> Writer:
    return lambda c: [c.op(word if c.made[0].dtype == "bool" else f"Bitwise{word}", *_pair(c))]


def _div(c: Call) -> list[str]:
    left, right = _pair(c)
    mode = c.plain("rounding_mode")
    found = c.op("Div", left, right)
    if mode == "floor":
        found = c.op("Floor", found)
    elif mode == "trunc":
        found = c.op("Where", c.op("Less", found, c.const(0)), c.op("Ceil", found), c.op("Floor", found))
    return [found]


def _floor_divide(c: Call) -> list[str]:
    left, right = _pair(c, "float64")
    return [c.cast(c.op("Floor", c.op("Div", left, right)), TensorType("float64", c.made[0].shape))]


def _remainder(c: Call) -> list[str]:
    left, right = _pair(c)
    if "int" in c.made[0].dtype:
        return [c.op("Mod", left, right)]
    return [c.op("Sub", left, c.op("Mul", c.op("Floor", c.op("Div", left, right)), right))]


def _reduce(kind: str, dims: str = "dim") -> Writer:
    return lambda c: [c.shaped(c.op(kind, c.cast(c.args[0], c.given[0]), c.ints(c.dims(dims)), keepdims=0))]


def _var(c: Call, dims: list[int] | None = None) -> str:
    dims = c.dims() if dims is None else dims
    axes = c.ints(dims)
    distance = c.op("Sub", c.args[0], c.op("ReduceMean", c.args[0], axes, keepdims=1))
    count = math.prod(c.given[0].shape[dim] for dim in dims) - c.plain("correction", 1)
    squares = c.op("ReduceSum", c.op("Mul", distance, distance), axes, keepdims=0)
    return c.shaped(c.op("Div", squares, c.const(count)))


def _norm(c: Call) -> list[str]:
    kinds = {1: "ReduceL1", 2: "ReduceL2"}
    order = c.plain("ord", 2)
    if order not in kinds:
        raise Unsupported(f"ord {order}")
    return _reduce(kinds[order])(c)


def _extreme(kind: str, arg: str) -> Writer:
    """`max` and `min`: of all, of each row with its place, or of two."""

    def write(c: Call) -> list[str]:
        if len(c.made) == 2:
            axis = c.dims()[0]
            place = c.op(arg, c.args[0], axis=axis, keepdims=0)
            return [_reduce(f"Reduce{kind}")(c)[0], c.op("Reshape", place, c.ints(c.made[1].shape))]
        return [c.op(kind, *c.same())] if len(c.args) == 2 else _reduce(f"Reduce{kind}")(c)

    return write


def _arg(kind: str) -> Writer:
    def write(c: Call) -> list[str]:
        if c.plain("dim") is None:
            flat = c.op("Reshape", c.args[0], c.ints([-1]))
            return [c.shaped(c.op(kind, flat, axis=0, keepdims=0))]
        return [c.shaped(c.op(kind, c.args[0], axis=c.dims()[0], keepdims=0))]

    return write


def _softmax(kind: str) -> Writer:
    return lambda c: [c.op(kind, c.cast(c.args[0], c.given[0]), axis=c.plain("dim"))]


def _transpose(c: Call) -> list[str]:
    order = list(range(len(c.given[0].shape)))
    if order:
        first, second = c.plain("dim0", 0) % len(order), c.plain("dim1", 1) % len(order)
        order[first], order[second] = order[second], order[first]
    return [c.op("Transpose", c.args[0], perm=order)]


def _t(c: Call) -> list[str]:
    return [c.op("Transpose", c.args[0], perm=list(range(len(c.given[0].shape)))[::-1])]


def _slice(c: Call) -> list[str]:
    places = [[c.plain(name, default)] for name, default in (("start", 0), ("end", 2**63 - 1), ("dim", 0), ("step", 1))]
    places = [[value[0] if value[0] is not None else 0] for value in places]
    return [c.op("Slice", c.args[0], *map(c.ints, places))]


def _select(c: Call) -> list[str]:
    return [c.op("Gather", c.args[0], c.const(c.plain("index"), "int64"), axis=c.plain("dim", 0))]


def _cat(c: Call) -> list[str]:
    kept = [name for name, type_ in zip(c.same(), c.given, strict=True) if type_.shape != (0,)]
    return [c.op("Concat", *kept, axis=c.plain("dim", 0))]


def _stack(c: Call) -> list[str]:
    dim = c.plain("dim", 0)
    axis = c.ints([dim])
    return [c.op("Concat", *(c.op("Unsqueeze", name, axis) for name in c.same()), axis=dim)]


def _split(c: Call) -> list[str]:
    dim = c.plain("dim", 0)
    sizes = [type_.shape[dim] for type_ in c.made]
    return c.ops("Split", c.args[0], c.ints(sizes), results=len(sizes), axis=dim)


def _unbind(c: Call) -> list[str]:
    parts = c.ops("Split", c.args[0], c.ints([1] * len(c.made)), results=len(c.made), axis=c.plain("dim", 0))
    return [c.shaped(part, nr) for nr, part in enumerate(parts)]


def _repeat(c: Call) -> list[str]:
    repeats = c.plain("repeats")
    padded = [1] * (len(repeats) - len(c.given[0].shape)) + list(c.given[0].shape)
    return [c.op("Tile", c.op("Reshape", c.args[0], c.ints(padded)), c.ints(repeats))]


def _pad(c: Call) -> list[str]:
    pad, rank = c.plain("pad"), len(c.given[0].shape)
    before, after = [0] * rank, [0] * rank
    for nr in range(len(pad) // 2):
        before[rank - 1 - nr], after[rank - 1 - nr] = pad[2 * nr], pad[2 * nr + 1]
    return [c.op("Pad", c.args[0], c.ints([*before, *after]), c.const(c.plain("value", 0)))]


def _gelu(c: Call) -> list[str]:
    x = c.args[0]
    half = c.op("Mul", x, c.const(0.5))
    if c.plain("approximate") == "tanh":
        cube = c.op("Mul", c.op("Pow", x, c.const(3.0)), c.const(0.044715))
        inner = c.op("Tanh", c.op("Mul", c.op("Add", x, cube), c.const(math.sqrt(2 / math.pi))))
    else:
        inner = c.op("Erf", c.op("Mul", x, c.const(math.sqrt(0.5))))
    return [c.op("Mul", half, c.op("Add", inner, c.const(1.0)))]


def _softplus(c: Call) -> list[str]:
    beta = c.plain("beta", 1)
    return [c.op("Div", c.op("Softplus", c.op("Mul", c.args[0], c.const(beta))), c.const(beta))]


def _glu(c: Call) -> list[str]:
    dim = c.plain("dim", -1)
    half = c.given[0].shape[dim] // 2
    left, right = c.ops("Split", c.args[0], c.ints([half, half]), results=2, axis=dim)
    return [c.op("Mul", left, c.op("Sigmoid", right))]


def _clamp(c: Call) -> list[str]:
    if len(c.args) == 3:
        return [c.op("Min", c.op("Max", *c.same()[:2]), c.same()[2])]
    if len(c.args) > 1:
        raise Unsupported("by one tensor")
    ends = [c.plain(name) for name in ("min", "max")]
    return [c.op("Clip", c.cast(c.args[0], c.given[0]), *("" if end is None else c.const(end) for end in ends))]


def _where(c: Call) -> list[str]:
    condition, *sides = c.args
    sides = [c.cast(name, type_) for name, type_ in zip(sides, c.given[1:], strict=True)]
    for name, place in (("self", 0), ("other", 1)):
        if len(sides) < 2 and c.plain(name) is not None:
            sides.insert(place, c.const(c.plain(name)))
    return [c.op("Where", condition, *sides)]


def _masked_fill(c: Call) -> list[str]:
    value = c.args[2] if len(c.args) > 2 else c.const(c.plain("value"))
    return [c.op("Where", c.args[1], value, c.args[0])]


def _topk(c: Call) -> list[str]:
    dim = c.plain("dim", -1)
    size = c.plain("k")
    largest = c.plain("descending", False) if size is None else c.plain("largest", True)
    whole = c.given[0].shape[dim] if c.given[0].shape else 1
    return c.ops(
        "TopK", c.args[0], c.ints([whole if size is None else size]), results=2, axis=dim, largest=int(largest)
    )


def _lerp(c: Call) -> list[str]:
    weight = c.args[2] if len(c.args) > 2 else c.const(c.plain("weight"))
    return [c.op("Add", c.args[0], c.op("Mul", weight, c.op("Sub", c.args[1], c.args[0])))]


def _scaled(kind: str) -> Writer:
    def write(c: Call) -> list[str]:
        product = c.op(kind, c.args[1], c.args[2])
        return [c.op("Add", c.args[0], c.op("Mul", product, c.const(c.plain("value", 1))))]

    return write


def _mul_by(c: Call, kind: str) -> str:
    return c.op("Mul", c.args[0], c.op(kind, c.args[0]))


def _filled(value: int) -> Writer:
    return lambda c: [c.op("Expand", c.const(value), c.ints(c.made[0].shape))]


def _over(c: Call) -> list[str]:
    """`copy` and `fill`: the second argument in the shape and dtype of the first."""
    number = c.plain("src", c.plain("value"))
    if len(c.args) < 2 and number is None:
        raise Unsupported("its arguments are not known")
    new = c.cast(c.args[1], c.given[1]) if len(c.args) > 1 else c.const(number)
    return [c.op("Expand", new, c.ints(c.made[0].shape))]


_SHAPED = _one(lambda c: c.shaped(c.args[0]))
_SAME = _one(lambda c: c.op("Identity", c.args[0]))

_ALIKE = (
    "exp log sin cos tan asin acos atan sinh cosh asinh acosh atanh tanh sigmoid "
    "relu abs neg sqrt floor ceil erf reciprocal sign round selu mish"
)
_RESHAPED = "view _unsafe_view _reshape_alias unsqueeze squeeze reshape flatten unflatten alias"
FILLED: dict[str, Writer] = {
    f"{kind}{name}{like}": _filled(value)
    for name, value in (("zeros", 0), ("ones", 1))
    for kind, like in (("", ""), ("new_", ""), ("", "_like"))
}
"""What makes tensors of one number, by the name of the operation."""
DRAWN = frozenset(["multinomial", "bernoulli", "normal", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet"])
"""What draws at random, by the name of the operation: a model is given what was drawn."""
OPERATIONS: dict[str, Writer] = {
    **{name: _named(name.capitalize()) for name in _ALIKE.split()},
    "hardswish": _named("HardSwish"),
    "prelu": _named("PRelu"),
    "_prelu_kernel": _named("PRelu"),
    "maximum": _named("Max"),
    "minimum": _named("Min"),
    "mm": _named("MatMul"),
    "bmm": _named("MatMul"),
    "mv": _named("MatMul"),
    "dot": _named("MatMul"),
    "logical_not": _one(lambda c: c.op("Not", *c.same("bool"))),
    "bitwise_not": _one(lambda c: c.op("Not" if c.made[0].dtype == "bool" else "BitwiseNot", c.args[0])),
    **{
        f"{kind}_{word}": _of_bits(word.capitalize())
        for kind in ("bitwise", "logical")
        for word in ("and", "or", "xor")
    },
    "silu": _one(lambda c: _mul_by(c, "Sigmoid")),
    "square": _one(lambda c: c.op("Mul", c.args[0], c.args[0])),
    "rsqrt": _one(lambda c: c.op("Reciprocal", c.op("Sqrt", c.args[0]))),
    "log1p": _one(lambda c: c.op("Log", c.op("Add", c.args[0], c.const(1)))),
    "expm1": _one(lambda c: c.op("Sub", c.op("Exp", c.args[0]), c.const(1))),
    "log2": _one(lambda c: c.op("Div", c.op("Log", c.args[0]), c.const(math.log(2)))),
    "log10": _one(lambda c: c.op("Div", c.op("Log", c.args[0]), c.const(math.log(10)))),
    "exp2": _one(lambda c: c.op("Pow", c.const(2.0), c.args[0])),
    "log_sigmoid_forward": _one(lambda c: c.op("Neg", c.op("Softplus", c.op("Neg", c.args[0])))),
    "gelu": _gelu,
    "elu": _with("Elu", alpha="alpha"),
    "celu": _with("Celu", alpha="alpha"),
    "leaky_relu": _with("LeakyRelu", alpha="negative_slope"),
    "softplus": _softplus,
    "hardtanh": _one(lambda c: c.op("Clip", c.args[0], c.const(c.plain("min_val")), c.const(c.plain("max_val")))),
    "hardsigmoid": _one(lambda c: c.op("HardSigmoid", c.args[0], alpha=1 / 6, beta=0.5)),
    "glu": _glu,
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": _clamp,
    "add": _sum_of("Add"),
    "sub": _sum_of("Sub"),
    "rsub": _sum_of("Sub", turned=True),
    "mul": _one(lambda c: c.op("Mul", *_pair(c))),
    "div": _div,
    "pow": _one(lambda c: c.op("Pow", *_pair(c))),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "gt": _compare("Greater"),
    "lt": _compare("Less"),
    "ge": _compare("GreaterOrEqual"),
    "le": _compare("LessOrEqual"),
    "eq": _compare("Equal"),
    "ne": _compare("Equal", negated=True),
    "lerp": _lerp,
    "addcmul": _scaled("Mul"),
    "addcdiv": _scaled("Div"),
    "where": _where,
    "masked_fill": _masked_fill,
    "sum": _reduce("ReduceSum"),
    "mean": _reduce("ReduceMean"),
    "prod": _reduce("ReduceProd"),
    "amax": _reduce("ReduceMax"),
    "amin": _reduce("ReduceMin"),
    "logsumexp": _reduce("ReduceLogSumExp"),
    "linalg_vector_norm": _norm,
    "var": _one(_var),
    "std": _one(lambda c: c.op("Sqrt", _var(c))),
    "max": _extreme("Max", "ArgMax"),
    "min": _extreme("Min", "ArgMin"),
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "cumsum": _one(lambda c: c.op("CumSum", c.args[0], c.const(c.plain("dim"), "int64"))),
    "topk": _topk,
    "sort": _topk,
    "softmax": _softmax("Softmax"),
    "_safe_softmax": _softmax("Softmax"),
    "log_softmax": _softmax("LogSoftmax"),
    **dict.fromkeys(_RESHAPED.split(), _SHAPED),
    **dict.fromkeys(("clone", "detach", "contiguous", "lift_fresh"), _SAME),
    "_to_copy": _one(lambda c: c.cast(c.op("Identity", c.args[0]), c.given[0])),
    "expand": _one(lambda c: c.op("Expand", c.args[0], c.ints(c.made[0].shape))),
    "t": _t,
    "transpose": _transpose,
    "permute": _one(lambda c: c.op("Transpose", c.args[0], perm=c.dims("dims"))),
    "slice": _slice,
    "select": _select,
    "index_select": _one(lambda c: c.op("Gather", *c.args, axis=c.plain("dim"))),
    "gather": _one(lambda c: c.op("GatherElements", *c.args, axis=c.plain("dim"))),
    "embedding": _one(lambda c: c.op("Gather", *c.args)),
    "cat": _cat,
    "stack": _stack,
    "split": _split,
    "split_with_sizes": _split,
    "unsafe_split": _split,
    "unbind": _unbind,
    "repeat": _repeat,
    "constant_pad_nd": _pad,
    "tril": _one(lambda c: c.op("Trilu", c.args[0], c.const(c.plain("diagonal", 0), "int64"), upper=0)),
    "triu": _one(lambda c: c.op("Trilu", c.args[0], c.const(c.plain("diagonal", 0), "int64"), upper=1)),
    "copy": _over,
    "fill": _over,
    "zero": _filled(0),
    **FILLED,
    **INDEXING,
    **LAYERS,
    **MORE,
}
"""By the name of the operation."""
