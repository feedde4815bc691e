"""The running statistics of a batch norm are told as a step finds them, and not as its operation leaves them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograph_cli.graph.numbers import numbers
from autograph_cli.record.run.runner import Target
from autograph_cli.testing.recording import recorded

pytest.importorskip("torch")
SCRIPT = """\
import torch
from torch import nn
torch.manual_seed(0)
norm = nn.{}
net = nn.Sequential(nn.Conv{}d(2, 3, 1), norm)
for step in range(3):
    net(torch.ones({}) * step).pow(2).sum().backward()
    seen = norm.running_mean.tolist()
"""
KINDS = {"BatchNorm1d(3)": (1, "4, 2, 5"), "BatchNorm2d(3)": (2, "4, 2, 5, 5"), "BatchNorm3d(3)": (3, "2, 2, 2, 2, 2")}


@pytest.mark.parametrize("kind", KINDS)
def test_running_statistics_are_those_that_a_step_finds(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(kind, *KINDS[kind]), "utf-8")
    result, trace = recorded(Target.of(str(script)), "all", "torch", ("values",))
    told = [
        numbers(node.measured.exact[0])
        for step in trace.steps[1:]
        for node in step.graph
        if node.kind == "input" and "norm.running_mean" in node.outputs[0].names
        if node.measured is not None and node.measured.exact[0] is not None
    ]
    assert len(told) == 2
    assert not np.allclose(told[-1], result.scope["seen"])
