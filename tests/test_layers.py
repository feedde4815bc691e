"""Imports: few inside functions, each with a reason, and no circle but through these."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import autograph_cli

ROOT = Path(autograph_cli.__file__).parent


def name_of(path: Path) -> str:
    parts = (ROOT.name, *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in ROOT.rglob("*.py")}


def imports(tree: ast.AST, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Each import that runs, and whether it stands in a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, inside
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from imports(node, inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


def imported(name: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The files of the package that an import names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in FILES)
        return
    package = name.split(".") if FILES[name].name == "__init__.py" else name.split(".")[:-1]
    above = package[: len(package) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        found = next((each for each in (f"{base}.{alias.name}", base) if each in FILES), None)
        if found is not None and found != name:
            yield found


def test_an_import_inside_a_function_has_a_reason_and_there_are_few() -> None:
    found = []
    for path in FILES.values():
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for node, inside in imports(ast.parse(text)):
            if inside:
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                assert "#" in lines[node.lineno - 1] or lines[node.lineno - 2].lstrip().startswith("#"), place
                found.append(place)
    assert len(found) <= 30, found


def test_no_files_import_each_other_in_a_circle() -> None:
    leads = {
        name: {
            other
            for node, inside in imports(ast.parse(path.read_text("utf-8")))
            if not inside
            for other in imported(name, node)
        }
        for name, path in FILES.items()
    }
    while ends := [name for name, others in leads.items() if not others & leads.keys()]:
        for name in ends:
            del leads[name]
    assert not leads, {name: sorted(others & leads.keys()) for name, others in leads.items()}


OF_ENGINES = ("torch", "torchvision", "strict_array", "engines", "conformance")
"""The folders of tests that speak to an engine; all others are of the tool."""
INSIDE = r"autograph_cli\.torch(\.\w+)*\._|autograph_cli\.engines\.(builtin|pytorch)\b|^_ag_"


def test_tests_of_the_tool_reach_inside_an_engine_through_one_file() -> None:
    found = []
    for path in Path(__file__).parent.rglob("*.py"):
        place = path.relative_to(Path(__file__).parent)
        if place.parts[0] in (*OF_ENGINES, "inside.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name}" for name in names]
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_ag_"):
                names = [node.attr]
            found += [f"{place}: {name}" for name in names if re.search(INSIDE, name)]
    assert not found
