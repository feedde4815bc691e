"""The words of pages and docstrings keep to the rules of packaging/style.py, which finds what it is to find."""

from __future__ import annotations

import importlib.util
import re

import click
import pytest

from autograph_cli.cli.main import main
from autograph_cli.findings import RULES
from autograph_cli.findings.ranks import RULES as RANK_RULES
from tests.conftest import ROOT

_spec = importlib.util.spec_from_file_location("style", ROOT / "packaging" / "style.py")
assert _spec and _spec.loader
style = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(style)

LONG = " ".join(["word"] * 33)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{LONG}.", ["a sentence of 33 words"]),
        (f"Short: {LONG[:50]}; {LONG[:50]}.", []),
        (f"A sentence.\n\n```\n{LONG}\n```\n\n## {LONG}\n", []),
        ("A row of `" + LONG + "` code (" + LONG + ").", []),
        ("What is cut is marked.", ["begins with a clause for a noun"]),
        ("What is cut?", []),
        ("It says what it made of what it took.", ["what ... what"]),
        ("The gradient is that of `x`.", ["that of"]),
        ("Few of it. It prints so many rows.", ["so many"]),
        ("The line is told.", ["is told"]),
        ("It is drawn anew.", ["a word that readers do not use"]),
        ("It names the line. It says the reason.", []),
    ],
)
def test_a_fault_is_found_and_named(text: str, named: list[str]) -> None:
    assert [name for _, name, _ in style.faults(text)] == named


def test_a_fault_has_its_line() -> None:
    text = "# A page\n\nOne. Two\nis two.\n\n- an item\n- `so\nlong`, that of it\n"
    assert [line for line, _, _ in style.faults(text)] == [7]


def test_a_docstring_that_begins_with_a_clause_has_its_line() -> None:
    source = '"""The rules."""\nKINDS = 2\n"""So many kinds."""\ndef f():\n    """Return that of `x`."""\n'
    assert list(style.docstring_faults(source)) == [(3, "begins with a clause for a noun", "So many kinds.")]


def test_no_page_and_no_docstring_has_a_fault() -> None:
    assert list(style.found()) == []


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_the_help_of_a_command_has_no_fault(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    helps = [each.help or "" for each in command.params if isinstance(each, click.Option)]
    for text in (re.sub("\b\n(?:.+\n)*", "", f"{command.help}\n"), *helps):
        assert list(style.faults(text)) == []


def test_no_finding_has_a_fault() -> None:
    texts = [(rule.code, text) for rule in (*RULES, *RANK_RULES) for text in (rule.title, rule.reason, rule.remedy)]
    assert [(code, fault) for code, text in texts for fault in style.faults(text)] == []
