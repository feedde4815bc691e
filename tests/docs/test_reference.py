"""The reference of the site has every command, option, finding, field and line of a snapshot."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re

import click
import pytest

from autograph_cli.cli.main import main
from autograph_cli.findings import RULES
from autograph_cli.graph import snapshot_reader
from autograph_cli.graph.snapshot import EXTRAS, HOLDS, LISTED
from tests.conftest import ROOT

_spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
assert _spec and _spec.loader
make_reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_reference)


def section(page: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_option_of_a_command_stands_in_its_table_with_words(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    rows = re.findall(r"^\| `(-.*?)` \| (.*) \|$", make_reference.commands()[f"commands/{name}"], re.MULTILINE)
    options = {one for each in command.params if isinstance(each, click.Option) for one in each.opts}
    assert {one for cell, _ in rows for one in re.findall(r"(?<![\w-])--?[a-z][\w-]*", cell)} >= options
    assert all(words.strip() for _, words in rows)


def test_every_finding_has_a_page_with_its_reason_remedy_and_example() -> None:
    pages = make_reference.codes()
    assert pages["codes"].count("\ncodes/AG") == len(RULES) == len(pages) - 1
    for rule in RULES:
        page = pages[f"codes/{rule.code}"]
        assert rule.title in page and rule.reason in page and rule.remedy in page and "```python" in page


def test_every_answer_of_a_command_stands_there() -> None:
    schema = json.loads(make_reference.ANSWERS.read_text("utf-8"))["$defs"]
    page = make_reference.answers()
    assert all(f"## {name}\n" in page or f'\n "{name}": ' in page for name in schema)


def test_every_field_of_the_schema_stands_there_with_its_type() -> None:
    schema = json.loads(make_reference.SCHEMA.read_text("utf-8"))
    page = make_reference.fields()
    for name, each in {"trace": schema, **schema["$defs"]}.items():
        if "properties" in each:
            rows = re.findall(r"^\| `(\w+)` \| (?!any )\S", section(page, name), re.MULTILINE)
            assert rows == list(each["properties"])


def test_every_word_that_the_reader_of_snapshots_knows_is_explained() -> None:
    page = section((ROOT / "docs" / "snapshots.md").read_text("utf-8"), "The file")
    lines, _, parts = page.partition("### The parts")
    source = inspect.getsource(snapshot_reader)
    known = re.findall(
        r"""\.(?:has|need)\("([^"]*[a-z][^"]*)"\)|key == "(\w+)"|\b(results|passes|create_graph)\b""", source
    )
    words = {word for found in known for word in "".join(found).split()} | {"order", "gradients", *EXTRAS, *LISTED}
    first = [re.findall(r"\w+", row) for row in re.findall(r"^\| (`.*?) \| ", lines, re.MULTILINE)]
    assert words - {word for row in first for word in row} == set()
    told = {
        word for row in re.findall(r"^\| ([\w, ]+) \| (?:yes|no) ", parts, re.MULTILINE) for word in row.split(", ")
    }
    assert told == set(HOLDS)
