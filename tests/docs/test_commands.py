"""What a page shows in its console runs, and prints what stands below it."""

from __future__ import annotations

import doctest
import re
import shutil
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner

from autograph_cli.cli.main import main
from autograph_cli.testing import settings
from tests.conftest import ROOT
from tests.docs.pages import PAGES, blocks, name_of

SHOWN = [page for page in PAGES if any(language == "console" for language, _ in blocks(page))]
SETTINGS = [page for page in PAGES if any(language == "toml" for language, _ in blocks(page))]
IN_PROSE = sorted(
    {
        (name_of(page), command)
        for page in PAGES
        for command in re.findall(r"`autograph ((?:render|show) (?:samples|tests)/[^`]+)`", page.read_text("utf-8"))
    }
)
ELSEWHERE = {"--graph-update", "--graph-engine", "--epochs", "--help", "--all"}
"""Options of pytest, of scripts, of what records the tests' tables, and of every command."""
TANH = "torch.tanh(w * x + b)"
EDITS = {
    "autograph snapshot --check first.py": ("first.py", TANH, f"{TANH}.exp()"),
    "autograph snapshot --check smooth.py": ("smooth.py", "0.1 * slope.norm()", "0.1 * slope.detach().norm()"),
    "autograph diff --values train.py fixed.py": ("train.py", "net(x) - y", "net(x).squeeze(1) - y"),
}
"""The script that the last file of a command is an edition of, and the change; the page says so in words."""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples in it, where commands are typed."""
    for name in ("samples", "tests/programs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "")
    return tmp_path


def typed(console: str) -> Iterator[tuple[str, str]]:
    """Each command of a console without its comment, and what stands below it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield re.split(r"\s{2,}#", command)[0], output


def alike(wanted: str, got: str) -> bool:
    """Return whether the output is what is shown; `...` stands for any lines."""
    return doctest.OutputChecker().check_output(wanted.replace("  ...\n", "...\n"), got, doctest.ELLIPSIS)


def run(command: str) -> tuple[int, list[str]]:
    """The exit code of `autograph ...`, and what it printed: on stdout, and on both."""
    if PathFinder.find_spec("torch") is None:
        command = command.replace("--engine torch", "--engine builtin")  # both print the same
    result = CliRunner().invoke(main, command.split()[1:], prog_name="autograph")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, [result.stdout, result.output]


def edit(folder: Path, command: str) -> None:
    """Make the last file of a command as the page says."""
    script, old, new = EDITS[command]
    text = (folder / script).read_text("utf-8")
    assert old in text
    (folder / command.split()[-1]).write_text(text.replace(old, new), "utf-8")


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_commands_of_a_page_print_what_it_shows(page: Path, checkout: Path) -> None:
    code = 0
    for language, text in blocks(page):
        if language == "python" and not text.startswith(">>>"):
            named = re.match(r"# (\w+\.py)\n", text)
            (checkout / (named[1] if named else "expr.py")).write_text(text, "utf-8")
        for command, wanted in typed(text) if language == "console" else ():
            if command == "echo $?":
                assert wanted == f"{code}\n"
            elif command.startswith("make "):
                assert f"\n{command.split()[1]}:" in (ROOT / "Makefile").read_text("utf-8")
            else:
                if command in EDITS:
                    edit(checkout, command)
                code, got = run(command)
                assert any(alike(wanted, output) for output in got) if wanted else code == 0, f"{command}\n{got[-1]}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_that_a_page_names_are_there(page: Path) -> None:
    known = {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for name in main.list_commands(None)
        for command in [main.get_command(None, name)]
    }
    for row in page.read_text("utf-8").splitlines():
        named = re.match(r"\| `autograph (\w+)", row)
        there = known[named[1]] if named else set.union(*known.values())
        for part in re.findall(r"`([^`]+)`", row):
            told = set(re.findall(r"--[a-z][a-z-]+", part))
            if benchmark := re.search(r"benchmarks/\w+\.py", part):
                assert told <= set(re.findall(r"--[a-z][a-z-]+", (ROOT / benchmark[0]).read_text("utf-8"))), row
            else:
                assert told - ELSEWHERE <= there, row


@pytest.mark.parametrize("page", SETTINGS, ids=name_of)
@pytest.mark.parametrize("command", ["snapshot", "render", "show"])
def test_settings_that_a_page_shows_are_taken(
    page: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        "".join(text for language, text in blocks(page) if language == "toml"), "utf-8"
    )
    settings.load()
    code, got = run(f"autograph {command} --help")
    assert code == 0, got[-1]


@pytest.mark.parametrize("page, command", IN_PROSE)
def test_a_command_in_the_middle_of_a_sentence_works(page: str, command: str, checkout: Path) -> None:
    code, got = run(f"autograph {command}")
    assert code == 0, f"{page}: autograph {command}\n{got[-1]}"


def test_a_console_is_read_command_by_command() -> None:
    console = "$ autograph run a.py   # so\n$ autograph show a.py\ngraph: 2\n  ...\n"
    assert list(typed(console)) == [("autograph run a.py", ""), ("autograph show a.py", "graph: 2\n  ...\n")]
    assert alike("graph: 2\n  ...\n", "graph: 2\norder 0\n") and not alike("graph: 2\n  ...\n", "graph: 3\norder 0\n")


def test_the_page_of_the_commands_has_each_of_them() -> None:
    rows = re.findall(r"^\| `autograph (\w+)", (ROOT / "docs" / "commands.md").read_text("utf-8"), re.MULTILINE)
    assert rows == main.list_commands(Context(main))
