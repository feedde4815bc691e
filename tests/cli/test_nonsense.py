"""Every option of every command, as click lists them, with nonsense for its value: a sentence, no traceback, no hang."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

from autograph_cli.cli.main import main
from autograph_cli.cli.options import MOST, Real, Whole
from autograph_cli.graph import Trace
from autograph_cli.record.run import store

Cli = Callable[..., Result]
NUMBERS = ("nan", "inf", "-inf", "1e400", "-1", "", "x", "²", "9" * 19, "9" * 400, "9" * 5_000, str(MOST + 1), "0x10")
"""None of them is a number that an option takes, but for whole ones in the place of a real one."""
WORDS = ("", " ", ",", "nan", "-1", "9" * 400, "\x1b[31m", "\udcff", "²", "🙂" * 90, "../" * 99, "-", "%n%s")
NOT_THERE = ["nothing.py"]
ARGUMENTS = {
    **dict.fromkeys(("run", "check", "snapshot"), NOT_THERE),
    "inspect": [*NOT_THERE, "x"],
    "why": ["y", "w", "t.json"],
    "diff": ["t.json", "t.json"],
    "info": [],
}
"""What stands after the options, where that is not a trace."""


def options() -> Iterator[tuple[str, click.Option]]:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield from ((name, each) for each in command.params if isinstance(each, click.Option) and not each.is_flag)


OPTIONS = list(options())
COUNTED = [(name, each) for name, each in OPTIONS if isinstance(each.type, (click.IntRange, click.FloatRange))]


def names(pairs: list[tuple[str, click.Option]]) -> list[str]:
    return [f"{name} {option.opts[-1]}" for name, option in pairs]


@pytest.fixture(autouse=True)
def here(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda link: True)
    store.save(trace, tmp_path / "t.json")


def test_every_number_is_of_a_kind_that_refuses_nonsense() -> None:
    kinds = {name: type(option.type) for name, option in zip(names(OPTIONS), [o for _, o in OPTIONS], strict=True)}
    assert {kind for kind in kinds.values() if issubclass(kind, (click.types.IntParamType, click.types.FloatParamType))} == {Whole, Real}  # fmt: skip
    assert len(COUNTED) > 20


@pytest.mark.parametrize(("command", "option"), COUNTED, ids=names(COUNTED))
def test_a_number_that_is_none_is_refused(cli: Cli, command: str, option: click.Option) -> None:
    for value in NUMBERS:
        if isinstance(option.type, click.FloatRange) and value.isdecimal() and len(value) < 20:
            continue
        result = cli(command, option.opts[-1], value, *ARGUMENTS.get(command, ["t.json"]))
        assert result.exit_code == 2, (value[:20], result.output)
        assert "Error: Invalid value for '" in result.stderr and f"{option.opts[-1]}'" in result.stderr
        assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=names(OPTIONS))
def test_no_word_is_a_traceback(cli: Cli, tmp_path: Path, command: str, option: click.Option) -> None:
    for value in WORDS:
        result = cli(command, option.opts[-1], value, *ARGUMENTS.get(command, ["t.json"]))
        assert result.exception is None or isinstance(result.exception, SystemExit), (value, result.exception)
        assert "autograph_cli" not in result.stderr
        if option.name == "code":
            continue  # Python says what is wrong with it, as of any script
        assert "Traceback" not in result.stderr
        assert not {c for c in result.stderr if not (c.isprintable() or c in "\n\t")}, value
