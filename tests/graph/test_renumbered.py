"""Sentences on models that differ in a layer that was put in or taken out: they name it, and nothing beside itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from autograph_cli import capture, torch
from autograph_cli.graph import Graph, Section, Snapshot, compare, read_snapshot
from autograph_cli.graph.diff import diff
from autograph_cli.graph.records import Node, Output, TensorType
from autograph_cli.graph.renumbered import renumbered
from autograph_cli.torch import nn

MADE: dict[str, Callable[[], Any]] = {
    "linear": lambda: nn.Linear(8, 8),
    "wide": lambda: nn.Sequential(nn.Linear(8, 12), nn.Linear(12, 8)),
    "batch_norm": lambda: nn.BatchNorm1d(8),
    "layer_norm": lambda: nn.LayerNorm(8),
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "encoder": lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0),
}
OPS = {"linear": "addmm", "wide": "addmm", "layer_norm": "native_layer_norm", "silu": "silu", "relu": "relu"}
SAME = re.compile(r"(`[^`]+`(?: \([^)]*\))?),? not \1")


class Loop(nn.Module):
    def __init__(self, layers: Sequence[str]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(MADE[name](), nn.BatchNorm1d(8)) for name in layers])

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x) * 2
        return x


def sequential(layers: Sequence[str]) -> Graph:
    return _graph(nn.Sequential(*[MADE[name]() for name in layers]), torch.ones(4, 8))


def loop(layers: Sequence[str]) -> Graph:
    return _graph(Loop(layers), torch.ones(4, 8))


def transformer(layers: Sequence[str]) -> Graph:
    return _graph(nn.Sequential(*[MADE[name]() for name in layers]), torch.ones(2, 3, 8))


def _graph(model: Any, x: Any) -> Graph:
    x.requires_grad_()
    return capture(lambda: model(x).square().mean())


def _snapshot(graph: Graph) -> Snapshot:
    return Snapshot("model.py", (Section("step 1", graph),), steps=1)


def cases() -> Iterator[tuple[Callable[[Sequence[str]], Graph], list[str], str, int]]:
    plain = ["linear", "relu", "linear", "batch_norm", "relu", "wide", "linear"]
    for build, base, names in (
        (sequential, plain, ("linear", "layer_norm", "silu")),
        (loop, ["linear"] * 3, ("linear", "layer_norm")),
        (transformer, ["encoder"] * 3, ("encoder", "layer_norm")),
    ):
        for name in names:
            for at in range(len(base) + 1):
                yield build, base, name, at


@pytest.mark.parametrize(("build", "base", "name", "at"), list(cases()))
def test_a_layer_put_in_or_taken_out_is_named_alone(
    build: Callable[[Sequence[str]], Graph], base: list[str], name: str, at: int
) -> None:
    more = [*base[:at], name, *base[at:]]
    less, whole = build(base), build(more)
    for old, new, verb in ((less, whole, "gained"), (whole, less, "lost")):
        kept = read_snapshot(_snapshot(old).to_text())  # it says nothing of modules
        for lines in (diff(old, new).sentences, compare(kept, _snapshot(new)).sentences):
            assert not [line for line in lines if SAME.search(line)]
            assert not [line for line in lines if re.search(r"moved|-> float32\[", line)], lines
            told = [line for line in lines if f"forward {verb}" in line]
            assert told and (name not in OPS or any(OPS[name] in line for line in told)), lines


@pytest.mark.parametrize("at", [1, 3, 5])
def test_layers_put_in_at_two_depths_are_told_alone(at: int) -> None:
    def model(count: int, more: Sequence[str]) -> Graph:
        before = ["linear", "relu", "linear", "batch_norm", "relu"]
        names = [*before[:at], *more, *before[at:]]
        net = nn.Sequential(*[MADE[name]() for name in names], Loop(["linear"] * count), nn.Linear(8, 2))
        return _graph(net, torch.ones(4, 8))

    for old, new in ((model(3, ()), model(4, ["wide"])), (model(4, ["wide"]), model(3, ()))):
        lines = diff(old, new).sentences
        assert not [line for line in lines if "takes" in line or "sends" in line], lines


@pytest.mark.parametrize("name", ["linear", "layer_norm", "silu"])
def test_layers_after_one_that_was_put_in_are_what_they_were(name: str) -> None:
    base = ["wide", "relu", "linear", "batch_norm", "relu", "linear"]
    for at in (2, 4, 5):
        lines = diff(sequential(base), sequential([*base[:at], name, *base[at:]])).sentences
        assert not [line for line in lines if "takes" in line and name == "silu"], (at, lines)


def test_modules_that_are_thousands_deep_are_paired() -> None:
    """Beside numbered layers, which are aligned by all that is in them."""

    def deep(*sizes: int) -> Graph:
        weights = [f"net.{at}{'.inner' * 2_000}.weight" for at in range(len(sizes))]
        outputs = [Output(TensorType("float32", (n,)), (name,)) for n, name in zip(sizes, weights, strict=True)]
        return Graph(tuple([Node(at, "leaf", "", "", (output,)) for at, output in enumerate(outputs)]))

    before, inner = renumbered(deep(2, 3), deep(2, 5, 3)), ".inner" * 2_000
    assert [before(f"net.{at}{inner}.weight") for at in range(3)] == [
        f"net.0{inner}.weight",
        "",
        f"net.1{inner}.weight",
    ]
