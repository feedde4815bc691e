"""Snapshots that stand in the test itself: `assert graph_snapshot(loss) == "..."`, filled in by `--graph-update`."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from autograph_cli.graph import Section, Snapshot
from autograph_cli.graph.snapshot import FORMAT, VERSION, SnapshotDiff, compare
from autograph_cli.graph.snapshot_reader import read_snapshot

_TITLE = "graph"
Edit = tuple[str, int, str]
"""The file, the line of the comparison, and the text that it is to have."""


def body(snapshot: Snapshot) -> str:
    """The lines of the one section of a snapshot, without its head."""
    return snapshot.to_text().partition(f"[{_TITLE}]\n")[2]


def section_of(snapshot: Section) -> Section:
    """The section under the title that those in tests have."""
    return Section(_TITLE, snapshot.graph)


def compared(text: str, new: Snapshot) -> SnapshotDiff:
    """Compare with the text in a test; raises `SnapshotError` where that is no snapshot."""
    head = f"{FORMAT} {VERSION}: {new.name}\nholds {', '.join(new.holds) or 'structure'}\n\n[{_TITLE}]\n"
    return compare(read_snapshot(head + textwrap.dedent(text).strip("\n") + "\n", "the text in the test"), new)


def place() -> tuple[str, int]:
    """The file and the line of the test that compares, two calls above."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def fill_in(edits: Iterable[Edit]) -> list[str]:
    """Write these texts where the tests compare; returns sentences on those that cannot be."""
    files: dict[str, dict[int, str]] = {}
    for file, line, text in edits:
        files.setdefault(file, {})[line] = text
    told = []
    for file, texts in files.items():
        source = Path(file).read_text("utf-8")
        lines = source.splitlines(keepends=True)
        literals = _literals(ast.parse(source))
        for line, text in sorted(texts.items(), reverse=True):
            those = [literal for first, last, literal in literals if first <= line <= last]
            if len(those) != 1:
                told.append(f"{file}:{line}: there is no one text to fill in; compare with a text on a line of its own")
                continue
            _replace(lines, those[0], text)
        Path(file).write_text("".join(lines), "utf-8")
    return told


def _literals(tree: ast.Module) -> list[tuple[int, int, ast.Constant]]:
    """The texts that something is compared with, with the lines of the comparison."""
    return [
        (node.lineno, node.end_lineno or node.lineno, other)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for other in node.comparators
        if isinstance(other, ast.Constant) and isinstance(other.value, str)
    ]


def _replace(lines: list[str], literal: ast.Constant, text: str) -> None:
    first, last = literal.lineno - 1, (literal.end_lineno or literal.lineno) - 1
    before = lines[first].encode()[: literal.col_offset].decode()
    after = lines[last].encode()[literal.end_col_offset :].decode()
    indent = " " * (len(lines[first]) - len(lines[first].lstrip()) + 4)
    shown = textwrap.indent(text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'), indent)
    lines[first : last + 1] = [f'{before}"""\n{shown}{indent}"""{after}']
