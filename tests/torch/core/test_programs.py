"""The engine does with random programs what PyTorch does: as recorded, and beside it where it is installed."""

import importlib.util
import json
import os
from types import ModuleType

import pytest

from autograph_cli import torch
from tests.torch.core.programs import COUNT, EXPECTED, differs, played, program, script, table_digest
from tests.torch.core.sequences import UNSTABLE, short

KNOWN = json.loads(EXPECTED.read_text())
DIGESTS = " ".join(KNOWN["digests"]).split()
OPEN = {int(seed): why for seed, why in KNOWN["open"].items()}
LIVE = int(os.environ.get("AUTOGRAPH_PROGRAMS", "50"))


def test_the_expectations_are_those_of_these_tables() -> None:
    assert KNOWN["tables"] == table_digest()
    assert len(DIGESTS) == COUNT
    assert all(OPEN.values())
    assert len(OPEN) <= COUNT // 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, COUNT, 50))
def test_programs_go_as_they_went_with_pytorch(start: int) -> None:
    for seed in range(start, start + 50):
        if DIGESTS[seed] == UNSTABLE:
            continue
        same = short(played(program(seed), torch)) == DIGESTS[seed]
        assert same or seed in OPEN, f"python -m tests.torch.core.programs {seed}\n{script(program(seed), torch)}"
        assert not same or seed not in OPEN, f"program {seed} goes as with PyTorch: record anew"


@pytest.mark.filterwarnings("ignore")
def test_a_program_is_a_script_that_runs() -> None:
    for seed in range(10):
        compile(script(program(seed), torch), f"<program {seed}>", "exec")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the torch extra")
def test_new_programs_go_as_with_pytorch() -> None:
    reference = _installed()
    apart = [s for s in range(1_000_000, 1_000_000 + LIVE) if differs(program(s), reference, torch)]
    assert len(apart) <= LIVE // 8, f"see python -m tests.torch.core.programs {' '.join(map(str, apart))}"


def _installed() -> ModuleType:
    import torch as reference

    return reference
