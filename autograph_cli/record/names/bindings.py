"""Reads in the text of a script why a tensor has no history: the assignments that lead to it, and what cuts there."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

_CALLS = {
    "detach": ".detach()",
    "detach_": ".detach_()",
    "item": ".item()",
    "tolist": ".tolist()",
    "numpy": ".numpy()",
    **{name: f"an integer dtype, .{name}()" for name in ("long", "int", "short", "byte", "char", "bool")},
    **{name: f"an integer result, {name}" for name in ("argmax", "argmin", "argsort")},
}
"""Methods whose result has no gradient."""
_NUMBERS = frozenset(("float", "int", "bool"))
_BUILDERS = frozenset(("tensor", "as_tensor", "from_numpy", "FloatTensor", "DoubleTensor", "Tensor"))
_DTYPES = frozenset(("int64", "long", "int32", "int", "int16", "short", "int8", "uint8", "bool"))
_MODES = ("no_grad", "inference_mode")


class Cause(Struct, frozen=True):
    """Something in a statement that ends a gradient, and the variables in what it is applied to."""

    words: str
    operands: frozenset[str]


class Binding(Struct, frozen=True):
    """One statement: what it assigns to, what it reads, what in it ends gradients."""

    line: int
    last_line: int
    text: str
    targets: frozenset[str]
    uses: frozenset[str]
    causes: tuple[Cause, ...]
    kept: frozenset[str]
    """The variables that it reads by a way which nothing in it cuts."""


class Found(Struct, frozen=True):
    """The place where a gradient is cut; `causes` is empty if the statement has nothing that is known to cut."""

    binding: Binding
    causes: tuple[str, ...]
    source: str
    """The variable that goes in."""
    sure: bool = True
    """True if that variable leads to the leaf; of a function's parameter nobody knows."""


Lines = Mapping[str, set[int]]
"""Variables with a history, and the lines that made what they hold; 0 stands for a line that is not known."""


