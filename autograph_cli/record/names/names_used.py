"""The dotted names that a syntax tree uses, as far as they can be told without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from msgspec import Struct

from autograph_cli.record.run.imports import REFUSED, SERVED

_FORGIVEN = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_DECIDING = {"TYPE_CHECKING", "__version__"}
"""Names in a condition that tell that the script knows what it may not have."""
_DEEPEST = 20
"""The most assignments that a name is followed through."""


class Use(Struct, frozen=True):
    """A full dotted name, and whether the script is ready to go without it."""

    name: str
    line: int
    optional: bool


@dataclass(slots=True)
class Module:
    """The names that one file uses."""

    file: str
    uses: list[Use] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)
    """Every module, and what may be one, that an import statement names."""
    methods: list[tuple[str, int]] = field(default_factory=list)
    """Names called on objects that are not known, with their lines."""
    asked: set[str] = field(default_factory=set)
    """Full names that `hasattr` or `getattr` with a default asks for."""
    asked_of_any: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    """Full names that the file itself gives a value to."""
    defined: set[str] = field(default_factory=set)
    """Names of the file's own functions, methods and attributes."""

    @property
    def uses_torch(self) -> bool:
        return any(name.partition(".")[0] in (*SERVED, *REFUSED) for name in self.imported)


class _Chain(Struct, frozen=True):
    """`root.a.b`, as it stands in the text."""

    root: str
    rest: tuple[str, ...]


class _Scope:
    def __init__(self, above: _Scope | None, is_class: bool = False) -> None:
        self.above, self.is_class = above, is_class
        self.bound: dict[str, set[str | _Chain | None]] = {}
        self.elsewhere: set[str] = set()

    def bind(self, name: str, value: str | _Chain | None) -> None:
        """Remember that the name stands for a full name, for a chain of names, or for what cannot be told."""
        scope = self
        while name in scope.elsewhere and scope.above is not None:
            scope = scope.above
        scope.bound.setdefault(name, set()).add(value)

    def stands_for(self, chain: _Chain, depth: int = 0) -> str | None:
        """The full name of a chain; None if it has none."""
        scope: _Scope | None = self
        while scope is not None and (chain.root not in scope.bound or (scope.is_class and scope is not self)):
            scope = scope.above
        if scope is None or depth > _DEEPEST:
            return None
        values = {
            scope.stands_for(value, depth + 1) if isinstance(value, _Chain) else value
            for value in scope.bound[chain.root]
        }
        base = values.pop()
        return None if values or base is None else ".".join((base, *chain.rest))


class _Found(Struct, frozen=True):
    """A chain to be told once all that is bound is known; `kind` says what it is wanted for."""

    scope: _Scope
    chain: _Chain
    line: int
    optional: bool
    kind: str


def read(tree: ast.Module, file: str) -> Module:
    """Return what the syntax tree of a file uses."""
    reader = _Reader(file)
    reader.visit(tree)
    return reader.finish()


