"""The engine does with random sequences of statements what PyTorch does: as recorded, and beside it where it is installed."""

import importlib.util
import json
import os

import pytest

from autograph_cli import torch
from autograph_cli.pure import is_pure
from tests.cases import for_each
from tests.torch.core.player import observe
from tests.torch.core.sequences import COUNT, EXPECTED, UNSTABLE, difference, script, short
from tests.torch.core.statements import sequence, table_digest

KNOWN = json.loads(EXPECTED.read_text())
DIGESTS = " ".join(KNOWN["digests"]).split()
OPEN = frozenset(KNOWN["open"])
PART = 250
EVERY = 3 if is_pure() else 1
"""Without the compiled modules all goes the way that some statements of most sequences go with them."""
LIVE = int(os.environ.get("AUTOGRAPH_SEQUENCES", "100"))


def test_the_expectations_are_those_of_these_tables() -> None:
    assert KNOWN["tables"] == table_digest()
    assert sum(d != UNSTABLE for d in DIGESTS) - len(OPEN) >= COUNT


@pytest.mark.parametrize("start", range(0, len(DIGESTS), PART))
def test_sequences_go_as_they_went_with_pytorch(start: int) -> None:
    for seed in range(start, min(start + PART, len(DIGESTS)), EVERY):
        if DIGESTS[seed] == UNSTABLE or seed in OPEN:
            continue
        text: list[str] = []
        assert short(observe(sequence(seed), torch, each=False, text=text)) == DIGESTS[seed], script(seed, text)


@for_each("seed", sorted(set(map(int, KNOWN["full"])) - OPEN))
def test_a_sequence_gives_what_was_recorded(seed: int) -> None:
    text: list[str] = []
    found = json.loads(json.dumps(observe(sequence(seed), torch, each=False, text=text)))
    parts = difference(found, KNOWN["full"][str(seed)])
    assert not parts, f"{script(seed, text)}\n{parts}"


@for_each("seed", sorted(OPEN))
def test_a_difference_that_is_known_is_taken_off_the_list_when_it_is_gone(seed: int) -> None:
    assert short(observe(sequence(seed), torch, each=False)) != DIGESTS[seed]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the torch extra")
@pytest.mark.parametrize("start", range(1_000_000, 1_000_000 + LIVE, 100))
def test_new_sequences_go_as_with_pytorch(start: int) -> None:
    import torch as reference

    apart = [seed for seed in range(start, start + 100) if _differs(seed, reference)]
    assert len(apart) <= 1, f"see python -m tests.torch.core.sequences {' '.join(map(str, apart))}"


def _differs(seed: int, reference: object) -> bool:
    return short(observe(sequence(seed), torch, each=False)) != short(observe(sequence(seed), reference, each=False))
