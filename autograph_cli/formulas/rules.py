"""The operations of a graph as formulas, and the way of a gradient back through those that mix numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy

from autograph_cli.formulas import functions as fn
from autograph_cli.formulas.functions import Expr
from autograph_cli.formulas.sheet import FIXED, Pulled, Shape, Sheet, broadcast, product

Plain = Mapping[str, Any]
"""The arguments that are no tensors, by name."""


class Call:
    """One operation: its arguments as expressions, what it was given besides, and the shape of its result."""

    def __init__(self, sheet: Sheet, args: Sequence[Expr], shapes: Sequence[Shape], plain: Plain, shape: Shape) -> None:
        self.sheet, self.args, self.shapes, self.plain, self.shape = sheet, args, shapes, plain, shape

    def two(self, name: str = "other") -> tuple[Expr, Expr]:
        """Both operands; a number is the second one."""
        return self.args[0], self.args[1] if len(self.args) > 1 else self.number(name)

    def number(self, name: str, usual: float | None = None) -> Expr:
        """A plain number; raises `KeyError` where it was not recorded and there is no usual one."""
        value = self.plain.get(name, usual)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise KeyError(name)
        return sympy.nsimplify(value, rational=True) if math.isfinite(value) else sympy.Float(value)

    def only(self, count: int, **plain: Any) -> None:
        """Raise `KeyError` where there are more tensors, or a plain argument is not what it is in most calls."""
        if len(self.args) > count:
            raise KeyError(count)
        for name, usual in plain.items():
            if self.plain.get(name, usual) != usual:
                raise KeyError(name)

    def dims(self, name: str = "dim") -> tuple[int, ...]:
        """The dimensions that a reduction is over; all unless told."""
        dim = self.plain.get(name)
        found = dim if isinstance(dim, tuple) else () if dim is None else (dim,)
        count = len(self.shapes[0])
        return tuple(each % max(1, count) for each in found) or tuple(range(count))

    def kept(self) -> bool:
        """Return whether the dimensions of a reduction stay."""
        return self.plain.get("keepdim") is True

    def count(self) -> int:
        """Return how many numbers a reduction takes together."""
        return math.prod(self.shapes[0][dim] for dim in self.dims()) if self.shapes[0] else 1

    def over(self, expr: Expr, dims: Sequence[int], *, kept: bool) -> Expr:
        """The sum of an expression that has the shape of the first argument, over some of its dimensions."""
        shape = self.shapes[0]
        return self.sheet.summed(self.sheet.filled(expr, shape), shape, dims, keepdim=kept)


Rule = Callable[[Call], Expr]


def _unary(function: Callable[[Expr], Expr]) -> Rule:
    return lambda call: function(call.args[0])


def _add(call: Call) -> Expr:
    left, right = call.two()
    return left + call.number("alpha", 1) * right


def _sub(call: Call) -> Expr:
    left, right = call.two()
    return left - call.number("alpha", 1) * right


def _rsub(call: Call) -> Expr:
    left, right = call.two()
    return right - call.number("alpha", 1) * left


def _pow(call: Call) -> Expr:
    if len(call.args) > 1:
        return call.args[0] ** call.args[1]
    if "exponent" in call.plain:
        return call.args[0] ** call.number("exponent")
    return call.number("self") ** call.args[0]


def _div(call: Call) -> Expr:
    call.only(2, rounding_mode=None)
    left, right = call.two()
    return left / right


def _compare(symbol: str) -> Rule:
    return lambda call: fn.compared(sympy.Symbol(symbol), *call.two())


def _sum(call: Call) -> Expr:
    return call.over(call.args[0], call.dims(), kept=call.kept())


def _mean(call: Call) -> Expr:
    return _sum(call) / call.count()


def _var(call: Call) -> Expr:
    mean = call.over(call.args[0], call.dims(), kept=True) / call.count()
    squares = call.over((call.args[0] - mean) ** 2, call.dims(), kept=call.kept())
    return squares / (call.count() - call.number("correction", 1))


def _norm(call: Call) -> Expr:
    power = call.plain.get("ord", call.plain.get("p", 2))
    if power == 1:
        return call.over(fn.absolute(call.args[0]), call.dims(), kept=call.kept())
    if power != 2:
        raise KeyError("ord")
    everything = len(call.dims()) == len(call.shapes[0]) and not call.kept()
    dims = () if everything else call.dims()
    return call.sheet.apply(
        fn.norm, call.shape, call.sheet.filled(call.args[0], call.shapes[0]), dims, int(call.kept())
    )


def _logsumexp(call: Call) -> Expr:
    return sympy.log(call.over(sympy.exp(call.args[0]), call.dims(), kept=call.kept()))


def _matmul(call: Call) -> Expr:
    left, right = (call.sheet.filled(arg, shape) for arg, shape in zip(call.args, call.shapes, strict=True))
    return product(call.sheet, left, right)


def _addmm(call: Call) -> Expr:
    made = product(call.sheet, *map(call.sheet.filled, call.args[1:], call.shapes[1:]))
    return call.number("beta", 1) * call.args[0] + call.number("alpha", 1) * made


def _linear(call: Call) -> Expr:
    made = product(call.sheet, call.args[0], call.sheet.transposed(call.args[1]))
    return made + call.args[2] if len(call.args) > 2 else made


def _shaped(call: Call) -> Expr:
    return call.sheet.reshaped(call.sheet.filled(call.args[0], call.shapes[0]), call.shape)


def _transpose(call: Call) -> Expr:
    dims = call.plain.get("dim0", -2), call.plain.get("dim1", -1)
    return call.sheet.transposed(call.args[0], *dims)


def _along(function: Any) -> Rule:
    return lambda call: call.sheet.apply(
        function, call.shape, call.sheet.filled(call.args[0], call.shape), call.plain["dim"] % max(1, len(call.shape))
    )


def _where(call: Call) -> Expr:
    return fn.where(*call.args)


def _masked_fill(call: Call) -> Expr:
    return fn.where(call.args[1], call.args[2] if len(call.args) > 2 else call.number("value"), call.args[0])


def _clamp(call: Call) -> Expr:
    low, high = (call.plain.get(name) is not None for name in ("min", "max"))
    return fn.clamp(call.args[0], *_bounds(call, "min" if low else "", "max" if high else "", 1))


def _bounds(call: Call, low: str, high: str, count: int) -> tuple[Expr, Expr]:
    call.only(count)
    return call.number(low) if low else -sympy.oo, call.number(high) if high else sympy.oo


def _from_zero(below: Callable[[Call, Expr], Expr], above: Callable[[Call, Expr], Expr] = lambda call, x: x) -> Rule:
    """A function in two parts, which meet at 0."""
    return lambda call: fn.where(
        fn.compared(sympy.Symbol(">"), call.args[0], sympy.Integer(0)),
        above(call, call.args[0]),
        below(call, call.args[0]),
    )


def _elu(call: Call, x: Expr) -> Expr:
    return call.number("alpha", 1) * call.number("scale", 1) * (sympy.exp(call.number("input_scale", 1) * x) - 1)


def _softplus(call: Call) -> Expr:
    beta = call.number("beta", 1)
    return fn.softplus(beta * call.args[0]) / beta


def _gelu(call: Call) -> Expr:
    x = call.args[0]
    if call.plain.get("approximate", "none") == "none":
        return x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2
    return x * (1 + sympy.tanh(sympy.sqrt(2 / sympy.pi) * (x + sympy.Rational(44715, 1000000) * x**3))) / 2


def _threshold(call: Call) -> Expr:
    x = call.args[0]
    return fn.where(fn.compared(sympy.Symbol(">"), x, call.number("threshold")), x, call.number("value"))


def _logit(call: Call) -> Expr:
    call.only(1, eps=None)
    return sympy.log(call.args[0] / (1 - call.args[0]))


def _nll(call: Call) -> Expr:
    """The mean or sum of minus the logarithm of the probability of a class."""
    values, classes = call.args[:2]
    if len(call.args) > 2 or call.plain.get("reduction") not in (1, 2) or len(call.shapes[0]) != 2:
        raise KeyError("reduction")
    chosen = call.sheet.apply(fn.onehot, call.shapes[0], classes, call.shapes[0][1])
    lost = call.sheet.summed(-values * chosen, call.shapes[0], (0, 1), keepdim=False)
    return lost / call.shapes[0][0] if call.plain["reduction"] == 1 else lost


def _loss(lost: Callable[[Call, Expr, Expr], Expr]) -> Rule:
    """A loss of each number and its target, and their mean or sum if asked for."""

    def rule(call: Call) -> Expr:
        call.only(2)
        shape = broadcast(*call.shapes)
        found = lost(call, *call.args)
        reduction = call.plain.get("reduction", 1)
        if reduction == 0:
            return found
        made = call.sheet.summed(call.sheet.filled(found, shape), shape, range(len(shape)), keepdim=False)
        return made / math.prod(shape) if reduction == 1 else made

    return rule


def _smooth(call: Call, x: Expr, y: Expr) -> Expr:
    beta, away = call.number("beta"), fn.absolute(x - y)
    return fn.where(fn.compared(sympy.Symbol("<"), away, beta), (x - y) ** 2 / (2 * beta), away - beta / 2)


def _huber(call: Call, x: Expr, y: Expr) -> Expr:
    delta, away = call.number("delta"), fn.absolute(x - y)
    near = fn.compared(sympy.Symbol("≤"), away, delta)
    return fn.where(near, (x - y) ** 2 / 2, delta * (away - delta / 2))


_COMPARISONS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤", "eq": "=", "ne": "≠"}
_OF_SYMPY = "exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf".split()
"""Elementwise operations that SymPy has under the same name."""
_SHAPING = ("view", "reshape", "unsqueeze", "squeeze", "flatten", "unsafe_view", "reshape_alias")
RULES: dict[str, Rule] = {
    **{name: _unary(getattr(sympy, name)) for name in _OF_SYMPY},
    **{name: _unary(getattr(fn, name)) for name in ("sigmoid", "relu", "sign")},
    **{name: _compare(sign) for name, sign in _COMPARISONS.items()},
    **dict.fromkeys(("clone", "alias", "to_copy"), _unary(lambda x: x)),
    **dict.fromkeys(("mm", "mv", "dot", "bmm", "matmul"), _matmul),
    **dict.fromkeys(("linalg_vector_norm", "norm"), _norm),
    **dict.fromkeys(("t", "transpose"), _transpose),
    **dict.fromkeys(_SHAPING, _shaped),
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "mul": lambda call: math.prod(call.two()),
    "div": _div,
    "pow": _pow,
    "square": _unary(lambda x: x**2),
    "neg": _unary(lambda x: -x),
    "reciprocal": _unary(lambda x: 1 / x),
    "expm1": _unary(lambda x: sympy.exp(x) - 1),
    "log1p": _unary(lambda x: sympy.log(1 + x)),
    "log2": _unary(lambda x: sympy.log(x) / sympy.log(2)),
    "rsqrt": _unary(lambda x: 1 / sympy.sqrt(x)),
    "abs": _unary(fn.absolute),
    "silu": _unary(lambda x: x * fn.sigmoid(x)),
    "softplus": _softplus,
    "exp2": _unary(lambda x: 2**x),
    "log10": _unary(lambda x: sympy.log(x) / sympy.log(10)),
    "erfc": _unary(lambda x: 1 - sympy.erf(x)),
    "gelu": _gelu,
    "mish": _unary(lambda x: x * sympy.tanh(fn.softplus(x))),
    "leaky_relu": _from_zero(lambda call, x: call.number("negative_slope") * x),
    "elu": _from_zero(_elu, lambda call, x: call.number("scale", 1) * x),
    "celu": _from_zero(lambda call, x: call.number("alpha") * (sympy.exp(x / call.number("alpha")) - 1)),
    "clamp": _clamp,
    "clamp_min": lambda call: fn.clamp(call.args[0], *_bounds(call, "min", "", 1)),
    "clamp_max": lambda call: fn.clamp(call.args[0], *_bounds(call, "", "max", 1)),
    "hardtanh": lambda call: fn.bounded(call.args[0], *_bounds(call, "min_val", "max_val", 1)),
    "threshold": _threshold,
    "logit": _logit,
    "maximum": lambda call: fn.larger(*call.two()),
    "minimum": lambda call: fn.smaller(*call.two()),
    "atan2": lambda call: sympy.atan2(*call.two()),
    "hypot": lambda call: sympy.sqrt(call.args[0] ** 2 + call.args[1] ** 2),
    "lerp": lambda call: (
        call.args[0] + ((call.args[2] if len(call.args) > 2 else call.number("weight")) * (call.args[1] - call.args[0]))
    ),
    "addcmul": lambda call: call.args[0] + call.number("value", 1) * call.args[1] * call.args[2],
    "addcdiv": lambda call: call.args[0] + call.number("value", 1) * call.args[1] / call.args[2],
    "masked_fill": _masked_fill,
    "log_sigmoid_forward": _unary(lambda x: -fn.softplus(-x)),
    "copy": lambda call: call.two("src")[1],
    "fill": lambda call: call.args[1] if len(call.args) > 1 else call.number("value"),
    "zero": lambda call: sympy.Integer(0),
    "where": _where,
    "var": _var,
    "std": lambda call: sympy.sqrt(_var(call)),
    "logsumexp": _logsumexp,
    "sum": _sum,
    "mean": _mean,
    "addmm": _addmm,
    "linear": _linear,
    "expand": lambda call: call.args[0],
    "softmax": _along(fn.softmax),
    "log_softmax": _along(fn.log_softmax),
    "nll_loss_forward": _nll,
    "mse_loss": _loss(lambda call, x, y: (x - y) ** 2),
    "smooth_l1_loss": _loss(_smooth),
    "huber_loss": _loss(_huber),
    "binary_cross_entropy": _loss(lambda call, x, y: -(y * sympy.log(x) + (1 - y) * sympy.log(1 - x))),
    "binary_cross_entropy_with_logits": _loss(lambda call, x, y: fn.softplus(x) - x * y),
    "soft_margin_loss": _loss(lambda call, x, y: fn.softplus(-x * y)),
}
"""An expression for each operation that has one, by the operation's name."""


