"""The facts on data: how it was drawn, whatever came out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph.compared import constants
from autograph_cli.record.log.data import DATA
from autograph_cli.record.recorder import Recorder

DRAWN: dict[str, Callable[[Any], Any]] = {
    "bernoulli": lambda w: torch.dropout(w, 0.25, True),
    "randint": lambda w: w * torch.randint(0, 2, (2,)),
    "multinomial": lambda w: w * torch.multinomial(torch.tensor([0.9, 0.1]), 2, replacement=True),
}


@pytest.mark.parametrize("name", DRAWN)
def test_numbers_that_are_all_the_same_by_chance_are_drawn(name: str) -> None:
    told = set()
    for seed in range(12):
        torch.manual_seed(seed)
        recorder = Recorder("all", record=(DATA,))
        recorder.start()
        loss = DRAWN[name](torch.ones(2, requires_grad=True)).sum()
        graph = recorder.finish({"loss": loss}).steps[0].graph
        told.add(tuple(str(constants(node)) for node in graph if not node.args))
    assert len(told) == 1, told
