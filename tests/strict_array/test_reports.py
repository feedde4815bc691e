"""What is said of memory is said of each device."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograph_cli.cli.main import main
from autograph_cli.record.run import runner

pytestmark = pytest.mark.usefixtures("gpu")
SCRIPT = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).cuda()
scale = torch.ones(1, requires_grad=True)
updates = torch.optim.Adam([*model.parameters(), scale])
for _ in range(2):
    updates.zero_grad()
    loss = model(torch.ones(4, 3).cuda()).sum() + scale.exp().cuda().sum()
    loss.backward()
    updates.step()
"""


def said(folder: Path, monkeypatch: pytest.MonkeyPatch, *command: str) -> str:
    (folder / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(folder)
    answer = CliRunner().invoke(main, [*command, "train.py"])
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_the_report_says_what_each_device_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = 4 * (8 * 3 + 8 + 8 + 1)
    told = said(tmp_path, monkeypatch, "run", "--steps", "last")
    assert f"parameters {parameters} B, gradients {parameters} B, optimizer state {2 * parameters} B" in told
    assert "saved activations 128 B on cuda:0\n" in told
    # The counters of the steps of Adam are kept on the CPU, as in PyTorch.
    assert "parameters 4 B, gradients 4 B, optimizer state 28 B, saved activations 4 B on cpu\n" in told


def test_the_profile_has_a_timeline_of_each_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = said(tmp_path, monkeypatch, "profile")
    assert "memory on cuda:0: at most " in told
    assert "memory on cpu: at most " in told


def test_times_are_those_between_marks_in_the_queue_and_a_step_waits_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transfers: dict[str, int]
) -> None:
    monkeypatch.setattr(importlib.import_module("cupy").cuda, "get_elapsed_time", lambda start, end: 5.0)
    (tmp_path / "train.py").write_text(SCRIPT)
    result, trace = runner.record(runner.Target.of(str(tmp_path / "train.py")), record=("time",))
    assert result.exit_code == 0
    there = [node.measured for step in trace.steps for node in step.graph.nodes if node.op in ("tanh", "addmm")]
    here = [node.measured for step in trace.steps for node in step.graph.nodes if node.op == "exp"]
    assert {(one.time, *(run.time for run in one.runs)) for one in there} == {(5_000_000, 5_000_000)}
    assert all(5_000_000 not in (one.time, one.backward_time) for one in here)
    assert transfers["waits"] == trace.total_steps
