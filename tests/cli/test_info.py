"""`autograph info`, `--version` and the help texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest
from click.testing import Result

from autograph_cli import __version__
from autograph_cli.cli.main import _REFUSED

Cli = Callable[..., Result]


def test_info_tells_versions_engines_devices_and_layout_programs(cli: Cli) -> None:
    result = cli("info")
    assert result.exit_code == 0
    for text in ("versions", "engines", "devices", "layout programs", __version__, numpy.__version__, "graphviz-pure"):
        assert text in result.stdout


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout == f"autograph, version {__version__}\n"


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("rendr", "No such command 'rendr'. Did you mean 'render'?"),
        ("expr.py", "No such command 'expr.py'. Did you mean 'run expr.py'?"),
        ("import", _REFUSED["import"]),
        ("xyz", "No such command 'xyz'."),
    ],
)
def test_a_mistyped_command_is_told_what_was_meant(cli: Cli, command: str, meant: str) -> None:
    result = cli(command)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: {meant}\n")


@pytest.mark.parametrize("command", ["run", "render", "show"])
def test_help_has_examples(cli: Cli, command: str) -> None:
    result = cli(command, "--help")
    assert result.exit_code == 0
    assert f"\n    autograph {command} " in result.stdout


def test_help_tells_of_completion(cli: Cli) -> None:
    assert "_AUTOGRAPH_COMPLETE=bash_source" in cli("--help").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(cli: Cli, shell: str) -> None:
    position = "ren" if shell == "fish" else "1"
    env = {"_AUTOGRAPH_COMPLETE": f"{shell}_complete", "COMP_WORDS": "autograph ren", "COMP_CWORD": position}
    assert "render" in cli(env=env).stdout
