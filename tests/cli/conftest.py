"""The commands within this process, on a recorder that answers with a given trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import asdict, replace

from autograph_cli import export
from autograph_cli.cli.main import main
from autograph_cli.graph import Trace
from autograph_cli.record.run import runner


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Invoke a command line in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str, charset: str = "utf-8", **options: Any) -> Result:
        return CliRunner(charset=charset).invoke(main, list(args), prog_name="autograph", **options)

    return run


class Recorded:
    """Stands in for the recorder: the script really runs, the trace is the one given here."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.steps = ""

    def start(self) -> None: ...

    def finish(self, scope: dict[str, Any]) -> Trace:
        return self.trace

    def record(self, target: runner.Target, steps: str, **_: Any) -> tuple[runner.Result, Trace]:
        self.steps = steps
        self.trace = replace(self.trace, script=target.label)
        return record(target, recorder=self)

    def recording(self, target: runner.Target, steps: str, **_: Any) -> runner.Session[tuple[runner.Result, Trace]]:
        self.steps = steps
        self.trace = replace(self.trace, script=target.label)
        return recording(target, recorder=self)


record, recording = runner.record, runner.recording


@pytest.fixture
def recorded(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    stand_in = Recorded(trace)
    monkeypatch.setattr(runner, "record", stand_in.record)
    monkeypatch.setattr(runner, "recording", stand_in.recording)
    return stand_in


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stands in for drawing: what was asked for is collected, and the picture says its view and format."""
    asked: list[dict[str, Any]] = []

    def render(step: Any, view: str, format: str, options: export.RenderOptions) -> bytes:
        shown = asdict(options)
        asked.append({"step": step.number, "view": view, "format": format, **shown})
        return f"{view} as {format}\n".encode()

    monkeypatch.setattr(export, "render", render, raising=False)
    return asked
