"""The engine does with random sequences of statements what PyTorch does: as recorded, and beside it where it is installed."""

import importlib.util
import json
import os

import pytest

from autograph_cli import torch
from tests.torch.core.sequences import EXPECTED, difference, last, observe, sequence

KNOWN = {int(seed): rows for seed, rows in json.loads(EXPECTED.read_text()).items()}
COUNT = int(os.environ.get("AUTOGRAPH_SEQUENCES", "100"))


@pytest.mark.parametrize("seed", KNOWN)
def test_a_sequence_goes_as_it_went_with_pytorch(seed: int) -> None:
    steps = sequence(seed)
    found = difference(last(observe(steps, torch)), KNOWN[seed])
    assert not found, "\n".join(map(str, [*steps, found]))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the torch extra")
@pytest.mark.parametrize("start", range(100_000, 100_000 + COUNT, 100))
def test_new_sequences_go_as_with_pytorch(start: int) -> None:
    import torch as reference

    for seed in range(start, start + 100):
        steps = sequence(seed)
        found = difference(observe(steps, torch), observe(steps, reference))
        assert not found, "\n".join(map(str, [f"seed {seed}", *steps, found]))
