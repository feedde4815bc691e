"""Remedies that are one safe edit of a script."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograph_cli.findings.records import Finding
from autograph_cli.record.names.bindings import Script


class Edit(Struct, frozen=True, order=True):
    """Some bytes of a line that others take the place of."""

    line: int
    begin: int
    end: int
    text: str
    own_line: bool = False
    """True if the text is a line of its own, above this one."""


def fixed(text: str, file: str, findings: Sequence[Finding]) -> str:
    """The text of a script with all edits made that the findings about it ask for.

    >>> from autograph_cli.graph import Source
    >>> script = "for x in data:\\n    loss = f(x)\\n    loss.backward()\\n    total += loss\\n"
    >>> found = Finding("AG401", "", Source("a.py", 4), "", "")
    >>> print(fixed(script, "a.py", [found]).splitlines()[3])
        total += loss.detach()
    """
    script = Script(text)
    edits = {edit for one in findings if one.source and one.source.file == file for edit in _edits(script, one)}
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1].encode()
        if edit.own_line:
            indent = line[: len(line) - len(line.lstrip())].decode()
            lines.insert(edit.line - 1, f"{indent}{edit.text}\n")
        else:
            lines[edit.line - 1] = (line[: edit.begin] + edit.text.encode() + line[edit.end :]).decode()
    return "".join(lines)


def diff(before: str, after: str, file: str) -> str:
    """Return how the text of a script changes, as a unified diff; empty where it does not."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    return "".join(difflib.unified_diff(old, new, file, file))


def _edits(script: Script, finding: Finding) -> Iterator[Edit]:
    assert finding.source is not None
    if finding.code == "AG404":
        yield from _zeroed(script, finding.source.line)
    if finding.code == "AG401":
        yield from _detached(script)


def _zeroed(script: Script, line: int) -> Iterator[Edit]:
    """`optimizer.zero_grad()` before a backward call, in a script with one optimizer that nowhere zeroes."""
    calls = [part for part in ast.walk(script.tree) if isinstance(part, ast.Call)]
    names = [part.func for part in calls if isinstance(part.func, ast.Attribute)]
    steppers = {ast.unparse(part.value) for part in names if part.attr == "step"}
    if len(steppers) != 1 or any(part.attr == "zero_grad" for part in names):
        return
    for part in ast.walk(script.tree):
        if isinstance(part, ast.Expr) and part.lineno == line and _is_call(part.value, "backward"):
            call = f"{steppers.pop()}.zero_grad()"
            alone = not script.lines[line - 1].encode()[: part.col_offset].strip()
            yield Edit(line, part.col_offset, part.col_offset, call if alone else f"{call}; ", alone)
            return


def _detached(script: Script) -> Iterator[Edit]:
    """`loss.detach()` where a loss, which backward is called on in the same loop, is added to a sum that is not."""
    for loop in (part for part in ast.walk(script.tree) if isinstance(part, (ast.For, ast.While))):
        calls = [part.func for part in ast.walk(loop) if isinstance(part, ast.Call) and _is_call(part, "backward")]
        ran = {ast.unparse(function.value) for function in calls if isinstance(function, ast.Attribute)}
        for part in ast.walk(loop):
            added = _added(part) if isinstance(part, ast.stmt) else None
            if added is not None and ast.unparse(added[1]) in ran and not _is_differentiated(script, added[0]):
                target = added[1]
                text = f"{ast.unparse(target)}.detach()"
                yield Edit(target.lineno, target.col_offset, target.end_col_offset or target.col_offset, text)


def _added(part: ast.stmt) -> tuple[str, ast.expr] | None:
    """The sum and what is added to it, of `total += loss` and `total = total + loss`."""
    if isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add):
        return ast.unparse(part.target), part.value
    if isinstance(part, ast.Assign) and isinstance(part.value, ast.BinOp) and isinstance(part.value.op, ast.Add):
        name = ast.unparse(part.targets[0])
        if ast.unparse(part.value.left) == name:
            return name, part.value.right
    return None


def _is_differentiated(script: Script, name: str) -> bool:
    """Return whether backward or grad is called on a variable, or on what is made of it."""
    asked = [part for part in ast.walk(script.tree) if _is_call(part, "backward") or _is_call(part, "grad")]
    return any(
        isinstance(inner, ast.Name) and inner.id == name.partition(".")[0] for part in asked for inner in ast.walk(part)
    )


def _is_call(part: ast.AST, name: str) -> bool:
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == name
