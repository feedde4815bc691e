"""Reads the text of a custom Function: where it keeps tensors, what its backward reads and cuts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from msgspec import Struct

from autograph_cli.graph import Source
from autograph_cli.record.names.bindings import Script, last_name

_PIECEWISE = frozenset(
    ("sign", "sgn", "round", "floor", "ceil", "trunc", "heaviside", "eq", "ne", "lt", "le", "gt", "ge", "isnan")
)
"""Functions whose derivative is zero wherever there is one."""
_PLAIN = frozenset(
    ("shape", "size", "numel", "dim", "ndim", "len", "dtype", "device", "item", "int", "float", "stride")
)
"""The names that make a plain value of a tensor."""


class FunctionText(Struct, frozen=True):
    """The class of a custom Function in a script."""

    file: str
    script: Script
    node: ast.ClassDef

    def method(self, *names: str) -> ast.FunctionDef | None:
        """The first method of one of these names."""
        return next((part for part in self.node.body if isinstance(part, ast.FunctionDef) and part.name in names), None)

    @property
    def once(self) -> ast.expr | None:
        """The decorator that makes its backward once differentiable."""
        method = self.method("backward")
        marks = [] if method is None else method.decorator_list
        return next((mark for mark in marks if last_name(mark) == "once_differentiable"), None)

    def source(self, node: ast.stmt | ast.expr | ast.arg) -> Source:
        """The line of a part of the class."""
        return Source(self.file, node.lineno, self.script.line(node.lineno), self.node.name)

    def read(self, method: ast.FunctionDef) -> set[str]:
        """The variables whose numbers a method reads, and not the shape or the type alone."""
        plain = [part.value for part in ast.walk(method) if isinstance(part, ast.Attribute) and part.attr in _PLAIN]
        like = [
            part for part in ast.walk(method) if isinstance(part, ast.Call) and last_name(part.func).endswith("_like")
        ]
        alike = {id(part) for part in (*plain, *(call.args[0] for call in like if call.args))}
        return {part.id for part in ast.walk(method) if isinstance(part, ast.Name) and id(part) not in alike}

    def returns(self, position: int, count: int) -> list[ast.Return]:
        """The statements in which backward may return None for one of so many inputs: those with `None` itself in this
        place, else all."""
        method = self.method("backward", "vjp")
        found = [] if method is None else [part for part in ast.walk(method) if isinstance(part, ast.Return)]
        plain = []
        for part in found:
            given = part.value.elts if isinstance(part.value, ast.Tuple) else [part.value]
            if len(given) >= count and isinstance(given[position], ast.Constant):
                plain.append(part)
        return plain or found

    def keeps(self, name: str) -> ast.Assign | None:
        """The assignment of an attribute of `ctx`, `ctx.up`."""
        for statement in self._forward():
            if isinstance(statement, ast.Assign):
                for target, _ in _pairs(statement):
                    if ast.unparse(target).partition(".")[2] == name and isinstance(target, ast.Attribute):
                        return statement
        return None

    def saves(self, position: int) -> tuple[ast.Call, ast.expr] | None:
        """The call of `save_for_backward` and the argument in this position."""
        for statement in self._forward():
            for call in ast.walk(statement):
                if not isinstance(call, ast.Call) or last_name(call.func) != "save_for_backward":
                    continue
                if position < len(call.args):
                    return call, call.args[position]
        return None

    def kept_value(self, name: str) -> ast.expr | None:
        """Return what an attribute of `ctx` is assigned."""
        statement = self.keeps(name)
        pairs = [] if statement is None else _pairs(statement)
        return next((value for target, value in pairs if ast.unparse(target).endswith(f".{name}")), None)

    def computed(self) -> Iterator[tuple[str, ast.stmt, ast.expr]]:
        """Yield what forward keeps for backward that it has computed: the name, the statement, the value."""
        method = self.method("forward")
        if method is None:
            return
        known = {each.arg for each in method.args.args}
        returned = [part.value for part in ast.walk(method) if isinstance(part, ast.Return) and part.value]
        parts = [part for value in returned for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
        known |= {part.id for part in parts if isinstance(part, ast.Name)}
        for statement in self._forward():
            if isinstance(statement, ast.Assign):
                kept = [
                    (ast.unparse(target), value)
                    for target, value in _pairs(statement)
                    if isinstance(target, ast.Attribute)
                ]
            else:
                calls = [part for part in ast.walk(statement) if isinstance(part, ast.Call)]
                saving = [call for call in calls if last_name(call.func) == "save_for_backward"]
                kept = [(ast.unparse(argument), argument) for call in saving for argument in call.args]
            for name, value in kept:
                if self._is_computed(value, known) and not self.is_piecewise_constant(value):
                    yield name, statement, value

    def _is_computed(self, value: ast.expr, known: set[str]) -> bool:
        """Return whether an expression is made with operations on tensors, and is no argument or result."""
        if isinstance(value, ast.Name):
            return value.id not in known and any(self._is_computed(each, known) for each in self._assigned(value.id))
        plain = any(last_name(part) in _PLAIN for part in ast.walk(value) if isinstance(part, ast.expr))
        return isinstance(value, (ast.Call, ast.BinOp, ast.UnaryOp)) and not plain

    def _assigned(self, name: str) -> list[ast.expr]:
        """The expressions that a variable of forward is assigned."""
        return [
            value
            for statement in self._forward()
            if isinstance(statement, ast.Assign)
            for target, value in _pairs(statement)
            if isinstance(target, ast.Name) and target.id == name
        ]

    def is_piecewise_constant(self, value: ast.expr) -> bool:
        """Return whether an expression is made of comparisons, signs and the like, which have no derivative to miss."""
        if isinstance(value, ast.Name):
            made = self._assigned(value.id)
            return bool(made) and all(map(self.is_piecewise_constant, made))
        return any(
            isinstance(part, ast.Compare) or (isinstance(part, ast.Call) and last_name(part.func) in _PIECEWISE)
            for part in ast.walk(value)
        )

    def _forward(self) -> Iterator[ast.stmt]:
        for name in ("forward", "setup_context"):
            method = self.method(name)
            if method is not None:
                yield from (part for part in ast.walk(method) if isinstance(part, ast.stmt) and part is not method)


def _pairs(statement: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Return what a statement assigns to, each with its expression."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for target in statement.targets:
        if isinstance(target, ast.Tuple):
            values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value] * 99
            found += zip(target.elts, values, strict=False)
        else:
            found.append((target, statement.value))
    return found


def function_text(scripts: Mapping[str, Script], name: str) -> FunctionText | None:
    """The class of this name, if one script has one only."""
    found = [
        FunctionText(file, script, node)
        for file, script in scripts.items()
        for node in ast.walk(script.tree)
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return found[0] if len(found) == 1 else None
