"""The project's own scripts make the graphs that are kept beside them; `make snapshots` writes these anew."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from autograph_cli.graph import Snapshot, compare
from autograph_cli.record.run import runner
from autograph_cli.testing import files, settings
from autograph_cli.testing.recording import recorded
from autograph_cli.testing.scripts import snapshot_path, trace_hooks, trace_sections
from tests.conftest import ROOT

SETTINGS = settings.load(ROOT)
SCRIPTS = sorted(path for pattern in SETTINGS.files for path in ROOT.glob(pattern))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_graph_is_the_one_that_is_kept(script: Path) -> None:
    if script.stem == "digits":
        pytest.importorskip("sklearn")
    arguments = SETTINGS.arguments.get(script.relative_to(ROOT).as_posix(), ())
    with contextlib.redirect_stdout(io.StringIO()):
        result, trace = recorded(runner.Target.of(str(script), arguments), SETTINGS.steps)
    assert result.exit_code == 0
    sections, hooks = trace_sections(trace, SETTINGS), trace_hooks(trace, SETTINGS)
    made = Snapshot(script.name, sections, SETTINGS.include, trace.total_steps, hooks=hooks)
    found = compare(files.load(snapshot_path(script)), made, SETTINGS.tolerance)
    assert not found, "\n".join([*found.sentences, "", found.to_text()])
