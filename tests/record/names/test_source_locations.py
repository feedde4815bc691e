"""Lines of backward calls: the script's, also where an installed package makes the call."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli import torch
from autograph_cli.record.names import source_locations
from autograph_cli.record.recorder import Recorder

PACKAGE = """
class Accelerator:
    def backward(self, loss):
        loss.backward()
"""
LOOP = """
for turn in range(3):
    if turn < 2:
        accelerator.backward((w * w).sum())
    else:
        accelerator.backward(w.exp().sum())
    w.sum().backward()
"""


def test_a_call_that_a_package_makes_is_shown_where_the_script_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_locations, "_PACKAGES", (str(tmp_path / "packages"),))
    package: dict[str, type] = {}
    exec(compile(PACKAGE, str(tmp_path / "packages" / "accelerate.py"), "exec"), package)
    scope = {"w": torch.ones(3, requires_grad=True), "accelerator": package["Accelerator"]()}
    recorder = Recorder("all")
    recorder.start()
    exec(compile(LOOP, str(tmp_path / "train.py"), "exec"), scope)
    trace = recorder.finish(scope)
    lines = [source.line for step in trace.steps for each in step.graph.passes if (source := each.source)]
    assert lines == [4, 7, 4, 7, 6, 7]
    assert [(kind.count, kind.source and kind.source.line) for kind in trace.kinds] == [(2, 4), (3, 7), (1, 6)]
