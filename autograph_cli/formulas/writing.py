"""Formulas as one line of text and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from autograph_cli.formulas.functions import Expr, dot, matmul, outer, pulled

ROUND = 1000
"""A fraction of this denominator or more is written as a decimal number."""
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class _PositiveFirst:
    """Writes `x - y` rather than `-y + x`."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        terms = list(super()._as_ordered_terms(expr, order=order))  # type: ignore[misc]
        first = next((at for at, term in enumerate(terms) if not term.could_extract_minus_sign()), 0)
        return [terms.pop(first), *terms]


class _Text(_PositiveFirst, StrPrinter):  # type: ignore[misc]
    """`2·y·(1 - y²)`, `aᵀ @ δ`."""

    def _print_Mul(self, expr: Any) -> str:
        number, body = expr.as_coeff_Mul()
        numerator, denominator = sympy.fraction(body)
        top, bottom = [], []
        if number.is_Rational and number.q >= ROUND:
            top.append(f"{abs(float(number)):.10g}")
        elif abs(number) != 1:
            top += [str(abs(number.p))] if abs(number.p) != 1 else []
            bottom += [str(number.q)] if number.q != 1 else []
        top += [self._factor(each) for each in sympy.Mul.make_args(numerator) if each != 1]
        bottom += [self._below(each) for each in sympy.Mul.make_args(denominator) if each != 1]
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
        fraction = isinstance(expr, pulled) and expr.args[-1] == 1
        return f"({written})" if expr.is_Add or fraction or " @ " in _outside(written) else written

    def _below(self, expr: Any) -> str:
        """One factor below the line."""
        return self._whole(expr) if isinstance(expr, pulled) else self._factor(expr)

    def _print_Rational(self, expr: Any) -> str:
        return f"{expr.p}/{expr.q}" if expr.q < ROUND else f"{float(expr):.10g}"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base, exponent = expr.base, expr.exp
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({self._print(base)})"
        if exponent.is_negative:
            return f"1/{self._below(1 / expr)}"
        inner = str(self._print(base))
        number = base.is_Number and not (base.is_Integer and base >= 0)
        if number or base.is_Add or base.is_Mul or base.is_Pow or isinstance(base, pulled) or " @ " in _outside(inner):
            inner = f"({inner})"
        if exponent.is_Integer:
            return inner + str(exponent).translate(_RAISED)
        written = str(self._print(exponent))
        return f"{inner}^{written}" if exponent.is_Symbol else f"{inner}^({written})"

    def _inner(self, expr: Any) -> str:
        written = self._print(expr)
        return f"({written})" if expr.is_Add or expr.is_Mul or isinstance(expr, pulled) else written

    def _print_Function(self, expr: Any) -> str:
        write = _TEXT.get(type(expr).__name__)
        return str(super()._print_Function(expr) if write is None else write(self, *expr.args))

    def _print_transpose(self, expr: Any) -> str:
        written = self._print(expr.args[0])
        if len(expr.args) > 1:
            return f"transpose({', '.join([written, *map(str, expr.args[1:])])})"
        return f"{self._whole(expr.args[0])}ᵀ"

    def _whole(self, expr: Any) -> str:
        """An expression in brackets, unless it is a name or a call."""
        written = str(self._print(expr))
        called = expr.is_Function and not isinstance(expr, pulled)
        alone = expr.is_Symbol or (called and " @ " not in _outside(written))
        return written if alone else f"({written})"

    def _print_norm(self, expr: Any) -> str:
        x, dims, kept = expr.args
        written = self._print(x)
        return f"norm({written}{_over(dims, kept)})" if dims or "‖" in written else f"‖{written}‖"

    def _print_absolute(self, expr: Any) -> str:
        written = self._print(expr.args[0])
        return f"abs({written})" if "|" in written else f"|{written}|"

    _print_Abs = _print_absolute

    def _print_clamp(self, expr: Any) -> str:
        x, low, high = expr.args
        told = [f", min={self._print(low)}"] * (low != -sympy.oo) + [f", max={self._print(high)}"] * (high != sympy.oo)
        return f"clamp({self._print(x)}{''.join(told)})"

    _print_bounded = _print_clamp

    def _print_called(self, expr: Any) -> str:
        return self._filled(expr.args[0].name, expr.args[1:])

    _print_picked = _print_called

    def _filled(self, written: str, args: Sequence[Any]) -> str:
        first = self._whole if written.startswith("{0}") else self._print
        return written.format(*map(first, args[:1]), *map(self._print, args[1:]))

    def _print_placed(self, expr: Any) -> str:
        written, *args, grad = expr.args
        return f"at({self._filled(written.name, args)}, {self._print(grad)})"

    def _print_pulled(self, expr: Any) -> str:
        written, position, *args, grad = expr.args
        by = self._whole(args[int(position)])
        head = f"∂{self._filled(written.name, args)}/∂{by}"
        return head if grad == 1 else f"({head})·{self._factor(grad)}"


