"""A pass of a transform ends a step unless something around it differentiates what it computes, on either engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.engines.test_last_steps import ENGINES
from tests.engines.transform_steps import LOOPS

WITHOUT_END = ("parameters held", "a pull that is kept", "second derivatives")
"""Loops whose graphs may be differentiated again."""


@pytest.mark.parametrize("engine", ENGINES)
def test_each_turn_of_a_loop_is_a_step(python: Callable[..., CompletedProcess[str]], engine: str) -> None:
    done = python(str(Path(__file__).with_name("transform_steps.py")), engine)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name: steps for name, (steps, _) in found.items()} == {n: 1 if n in WITHOUT_END else 5 for n in LOOPS}
    assert [found[name][1] for name in ("an inner loop", "a number of the outside", "twice")] == [1, 1, 2]
