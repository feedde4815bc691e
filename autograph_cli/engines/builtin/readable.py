"""Formulas of the table in the words of a script: what the engine alone knows gives way to what a user of PyTorch
knows."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from autograph_cli.torch._core.operations.formula_text import text_of
from autograph_cli.torch._core.operations.operation import table
from autograph_cli.torch._core.tape.tensor import Tensor

LONGEST = 100
"""A helper whose text is longer than this is named, not written out."""
REFUSED = "not implemented"
"""The text of a formula that only raises."""
_INFIX: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "pow": ast.Pow, "logical_and": ast.BitAnd,
    "logical_or": ast.BitOr,
}  # fmt: skip
_PREFIX: dict[str, type[ast.unaryop]] = {"neg": ast.USub, "logical_not": ast.Invert}
_COMPARED: dict[str, type[ast.cmpop]] = {
    "eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE,
}  # fmt: skip
_WORDS = {
    "zeros_of(sizes, like)": "zeros(sizes)",
    "zero_beside(like)": "0",
    "full_like_number(like, value)": "value",
    "conj_number(value)": "value",
    "log_of_number(value)": "log(value)",
    "cast_like(x, like)": "x.to(like.dtype)",
    "copied(grad, sizes, dtype)": "grad",
    "within(x, low, high)": "(x >= low) & (x <= high)",
    "scaled(grad, factor)": "grad * factor",
    "mm_left(grad, right, sizes, strides)": "grad.mm(right.t().conj())",
    "mm_right(grad, left, sizes, strides)": "left.t().conj().mm(grad)",
    "wanted(mask, gradients)": "gradients",
    "rsub_Scalar(x, value)": "value - x",
    "_cast_back(grad, dtype)": "grad.to(dtype)",
    "_dtype(x)": "x.dtype",
}
"""The text for each of the engine's own helpers, by their parameters."""
_TEMPLATES = {call.partition("(")[0]: (call, text) for call, text in _WORDS.items()}
_INNER = ("_ag_raw", "isinstance", "is_meta")
"""Words that show that a text is about the engine."""


def readable(formula: Callable[..., Any]) -> str:
    """Return what a formula returns, with operators and methods: `grad * other.conj()`.

    Helpers of a single expression are written out, others keep their names. Factors that are usually 1, masks of which
    gradients are wanted, and how results are laid out in memory are left out.

    >>> readable(lambda f, grad, other: f.mul_Scalar(grad, 2) * f.conj(other))
    'grad * 2 * other.conj()'
    """
    text = text_of(formula)
    if text.startswith("raise "):
        return REFUSED
    return ast.unparse(_Read(_seen_by(formula)).visit(ast.parse(text, mode="eval")))


def readable_source(formula: Callable[..., Any]) -> tuple[str, ...]:
    """The lines of what a formula leaves all to, a function of several statements, in the same words; else none."""
    function = _left_to(formula)
    if function is None:
        return ()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ()
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        return ()
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    names = [each.arg for each in found.args.args if each.arg != "f"]
    read = _Read(_seen_by(function))
    lines = [line for statement in body for line in ast.unparse(read.visit(statement)).splitlines()]
    if any(word in line for line in lines for word in _INNER):
        return ()
    return (f"def {found.name.lstrip('_')}({', '.join(names)}):", *(f"    {line}" for line in lines))


def _seen_by(function: Callable[..., Any]) -> dict[str, Any]:
    """The names that the source of a function sees, and what they mean."""
    return function.__globals__ | dict(inspect.getclosurevars(function).nonlocals)


def _left_to(formula: Callable[..., Any]) -> Callable[..., Any] | None:
    """The helper whose call is all that a formula is, or the formula itself if it is more than one expression."""
    text = text_of(formula)
    if text.startswith(f"{formula.__name__}("):
        return formula
    match ast.parse(text).body[0]:
        case ast.Expr(ast.Call(ast.Name(name))) if name not in _TEMPLATES:
            helper = _seen_by(formula).get(name)
            return helper if helper and _is_ours(helper) and text_of(helper).startswith(f"{name}(") else None
    return None


