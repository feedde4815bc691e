"""The parts of scripts that rules look at: calls in the line that failed, and what they were given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeVar

from autograph_cli.findings.records import Seen
from autograph_cli.graph import Source
from autograph_cli.record.graphs.causes import first_binding
from autograph_cli.record.names.bindings import Script

_Part = TypeVar("_Part", bound=ast.AST)
LEARN = ("Linear", "Conv", "Embedding", "LayerNorm", "BatchNorm", "GroupNorm", "LSTM", "GRU", "RNN", "Bilinear")
"""The beginnings of the names of modules that have parameters."""
WHOLE_PARAMETER = "Keep nn.Parameter itself, which is registered so, and shape or convert it where it is used."


def parts_of(tree: ast.AST, *kinds: type[_Part]) -> list[_Part]:
    """The parts of a tree that are of these kinds."""
    return [part for part in ast.walk(tree) if isinstance(part, kinds)]


def around(tree: ast.AST, line: int, *kinds: type[_Part]) -> list[_Part]:
    """The statements or expressions of these kinds that go over a line."""
    found: list[Any] = parts_of(tree, *kinds)
    return [part for part in found if part.lineno <= line <= part.end_lineno]


def script_parts(seen: Seen, *kinds: type[_Part]) -> Iterator[tuple[Source, _Part]]:
    """The statements or expressions of these kinds in all scripts, each with its line."""
    for file, script in seen.scripts.items():
        for part in parts_of(script.tree, *kinds):
            line: int = part.lineno  # type: ignore[attr-defined]
            yield Source(file, line, script.line(line)), part


def classes(seen: Seen) -> set[str]:
    """The names of the classes that the scripts define."""
    return {part.name for _, part in script_parts(seen, ast.ClassDef)}


def failed_script(seen: Seen) -> tuple[str, Script, int] | None:
    """The script of the line that failed, and that line."""
    at = seen.trace.failed_at
    script = None if at is None else seen.scripts.get(at.file)
    return None if at is None or script is None else (at.file, script, at.line)


def failed_calls(seen: Seen, *names: str) -> list[ast.Call]:
    """The calls of functions of these names that go over the line that failed."""
    there = failed_script(seen)
    calls = [] if there is None else around(there[1].tree, there[2], ast.Call)
    return [call for call in calls if called(call) in names]


def called(call: ast.Call) -> str:
    """The last name of what is called: `grad` of `torch.autograd.grad`."""
    return ast.unparse(call.func).rpartition(".")[2]


def made_at(seen: Seen, name: str) -> Source | None:
    """The line that makes a variable or a parameter: the one that sets the attribute of its path, if there is one
    alone; else that of the object that holds it."""
    for own in reversed(name.split(".")[1:]):
        lines = [line for line, part in script_parts(seen, ast.Assign) if getattr(part.targets[0], "attr", "") == own]
        if len(lines) == 1:
            return lines[0]
    made = first_binding(dict(seen.scripts), name)
    return None if made is None else Source(made[0], made[2].line, made[2].text)


def argument(call: ast.Call, position: int, name: str) -> list[ast.expr]:
    """Return what a call is given there: the parts of a list, or the one thing."""
    given = [*(word.value for word in call.keywords if word.arg == name), *call.args[position : position + 1]]
    return [part for one in given[:1] for part in (one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one])]


def assignment(seen: Seen, name: str) -> ast.Assign | None:
    """The last assignment of a name above the line that failed."""
    there = failed_script(seen)
    found = parts_of(there[1].tree, ast.Assign) if there else []
    line = there[2] if there else 0
    above = [part for part in found if part.lineno < line and any(name in _names(target) for target in part.targets)]
    return max(above, key=lambda part: part.lineno, default=None)


def _names(target: ast.expr) -> set[str]:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return {ast.unparse(part) for part in parts}


def plain_grad(made: ast.Assign | None) -> ast.Call | None:
    """The call of `grad` without create_graph of which a value is made."""
    calls = [] if made is None else parts_of(made.value, ast.Call)
    return next(
        (c for c in calls if called(c) == "grad" and not any(w.arg == "create_graph" for w in c.keywords)), None
    )
