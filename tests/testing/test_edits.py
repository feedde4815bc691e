"""Usual edits of scripts in several styles: a snapshot tells those that decide a value on the way to a loss, in a
sentence that names the thing, and stays as it is for the others."""

from __future__ import annotations

import contextlib
import functools
import io
import linecache
import os
import re
import warnings
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Snapshot, compare
from autograph_cli.graph.snapshot_reader import read_snapshot
from autograph_cli.record.run import runner
from autograph_cli.testing.recording import recorded
from autograph_cli.testing.scripts import trace_hooks, trace_sections
from autograph_cli.testing.settings import Settings
from tests.testing.edits.cases import EDITS, Edit
from tests.testing.edits.strangers import STRANGERS

FOLDER = Path(__file__).parent / "edits"
SETTINGS = Settings(FOLDER)
MOST = {
    "sequence-post-norm": 10, "sequence-more-layers": 9, "seq2seq-heads": 4, "sac-sample": 5, "sac-no-entropy": 4,
    "sac-batch": 5, "flow-flips": 11, "flow-fewer": 8, "flow-penalty-of": 30, "gpt-no-bias": 4, "detector-positives": 4,
}  # fmt: skip
"""The edits of which more than three sentences tell."""
ENGINE = os.environ.get("AUTOGRAPH_EDITS", "builtin")
"""The engine that runs the scripts: `torch` tries all of them with the PyTorch that is installed."""


def snapshot_of(script: Path) -> Snapshot:
    linecache.checkcache()  # a script has one text in a process, else
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, trace = recorded(runner.Target.of(str(script)), SETTINGS.steps, ENGINE)
    assert result.exit_code == 0, result.failure
    made = Snapshot(script.name, trace_sections(trace, SETTINGS), SETTINGS.include, trace.total_steps)
    return replace(made, hooks=trace_hooks(trace, SETTINGS))


@functools.cache
def kept(name: str) -> Snapshot:
    """The snapshot of a script as it is, as it is read from its file."""
    return read_snapshot(snapshot_of(FOLDER / f"{name}.py").to_text())


SMALL = """\
import torch
import torch.nn.functional as F
net = torch.nn.Linear(4, 3)
y = torch.arange(50) % 3
w = torch.linspace(0, 1, 50)
loss = F.cross_entropy(net(torch.ones(50, 4)), y, reduction="none", label_smoothing=0.1)
reg = (net.weight - net.weight.mean(0)).pow(2).sum()
((loss * w).mean() + reg).backward()
"""
WORDS = {
    "a function of several operations": ("smoothing=0.1", "smoothing=0.2", "`mul` in `cross_entropy` (s.py:6) is called with other=0.8, not other=0.9: `cross_entropy` has reduction='none', label_smoothing=0.2"),
    "what is swapped and cut": (
        "reg = (net.weight - net.weight.mean(0)).pow(2).sum()\n((loss * w).mean() + reg)",
        "with torch.no_grad(): reg = (net.weight - net.weight.mean(0)).pow(2).sum()\n(reg + (loss * w).mean())",
        "`reg` no longer gets a gradient: no_grad at line 7 of s.py",
    ),
    "of parameters alone": ("mean(0)", "mean(0).detach()", "`mean` no longer gets a gradient: detach at line 7 of s.py"),
    "many numbers": ("(0, 1, 50)", "(0, 2, 50)", "input `w` (s.py:8) was mean 0.5,"),
}  # fmt: skip


@pytest.mark.parametrize("case", WORDS)
def test_what_has_no_line_of_its_own_is_told_where_it_is_used(case: str, tmp_path: Path) -> None:
    old, new, told = WORDS[case]
    script, made = tmp_path / "s.py", []
    for text in (SMALL, SMALL.replace(old, new)):
        script.write_text(text, "utf-8")
        made.append(read_snapshot(snapshot_of(script).to_text()) if not made else snapshot_of(script))
    said = compare(*made).sentences
    assert any(sentence.startswith(told) for sentence in said)
    assert not any("no longer sends a gradient to `mean`" in sentence for sentence in said), said


LAYERS = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.act_one, self.act_two = nn.ReLU(), nn.ReLU()
        self.between, self.late = BETWEEN, LATE
    def forward(self, x):
        x = self.act_one(self.between(self.one(x)))
        x = self.act_two(self.two(x))
        return self.head(self.late(x))
Net()(torch.ones(3, 4)).pow(2).mean().backward()
"""


@pytest.mark.parametrize("new", ["BETWEEN", "LATE"])
@pytest.mark.parametrize("layer", ["nn.LayerNorm(8)", "nn.Linear(8, 8)", "nn.Sequential(nn.Linear(8, 8), nn.GELU())"])
def test_activations_beside_a_new_layer_are_matched(tmp_path: Path, new: str, layer: str) -> None:
    script, made = tmp_path / "s.py", []
    for activation, added in (("nn.ReLU", "nn.Identity()"), ("nn.GELU", layer)):
        text = LAYERS.replace("nn.ReLU", activation).replace(new, added)
        script.write_text(re.sub("BETWEEN|LATE", "nn.Identity()", text), "utf-8")
        made.append(read_snapshot(snapshot_of(script).to_text()) if not made else snapshot_of(script))
    told = compare(*made).sentences
    became = [line for line in told if line.startswith("`relu` became `gelu`")]
    assert [line[-9:] for line in became] == ["(s.py:10)", "(s.py:11)"], told
    assert not any("lost" in line for line in told), told


@pytest.mark.parametrize("edit", (*EDITS, *STRANGERS), ids=lambda edit: f"{edit.script}-{edit.name}")
def test_an_edit_is_told_if_it_decides_a_value(edit: Edit, tmp_path: Path) -> None:
    source = (FOLDER / f"{edit.script}.py").read_text("utf-8")
    assert source.count(edit.old) >= 1
    script = tmp_path / f"{edit.script}.py"
    script.write_text(source.replace(edit.old, edit.new), "utf-8")
    found = compare(kept(edit.script), snapshot_of(script))
    told = "\n".join(found.sentences)
    assert bool(found) == bool(edit.told), told
    assert re.search(edit.told, told), told
    assert len(found.sentences) <= MOST.get(f"{edit.script}-{edit.name}", 3), told


def test_a_script_that_runs_twice_is_the_same() -> None:
    for name in {edit.script for edit in EDITS}:
        assert not compare(kept(name), snapshot_of(FOLDER / f"{name}.py"))
