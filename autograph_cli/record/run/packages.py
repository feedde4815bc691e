"""Reads, without running it, the code that installed packages run when a script imports them."""

from __future__ import annotations

import ast
import importlib.util
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograph_cli.record.names.names_used import Module, read

MOST_FILES = 400
"""Files of one package that are read; what is behind more is for the run to tell."""


def modules_of(imported: Iterable[str]) -> Iterator[Module]:
    """Yield what runs when these names are imported, of packages that are built on PyTorch: all but the bodies of
    functions."""
    names = [name for name in dict.fromkeys(imported) if not name.startswith(".")]
    for package in dict.fromkeys(name.partition(".")[0] for name in names):
        if _needs_torch(package) and (root := _folder(package)) is not None:
            yield from _walk(root, [name for name in names if name.partition(".")[0] == package])


def _needs_torch(package: str) -> bool:
    """Return whether the distribution that a package comes from asks for PyTorch, always or as an extra."""
    metadata = importlib.import_module("importlib.metadata")  # it reads mail, and most scripts import nothing such
    for distribution in metadata.packages_distributions().get(package, ()):
        if any(re.match(r"torch\b(?!\S*vision)", need) for need in metadata.requires(distribution) or ()):
            return True
    return False


def _folder(package: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    positions = spec.submodule_search_locations if spec is not None else None
    return Path(positions[0]) if positions else None


def _walk(root: Path, names: list[str]) -> Iterator[Module]:
    waiting = [root.name, *names]
    seen: set[Path] = set()
    while waiting and len(seen) < MOST_FILES:
        name = waiting.pop(0)
        file = _file(root, name)
        if file is None and name in names:
            file = _defining(root, name.rpartition(".")[2])
        if file is None or file in seen:
            continue
        seen.add(file)
        module = _read(file, root.parent)
        if module is not None:
            yield module
            waiting += (full for inner in module.imported if (full := _absolute(inner, file, root)) is not None)


def _file(root: Path, name: str) -> Path | None:
    """The file of a module, or of the one in which the last part is a name."""
    for full in (name, name.rpartition(".")[0]):
        position = root.parent.joinpath(*full.split("."))
        for file in (position / "__init__.py", position.with_name(f"{position.name}.py")):
            if "." in full and file.is_file():
                return file
    return root / "__init__.py" if name == root.name else None


def _defining(root: Path, name: str) -> Path | None:
    """The module that defines a name which the package finds at need."""
    pattern = re.compile(rf"^(?:class|def) {re.escape(name)}\b", re.MULTILINE)
    return next((f for f in sorted(root.rglob("*.py")) if pattern.search(f.read_text("utf-8", "replace"))), None)


def _absolute(name: str, file: Path, root: Path) -> str | None:
    """The full name of a module of the package that a file of it imports; None for those of others."""
    inner = name.lstrip(".")
    dots = len(name) - len(inner)
    if not dots:
        return name if name.partition(".")[0] == root.name else None
    folder = file.parent
    for _ in range(dots - 1):
        folder = folder.parent
    return ".".join([*folder.relative_to(root.parent).parts, *filter(None, [inner])])


def _read(file: Path, above: Path) -> Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _WithoutBodies().visit(ast.parse(file.read_bytes()))
        return read(tree, file.relative_to(above).as_posix())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


class _WithoutBodies(ast.NodeTransformer):
    """Takes away what does not run when a module is imported."""

    def visit_If(self, node: ast.If) -> ast.AST:
        if ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            node.body = [ast.copy_location(ast.Pass(), node)]
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.copy_location(ast.Pass(), node)]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.copy_location(ast.Pass(), node)]
        return node
