"""The course runs as it stands and shows its pictures, its exercises hold, and the translation has the same headings and code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import PAGES, make_pictures

DOCS = ROOT / "docs"
CHAPTERS = make_pictures.COURSE
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
def test_every_cell_of_a_chapter_runs_and_gives_the_picture_and_the_output_below_it(page: Path) -> None:
    pytest.importorskip("IPython")
    text = page.read_text("utf-8")
    below = re.findall(r"^SVG\(.*\)\n```\n\n(?:```text\n[^`]*```\n\n)?!\[.+\]\(pictures/(.+)\)$", text, re.MULTILINE)
    told, drawn = make_pictures.chapter(page)
    assert told == text, "run `make pictures`"
    assert list(drawn) == below and len(below) == text.count("\nSVG(")
    for name, content in drawn.items():
        assert (make_pictures.COURSE_FOLDER / name).read_bytes() == content, f"{name}: run `make pictures`"


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_a_chapter_has_a_picture_and_three_exercises_with_checked_answers(page: Path) -> None:
    answers = [code for answer, code in cells(page) if answer]
    assert len(answers) == 3
    assert len(re.findall(r"^\d\. ", page.read_text("utf-8"), re.MULTILINE)) == 3
    assert any("SVG(run.render(" in code for _, code in cells(page))


def test_the_chapters_have_numbers_and_the_index_lists_them_in_order() -> None:
    assert [page.name.partition("-")[0] for page in CHAPTERS] == [str(1 + at) for at in range(len(CHAPTERS))]
    listed = re.findall(r"^course/(.+)$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    assert listed == [page.stem for page in CHAPTERS]


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
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if page.is_relative_to(DOCS)}
    assert pages - named == left_out
