"""What the operations of a graph are as formulas, and how a gradient goes back through those that mix numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy

from autograph_cli.formulas import functions as fn
from autograph_cli.formulas.functions import Expr
from autograph_cli.formulas.sheet import Shape, Sheet, broadcast

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

    def dims(self) -> tuple[int, ...]:
        """The dimensions that a reduction is over; all unless told."""
        dim = self.plain.get("dim")
        found = dim if isinstance(dim, tuple) else () if dim is None else (dim,)
        return found or tuple(range(len(self.shapes[0])))


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


def _compare(symbol: str) -> Rule:
    return lambda call: fn.compared(sympy.Symbol(symbol), *call.two())


def _sum(call: Call) -> Expr:
    kept = call.plain.get("keepdim") is True
    return call.sheet.summed(call.sheet.filled(call.args[0], call.shapes[0]), call.shapes[0], call.dims(), keepdim=kept)


def _mean(call: Call) -> Expr:
    return _sum(call) / math.prod(call.shapes[0][dim] for dim in call.dims())


def _norm(call: Call) -> Expr:
    if call.plain.get("ord", call.plain.get("p", 2)) != 2 or len(call.dims()) != len(call.shapes[0]):
        raise KeyError("ord")
    return call.sheet.apply(fn.norm, call.shape, call.args[0])


def _matmul(call: Call) -> Expr:
    return product(call.sheet, call.args[0], call.args[1])


def _addmm(call: Call) -> Expr:
    made = product(call.sheet, call.args[1], call.args[2])
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
        function, call.shape, call.args[0], call.plain["dim"] % max(1, len(call.shape))
    )


def _where(call: Call) -> Expr:
    return fn.where(*call.args)


def _nll(call: Call) -> Expr:
    """The mean or sum of minus the logarithm of the probability of a class."""
    values, classes = call.args[:2]
    if len(call.args) > 2 or call.plain.get("reduction") not in (1, 2) or len(call.shapes[0]) != 2:
        raise KeyError("reduction")
    chosen = call.sheet.apply(fn.onehot, call.shapes[0], classes)
    lost = call.sheet.summed(-values * chosen, call.shapes[0], (0, 1), keepdim=False)
    return lost / call.shapes[0][0] if call.plain["reduction"] == 1 else lost


def _mse(call: Call) -> Expr:
    left, right = call.args
    shape = broadcast(*call.shapes)
    reduction = call.plain.get("reduction", 1)
    lost = (left - right) ** 2
    if reduction == 0:
        return lost
    made = call.sheet.summed(lost, shape, range(len(shape)), keepdim=False)
    return made / math.prod(shape) if reduction == 1 else made


RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "mul": lambda call: math.prod(call.two()),
    "div": lambda call: call.two()[0] / call.two()[1],
    "pow": _pow,
    "square": _unary(lambda x: x**2),
    "neg": _unary(lambda x: -x),
    "reciprocal": _unary(lambda x: 1 / x),
    "exp": _unary(sympy.exp),
    "expm1": _unary(lambda x: sympy.exp(x) - 1),
    "log": _unary(sympy.log),
    "log1p": _unary(lambda x: sympy.log(1 + x)),
    "log2": _unary(lambda x: sympy.log(x) / sympy.log(2)),
    "sqrt": _unary(sympy.sqrt),
    "rsqrt": _unary(lambda x: 1 / sympy.sqrt(x)),
    "sin": _unary(sympy.sin),
    "cos": _unary(sympy.cos),
    "tan": _unary(sympy.tan),
    "sinh": _unary(sympy.sinh),
    "cosh": _unary(sympy.cosh),
    "tanh": _unary(sympy.tanh),
    "asin": _unary(sympy.asin),
    "acos": _unary(sympy.acos),
    "atan": _unary(sympy.atan),
    "erf": _unary(sympy.erf),
    "sigmoid": _unary(fn.sigmoid),
    "relu": _unary(fn.relu),
    "abs": _unary(fn.absolute),
    "sign": _unary(fn.sign),
    "silu": _unary(lambda x: x * fn.sigmoid(x)),
    "softplus": _unary(fn.softplus),
    "log_sigmoid_forward": _unary(lambda x: -fn.softplus(-x)),
    "clone": _unary(lambda x: x),
    "alias": _unary(lambda x: x),
    "detach": _unary(lambda x: x),
    "to_copy": _unary(lambda x: x),
    "gt": _compare(">"),
    "ge": _compare("≥"),
    "lt": _compare("<"),
    "le": _compare("≤"),
    "eq": _compare("="),
    "ne": _compare("≠"),
    "where": _where,
    "linalg_vector_norm": _norm,
    "sum": _sum,
    "mean": _mean,
    "mm": _matmul,
    "mv": _matmul,
    "dot": _matmul,
    "bmm": _matmul,
    "matmul": _matmul,
    "addmm": _addmm,
    "linear": _linear,
    "t": _transpose,
    "transpose": _transpose,
    **dict.fromkeys(("view", "reshape", "unsqueeze", "squeeze", "flatten", "unsafe_view", "reshape_alias"), _shaped),
    "expand": lambda call: call.args[0],
    "softmax": _along(fn.softmax),
    "log_softmax": _along(fn.log_softmax),
    "nll_loss_forward": _nll,
    "mse_loss": _mse,
}
"""An expression for each operation that has one, by the operation's name."""


