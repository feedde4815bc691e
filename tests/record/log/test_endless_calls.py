"""Calls that do not end raise the script's own error, wherever the recorder was then, and the recording goes on."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from autograph_cli.record.log.signals import of_the_script
from autograph_cli.record.run.runner import Target, record

INSTALLED = importlib.util.find_spec("torch") is not None
SCRIPT = """
import torch
w = torch.ones(3, requires_grad=True)
def ends_never(x):
    return ends_never(x * 1.0)
def at(depth):
    return at(depth - 1) if depth else ends_never(w)
caught = 0
for depth in range(6):
    try:
        at(depth)
    except RecursionError:
        caught += 1
    (w * depth).sum().backward()
print(caught, w.grad.tolist())
"""


@pytest.mark.parametrize(
    "engine",
    ["builtin", pytest.param("torch", marks=pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed"))],
)
def test_the_recording_goes_on(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    result, trace = record(Target.of(str(script)), steps="all", engine=engine)
    assert result.exit_code == 0
    assert capsys.readouterr() == ("6 [15.0, 15.0, 15.0]\n", "")
    assert trace.total_steps == 6
    for step in trace.steps:
        step.graph.verify()


def test_what_the_recorder_itself_calls_without_end_is_its_own() -> None:
    def ends_never() -> None:
        ends_never()

    with pytest.raises(RecursionError) as raised:
        ends_never()
    assert not of_the_script(raised.value)
