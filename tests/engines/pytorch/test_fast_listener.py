"""The compiled listener tells the same as Python's, of operations of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

pytest.importorskip("torch")


def test_both_ways_tell_the_same(python: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for pure in ("", "1"):
        monkeypatch.setenv("AUTOGRAPH_PURE", pure)
        done = python(str(Path(__file__).with_name("telling.py")))
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    (compiled, told), (_, by_python) = found
    assert [name for name in by_python if told[name][0] != by_python[name][0]] == []
    if compiled:
        assert told["plain"][1] < by_python["plain"][1], "nothing was told by the compiled listener"
