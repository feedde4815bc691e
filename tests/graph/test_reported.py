"""Faults that were reported to public projects, rebuilt as two scripts: the answer to where they part."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from autograph_cli.graph import Trace
from autograph_cli.graph.divergence import divergence
from autograph_cli.graph.parting_text import first_place, sentence
from autograph_cli.record.run.runner import Target, record


class Report(Struct, frozen=True):
    """A script with a place for either way, and what must be said: no line where it is rounding."""

    script: str
    ways: tuple[str, str]
    line: int = 0
    said: str = ""
    spreads: tuple[str, ...] = ()
    """The leaves whose gradients part."""


SCATTER = """\
import torch
class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, src):
        return torch.diagonal_scatter(x, src)
    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g), g.diagonal().clone()
torch.manual_seed(0)
x, src = torch.randn(8, 8, requires_grad=True), torch.randn(8, requires_grad=True)
out = WAY
out.square().sum().backward()
"""
NORMS = """\
import torch
import torch.nn.functional as F
class Modulated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, table, rows):
        ctx.rows = rows
        ctx.save_for_backward(x, table)
        return F.layer_norm(x, (6,)) * (1 + table[rows[0]]) + table[rows[1]]
    @staticmethod
    def backward(ctx, g):
        x, table = ctx.saved_tensors
        with torch.enable_grad():
            x, table = x.detach().requires_grad_(), table.detach().requires_grad_()
            y = F.layer_norm(x, (6,)) * (1 + table[ctx.rows[0]]) + table[ctx.rows[1]]
        gx, gt = torch.autograd.grad(y, (x, table), g)
        return gx, WAY, None
torch.manual_seed(0)
table = torch.nn.Parameter(torch.randn(4, 6))
x = torch.randn(5, 6, requires_grad=True)
h = Modulated.apply(x, table, (0, 1))
h = Modulated.apply(torch.tanh(h), table, (2, 3))
h.pow(3).mean().backward()
"""
GRPO = """\
import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(6, 9))
hidden, ids = torch.randn(4, 7, 6), torch.randint(9, (4, 7))
mask = (torch.arange(7) < torch.tensor([[7], [3], [5], [2]])).float()
old = torch.log_softmax(hidden @ w.detach(), -1).gather(-1, ids[..., None]).squeeze(-1) + 0.1 * torch.randn(4, 7)
advantages = torch.randn(4, 1)
logp = torch.log_softmax(hidden @ w, -1).gather(-1, ids[..., None]).squeeze(-1)
ratio = torch.exp(logp - old)
per_token = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
sampled = torch.full((4, 7), 0.01)
WAY
loss.backward()
"""
NET = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for step in range(20):
    x, y = torch.randn(4, 1, 6, 6), torch.randint(5, (4,))
    loss = nn.functional.cross_entropy(net(WAY), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    opt.step()
"""
REPORTS = {
    "pytorch#182012: diagonal_scatter sends no gradient on once it is compiled": Report(
        SCATTER, ("torch.diagonal_scatter(x, src)", "Scatter.apply(x, src)"), 11, "backward", ("x",)
    ),
    "pytorch#193061: slices of a gradient are never written, of a table that two norms share": Report(
        NORMS, ("gt", "gt * (torch.arange(4) != ctx.rows[0])[:, None]"), 21, "backward", ("table",)
    ),
    "pytorch#187446: Adam makes rounding large": Report(NET, ("x", "x * 1.7 / 1.7")),
    "Liger-Kernel#1082: the importance ratio is left out": Report(
        GRPO,
        ("loss = (per_token * sampled * mask).sum() / mask.sum()", "loss = (per_token * mask).sum() / mask.sum()"),
        12,
        "forward",
        ("w",),
    ),
    "trl#6024: the loss of a step is divided by the tokens of another number of steps": Report(
        GRPO,
        ("loss = (per_token * mask).sum() / mask.sum()", "loss = (per_token * mask).sum() / (mask.sum() / 4)"),
        12,
        "forward",
        ("w",),
    ),
    "a KL term of another weight": Report(
        GRPO,
        tuple(
            f"kl = torch.exp(old - logp) - (old - logp) - 1; loss = ((per_token + {beta} * kl) * mask).sum() / mask.sum()"
            for beta in ("0.04", "4.0")
        ),
        12,
        "mul makes other numbers of the same inputs",
        ("w",),
    ),
    "Liger-Kernel#1082: a loss is divided by another count of tokens": Report(
        GRPO,
        ("loss = (per_token * mask).sum() / mask.sum()", "loss = (per_token * mask).sum() / (2 * mask.sum())"),
        12,
        "forward",
        ("w",),
    ),
}


def traces(report: Report, folder: Path) -> list[Trace]:
    paths = folder / "a.py", folder / "b.py"
    for path, way in zip(paths, report.ways, strict=True):
        path.write_text(report.script.replace("WAY", way), "utf-8")
    return [record(Target.of(str(path)), "all", record=("values",))[1] for path in paths]


@pytest.mark.parametrize("case", REPORTS)
def test_what_was_reported_is_answered(case: str, tmp_path: Path) -> None:
    report = REPORTS[case]
    found = divergence(*traces(report, tmp_path))
    told, place = sentence(found, ("a.py", "b.py")), first_place(found)
    assert (found.verdict, place and place.line) == (("parted", report.line) if report.line else ("rounding", None)), (
        told
    )
    assert report.said in told
    assert {each.name for each in found.spread if each.parted} == set(report.spreads)
