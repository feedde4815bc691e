"""The lines that a formula stands on: symbols, what they are defined as, and the shape of everything."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import sympy

from autograph_cli.formulas.functions import (
    Expr,
    TensorFunction,
    dot,
    factored,
    matmul,
    mean,
    ones,
    picked,
    placed,
    reshape,
    total,
    transpose,
)

_ROW = re.compile(r"\{0\}\[\d+\]")
Shape = tuple[int, ...]
Pulled = tuple[Expr, Expr, Shape]
"""The gradient of an argument: the argument, its gradient, and the gradient's shape."""
Back = Callable[[Expr, Expr], list[Pulled]]
"""Takes a gradient back through a call: the call and its gradient give those of its arguments."""
FIXED = ("{0}[", "gather(", "take(", "diagonal(", "roll(", "unfold(", "as_strided(", "rot90(", "permute(")
"""The beginnings of calls that pick by place, whatever the numbers are."""
WORTH = 60
"""Operations of an expression above which SymPy is not asked to simplify it: that would take seconds."""


class Sheet:
    """Symbols in the order in which they were defined; the last definition may use all earlier ones."""

    def __init__(self) -> None:
        self.definitions: dict[Expr, Expr | None] = {}
        """The definition of each symbol; None for a leaf or an input."""
        self.shapes: dict[Expr, Shape] = {}
        """The shapes of symbols, and of functions that mix."""
        self.symbols: dict[Expr, Expr] = {}
        """The symbol of each expression that is not written out again."""
        self.calls: dict[str, Callable[..., Any]] = {}
        """The function that computes a call from its tensors, by the text of the call."""
        self._backs: dict[tuple[Any, ...], Back] = {}
        """The function that takes a gradient back through a call, by its text and the shapes of its tensors."""
        self.constant: set[Expr] = set()
        """Symbols and calls that no gradient goes through."""
        self.units: set[Expr] = set()
        """Square matrices of ones on the diagonal and zeros elsewhere."""
        self._names: set[str] = set()

    def define(self, name: str, shape: Shape, expr: Expr | None = None) -> Expr:
        """A new symbol; where the name is taken, with a number behind it."""
        free, number = name, 2
        while free in self._names:
            free, number = f"{name} ({number})", number + 1
        self._names.add(free)
        symbol = sympy.Symbol(free, real=True)
        self.definitions[symbol], self.shapes[symbol] = expr, shape
        if expr is not None and (isinstance(expr, sympy.Function) or (expr.is_Pow and expr.exp.is_negative)):
            self.symbols.setdefault(expr, symbol)
        return symbol

    def apply(self, function: Any, shape: Shape, *args: Any) -> Expr:
        """A function that mixes, of this shape."""
        made = function(*(sympy.Tuple(*arg) if isinstance(arg, tuple) else arg for arg in args))
        self.shapes[made] = shape
        return made

    def call(self, kind: Any, written: str, shape: Shape, run: Callable[..., Any], *args: Expr) -> Expr:
        """A call, and what computes it."""
        self.calls[written] = run
        return self.apply(kind, shape, sympy.Symbol(written), *args)

    def with_back(self, call: Expr, back: Back) -> Expr:
        """The call, with the function that takes a gradient back through it."""
        self._backs[self._signature(call)] = back
        return call

    def back_of(self, call: Expr) -> Back | None:
        """The function that takes a gradient back through a call, where there is one."""
        return self._backs.get(self._signature(call))

    def _signature(self, call: Expr) -> tuple[Any, ...]:
        return call.args[0], *map(self.shape, call.args[1:])

    def atoms(self, expr: Expr) -> Iterator[Expr]:
        """The symbols and mixing functions that an expression is made of, without those within the latter."""
        if expr in self.shapes:
            yield expr
            return
        assert not isinstance(expr, TensorFunction), expr  # else what hangs on it would be lost
        for arg in expr.args:
            yield from self.atoms(arg)

    def moves(self, expr: Expr) -> bool:
        """Return whether a gradient goes through something that the expression is made of."""
        if expr in self.constant:
            return False
        return expr in self.definitions or any(self.moves(arg) for arg in expr.args)

    def shape(self, expr: Expr) -> Shape:
        """The shape that an expression has by itself; a number that stands for a whole tensor has none."""
        return broadcast(*(self.shapes[atom] for atom in self.atoms(expr)))

    def shortest(self, expr: Expr) -> Expr:
        """The shortest of some equal forms."""
        hidden = self._hidden(expr)
        bare = expr.xreplace(hidden)
        if bare.count_ops() > WORTH:
            forms = [bare, sympy.factor_terms(bare)]
        else:
            forms = [bare, sympy.factor_terms(bare), sympy.powsimp(bare), sympy.cancel(bare), sympy.factor(bare)]
        back = {dummy: each for each, dummy in hidden.items()}
        return min(forms, key=lambda form: (form.count_ops(), form.is_Add, len(str(form)))).xreplace(back)

    def derivative(self, expr: Expr, atom: Expr) -> Expr:
        """The elementwise derivative by one of its atoms."""
        hidden = self._hidden(expr)
        found = sympy.diff(expr.xreplace(hidden), hidden[atom])
        found = found.xreplace({each.xreplace(hidden): symbol for each, symbol in self.symbols.items()})
        return found.xreplace({dummy: each for each, dummy in hidden.items()})

    def _hidden(self, expr: Expr) -> dict[Expr, Expr]:
        """A plain symbol for each atom: algebra must not look into those that mix."""
        return {
            each: sympy.Dummy(f"h{position}", real=True)
            for position, each in enumerate(dict.fromkeys(self.atoms(expr)))
        }

    def filled(self, expr: Expr, shape: Shape) -> Expr:
        """The expression with its whole shape, where a number alone would not do."""
        return expr if self.shape(expr) == shape else expr * self.apply(ones, shape, shape)

    def transposed(self, expr: Expr, first: int = -2, second: int = -1) -> Expr:
        """With two dimensions exchanged."""
        shape = list(self.shape(expr))
        if len(shape) < 2:
            return expr
        ends = tuple(sorted((first % len(shape), second % len(shape))))
        factor, body = factored(expr)
        if body in self.units:
            return expr
        if isinstance(body, reshape) and len(shape) == 2 and 1 in shape:
            return self.reshaped(factor * body.args[0], (shape[1], shape[0]))
        if isinstance(body, ones):
            shape[first], shape[second] = shape[second], shape[first]
            return factor * self.apply(ones, tuple(shape), tuple(shape))
        if isinstance(body, matmul) and len(shape) == 2 and all(len(self.shape(arg)) == 2 for arg in body.args):
            left, right = body.args
            swapped = self.transposed(right), self.transposed(left)
            return factor * self.apply(matmul, (shape[1], shape[0]), *swapped)
        if isinstance(body, transpose) and _ends(body, len(shape)) == ends:
            return factor * body.args[0]
        shape[first], shape[second] = shape[second], shape[first]
        last = ends == (len(shape) - 2, len(shape) - 1)
        return factor * self.apply(transpose, tuple(shape), body, *(() if last else ends))

    def reshaped(self, expr: Expr, shape: Shape) -> Expr:
        """In another shape; a number stays what it is."""
        own = self.shape(expr)
        if own in (shape, ()):
            return expr
        factor, body = factored(expr)
        if isinstance(body, reshape):
            return self.reshaped(factor * body.args[0], shape)
        if body.is_Add and own == (1, *shape):
            terms = [self.reshaped(term, shape) if self.shape(term) == own else term for term in body.args]
            if all(len(self.shape(term)) <= len(shape) for term in terms):
                return factor * sympy.Add(*terms)
        if isinstance(body, matmul) and len(own) == 2 and len(shape) == 1:
            left, right = (self._vector(arg, side) for arg, side in zip(body.args, (0, 1), strict=True))
            if own[0] == 1 and left is not None:
                return factor * self.apply(matmul, shape, left, body.args[1])
            if own[1] == 1 and right is not None:
                return factor * self.apply(matmul, shape, body.args[0], right)
        return factor * self.apply(reshape, shape, body, shape)

    def _vector(self, expr: Expr, side: int) -> Expr | None:
        """Return what a row or a column is made from, if it is a vector."""
        inner = expr.args[0] if isinstance(expr, reshape) and self.shape(expr)[side] == 1 else None
        return inner if inner is not None and len(self.shape(inner)) == 1 else None

    def summed(self, expr: Expr, shape: Shape, dims: Sequence[int], *, keepdim: bool) -> Expr:
        """The sum over some dimensions of a tensor of this shape, for which the expression stands."""
        lead, own = len(shape) - len(self.shape(expr)), self.shape(expr)
        dims = sorted(dim % len(shape) - lead for dim in dims) if shape else []
        over = [dim for dim in dims if dim >= 0 and own[dim] > 1]
        factor = sympy.Integer(math.prod(shape[dim + lead] for dim in dims if dim not in over))
        number, body = factored(self.shortest(expr))
        factor *= number
        if keepdim:
            result = tuple(1 if dim in dims else size for dim, size in enumerate(own))
        else:
            result = tuple(size for dim, size in enumerate(own) if dim not in dims)
            over = [dim for dim in dims if dim >= 0] if over else over
        if not over:
            return factor * self.reshaped(body, result)
        if math.prod(result) == 1 and (gathered := self._gathered(body)) is not None:
            return factor * self.reshaped(self.summed(*gathered, range(len(gathered[1])), keepdim=False), result)
        return factor * self.apply(total, result, body, tuple(over) if result else (), int(keepdim))

    def _gathered(self, body: Expr) -> tuple[Expr, Shape] | None:
        """Return what has the same sum as a product of which one factor is 0 but at the places that were picked, and
        its shape: the numbers at these places."""
        at = [each for each in sympy.Mul.make_args(body) if isinstance(each, placed)]
        if len(at) != 1:
            return None
        written, *args, inner = at[0].args
        shape, rest = self.shapes[picked(written, *args)], body / at[0]
        if rest == 1:
            return inner, shape
        if not written.name.startswith(FIXED):
            return None
        return inner * self.pick(written, shape, rest, self.shapes[at[0]], *args[1:]), shape

    def pick(self, written: Expr, shape: Shape, expr: Expr, own: Shape, *args: Expr) -> Expr:
        """Numbers of an expression that stands for a tensor of the shape `own`, picked by place."""
        if isinstance(expr, placed) and not args:  # in which all is 0 but one part
            if expr.args[0] == written:
                return expr.args[-1]
            if _ROW.fullmatch(expr.args[0].name) and _ROW.fullmatch(written.name):
                return sympy.Integer(0)
        return self.apply(picked, shape, written, self.filled(expr, own), *args)

    def averaged(self, expr: Expr) -> Expr:
        """The expression with `mean` for a sum that is divided by how many numbers it adds; only to be written."""
        if not expr.args:
            return expr
        number, factors = expr.as_coeff_mul() if expr.is_Mul else (sympy.Integer(1), ())
        for factor in factors:
            if isinstance(factor, total):
                inner, dims, keepdim = factor.args
                shape = self.shape(inner)
                count = math.prod(shape[int(dim)] for dim in dims) if dims else math.prod(shape)
                if count > 1 and abs(number) * count == 1:
                    rest = [self.averaged(each) for each in factors if each is not factor]
                    return sympy.Mul(number * count, *rest, mean(self.averaged(inner), dims, keepdim))
        return expr.func(*map(self.averaged, expr.args))

    def reduced(self, expr: Expr, nominal: Shape, target: Shape) -> Expr:
        """Return what a gradient of one shape comes to for something of a smaller one, which was broadcast to it."""
        if nominal == target:
            return expr
        extra = len(nominal) - len(target)
        dims = [dim for dim in range(len(nominal)) if dim < extra or (target[dim - extra] == 1 < nominal[dim])]
        if not dims:
            return expr
        if len(dims) == extra:
            return self.summed(expr, nominal, dims, keepdim=False)
        kept = self.summed(expr, nominal, dims, keepdim=True)
        return self.reshaped(kept, target) if extra else kept