class Script:
    """The statements of a script, to be followed from a tensor back to what it was made from."""

    def __init__(self, text: str) -> None:
        """Raises `SyntaxError` or `ValueError` for what is no Python."""
        self.lines = text.splitlines()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = tree = ast.parse(text)
        self.parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        stored = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        self._foreign = {*dir(builtins), *_imported(tree)} - stored - self.parameters
        """Names of what is imported or built in, which no tensor of the script's has."""
        self.bindings = list(self._read(tree, ""))

    @cached_property
    def quiet(self) -> list[tuple[ast.stmt, str]]:
        """The statements that switch recording off for what is in them, outer ones first, each with its mode."""
        parts = (part for part in ast.walk(self.tree) if isinstance(part, ast.stmt))
        return [(part, mode) for part in parts if (mode := quiet_mode(part))]

    def calls(self, name: str) -> list[ast.Call]:
        """The calls of what has this last name."""
        return [part for part in self._parts(ast.Call) if name and last_name(part.func) == name]

    def line(self, number: int) -> str:
        """A line without its indentation; empty where there is none."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""

    def first(self, name: str) -> Binding | None:
        """The first statement that assigns to this name."""
        return next((one for one in self.bindings if name in one.targets), None)

    def uses(self, name: str) -> list[Binding]:
        """The statements that read this name."""
        return [one for one in self.bindings if name in one.uses]

    def sees(self, binding: Binding, name: str) -> bool:
        """Return whether a statement reads a variable, and not a parameter of its own function with the same name."""
        made = self.first(name)
        around = [
            part
            for part in self._parts(ast.FunctionDef, ast.AsyncFunctionDef)
            if part.lineno <= binding.line <= (part.end_lineno or 0)
            and name in {one.arg for one in ast.walk(part.args) if isinstance(one, ast.arg)}
        ]
        return made is None or all(part.lineno <= made.line <= (part.end_lineno or 0) for part in around)

    def trace_back(self, name: str, line: int, leading: Lines, carrying: Lines) -> list[Found]:
        """Return where the way from what leads to the leaf ends, on the way to the tensor `name` that is used on a
        line.

        What is `carrying` has a history of its own, which is known already and not followed. An empty name stands for a
        tensor that was made on the line itself.
        """
        waiting: list[tuple[Binding, Found | None]] = [
            (binding, None) for binding in (self.before(name, line) if name else self._at(line))
        ]
        found: list[Found] = []
        met: set[int] = set()
        while waiting:
            binding, later = waiting.pop()
            if id(binding) in met:
                continue
            met.add(id(binding))
            cuts = {use: self._cut(binding, use) or later for use in sorted(binding.uses)}
            sure = [cut or Found(binding, (), use) for use, cut in cuts.items() if self._holds(use, binding, leading)]
            found += sure or self._perhaps(binding, carrying)
            for use, cut in cuts.items():
                if not self._holds(use, binding, carrying):
                    waiting += [(earlier, cut) for earlier in self.before(use, binding.line)]
        return sorted(found, key=lambda one: one.binding.line)

    def _cut(self, binding: Binding, use: str) -> Found | None:
        """Return what a statement cuts of one variable that it reads."""
        causes = tuple(dict.fromkeys(cause.words for cause in binding.causes if use in cause.operands))
        return Found(binding, causes, use) if causes else None

    def _holds(self, name: str, binding: Binding, lines: Lines) -> bool:
        """Return whether what a statement reads by this name is one of these, and not something assigned to it
        later."""
        known = lines.get(name, set())
        newest = self.before(name, binding.line)
        covered = (line for line in known for one in newest if one.line <= line <= one.last_line)
        return bool(known) and (0 in known or not newest or any(covered))

    def _perhaps(self, binding: Binding, carrying: Lines) -> Iterator[Found]:
        """Yield what cuts something that a function was given."""
        for use in sorted(binding.uses & self.parameters):
            cut = self._cut(binding, use)
            if cut is not None and not self._holds(use, binding, carrying):
                yield replace(cut, sure=False)

    def _at(self, line: int) -> list[Binding]:
        return [one for one in self.bindings if one.line <= line <= one.last_line]

    def before(self, name: str, line: int) -> list[Binding]:
        """The newest assignment above the line; in a loop or elsewhere, all of them."""
        every = [one for one in self.bindings if name in one.targets]
        above = [one for one in every if one.line < line]
        return above[-1:] or every

    def reaching(self, name: str, line: int) -> list[Binding]:
        """Return what may have made what a line reads by this name: also what is below it in the same loop, and what a
        function or the `forward` of a class returns."""
        loops = [range(part.lineno, (part.end_lineno or 0) + 1) for part in self._parts(ast.For, ast.While)]
        around = [loop for loop in loops if line in loop]
        below = [one for one in self.bindings if name in one.targets and one.line >= line]
        found = [*self.before(name, line), *(one for one in below if any(one.line in loop for loop in around))]
        classes = [part for part in self._parts(ast.ClassDef) if part.name == name]
        inside = [range(part.lineno, (part.end_lineno or 0) + 1) for part in classes]
        found += [one for one in self.bindings if "forward" in one.targets and any(one.line in cls for cls in inside)]
        # `self.encode` is what the method of that name returns.
        method = name.rpartition(".")[2] if not found and name.startswith("self.") else ""
        return found + [one for one in self.bindings if method in one.targets]

    def _parts(self, *kinds: type[ast.AST]) -> list[Any]:
        return [part for part in ast.walk(self.tree) if isinstance(part, kinds)]

    def _read(self, node: ast.AST, mode: str, function: str = "") -> Iterator[Binding]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            mode, function = quiet_mode(node), node.name  # what runs around a definition is not what runs around a call
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            mode = quiet_mode(node) or mode
        if isinstance(node, ast.stmt):
            yield self._binding(node, mode, function)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                yield from self._read(child, mode, function)

    def _binding(self, node: ast.stmt, mode: str, function: str) -> Binding:
        """A statement without those within it: of a loop the head alone. What a function returns is bound to its
        name."""
        targets, read = _sides(node)
        uses = frozenset[str]().union(*map(_names, read))
        causes = [Cause(f"torch.{mode}", uses)] if mode else []
        causes += [Cause(words, _names(part)) for one in read for part in ast.walk(one) for words in _words(part)]
        # Of what is made of constants alone, nothing is cut.
        causes = [one for one in causes if any(name.partition(".")[0] not in self._foreign for name in one.operands)]
        made = frozenset[str]().union(*map(_names, targets))
        if isinstance(node, ast.Return) and function:
            made = frozenset((function,))
        end = node.end_lineno or node.lineno
        if hasattr(node, "body"):
            end = max((one.end_lineno or node.lineno for one in (*targets, *read)), default=node.lineno)
        kept = frozenset[str]().union(*map(_uncut, () if mode else read))
        return Binding(node.lineno, end, self.line(node.lineno), made, uses, tuple(causes), kept)


def _imported(tree: ast.AST) -> Iterator[str]:
    """The names of modules and of what is imported from them."""
    for part in ast.walk(tree):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in part.names)


def _sides(node: ast.stmt) -> tuple[list[ast.expr], list[ast.expr]]:
    """The expressions that a statement assigns to, and those that it reads."""
    parts = [part for child in ast.iter_child_nodes(node) for part in _expressions(child)]
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    else:
        return [], parts
    read = [part for part in parts if part not in targets]
    return targets, parts if isinstance(node, ast.AugAssign) else read


def _expressions(node: ast.AST) -> list[ast.expr]:
    """The outermost expressions in a part of a statement; those of other statements are their own."""
    if isinstance(node, ast.expr):
        return [node]
    if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
        return []
    return [part for child in ast.iter_child_nodes(node) for part in _expressions(child)]


def quiet_mode(node: ast.AST) -> str:
    """The mode without recording that a `with` or a decorator switches on."""
    parts: list[ast.expr] = []
    if isinstance(node, (ast.With, ast.AsyncWith)):
        parts = [item.context_expr for item in node.items]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = list(node.decorator_list)
    for part in parts:
        name = last_name(part.func if isinstance(part, ast.Call) else part)
        if name in _MODES:
            return f"{name}()"
        if name == "set_grad_enabled" and ast.unparse(part).endswith("(False)"):
            return "set_grad_enabled(False)"
    return ""


def _words(node: ast.AST) -> Iterator[str]:
    """Yield what cuts in this very expression."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        yield ".data"
    if not isinstance(node, ast.Call):
        return
    name = last_name(node.func)
    if isinstance(node.func, ast.Attribute) and name in _CALLS:
        yield _CALLS[name]
    elif isinstance(node.func, ast.Name) and name in _NUMBERS:
        yield f"a number made by {name}()"
    elif name in _BUILDERS:
        yield f"a new tensor built from numbers, {ast.unparse(node.func)}()"
    elif name in ("to", "type"):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        yield from (f"an integer dtype, .{name}({ast.unparse(x)})" for x in given if last_name(x) in _DTYPES)


def last_name(node: ast.expr) -> str:
    """The last name of a variable or an attribute: `grad` of `torch.autograd.grad`; empty where it is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _uncut(node: ast.AST) -> frozenset[str]:
    """The variables and paths that are not within what cuts."""
    if any(_words(node)):
        return frozenset()
    own = {ast.unparse(node)} if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else set()
    return frozenset(own).union(*map(_uncut, ast.iter_child_nodes(node)))


def _names(node: ast.AST) -> frozenset[str]:
    """Variables and paths such as `self.w` and `params[0]`."""
    found = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    paths = [part for part in ast.walk(node) if isinstance(part, (ast.Attribute, ast.Subscript))]
    return frozenset(found | {ast.unparse(part) for part in paths})
