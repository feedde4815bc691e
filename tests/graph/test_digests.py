"""Digests of a step's numbers: what is named first, and what is rounding."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.graph.digests import digest_lines, parted
from autograph_cli.record.run.runner import Target, record

NET = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
x = torch.randn(8, 1, 8, 8)
loss = nn.functional.cross_entropy(net(x), torch.arange(8) % 3)
loss.backward()
"""
CHANGES = {
    "nothing": ("", "", ""),
    "rounding, and a gradient that is nothing else": ("net(x)", "net(x * 1.7 / 1.7)", ""),
    "an argument": ("BatchNorm2d(4)", "BatchNorm2d(4, eps=0.01)", "`net.1: native_batch_norm 1`"),
    "a hook": (
        "loss.backward",
        "net[4].weight.register_hook(lambda g: g * 1.01)\nloss.backward",
        "`gradient of net.4.weight`",
    ),
    "an operation in the end": ("% 3)", "% 3) * 1.001", "`gradient of net.0.weight`"),
    "the seed": ("seed(0)", "seed(1)", "`net.0: convolution 1`"),
}


def lines(folder: Path, text: str) -> list[str]:
    path = folder / "net.py"
    path.write_text(text, "utf-8")
    return list(digest_lines(record(Target.of(str(path)), "first", record=("values",))[1].steps[0]))


@pytest.mark.parametrize("case", CHANGES)
def test_the_first_digest_that_is_another_one_is_named(case: str, tmp_path: Path) -> None:
    before, after, named = CHANGES[case]
    told = parted(lines(tmp_path, NET), lines(tmp_path, NET.replace(before, after) if before else NET), 1e-4)
    assert (len(told), named in "".join(told)) == (bool(named), True), told


@pytest.mark.parametrize("size", [5, 5_000])
def test_what_is_not_finite_is_told_by_its_place(size: int, tmp_path: Path) -> None:
    text = "import torch\nw = torch.ones({}, requires_grad=True)\ny = w * torch.ones({})\ny.data[3] = {}\n(y * w).sum().backward()\n"
    nan, other, number = (lines(tmp_path, text.format(size, size, each)) for each in ("torch.nan", "torch.inf", "0"))
    assert "not finite" in "".join(nan)
    assert parted(nan, nan, 1e-4) == []
    assert parted(nan, other, 1e-4) != []
    assert parted(number, nan, 1e-4) != []


def test_what_an_operation_keeps_for_itself_has_no_digest(tmp_path: Path) -> None:
    text = (
        "import torch\nx = torch.linspace(0, 1, 24).view(4, 2, 3).requires_grad_()\nlengths = torch.tensor([4, 3])\n"
        "loss = torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.ones(2, 2, dtype=int), lengths, lengths - 2)\n"
        "best, at = x.max(0)\n(loss + best[at].sum()).backward()\n"
    )
    told = "\n".join(lines(tmp_path, text))
    assert "_ctc_loss 1 = " in told
    assert "_ctc_loss 1 output 1" not in told
    assert "max 1 output 1" in told