class _Reader(ast.NodeVisitor):
    def __init__(self, file: str) -> None:
        self.module = Module(file)
        self.scope = _Scope(None)
        self.optional = False
        self.annotated = True
        self.found: list[_Found] = []

    def finish(self) -> Module:
        """Give every chain its full name."""
        keep = {"asked": self.module.asked, "assigned": self.module.assigned}
        for found in self.found:
            name = found.scope.stands_for(found.chain)
            if name is None:
                if found.kind == "call":
                    self.module.methods.append((found.chain.rest[-1], found.line))
                elif found.kind == "asked":
                    self.module.asked_of_any.add(found.chain.rest[-1])
            elif found.kind in keep:
                keep[found.kind].add(name)
            elif name.partition(".")[0] in (*SERVED, *REFUSED):
                self.module.uses.append(Use(name, found.line, found.optional))
        return self.module

    def note(self, node: ast.AST, chain: _Chain, kind: str) -> None:
        self.found.append(_Found(self.scope, chain, getattr(node, "lineno", 0), self.optional, kind))

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # ------------------------------------------------------------------ what binds names

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            self.scope.bind(alias.asname or root, alias.name if alias.asname else root)
            self._imported(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__":
            self.annotated = self.annotated and all(alias.name != "annotations" for alias in node.names)
            return
        position = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self._imported(node, position)
                continue
            name = f"{position}{'' if position.endswith('.') else '.'}{alias.name}"
            self.scope.bind(alias.asname or alias.name, name)
            self._imported(node, name)

    def _imported(self, node: ast.stmt, name: str) -> None:
        if not name.startswith("."):
            self.module.imported += accumulate(name.split("."), "{}.{}".format)
        else:
            self.module.imported.append(name)
        if name.partition(".")[0] in (*SERVED, *REFUSED):
            self.module.uses.append(Use(name, node.lineno, self.optional))

    def visit_Assign(self, node: ast.Assign) -> None:
        chain = _chain(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and chain is not None:
                self.scope.bind(target.id, chain)
            else:
                self.visit(target)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self.annotated:
            self.visit(node.annotation)
        self.visit_all((node.target, node.value))

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.scope.bind(node.id, None)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.elsewhere.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.scope.bind(node.name, None)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.AST) -> None:
        if name := getattr(node, "name", None) or getattr(node, "rest", None):
            self.scope.bind(name, None)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchMapping = visit_MatchAs

    # ------------------------------------------------------------------ scopes

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._define(node.name)
        self.visit_all((*node.decorator_list, *node.bases, *node.keywords))
        self._inside(_Scope(self.scope, is_class=True), node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._define(node.name)
        self.visit_all(node.decorator_list)
        if self.annotated:
            self.visit_all((node.returns, *(arg.annotation for arg in _arguments(node.args))))
        self._function(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args, [node.body])

    def _function(self, args: ast.arguments, body: Iterable[ast.AST]) -> None:
        self.visit_all((*args.defaults, *args.kw_defaults))
        inner = _Scope(self.scope)
        for arg in _arguments(args):
            inner.bind(arg.arg, None)
        self._inside(inner, body)

    def _inside(self, scope: _Scope, body: Iterable[ast.AST]) -> None:
        outer, self.scope = self.scope, scope
        self.visit_all(body)
        self.scope = outer

    def _define(self, name: str) -> None:
        self.scope.bind(name, None)
        self.module.defined.add(name)

    # ------------------------------------------------------------------ what a script can do without

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        forgiven = any(_forgives(handler.type) for handler in node.handlers)
        self._optionally(forgiven, (*node.body, *node.orelse))
        self.visit_all((*node.handlers, *node.finalbody))

    visit_TryStar = visit_Try

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._optionally(any(map(_decides, _words(node.test))), (*node.body, *node.orelse))

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        self.visit_all(node.items)
        self._optionally(any(_suppresses(item.context_expr) for item in node.items), node.body)

    visit_AsyncWith = visit_With

    def _optionally(self, optional: bool, body: Iterable[ast.AST]) -> None:
        outer, self.optional = self.optional, self.optional or optional
        self.visit_all(body)
        self.optional = outer

    # ------------------------------------------------------------------ uses

    def visit_Attribute(self, node: ast.Attribute, kind: str = "use") -> None:
        chain = _chain(node)
        if isinstance(node.ctx, ast.Store):
            kind = "assigned"
            self.module.defined.add(node.attr)
        if chain is not None:
            self.note(node, chain, kind)
            if kind == "assigned" and len(chain.rest) > 1:
                self.note(node, _Chain(chain.root, chain.rest[:-1]), "use")
            return
        if kind == "call":
            self.module.methods.append((node.attr, node.lineno))
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            self.visit_Attribute(node.func, "call")
        else:
            self.visit(node.func)
        self._by_name(node)
        self.visit_all((*node.args, *node.keywords))

    def _by_name(self, node: ast.Call) -> None:
        """`hasattr(torch, "name")` and its like."""
        match node:
            case ast.Call(
                func=ast.Name(id="hasattr" | "getattr" | "setattr" as how), args=[of, ast.Constant(str(name)), *rest]
            ):
                kind = {"hasattr": "asked", "setattr": "assigned"}.get(how, "asked" if rest else "use")
                chain = _chain(of)
                if chain is not None:
                    self.note(node, _Chain(chain.root, (*chain.rest, name)), kind)
                elif kind == "asked":
                    self.module.asked_of_any.add(name)


def _chain(node: ast.AST) -> _Chain | None:
    rest: list[str] = []
    while isinstance(node, ast.Attribute):
        rest.append(node.attr)
        node = node.value
    return _Chain(node.id, tuple(reversed(rest))) if isinstance(node, ast.Name) else None


def _decides(word: str) -> bool:
    """Return whether a word in a condition tells that the script knows what it may not have, as `is_available` does."""
    return word in _DECIDING or (word.endswith("_available") and word != "is_torch_available")


def _words(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def _arguments(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from (arg for arg in (args.vararg, args.kwarg) if arg is not None)


def _forgives(caught: ast.expr | None) -> bool:
    """Return whether a handler, or `suppress`, takes the error of a name that is missing."""
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(kind, ast.Name) and kind.id in _FORGIVEN for kind in kinds)


def _suppresses(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    chain = _chain(node.func)
    called = (chain.root, *chain.rest)[-1] if chain is not None else ""
    return called == "suppress" and any(_forgives(kind) for kind in node.args)
