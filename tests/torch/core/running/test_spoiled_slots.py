"""Compiled code trusts nothing that Python can write: what a script puts into a slot of the engine may be an error, never
the end of the process."""

import os
import sys
from pathlib import Path

import pytest

from autograph_cli.torch._core.running.calling import fast_tape
from tests.processes import finished
from tests.torch.core.running.spoiled_slots import MAKERS, tries

ROOT = Path(__file__).parents[4]
TRIES = int(os.environ.get("AUTOGRAPH_SPOILED", "500"))
pytestmark = pytest.mark.skipif(fast_tape() is None, reason="no slot is read in place without the compiled modules")


def test_each_class_whose_slots_are_read_in_place_is_tried() -> None:
    assert fast_tape().slots_in_place().keys() == MAKERS.keys()


def test_no_value_in_a_slot_ends_the_process() -> None:
    every = [*tries()]
    stride = max(1, len(every) // TRIES) | 1  # odd, so that it meets every value and use
    first, died = 0, []
    while first < len(every):
        asked = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.torch.core.running.spoiled_slots",
            str(first),
            str(stride),
        ]
        done = finished(asked, cwd=ROOT)
        if not done.returncode:
            break
        last = int(done.stdout.split()[-1]) if done.stdout.split() else first
        _, name, value, use = every[last]
        died.append((last, name, value, use, done.returncode, done.stderr[-400:]))
        first = last + stride
    assert not died