def product(sheet: Sheet, left: Expr, right: Expr) -> Expr:
    """The product of two matrices, a matrix and a vector, or two vectors; numbers stand before it."""
    a, b = sheet.shape(left), sheet.shape(right)
    (number, left), (other, right) = factored(left), factored(right)
    if len(a) == len(b) == 3 and a[0] == b[0] == 1:
        flat = product(sheet, sheet.reshaped(left, a[1:]), sheet.reshaped(right, b[1:]))
        return number * other * sheet.reshaped(flat, (1, a[1], b[2]))
    if len(a) == len(b) == 1:
        return number * other * sheet.apply(dot, (), left, right)
    if left in sheet.units or right in sheet.units:
        return number * other * (right if left in sheet.units else left)
    lead = broadcast(a[:-2], b[:-2])
    rows = a[-2:-1] if len(a) > 1 else ()
    columns = b[-1:] if len(b) > 1 else ()
    return number * other * sheet.apply(matmul, (*lead, *rows, *columns), left, right)


def broadcast(*shapes: Shape) -> Shape:
    """The shape that several give together."""
    rows = [reversed(shape) for shape in shapes]
    return tuple(max(sizes) for sizes in zip_longest(*rows, fillvalue=1))[::-1]


def _ends(body: Expr, count: int) -> tuple[int, ...]:
    return tuple(int(end) for end in body.args[1:]) or (count - 2, count - 1)
