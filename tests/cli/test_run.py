"""`autograph run` runs, keeps, reports, and ends as the script does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from autograph_cli import __version__
from autograph_cli.graph import Graph, Step, Trace
from autograph_cli.record.run import store

Cli = Callable[..., Result]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "expr.py"
    path.write_text("import sys; print(sys.argv)\n")
    return path


def test_report_is_on_stderr_and_names_what_was_recorded(cli: Cli, recorded: object, script: Path) -> None:
    result = cli("run", "expr.py")
    assert result.exit_code == 0
    assert result.stdout == "['expr.py']\n"
    assert result.stderr == (
        "autograph: expr.py, 1 step\n"
        "  roots    y float32[3]\n"
        "  leaves   w float32[3]\n"
        "  nodes    order 0: 1\n"
        "  memory   24 B kept for backward\n"
        f"  engine   autograph {__version__}\n"
        "  trace    .autograph/trace.json.gz\n"
    )


def test_trace_is_kept_as_the_last_one(cli: Cli, recorded: object, trace: Trace, script: Path) -> None:
    cli("run", "expr.py")
    digest = store.digest_of(script.read_bytes())
    assert store.load(store.find(script.parent)) == replace(trace, digest=digest)


def test_output_names_another_place(cli: Cli, recorded: object, trace: Trace, script: Path) -> None:
    assert "other.json" in cli("run", "-o", "other.json", "expr.py").stderr
    assert store.load(script.parent / "other.json").steps == trace.steps
    assert not (script.parent / ".autograph").exists()


def test_output_is_where_the_command_was_given(cli: Cli, recorded: object, script: Path) -> None:
    script.write_text("import os; os.mkdir('deep'); os.chdir('deep')")
    cli("run", "-o", "other.json", "expr.py")
    assert (script.parent / "other.json").is_file()


@pytest.mark.parametrize("args", [["--help"], ["-o", "x", "--steps", "7"], ["--", "-q"], ["-m", "-"]])
def test_what_follows_the_file_is_the_scripts(cli: Cli, recorded: object, script: Path, args: list[str]) -> None:
    assert cli("run", "-q", "expr.py", *args).stdout == f"{['expr.py', *args]}\n"


def test_quiet_says_nothing(cli: Cli, recorded: object, script: Path) -> None:
    assert cli("run", "-q", "expr.py").stderr == ""


def test_exit_code_is_the_scripts(cli: Cli, recorded: object, script: Path) -> None:
    script.write_text("raise SystemExit(5)")
    assert cli("run", "expr.py").exit_code == 5


def test_module_is_run_with_its_own_arguments(cli: Cli, recorded: object, script: Path) -> None:
    result = cli("run", "-q", "-m", "expr", "-o", "--steps")
    assert result.stdout == f"{[str(script), '-o', '--steps']}\n"


def test_standard_input_is_run(cli: Cli, recorded: object) -> None:
    result = cli("run", "-", "-x", input="import sys; print(sys.argv)")
    assert result.stdout == "['-', '-x']\n"
    assert result.stderr.startswith("autograph: <stdin>, ")


def test_exception_keeps_what_was_recorded(cli: Cli, recorded: object, script: Path) -> None:
    script.write_text("1 / 0\n")
    result = cli("run", "expr.py")
    assert result.exit_code == 2
    assert "failed   ZeroDivisionError: division by zero; what was recorded before is kept" in result.stderr
    assert store.load(store.find(script.parent)).failure == "ZeroDivisionError: division by zero"


def test_script_without_a_graph_is_told_what_to_add(cli: Cli, recorded: object, script: Path) -> None:
    recorded.trace = Trace("expr.py", (Step(0, Graph()),), total_steps=1)  # type: ignore[attr-defined]
    result = cli("run", "expr.py")
    assert "no tensor required grad" in result.stderr
    assert "requires_grad=True" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 0


@pytest.mark.parametrize("steps", ["first", "last", "all", "3", "10:20", "first,3,10:20,last", ":5", "5:"])
def test_steps_reach_the_recorder(cli: Cli, recorded: object, script: Path, steps: str) -> None:
    assert cli("run", "--steps", steps, "expr.py").exit_code == 0
    assert recorded.steps == steps  # type: ignore[attr-defined]


@pytest.mark.parametrize("steps", ["", "some", "-1", "1:2:3:4", ":", "first,", "1.5"])
def test_other_steps_are_refused(cli: Cli, recorded: object, script: Path, steps: str) -> None:
    result = cli("run", f"--steps={steps}", "expr.py")
    assert result.exit_code == 2
    assert "is none of: first, last, all, a number such as 3, a range such as 10:20 or 1::100." in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("line", "message", "code"),
    [
        (["missing.py"], "Error: Cannot read missing.py: No such file or directory.\n", 2),
        (["-m", "not_there"], "Error: There is no module named not_there.\n", 2),
        (["-o", "no/such/folder.json", "expr.py"], "Error: Cannot write ", 2),
    ],
)
def test_bad_input_is_one_sentence(
    cli: Cli, recorded: object, script: Path, line: list[str], message: str, code: int
) -> None:
    result = cli("run", *line)
    assert result.exit_code == code
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1