def _over(dims: Any, stay: Any) -> str:
    """The dimensions of a reduction, as PyTorch calls them."""
    numbers = tuple(map(int, dims))
    told = f", dim={numbers[0] if len(numbers) == 1 else numbers}" if numbers else ""
    return told + (", keepdim=True" if stay else "")


_TEXT: dict[str, Callable[..., str]] = {
    "matmul": lambda to, *factors: " @ ".join(map(to._inner, factors)),
    "dot": lambda to, *factors: " @ ".join(map(to._inner, factors)),
    "total": lambda to, x, *over: f"sum({to._print(x)}{_over(*over)})",
    "mean": lambda to, x, *over: f"mean({to._print(x)}{_over(*over)})",
    "reshape": lambda to, x, shape: f"reshape({to._print(x)}, {'×'.join(map(str, shape)) or '()'})",
    "softmax": lambda to, x, dim: f"softmax({to._print(x)}, dim={dim})",
    "log_softmax": lambda to, x, dim: f"log_softmax({to._print(x)}, dim={dim})",
    "ones": lambda to, shape: f"ones({', '.join(map(str, shape))})",
    "step": lambda to, x: f"[{to._print(x)} > 0]",
    "compared": lambda to, sign, left, right: f"[{to._print(left)} {to._print(sign)} {to._print(right)}]",
    "larger": lambda to, *two: f"maximum({', '.join(map(to._print, two))})",
    "smaller": lambda to, *two: f"minimum({', '.join(map(to._print, two))})",
}
"""The text of a function, by its name, from the printer and the arguments."""


def _outside(written: str) -> str:
    """Return what stands outside of all parentheses."""
    depth, kept = 0, []
    for character in written:
        depth -= character in ")]"
        if depth == 0:
            kept.append(character)
        depth += character in "(["
    return "".join(kept)


class _Latex(_PositiveFirst, LatexPrinter):  # type: ignore[misc]
    """The same as LaTeX."""

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        return name_latex(expr.name)

    def _call(self, name: str, *args: Any) -> str:
        return rf"\operatorname{{{name}}}\left({', '.join(map(self._print, args))}\right)"

    def _side(self, expr: Any, within: Any = dot | outer | pulled) -> str:
        written = self._print(expr)
        return rf"\left({written}\right)" if expr.is_Add or expr.is_Mul or isinstance(expr, within) else written

    def _needs_mul_brackets(self, expr: Any, first: bool = False, last: bool = False) -> bool:
        """Products of tensors, which look like those of numbers, are told apart from these."""
        lone = first and last
        if isinstance(expr, matmul | dot | outer) and not lone:
            return True
        return bool(super()._needs_mul_brackets(expr, first, last))

    def _print_Function(self, expr: Any, exp: str | None = None) -> str:
        write = _LATEX.get(type(expr).__name__)
        if write is None:
            return str(super()._print_Function(expr, exp))
        written = write(self, *expr.args)
        return written if exp is None else rf"\left({written}\right)^{{{exp}}}"

    def _print_ones(self, expr: Any, exp: str | None = None) -> str:
        return r"\mathbf{1}"  # as each of its powers is

    def _whole(self, expr: Any) -> str:
        return self._side(expr, matmul | dot | outer | pulled)

    def _filled(self, written: str, args: Sequence[Any]) -> str:
        side = written.startswith("{0}")
        first = [self._whole(each) if side else self._print(each) for each in args[:1]]
        name, bracket, rest = written.partition("(")
        head = rf"\operatorname{{{_escaped(name)}}}" if bracket and name.isidentifier() else name
        braces = re.sub(r"(?<!{)_", r"\_", bracket + rest)
        return (head.replace("{0}", first[0]) if side else head) + braces.format(*first, *map(self._print, args[1:]))


