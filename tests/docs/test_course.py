"""The course runs as it stands, its exercises hold, and the translation has the same headings and code."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

DOCS = ROOT / "docs"
CHAPTERS = sorted((DOCS / "course").glob("*.md"))
CELL = re.compile(r"```\{code-cell\} ipython3\n(:tags: \[hide-cell\]\n\n)?(.*?)```", re.DOTALL)
PAIRS = [
    (ROOT / "README.md", DOCS / "zh" / "README.md"),
    (DOCS / "commands.md", DOCS / "zh" / "commands.md"),
    *((each, DOCS / "zh" / "course" / each.name) for each in CHAPTERS),
]


def cells(page: Path) -> list[tuple[bool, str]]:
    return [(bool(answer), code) for answer, code in CELL.findall(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_every_cell_of_a_chapter_runs(page: Path) -> None:
    pytest.importorskip("IPython")
    _space: dict[str, object] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for _, code in cells(page):
            exec(compile(code, page.name, "exec"), _space)


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_a_chapter_has_a_picture_and_three_exercises_with_checked_answers(page: Path) -> None:
    answers = [code for answer, code in cells(page) if answer]
    assert len(answers) == 3
    assert len(re.findall(r"^\d\. ", page.read_text("utf-8"), re.MULTILINE)) == 3
    assert any("SVG(run.render(" in code for _, code in cells(page))


def test_there_are_eight_chapters() -> None:
    assert [page.name[0] for page in CHAPTERS] == list("12345678")


@pytest.mark.parametrize(("page", "translated"), PAIRS, ids=lambda page: page.stem)
def test_the_translation_has_the_same_headings_and_code(page: Path, translated: Path) -> None:
    def shape(text: str) -> tuple[list[str], list[str]]:
        code = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
        plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        return re.findall(r"^#+(?= )", plain, re.MULTILINE), code

    assert shape(translated.read_text("utf-8")) == shape(page.read_text("utf-8"))


def test_the_index_of_the_site_has_every_page() -> None:
    named = set((DOCS / "index.md").read_text("utf-8").split())
    left_out = {"index", "conformance-graphs"}  # the second is a part of another page
    assert {page.stem for page in DOCS.glob("*.md")} - named == left_out
