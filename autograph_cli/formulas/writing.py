"""Formulas as one line of text and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from autograph_cli.formulas.functions import Expr, dot, matmul, outer

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class _Text(StrPrinter):  # type: ignore[misc]
    """`2·y·(1 - y²)`, `aᵀ @ δ`."""

    def _print_Mul(self, expr: Any) -> str:
        number, body = expr.as_coeff_Mul()
        numerator, denominator = sympy.fraction(body)
        top, bottom = [], []
        if abs(number) != 1:
            top += [str(abs(number.p))] if abs(number.p) != 1 else []
            bottom += [str(number.q)] if number.q != 1 else []
        top += [self._factor(each) for each in sympy.Mul.make_args(numerator) if each != 1]
        bottom += [self._factor(each) for each in sympy.Mul.make_args(denominator) if each != 1]
        over = self._joined(top) or "1"
        under = self._joined(bottom)
        if len(bottom) > 1:
            under = f"({under})"
        return ("-" if number < 0 else "") + over + (f"/{under}" if under else "")

    def _joined(self, factors: Sequence[str]) -> str:
        if len(factors) == 2 and factors[0].isdigit() and (factors[1][0].isalpha() and len(factors[1]) < 4):
            return "".join(factors)
        return "·".join(factors)

    def _factor(self, expr: Any) -> str:
        written = self._print(expr)
        return f"({written})" if expr.is_Add or " @ " in _outside(written) else written

    def _print_Rational(self, expr: Any) -> str:
        value = float(expr)
        return f"{expr.p}/{expr.q}" if expr.q < 1000 else f"{value:.6g}"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base, exponent = expr.base, expr.exp
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({self._print(base)})"
        if exponent.is_negative:
            return f"1/{self._factor(1 / expr)}"
        inner = str(self._print(base))
        if base.is_Add or base.is_Mul or base.is_Pow or " @ " in _outside(inner):
            inner = f"({inner})"
        if exponent.is_Integer:
            return inner + str(exponent).translate(_RAISED)
        written = str(self._print(exponent))
        return f"{inner}^{written}" if exponent.is_Symbol else f"{inner}^({written})"

    def _print_matmul(self, expr: Any) -> str:
        return " @ ".join(self._inner(arg) for arg in expr.args)

    def _inner(self, expr: Any) -> str:
        written = self._print(expr)
        return f"({written})" if expr.is_Add or expr.is_Mul else written

    def _print_dot(self, expr: Any) -> str:
        return self._print_matmul(expr)

    def _print_outer(self, expr: Any) -> str:
        return f"outer({', '.join(map(self._print, expr.args))})"

    def _print_transpose(self, expr: Any) -> str:
        if len(expr.args) > 1:
            return f"transpose({', '.join(map(self._print, expr.args))})"
        written = self._print(expr.args[0])
        return (
            f"{written}ᵀ"
            if expr.args[0].is_Symbol or (expr.args[0].is_Function and " @ " not in written)
            else f"({written})ᵀ"
        )

    def _print_total(self, expr: Any) -> str:
        dims = ", ".join(map(str, expr.args[1]))
        return f"sum({self._print(expr.args[0])}{f', dim={dims}' if dims else ''})"

    def _print_norm(self, expr: Any) -> str:
        return f"‖{self._print(expr.args[0])}‖"

    def _print_reshape(self, expr: Any) -> str:
        return f"reshape({self._print(expr.args[0])}, {'×'.join(map(str, expr.args[1]))})"

    def _print_softmax(self, expr: Any) -> str:
        return f"{type(expr).__name__}({self._print(expr.args[0])})"

    _print_log_softmax = _print_softmax

    def _print_ones(self, expr: Any) -> str:
        return f"ones({', '.join(map(str, expr.args[0]))})"

    def _print_step(self, expr: Any) -> str:
        return f"[{self._print(expr.args[0])} > 0]"

    def _print_compared(self, expr: Any) -> str:
        sign, left, right = map(self._print, expr.args)
        return f"[{left} {sign} {right}]"

    def _print_absolute(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|"

    def _print_unknown(self, expr: Any) -> str:
        return f"{expr.args[0]}({', '.join(map(self._print, expr.args[1:]))})"

    def _print_pulled(self, expr: Any) -> str:
        name, _, arg, grad = expr.args
        by = self._print(arg)
        head = f"∂{name}/∂{by if arg.is_Symbol else f'({by})'}"
        return head if grad == 1 else f"{head}·{self._factor(grad)}"


def _outside(written: str) -> str:
    """What stands outside of all parentheses."""
    depth, kept = 0, []
    for character in written:
        depth -= character in ")]"
        if depth == 0:
            kept.append(character)
        depth += character in "(["
    return "".join(kept)


class _Latex(LatexPrinter):  # type: ignore[misc]
    """The same as LaTeX."""

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        return name_latex(expr.name)

    def _call(self, name: str, *args: Any) -> str:
        return rf"\operatorname{{{name}}}\left({', '.join(map(self._print, args))}\right)"

    def _side(self, expr: Any, within: Any = dot | outer) -> str:
        written = self._print(expr)
        return rf"\left({written}\right)" if expr.is_Add or expr.is_Mul or isinstance(expr, within) else written

    def _needs_mul_brackets(self, expr: Any, first: bool = False, last: bool = False) -> bool:
        """Products of tensors, which look like those of numbers, are told apart from these."""
        lone = first and last
        if isinstance(expr, matmul | dot | outer) and not lone:
            return True
        return bool(super()._needs_mul_brackets(expr, first, last))

    def _print_matmul(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(r" \, ".join(map(self._side, expr.args)), exp)

    def _print_dot(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(r" \cdot ".join(map(self._side, expr.args)), exp)

    def _print_outer(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(r" \otimes ".join(map(self._side, expr.args)), exp)

    def _print_transpose(self, expr: Any, exp: str | None = None) -> str:
        if len(expr.args) > 1:
            return self._raised(self._call("transpose", *expr.args), exp)
        return self._raised(rf"{{{self._side(expr.args[0], matmul | dot | outer)}}}^{{\top}}", exp)

    def _print_total(self, expr: Any, exp: str | None = None) -> str:
        below = f"_{{{', '.join(map(str, expr.args[1]))}}}" if expr.args[1] else ""
        return self._raised(rf"\sum{below} {self._side(expr.args[0])}", exp)

    def _print_norm(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(rf"\left\|{self._print(expr.args[0])}\right\|", exp)

    def _print_reshape(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(self._call("reshape", expr.args[0]), exp)

    def _print_softmax(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(self._call(_escaped(type(expr).__name__), expr.args[0]), exp)

    _print_log_softmax = _print_softmax

    def _print_ones(self, expr: Any, exp: str | None = None) -> str:
        return r"\mathbf{1}"

    def _print_step(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(rf"\left[{self._print(expr.args[0])} > 0\right]", exp)

    def _print_compared(self, expr: Any, exp: str | None = None) -> str:
        sign = {"≥": r"\ge", "≤": r"\le", "≠": r"\ne"}.get(expr.args[0].name, expr.args[0].name)
        return self._raised(rf"\left[{self._print(expr.args[1])} {sign} {self._print(expr.args[2])}\right]", exp)

    def _print_absolute(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(rf"\left|{self._print(expr.args[0])}\right|", exp)

    def _print_unknown(self, expr: Any, exp: str | None = None) -> str:
        return self._raised(self._call(_escaped(expr.args[0].name), *expr.args[1:]), exp)

    def _print_pulled(self, expr: Any, exp: str | None = None) -> str:
        name, _, arg, grad = expr.args
        over = rf"\partial \operatorname{{{_escaped(name.name)}}}"
        head = rf"\frac{{{over}}}{{\partial {self._print(arg)}}}"
        return self._raised(rf"{head} {self._side(grad)}", exp)

    @staticmethod
    def _raised(written: str, exp: str | None) -> str:
        return written if exp is None else rf"\left({written}\right)^{{{exp}}}"


def _escaped(name: str) -> str:
    """A name in which nothing is a command of LaTeX."""
    return re.sub(r"([_%#&$])", r"\\\1", name)


def name_latex(name: str) -> str:
    """A name of the script, or `dloss/dw`, as LaTeX."""
    if name.startswith("d") and "/d" in name:
        over, _, under = name[1:].partition("/d")
        return rf"\frac{{\partial {name_latex(over)}}}{{\partial {name_latex(under)}}}"
    primes = len(name) - len(name.rstrip("′"))
    body = name.rstrip("′")
    written = body if len(body) == 1 else rf"\mathit{{{_escaped(body)}}}"
    return written + "'" * primes


def text(expr: Expr) -> str:
    """One line of text."""
    return str(_Text({"order": None}).doprint(expr))


def latex(expr: Expr) -> str:
    """The same as LaTeX, to be read in mathematics mode."""
    return str(_Latex().doprint(expr))
