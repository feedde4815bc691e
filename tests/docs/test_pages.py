"""What the pages say of files, fields and formats is so."""

from __future__ import annotations

import doctest
import re
from operator import attrgetter
from pathlib import Path
from urllib.parse import unquote

import pytest

from autograph_cli import torch
from autograph_cli.graph import from_json, records, trace
from tests.conftest import ROOT
from tests.docs.pages import EVERY, PAGES, blocks, name_of

FORMAT = ROOT / "docs" / "trace-format.md"
TABLES = {
    "Trace": trace.Trace, "Step": trace.Step, "Node": records.Node, "Measured": records.Measured,
    "Pass": records.Pass, "Call": records.ModuleCall,
}  # fmt: skip
"""The records whose fields stand in a table each; those of the others stand in sentences."""
IN_SENTENCES = (
    records.Source, records.Output, records.Saved, records.Values, records.Root, trace.Memory, trace.Notice,
    records.Graph,
)  # fmt: skip
IN_PART = {"autocast", "distributed", "distributed.rpc", "fx", "hub"}
"""Names that are there, for they say themselves what they cannot do."""
READERS = {"expr.py", "first.py", "old.py", "model.py", "fixed.py", "train.py"}
"""Files of a reader's own."""
WRITTEN = {"pass_id": "pass", "cls": "class"}
"""Fields that have another name in the file."""


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    every = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("[!.]*/**/*.py")}
    for name in re.findall(r"`([\w/]+\.py)`", page.read_text("utf-8")):
        assert name in READERS or any(f"/{path}".endswith(f"/{name}") for path in every), name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_session_of_python_is_what_python_says(page: Path) -> None:
    for language, text in blocks(page):
        if language == "python" and text.startswith(">>> "):
            test = doctest.DocTestParser().get_doctest(text, {"torch": torch}, page.name, None, 0)
            # Some Pythons add a guess of their own to the words of an error.
            assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test).failed == 0


def test_what_is_said_not_to_be_there_is_not_there() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "not-there.md").read_text("utf-8"), re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`torch\.([\w.]+)`", row)} - IN_PART
    assert names
    for name in names:
        with pytest.raises(AttributeError):
            attrgetter(name)(torch)


def written(record: type) -> set[str]:
    return {WRITTEN.get(name, name) for name in record.__struct_fields__} - {"numbers"}


@pytest.mark.parametrize("heading", TABLES)
def test_every_field_of_a_record_stands_in_its_table(heading: str) -> None:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", FORMAT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert section
    rows = re.findall(r"^\| (`.*?) \|", section[1], re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert told == written(TABLES[heading]) | ({"format", "version"} if heading == "Trace" else set())


def test_every_other_field_is_explained_in_a_sentence() -> None:
    told = set(re.findall(r"`(\w+)`", FORMAT.read_text("utf-8")))
    assert set.union(*map(written, IN_SENTENCES)) <= told


def test_the_trace_that_the_format_shows_can_be_read() -> None:
    (example,) = (text for language, text in blocks(FORMAT) if language == "json")
    assert from_json(example).steps[0].graph[1].name == "SinBackward0"


def test_the_snapshot_that_its_page_shows_is_the_one_of_the_sample() -> None:
    shown = [text for _, text in blocks(ROOT / "docs" / "snapshots.md")]
    assert (ROOT / "samples" / "first.graph.txt").read_text("utf-8") in shown


def test_the_script_of_the_front_page_is_the_sample() -> None:
    script = next(text for language, text in blocks(ROOT / "README.md") if language == "python")
    sample = (ROOT / "samples" / "smooth.py").read_text("utf-8")
    assert script.partition("\n")[2] == sample.partition("\n")[2]