class _Read(ast.NodeTransformer):
    """Writes the calls of a formula as a user would; `known` are the names that its source sees."""

    def __init__(self, known: Mapping[str, Any], depth: int = 0) -> None:
        self.known, self.depth = known, depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        for end, attribute in (("_sizes", "shape"), ("_dtype", "dtype")):
            if node.id.endswith(end) and node.id not in ("split_sizes", end):
                return ast.Attribute(ast.Name(node.id.removesuffix(end)), attribute)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.Name(_plain(node.attr)) if isinstance(node.value, ast.Name) and node.value.id == "f" else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Without the question whether a gradient came, or is wanted."""
        match node:
            case ast.IfExp(ast.Compare(ast.Name("grad"), [ast.Is()], [ast.Constant(None)]), _, kept):
                return self._expression(kept)
            case ast.IfExp(ast.Subscript(ast.Name("mask")), kept, ast.Constant(None)):
                return self._expression(kept)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name, helper = self._called(node.func)
        self.generic_visit(node)
        args = [each for each in node.args if not (isinstance(each, ast.Name) and each.id == "f")]
        if not name:
            return ast.Call(node.func, args, node.keywords)
        if name in _TEMPLATES:
            return _from_template(name, args) or ast.Call(ast.Name(name.lstrip("_")), args, node.keywords)
        if helper is None:
            return _operation(name, args, node.keywords)
        written = None if node.keywords else self._written_out(helper, args)
        return written or ast.Call(ast.Name(name.lstrip("_")), args, node.keywords)

    def _expression(self, node: ast.expr) -> ast.expr:
        found = self.visit(node)
        assert isinstance(found, ast.expr)
        return found

    def _called(self, function: ast.expr) -> tuple[str, Any]:
        """The name of an operation of the engine, or of a helper and that itself; empty for all else."""
        match function:
            case ast.Attribute(ast.Name("f"), name):
                return name, None
            case ast.Attribute(ast.Name(module), name) if inspect.ismodule(self.known.get(module)):
                return name, getattr(self.known[module], name, None)
            case ast.Call(ast.Name(name), [ast.Name("f")]) if _is_ours(self.known.get(name)):
                text = text_of(self.known[name])  # a helper that chooses an operation
                return (text[2:], None) if re.fullmatch(r"f\.\w+", text) else ("", None)
            case ast.Name(name) if inspect.isfunction(self.known.get(name)) or name in _TEMPLATES:
                return name, self.known.get(name)
        return "", None

    def _written_out(self, helper: Any, args: list[ast.expr]) -> ast.expr | None:
        """Return what a helper of one expression comes to, if that is short and not about the engine."""
        if self.depth > 2 or not _is_ours(helper):
            return None
        names = [name for name in inspect.signature(helper).parameters if name != "f"]
        text = text_of(helper)
        if len(names) != len(args) or text.startswith((f"{helper.__name__}(", "raise ")) or len(text) > LONGEST:
            return None
        inner = _Read(_seen_by(helper), self.depth + 1)._expression(ast.parse(text, mode="eval").body)
        found = _Filled(dict(zip(names, args, strict=True))).visit(inner)
        written = ast.unparse(found)
        return found if len(written) <= LONGEST and not any(word in written for word in _INNER) else None


class _Filled(ast.NodeTransformer):
    """Names give way to what stands for them."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def _is_ours(helper: Any) -> bool:
    return inspect.isfunction(helper) and helper.__module__.startswith("autograph_cli.torch.")


def _from_template(name: str, args: list[ast.expr]) -> ast.expr | None:
    call, text = _TEMPLATES[name]
    names = [each.strip() for each in call.partition("(")[2].rstrip(")").split(",")]
    if len(names) != len(args):
        return None
    if name == "within":  # one of the bounds may be missing
        bounds = [(ast.GtE(), args[1]), (ast.LtE(), args[2])]
        sides = [ast.Compare(args[0], [sign], [bound]) for sign, bound in bounds if not _is_none(bound)]
        return sides[0] if len(sides) == 1 else ast.BinOp(sides[0], ast.BitAnd(), sides[1])
    filled = _Filled(dict(zip(names, args, strict=True))).visit(ast.parse(text, mode="eval").body)
    assert isinstance(filled, ast.expr)
    return filled


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _plain(name: str) -> str:
    """The name of an operation without that of its overload."""
    return table[name].name if name in table else name


def _is_method(name: str, plain: str) -> bool:
    """Return whether an operation is a method of its first argument."""
    first = next(iter(table[name].schema.parameters), None) if name in table else None
    own = first is None or first.name == "self"
    return own and not plain.startswith("_") and callable(getattr(Tensor, plain, None))


def _operation(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
    """An operation with its operator, as a method, or as a function, and without the name of its overload."""
    plain = _plain(name)
    if len(args) == 2 and not keywords:
        if plain in _INFIX:
            return ast.BinOp(args[0], _INFIX[plain](), args[1])
        if plain in _COMPARED:
            return ast.Compare(args[0], [_COMPARED[plain]()], [args[1]])
    if len(args) == 1 and plain in _PREFIX:
        return ast.UnaryOp(_PREFIX[plain](), args[0])
    if args and not isinstance(args[0], ast.Constant) and _is_method(name, plain):
        return ast.Call(ast.Attribute(args[0], plain), args[1:], keywords)
    return ast.Call(ast.Name(plain), args, keywords)