def pull(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    """The gradients of the arguments of a function that mixes: the argument, its gradient, and the gradient's shape."""
    back = _PULLED.get(type(atom))
    return _unknown(sheet, atom, grad) if back is None else back(sheet, atom, grad)


def _unknown(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    if atom in sheet.constant or isinstance(atom, (fn.onehot, fn.ones)):
        return []
    if isinstance(atom, (fn.placed, fn.pulled)):
        return _pull_again(sheet, atom, grad)
    if (back := sheet.back_of(atom)) is not None:
        return back(atom, grad)
    written, args = atom.args[0], atom.args[1:]
    if isinstance(atom, fn.picked):
        shape = sheet.shape(args[0])
        number, body = fn.factored(grad)
        return [(args[0], number * sheet.apply(fn.placed, shape, written, *args, body), shape)]
    return [
        (arg, sheet.apply(fn.pulled, shape, written, sympy.Integer(position), *args, grad), shape)
        for position, arg in enumerate(args)
        if (shape := sheet.shape(arg)) is not None
    ]


def _pull_again(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    """Numbers that were placed go back to where they were picked; of others the second derivative is not known."""
    written, inner, own = atom.args[0], atom.args[-1], sheet.shapes[atom]
    shape = sheet.shape(inner)
    if isinstance(atom, fn.placed):
        shape = sheet.shapes[fn.picked(written, *atom.args[1:-1])]
    if isinstance(atom, fn.placed) and written.name.startswith(FIXED):
        number, body = fn.factored(grad)
        return [(inner, number * sheet.pick(written, shape, body, own, *atom.args[2:-1]), shape)]
    unknown = sympy.Symbol(f"∂{written.name}")
    return [(inner, sheet.apply(fn.pulled, shape, unknown, sympy.Integer(0), inner, grad), shape)]


def _pull_matmul(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    left, right = atom.args
    a, b = sheet.shape(left), sheet.shape(right)
    grad = sheet.filled(grad, sheet.shapes[atom])
    if len(b) == 1:
        return [(left, _outer(sheet, grad, right), a), (right, product(sheet, sheet.transposed(left), grad), b)]
    if len(a) == 1:
        return [(left, product(sheet, right, grad), a), (right, _outer(sheet, left, grad), b)]
    lead = broadcast(a[:-2], b[:-2])
    return [
        (left, product(sheet, grad, sheet.transposed(right)), (*lead, *a[-2:])),
        (right, product(sheet, sheet.transposed(left), grad), (*lead, *b[-2:])),
    ]


def _outer(sheet: Sheet, column: Expr, row: Expr) -> Expr:
    (number, column), (other, row) = fn.factored(column), fn.factored(row)
    shape = (*sheet.shape(column), *sheet.shape(row))
    return number * other * sheet.apply(fn.outer, shape, column, row)


def _pull_outer(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    column, row = atom.args
    grad = sheet.filled(grad, sheet.shapes[atom])
    return [
        (column, product(sheet, grad, row), sheet.shape(column)),
        (row, product(sheet, sheet.transposed(grad), column), sheet.shape(row)),
    ]


def _pull_dot(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    left, right = atom.args
    return [(left, grad * right, sheet.shape(left)), (right, grad * left, sheet.shape(right))]


def _pull_transpose(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    inner = atom.args[0]
    ends = tuple(int(end) for end in atom.args[1:]) or (-2, -1)
    return [(inner, sheet.transposed(grad, *ends) if sheet.shape(grad) else grad, sheet.shape(inner))]


def _pull_total(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    inner, dims, keepdim = atom.args
    shape = sheet.shape(inner)
    if sheet.shape(grad) and not keepdim:
        wide = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        grad = sheet.reshaped(grad, wide)
    return [(inner, grad, shape)]


def _pull_reshape(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    inner = atom.args[0]
    if sheet.shape(grad):
        grad = sheet.filled(grad, sheet.shapes[atom])
    return [(inner, sheet.reshaped(grad, sheet.shape(inner)), sheet.shape(inner))]


def _pull_softmax(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    inner, dim = atom.args
    shape, own = sheet.shapes[atom], sheet.symbols.get(atom, atom)
    return [(inner, own * (grad - sheet.summed(own * grad, shape, (int(dim),), keepdim=True)), shape)]


def _pull_log_softmax(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    inner, dim = atom.args
    shape = sheet.shapes[atom]
    chance = sheet.apply(fn.softmax, shape, inner, dim)
    number, body = fn.factored(grad)
    if isinstance(body, fn.onehot) and int(dim) == 1:  # each row sums to 1
        return [(inner, number * (body - chance), shape)]
    return [(inner, grad - chance * sheet.summed(grad, shape, (int(dim),), keepdim=True), shape)]


def _pull_norm(sheet: Sheet, atom: Expr, grad: Expr) -> list[Pulled]:
    inner, dims, keepdim = atom.args
    shape, own = sheet.shape(inner), sheet.symbols.get(atom, atom)
    if sheet.shapes[atom] and not keepdim:
        wide = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        grad, own = sheet.reshaped(grad, wide), sheet.reshaped(own, wide)
    return [(inner, grad * inner / own, shape)]


_PULLED: dict[type, Callable[[Sheet, Expr, Expr], list[Pulled]]] = {
    fn.matmul: _pull_matmul, fn.outer: _pull_outer, fn.dot: _pull_dot, fn.transpose: _pull_transpose,
    fn.total: _pull_total, fn.reshape: _pull_reshape, fn.norm: _pull_norm, fn.softmax: _pull_softmax,
    fn.log_softmax: _pull_log_softmax,
}  # fmt: skip
