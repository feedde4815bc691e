"""`make bench-guard` counts the same at each run, and names what grew."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("guard", BENCHMARKS / "guard.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    monkeypatch.delitem(sys.modules, "rows")
    return made


def test_two_runs_count_the_same(guard: ModuleType) -> None:
    if sys.gettrace() is not None:
        pytest.skip("somebody else traces")
    assert guard.figures("mlp_sgd") == guard.figures("mlp_sgd")


def test_what_grew_is_named(guard: ModuleType) -> None:
    kept = {"instructions": 100, "functions": {"walk": 60, "add": 40}}
    said = guard.compared("row", {"instructions": 106}, {"walk": 60, "add": 46}, kept)
    assert said == ["row: 106 instructions, 100 are committed", "    add: 6 instructions more"]


def test_a_little_more_passes(guard: ModuleType) -> None:
    assert guard.compared("row", {"instructions": 105}, {"add": 105}, {"instructions": 100, "functions": {}}) == []
