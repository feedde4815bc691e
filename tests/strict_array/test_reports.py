"""What is said of memory is said of each device."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from autograph_cli.cli.main import main

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
