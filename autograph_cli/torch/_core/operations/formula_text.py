"""The text of a formula, as its source has it."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

_Found = ast.Lambda | ast.FunctionDef


def text_of(formula: Callable[..., Any]) -> str:
    """Return what a formula returns or raises; of one that does more than that, its call. Constants around it are
    filled in.

    >>> text_of(lambda f, grad, result: grad * (1 - result * result))
    'grad * (1 - result * result)'
    """
    code = formula.__code__
    found = _definition(code)
    body = None if found is None else _returned(found)
    if body is not None:
        return ast.unparse(_Filled(_constants(formula)).visit(ast.parse(ast.unparse(body))))
    return f"{formula.__name__}({', '.join(code.co_varnames[: code.co_argcount])})"


def _definition(code: CodeType) -> _Found | None:
    """Return where the source defines a function: the one that has this code, of several on one line."""
    names = code.co_varnames[: code.co_argcount]
    found = [
        each
        for each in _definitions(code.co_filename).get(code.co_firstlineno, ())
        if tuple(a.arg for a in each.args.args) == names and getattr(each, "name", "<lambda>") == code.co_name
    ]
    for like in (_exactly, _names):
        same = [each for each in found if like(_code_of(each)) == like(code)] if len(found) > 1 else found
        if same:
            return same[0]
    return None


def _code_of(found: _Found) -> CodeType:
    module = compile(ast.unparse(found), "<formula>", "exec")
    return next(each for each in module.co_consts if isinstance(each, CodeType))


def _exactly(code: CodeType) -> tuple[object, ...]:
    return code.co_code, code.co_names, tuple(each for each in code.co_consts if not isinstance(each, CodeType))


def _names(code: CodeType) -> list[str]:
    """Return what a code names from outside; what it takes from a function around it has another code alone."""
    return sorted((*code.co_names, *code.co_freevars))


def _returned(found: _Found) -> ast.AST | None:
    """Return what the function returns or raises, if it does nothing else."""
    if isinstance(found, ast.Lambda):
        return found.body
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    match body:
        case [ast.Return(value=ast.expr() as value)]:
            return value
        case [ast.Raise() as error]:
            return error
    return None


def _constants(formula: Callable[..., Any]) -> dict[str, Any]:
    """The numbers and texts that a formula takes from the function around it."""
    cells = zip(formula.__code__.co_freevars, formula.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if isinstance(cell.cell_contents, (str, int, float))}


class _Filled(ast.NodeTransformer):
    """Names of constants give way to these, `getattr(f, 'mul')` to `f.mul`, and `right_first(b, a)` to `a * b`."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.constants[node.id]) if node.id in self.constants else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        if all(isinstance(part, ast.Constant) for part in parts):
            return ast.Constant("".join(str(part.value) for part in parts if isinstance(part, ast.Constant)))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[of, ast.Constant(value=str() as name)]):
                return ast.Attribute(of, name, ast.Load())
            case ast.Call(func=ast.Name(id="right_first"), args=[right, left]):
                return ast.BinOp(left, ast.Mult(), right)
        return node


@functools.cache
def _definitions(file: str) -> dict[int, tuple[_Found, ...]]:
    """The functions of a file by the line on which they start."""
    result: dict[int, tuple[_Found, ...]] = {}
    for each in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(each, (ast.Lambda, ast.FunctionDef)):
            decorators = each.decorator_list if isinstance(each, ast.FunctionDef) else []
            line = min([each.lineno, *(one.lineno for one in decorators)])
            result[line] = (*result.get(line, ()), each)
    return result