def product(sheet: Sheet, left: Expr, right: Expr) -> Expr:
    """The product of two matrices, a matrix and a vector, or two vectors; numbers stand before it."""
    a, b = sheet.shape(left), sheet.shape(right)
    (number, left), (other, right) = fn.factored(left), fn.factored(right)
    if len(a) == len(b) == 1:
        return number * other * sheet.apply(fn.dot, (), left, right)
    lead = broadcast(a[:-2], b[:-2])
    rows = a[-2:-1] if len(a) > 1 else ()
    columns = b[-1:] if len(b) > 1 else ()
    return number * other * sheet.apply(fn.matmul, (*lead, *rows, *columns), left, right)


def pull(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    """The gradients of the arguments of a function that mixes: the argument, its gradient, and the gradient's shape."""
    back = _PULLED.get(type(atom))
    return _unknown(sheet, atom, grad) if back is None else back(sheet, atom, grad)


def _unknown(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    if isinstance(atom, (fn.onehot, fn.ones)):
        return []
    found = []
    known = isinstance(atom, (fn.unknown, fn.pulled))
    name = atom.args[0] if known else sympy.Symbol(type(atom).__name__)
    args = atom.args[2:] if isinstance(atom, fn.pulled) else atom.args[known:]
    if isinstance(atom, fn.pulled):
        name = sympy.Symbol(f"∂{name}")
    for position, arg in enumerate(args):
        shape = sheet.shape(arg)
        found.append((arg, sheet.apply(fn.pulled, shape, name, sympy.Integer(position), arg, grad), shape))
    return found


def _pull_matmul(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
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


def _pull_outer(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    column, row = atom.args
    grad = sheet.filled(grad, sheet.shapes[atom])
    return [
        (column, product(sheet, grad, row), sheet.shape(column)),
        (row, product(sheet, sheet.transposed(grad), column), sheet.shape(row)),
    ]


def _pull_dot(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    left, right = atom.args
    return [(left, grad * right, sheet.shape(left)), (right, grad * left, sheet.shape(right))]


def _pull_transpose(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    inner = atom.args[0]
    ends = tuple(int(end) for end in atom.args[1:]) or (-2, -1)
    return [(inner, sheet.transposed(grad, *ends) if sheet.shape(grad) else grad, sheet.shape(inner))]


def _pull_total(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    inner, dims, keepdim = atom.args
    shape = sheet.shape(inner)
    if sheet.shape(grad) and not keepdim:
        wide = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        grad = sheet.reshaped(grad, wide)
    return [(inner, grad, shape)]


def _pull_reshape(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    inner = atom.args[0]
    if sheet.shape(grad):
        grad = sheet.filled(grad, sheet.shapes[atom])
    return [(inner, sheet.reshaped(grad, sheet.shape(inner)), sheet.shape(inner))]


def _pull_softmax(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    inner, dim = atom.args
    shape, own = sheet.shapes[atom], sheet.symbols.get(atom, atom)
    return [(inner, own * (grad - sheet.summed(own * grad, shape, (int(dim),), keepdim=True)), shape)]


def _pull_log_softmax(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    inner, dim = atom.args
    shape = sheet.shapes[atom]
    chance = sheet.apply(fn.softmax, shape, inner, dim)
    number, body = fn.factored(grad)
    if isinstance(body, fn.onehot) and int(dim) == 1:  # each row sums to 1
        return [(inner, number * (body - chance), shape)]
    return [(inner, grad - chance * sheet.summed(grad, shape, (int(dim),), keepdim=True), shape)]


def _pull_norm(sheet: Sheet, atom: Expr, grad: Expr) -> list[tuple[Expr, Expr, Shape]]:
    inner = atom.args[0]
    return [(inner, grad * inner / sheet.symbols.get(atom, atom), sheet.shape(inner))]


_PULLED: dict[type, Callable[[Sheet, Expr, Expr], list[tuple[Expr, Expr, Shape]]]] = {
    fn.matmul: _pull_matmul,
    fn.outer: _pull_outer,
    fn.dot: _pull_dot,
    fn.transpose: _pull_transpose,
    fn.total: _pull_total,
    fn.reshape: _pull_reshape,
    fn.norm: _pull_norm,
    fn.softmax: _pull_softmax,
    fn.log_softmax: _pull_log_softmax,
}
