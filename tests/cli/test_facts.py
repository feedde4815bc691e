"""`--show`, `--inside` and `--record`: what stands on the nodes, what ran inside of one, and what is recorded for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from autograph_cli.graph import Trace
from autograph_cli.record.run import runner, store

Cli = Callable[..., Result]
Run = Callable[..., subprocess.CompletedProcess[str]]
SCRIPT = """import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 3
y.sum().backward()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cube.py").write_text(SCRIPT)
    return tmp_path


def test_what_is_shown_of_a_script_is_recorded_by_itself(autograph: Run, folder: Path) -> None:
    shown = autograph("show", "cube.py", "--forward", "--show", "values,formula,line").stdout
    assert (
        "  y: float32[2] = pow(x)\n      # [1, 8]\n      # cube.py:3  y = x ** 3\n      # self: zeros_like(grad) if"
        in shown
    )


def test_what_a_run_recorded_is_shown_later(autograph: Run, folder: Path) -> None:
    told = autograph("show", "cube.py", "--show", "values").stdout
    assert autograph("run", "-q", "--record", "values,inside", "cube.py").returncode == 0
    assert autograph("show", "--show", "values").stdout == told
    opened = autograph("show", "--backward", "--inside", "PowBackward0")
    assert opened.stderr == "inside PowBackward0: its formula, run once more on what it was given\n"
    assert "%1: float32[2] = pow(self)\n      # exponent = 2.0\n" in opened.stdout
    assert autograph("render", "--backward", "--inside", "y", "-o", "inside.svg").returncode == 0
    assert "grad_self" in (folder / "inside.svg").read_text()


def test_the_report_tells_memory_and_growth(autograph: Run, folder: Path) -> None:
    told = autograph("run", "cube.py").stderr
    assert "  held     parameters 8 B, gradients 8 B, optimizer state 0 B, saved activations 0 B\n" in told
    assert (
        "  growth   order  nodes  made  kept\n               0      2  12 B   8 B\n               1      3  24 B  "
        in told
    )


def test_a_trace_without_them_says_how_to_get_them(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    for command in ("show", "render"):
        result = cli(command, "--show", "values")
        assert result.exit_code == 2
        assert result.stderr == (
            "Error: The trace holds no values, for these are recorded on request only: "
            "autograph run --record values expr.py\n"
        )


@pytest.mark.parametrize(
    "args, message",
    [
        (("render", "--show", "vals"), "There is no 'vals' to show; known ones: shapes, names,"),
        (("show", "--show", "values,all"), "There is no 'all' to show"),
        (
            ("run", "--record", "grads", "a.py"),
            "'grads' is none of: values, time, flops, memory, formula, inside, check.",
        ),
    ],
)
def test_an_unknown_word_is_told(cli: Cli, args: tuple[str, ...], message: str) -> None:
    result = cli(*args)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "args, wanted",
    [
        ((), ()),
        (("--show", "line,bytes"), ()),
        (("--show", "gradients"), ("values",)),
        (("--show", "time,formula"), ("time", "formula")),
        (("--inside", "y"), ("inside",)),
        (("--show", "values", "--inside", "y"), ("values", "inside")),
    ],
)
def test_only_what_is_shown_is_recorded(
    cli: Cli,
    trace: Trace,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    args: tuple[str, ...],
    wanted: tuple[str, ...],
) -> None:
    asked: list[Any] = []

    def record(target: runner.Target, steps: str, **how: Any) -> tuple[runner.Result, Trace]:
        asked.append(tuple(how["record"]))
        return runner.Result(0), trace

    monkeypatch.setattr(runner, "record", record)
    (tmp_path / "expr.py").write_text("")
    cli("show", "expr.py", *args)
    assert asked == [wanted]
