"""The pages as text, the blocks between their fences, and the module that draws their pictures."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("how-to/*.md"))]
EVERY = [*PAGES, ROOT / "CHANGELOG.md", *sorted(ROOT.glob("*/README.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
assert _spec and _spec.loader
make_pictures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_pictures)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each block, in order."""
    return _FENCE.findall(page.read_text("utf-8"))
