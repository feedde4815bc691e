"""Lines that come again and again in a graph stand in its snapshot once, and are read back whole."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from autograph_cli import record, torch
from autograph_cli.graph import Section, Snapshot, compare, read_snapshot
from autograph_cli.graph.compared import results
from autograph_cli.graph.diff import DEFAULT_PARTS
from autograph_cli.torch import nn


def transformer() -> torch.Tensor:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
    return model(torch.randn(2, 3, 8)).sum()


def unrolled() -> torch.Tensor:
    w, h = torch.randn(4, 4, requires_grad=True), torch.zeros(4)
    for _ in range(20):
        h = torch.tanh(w @ h + w[0]) * 0.5 + h
    return h.sum()


def separate() -> torch.Tensor:
    ws = [torch.full((3,), float(n), requires_grad=True) for n in range(14)]
    return torch.stack([w.exp().sin() for w in ws]).sum()


def two_back() -> torch.Tensor:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    for _ in range(20):
        a, b = b, a * b
    return b.sum()


def backwards() -> torch.Tensor:
    w = torch.ones(3, requires_grad=True)
    rewards = [w * n for n in range(1, 21)]
    gains: list[torch.Tensor] = []
    worth = w.exp()
    for reward in reversed(rewards):
        worth = torch.tanh(reward + worth.cos())
        gains.insert(0, worth)
    return torch.stack(gains).sum()


@pytest.mark.parametrize(
    ("make", "lines"),
    [(transformer, 240), (unrolled, 35), (separate, 40), (two_back, 40), (backwards, 45)],
    ids=lambda x: str(x)[:20],
)
def test_turns_are_written_once_and_read_back(make: Callable[[], torch.Tensor], lines: int) -> None:
    with record() as recording:
        loss = make()
        loss.backward()
    graph = results(recording.step.graph, DEFAULT_PARTS)
    whole = Snapshot("a.py", (Section("step 0", graph),))
    text = whole.to_text()
    assert text.count("\n") <= lines and len(text) < 40_000
    read = read_snapshot(text)
    assert len(read.sections[0].graph) == len(graph)
    assert not compare(read, whole) and not compare(whole, read)
    assert read.to_text() == text


@pytest.mark.parametrize(
    ("old", "new"),
    [("times", "turns"), ("20 times", "99999999 times"), (">", ">>"), ("%tanh: ", "{0: ")],
)
def test_a_fold_that_is_damaged_is_an_error_of_its_line(old: str, new: str) -> None:
    with record() as recording:
        loss = unrolled()
        loss.backward()
    text = Snapshot("a.py", (Section("step 0", results(recording.step.graph, DEFAULT_PARTS)),)).to_text()
    text = re.sub(r"\d+ times", "20 times", text)
    with pytest.raises(ValueError, match="the snapshot"):
        read_snapshot(text.replace(old, new, 1))
