"""The functions of formulas that SymPy lacks: elementwise ones, which know their derivative, and those that mix
numbers.

A whole tensor is one symbol here. So what works elementwise is ordinary algebra, and everything else (a sum, a product
of matrices) is a function that algebra leaves alone, with a rule of its own in `rules.py`.
"""

from __future__ import annotations

import math
from typing import Any

import sympy

Expr = Any
"""A SymPy expression; SymPy has no types that say more."""


def factored(expr: Expr) -> tuple[Expr, Expr]:
    """A number and the rest, whose product the expression is."""
    number, body = expr.as_coeff_Mul()
    inner, body = body.primitive() if body.is_Add else (1, body)
    return number * inner, body


class Flat(sympy.Function):  # type: ignore[misc]
    """A function whose derivative is 0 wherever it has one."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return sympy.Integer(0)


class ZeroOrOne(Flat):
    """A function that is 1 or 0, as each of its powers is then."""

    def _eval_power(self, exponent: Expr) -> Expr | None:
        return self if exponent.is_positive else None


class step(ZeroOrOne):
    """1 where its argument is positive, else 0."""


class sign(Flat):
    """-1, 0 or 1."""


class relu(sympy.Function):  # type: ignore[misc]
    """The larger of its argument and 0."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return step(self.args[0])


class absolute(sympy.Function):  # type: ignore[misc]
    """The absolute value."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return sign(self.args[0])


class sigmoid(sympy.Function):  # type: ignore[misc]
    """The logistic function."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return self * (1 - self)


class softplus(sympy.Function):  # type: ignore[misc]
    """log(1 + exp x)."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return sigmoid(self.args[0])


class where(sympy.Function):  # type: ignore[misc]
    """Its second argument where the first is 1, else its third."""

    def fdiff(self, argindex: int = 1) -> Expr:
        chosen = self.args[0]
        return (sympy.Integer(0), chosen, 1 - chosen)[argindex - 1]


class compared(ZeroOrOne):
    """1 where a comparison holds, else 0: a sign and its two sides."""


class larger(sympy.Function):  # type: ignore[misc]
    """The larger of two numbers; both share the gradient where they are equal."""

    wins = ">"

    def fdiff(self, argindex: int = 1) -> Expr:
        own, other = self.args[argindex - 1], self.args[2 - argindex]
        return compared(sympy.Symbol(self.wins), own, other) + compared(sympy.Symbol("="), own, other) / 2


class smaller(larger):
    """The smaller of two numbers; both share the gradient where they are equal."""

    wins = "<"


class clamp(sympy.Function):  # type: ignore[misc]
    """Its first argument, but no less than the second and no more than the third; the gradient goes on at both."""

    signs = "≥", "≤"

    def fdiff(self, argindex: int = 1) -> Expr:
        x, *bounds = self.args
        if argindex != 1:
            raise NotImplementedError  # a bound is a number
        return math.prod(
            compared(sympy.Symbol(sign), x, bound)
            for sign, bound in zip(self.signs, bounds, strict=True)
            if bound.is_finite
        )


class bounded(clamp):
    """The same, but that no gradient goes on at the bounds."""

    signs = ">", "<"


class TensorFunction(sympy.Function):  # type: ignore[misc]
    """A function of whole tensors, which does more than work on each number by itself."""

    is_commutative = True


class matmul(TensorFunction):
    """The product of two matrices, or of a matrix and a vector."""


class dot(TensorFunction):
    """The product of two vectors."""


class outer(TensorFunction):
    """A column times a row."""


class transpose(TensorFunction):
    """A tensor with two dimensions exchanged, the last two unless told."""


class total(TensorFunction):
    """A sum over some dimensions: the tensor, the dimensions, and whether they stay."""


class mean(TensorFunction):
    """A sum divided by how many it adds, for writing only: the arguments of `total`."""


class norm(TensorFunction):
    """The root of the sum of squares over some dimensions: the tensor, the dimensions, and whether they stay."""


class reshape(TensorFunction):
    """The same numbers in another shape."""


class softmax(TensorFunction):
    """Softmax over a dimension."""


class log_softmax(TensorFunction):
    """The logarithm of softmax over a dimension."""


class onehot(TensorFunction):
    """Rows that are 1 at a class and 0 elsewhere: the classes, and how many there are."""


class ones(TensorFunction):
    """A tensor of ones, by its shape."""


class called(TensorFunction):
    """An operation as a call: how it is written, with `{0}` for the first tensor, and the tensors."""


class picked(called):
    """Numbers of its first tensor in another place, `x[0]`."""


class pulled(TensorFunction):
    """A gradient taken back through a call by one of its tensors: the call's text, which tensor, all, the gradient."""


class placed(TensorFunction):
    """Zeros with a gradient added where numbers were picked: the text, the tensors, the gradient."""