def _below(dims: Any) -> str:
    """The dimensions of a reduction, below its sign."""
    return f"_{{{', '.join(map(str, dims))}}}" if dims else ""


def _transposed(to: _Latex, x: Any, *dims: Any) -> str:
    return to._call("transpose", x, *dims) if dims else rf"{{{to._whole(x)}}}^{{\top}}"


def _placed(to: _Latex, written: Any, *rest: Any) -> str:
    *args, grad = rest
    return rf"\operatorname{{at}}\left({to._filled(written.name, args)}, {to._print(grad)}\right)"


def _pulled(to: _Latex, written: Any, position: Any, *rest: Any) -> str:
    *args, grad = rest
    over = rf"\partial {to._filled(written.name, args)}"
    return rf"\frac{{{over}}}{{\partial {to._print(args[int(position)])}}} {to._side(grad)}"


_SIGNS = {"≥": r"\ge", "≤": r"\le", "≠": r"\ne"}
_LATEX: dict[str, Callable[..., str]] = {
    "matmul": lambda to, *factors: r" \, ".join(map(to._side, factors)),
    "dot": lambda to, *factors: r" \cdot ".join(map(to._side, factors)),
    "outer": lambda to, *factors: r" \otimes ".join(map(to._side, factors)),
    "transpose": _transposed,
    "total": lambda to, x, dims, _: rf"\sum{_below(dims)} {to._side(x)}",
    "mean": lambda to, x, dims, _: rf"\operatorname{{mean}}{_below(dims)} {to._side(x)}",
    "norm": lambda to, x, dims, _: rf"\left\|{to._print(x)}\right\|{_below(dims)}",
    "reshape": lambda to, x, _: to._call("reshape", x),
    "softmax": lambda to, x, _: to._call("softmax", x),
    "log_softmax": lambda to, x, _: to._call(r"log\_softmax", x),
    "step": lambda to, x: rf"\left[{to._print(x)} > 0\right]",
    "compared": lambda to, sign, left, right: (
        rf"\left[{to._print(left)} {_SIGNS.get(sign.name, sign.name)} {to._print(right)}\right]"
    ),
    "absolute": lambda to, x: rf"\left|{to._print(x)}\right|",
    "larger": lambda to, *two: to._call("maximum", *two),
    "smaller": lambda to, *two: to._call("minimum", *two),
    "clamp": lambda to, *args: to._call("clamp", *args),
    "bounded": lambda to, *args: to._call("clamp", *args),
    "called": lambda to, written, *args: to._filled(written.name, args),
    "picked": lambda to, written, *args: to._filled(written.name, args),
    "placed": _placed,
    "pulled": _pulled,
}
"""The same as LaTeX."""


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
    written = body if len(body) == 1 or body.startswith("[") else rf"\mathit{{{_escaped(body)}}}"
    return written + "'" * primes


def text(expr: Expr) -> str:
    """One line of text."""
    return str(_Text({"order": None}).doprint(expr))


def latex(expr: Expr) -> str:
    """The same as LaTeX, to be read in mathematics mode."""
    return str(_Latex().doprint(expr))
