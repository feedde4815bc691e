"""The last step of each kind is kept, however long the loop is and on either engine, without following each step."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.engines.last_steps import LOOPS

INSTALLED = importlib.util.find_spec("torch") is not None
ENGINES = ["builtin", pytest.param("torch", marks=pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed"))]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_step_of_each_kind_is_kept(
    python: Callable[..., CompletedProcess[str]], tmp_path: Path, engine: str
) -> None:
    done = python(str(Path(__file__).with_name("last_steps.py")), engine, str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == set(LOOPS)
    assert {name: lasts for name, (lasts, kept) in found.items() if not set(lasts) <= set(kept)} == {}
