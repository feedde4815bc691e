"""Equal steps share one graph, which is the one that would be made anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

pytest.importorskip("torch")


def test_a_shared_graph_is_the_one_that_would_be_made(python: Run) -> None:
    done = python(str(Path(__file__).with_name("sharing.py")))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [name for name, (_, _, wrong) in found.items() if wrong] == []
    assert [name for name in ("plain", "random", "views", "two models") if found[name][0] > 4] == []
