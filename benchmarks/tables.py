"""Puts measured tables into pages, between marks that name the command that measured them."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parent / "README.md"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], said: str) -> str:
    """A table below a line that says where and how it was measured."""
    lines = [f"Python {platform.python_version()}, load {os.getloadavg()[0]:.0f}; {said}", ""]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))])


def put(command: str, text: str, page: Path = PAGE) -> None:
    """Write the text where a page has the mark of this command."""
    begin, end = f"<!-- written by `{command}` -->", "<!-- end -->"
    before, found, rest = page.read_text("utf-8").partition(begin)
    if not found:
        raise SystemExit(f"{page} has no place for what {command} measures")
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", "utf-8")
