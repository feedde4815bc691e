"""How the data of a parameter came about: random draws with what ran after them, or numbers that are the same in each
run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph.compared import constants
from autograph_cli.record.recorder import Recorder
from autograph_cli.torch import nn


def filled() -> Any:
    made = nn.Parameter(torch.empty(4))
    nn.init.trunc_normal_(made, std=0.02)
    return made


def met_before() -> Any:
    made = nn.Parameter(torch.randn(4))
    with torch.no_grad():
        made.sum()
    return made


def within_a_profile() -> Any:
    with torch.profiler.profile():
        return nn.Parameter(torch.randn(4))


CASES: dict[str, tuple[Callable[[], Any], dict[str, str]]] = {
    "drawn": (lambda: nn.Parameter(torch.randn(4)), {"drawn": "randn"}),
    "scaled": (lambda: nn.Parameter(0.02 * torch.randn(4)), {"drawn": "randn", "then": "mul(0.02)"}),
    "in the order in which it ran": (
        lambda: (torch.randn(4) * 2 * 3 + 1).requires_grad_(),
        {"drawn": "randn", "then": "mul(2), mul(3), add(1)"},
    ),
    "filled": (lambda: torch.empty(4).uniform_(-1, 1).requires_grad_(), {"drawn": "uniform_", "from": "-1", "to": "1"}),
    "by an initializer": (filled, {"drawn": "normal_", "mean": "0", "std": "0.02"}),
    "two draws": (lambda: nn.Parameter(torch.rand(4) + torch.randn(4)), {"drawn": "rand", "then": "randn(), add()"}),
    "numbers": (lambda: nn.Parameter(torch.tensor([1.0, 2.0])), {"values": "[1, 2]"}),
    "computed numbers": (lambda: nn.Parameter(torch.arange(3) / 10), {"values": "[0, 0.1, 0.2]"}),
    "one number": (lambda: nn.Parameter(torch.full((4,), 0.25)), {"values": "0.25"}),
    "met without a gradient before": (met_before, {"drawn": "randn"}),
    "within a profile": (within_a_profile, {"drawn": "randn"}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_origin_of_a_parameter(name: str) -> None:
    make, expected = CASES[name]
    recorder = Recorder("all", "script.py", record=("data",))
    recorder.start()
    leaf = make()
    loss = (leaf * leaf).sum()
    loss.backward()
    trace = recorder.finish({"leaf": leaf, "loss": loss})
    (found,) = [node for node in trace.steps[0].graph if node.kind == "leaf"]
    assert constants(found) == expected
