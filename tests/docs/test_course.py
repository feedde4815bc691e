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
PAIRED = {translated: page for page, translated in PAIRS}


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
def test_the_translation_has_the_same_headings_code_paragraphs_and_rows(page: Path, translated: Path) -> None:
    def shape(text: str) -> tuple[list[str], list[str]]:
        code = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
        plain = re.sub(r"^```.*?^```", "CODE", text, flags=re.DOTALL | re.MULTILINE)
        return [kind(block) for block in re.split(r"\n{2,}", plain.strip())], code

    def kind(block: str) -> str:
        found = re.match(r"#+ |\|", block)
        mark = found.group() if found else "text"
        return mark if mark != "|" else f"table of {len(block.splitlines())} lines"

    assert shape(translated.read_text("utf-8")) == shape(page.read_text("utf-8"))


@pytest.mark.parametrize(("page", "translated"), PAIRS, ids=lambda page: page.stem)
def test_the_translation_links_to_the_same_pages(page: Path, translated: Path) -> None:
    def linked(of: Path) -> set[Path]:
        goals = re.findall(r"\]\(([^)#:]+)[^):]*\)", of.read_text("utf-8"))
        found = {(of.parent / goal).resolve() for goal in goals}
        return {PAIRED.get(goal, goal) for goal in found} - {page, translated}

    assert linked(translated) == linked(page)


def test_the_index_of_the_site_has_every_page() -> None:
    named = set((DOCS / "index.md").read_text("utf-8").split())
    left_out = {"index", "conformance-graphs"}  # the second is a part of another page
    assert {page.stem for page in DOCS.glob("*.md")} - named == left_out
