"""The benchmark of a GPU runs, every row of it: on the stand-in, beside this engine on the CPU, at small sizes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from autograph_cli import torch

PATH = Path(__file__).parent.parent.parent / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def gpu_py() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu", PATH)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


ROWS = [line.split('"')[1] for line in PATH.read_text().splitlines() if line.startswith('    "') and '": (' in line]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", ROWS)
def test_both_sides_of_a_row_give_the_same_and_have_a_time(name: str, gpu_py: ModuleType) -> None:
    found = gpu_py.measure(name, [(torch, "cuda"), (torch, "cpu")], small=True)
    assert not isinstance(found, str), found
    assert all(seconds > 0 for seconds in found)
    assert gpu_py.row(name, found).count("|") == 5


@pytest.mark.usefixtures("gpu")
def test_a_row_whose_results_differ_has_no_time(gpu_py: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    other = lambda engine, device, small: lambda: engine.ones(3) * (1 + (device == "cuda"))  # noqa: E731
    monkeypatch.setitem(gpu_py.ROWS, "other", (other, 1e-3))
    assert gpu_py.measure("other", [(torch, "cuda"), (torch, "cpu")]) == "results differ by 1.0e+00 of the largest"


def test_the_rows_are_all() -> None:
    assert len(ROWS) == 10
