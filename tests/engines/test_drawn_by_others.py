"""torchviz and torchview draw of the engine's tensors what they draw of PyTorch's, saved attributes included."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

HERE = Path(__file__).parent
THERE = all(importlib.util.find_spec(name) for name in ("torchviz", "torchview"))


@pytest.mark.skipif(not THERE, reason="torchviz and torchview are not installed (pip install --no-deps)")
def test_both_draw_the_same(tmp_path: Path) -> None:
    script, made = HERE / "drawn_by_others.py", tmp_path / "made.json"
    command = [
        sys.executable, "-m", "autograph_cli", "run", "-q", "-o", str(tmp_path / "t.json"), str(script), str(made),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, env=environment, cwd=tmp_path, capture_output=True)
    recorded = json.loads((HERE / "drawn_by_others.json").read_text("utf-8"))
    assert len(recorded) == 30
    assert json.loads(made.read_text("utf-8")) == recorded
