"""Modules that are wrapped for ranks: what brings their tensors there is no computation of the script's."""

from __future__ import annotations

import contextlib
import importlib.util
import io
from pathlib import Path

import pytest

from autograph_cli.graph.marks import marks_of
from autograph_cli.record.run.runner import Target, record

START = """
import torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("gloo", init_method="file://" + __file__ + ".store", rank=0, world_size=1)
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.main, self.norm = nn.Linear(3, 3), nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.register_buffer("scale", torch.ones(1, 3))
    def forward(self, x):
        return self.norm(self.main(x) * self.scale) + self.gate(x)
class Gated(Net):
    def forward(self, x):
        with torch.no_grad():
            g = self.gate(x).sigmoid()
        return self.norm(self.main(x)) * g
"""
END = """
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 4, 3):
    loss = net(x).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
dist.destroy_process_group()
"""
WRAPPERS = {
    "plain": ("net = nn.parallel.DistributedDataParallel(Net())", [], 120),
    "two calls": ("one = nn.parallel.DistributedDataParallel(Net())\ndef net(x): return one(x) - one(x * 2)\nnet.parameters = one.parameters", [], 120),
    "buckets": ("net = nn.parallel.DistributedDataParallel(Net(), bucket_cap_mb=1, gradient_as_bucket_view=True)", [], 120),
    "no buffers": ("net = nn.parallel.DistributedDataParallel(Net(), broadcast_buffers=False)", [], 120),
    "a gate": ("net = nn.parallel.DistributedDataParallel(Gated(), find_unused_parameters=True)", [17], 72),
}  # fmt: skip
"""How a module is wrapped, and the lines at which a gradient is cut, the bytes of the parameters that are trained."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("case", WRAPPERS)
def test_what_carries_tensors_to_ranks_is_no_computation(case: str, tmp_path: Path) -> None:
    wrapper, cut, held = WRAPPERS[case]
    (tmp_path / "script.py").write_text(f"{START}{wrapper}{END}")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result, trace = record(Target.of(str(tmp_path / "script.py")), "all", engine="torch")
    assert result.exit_code == 0 and len(trace.steps) == 2
    for step in trace.steps:
        assert {mark.line for mark in marks_of(step.graph) if mark.kind == "cut here"} == set(cut)
        assert all(node.outputs[0].names for node in step.graph if node.kind == "leaf")
        assert not {node.op for node in step.graph if node.kind == "untracked"} & {"cat", "slice", "copy_", "detach"}
        assert step.memory is not None and step.memory.parameters == held
