"""The pages as text, and the blocks between their fences."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERY = [*PAGES, ROOT / "CHANGELOG.md", *sorted(ROOT.glob("*/README.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each block, in order."""
    return _FENCE.findall(page.read_text("utf-8"))
