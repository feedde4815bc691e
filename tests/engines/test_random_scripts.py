"""Both engines record the same graphs of scripts made at random."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.graph.snapshot import HOLDS, Snapshot, compare
from autograph_cli.graph.snapshot_reader import read_snapshot
from autograph_cli.record.run.runner import Target, record
from autograph_cli.testing.scripts import trace_sections
from autograph_cli.testing.settings import VIEWS, Settings
from tests.engines.random_scripts import routed, script

SETTINGS = replace(
    Settings(),
    steps="first,1,2",
    views=VIEWS,
    include=tuple(part for part in HOLDS if part not in ("values", "formulas", "untracked")),
)
EVERYTHING = replace(SETTINGS, views=VIEWS[:3], include=(*SETTINGS.include, "untracked"))
COUNT, PART = 200, 25
ROUTED = int(os.environ.get("AUTOGRAPH_ROUTED", "25"))
"""So many scripts of integers, masks and routing."""


def _snapshot(path: Path, engine: str, settings: Settings = SETTINGS) -> Snapshot | None:
    """The graphs of a script, read back from their text; None if it fails."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result, trace = record(Target.of(str(path)), settings.steps, engine=engine)
    if result.exit_code:
        return None
    made = Snapshot(path.name, trace_sections(trace, settings), settings.include, trace.total_steps)
    return read_snapshot(made.to_text(), path.name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("start", range(0, COUNT, PART))
def test_both_engines_record_the_same_graphs(start: int, tmp_path: Path) -> None:
    compared = 0
    for seed in range(start, start + PART):
        path = tmp_path / f"script_{seed}.py"
        path.write_text(script(seed))
        ours, theirs = _snapshot(path, "builtin"), _snapshot(path, "torch")
        assert (ours is None) == (theirs is None), script(seed)
        if ours is not None and theirs is not None:
            compared += 1
            found = compare(ours, theirs, SETTINGS.tolerance)
            assert not found, f"{script(seed)}\n{found.to_text()}"
    assert compared > PART / 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("start", range(0, ROUTED, PART))
def test_both_engines_record_the_same_of_what_autograd_does_not(start: int, tmp_path: Path) -> None:
    compared = 0
    for seed in range(start, min(start + PART, ROUTED)):
        path = tmp_path / f"script_{seed}.py"
        path.write_text(routed(seed))
        ours, theirs = (_snapshot(path, engine, EVERYTHING) for engine in ("builtin", "torch"))
        assert (ours is None) == (theirs is None), routed(seed)
        if ours is not None and theirs is not None:
            compared += 1
            found = compare(ours, theirs, EVERYTHING.tolerance)
            assert not found, f"{routed(seed)}\n{found.to_text()}"
    assert compared > min(PART, ROUTED - start) / 2
