"""Programs on 2 and 4 processes: losses, gradients and graphs of every rank are those of PyTorch with gloo."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import finished

pytest.importorskip("mpi4py", reason="several processes need MPI")
HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "programs.json").read_text())
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
TOLERANCE = {"compressed": 2e-3}
"""Sums in half precision depend on their order; all others are equal to the rounding of float32."""


@pytest.fixture(scope="module", params=[2, 4])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path, str]:
    """All programs, one after the other, recorded on so many processes: where each rank wrote, and what was said."""
    size, folder = request.param, tmp_path_factory.mktemp("ranks")
    launcher = Path(sys.executable).parent / "mpiexec"
    words = [launcher, "-n", size, sys.executable, "-m", "autograph_cli", "run", "-q", "-o", folder / "trace.json"]
    words += [HERE / "observe.py", folder, *(HERE / "programs" / f"{program}.py" for program in PROGRAMS)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = finished(list(map(str, words)), env=env)
    return size, folder, done.stderr


def close(found: Any, expected: Any, relative: float) -> bool:
    if isinstance(expected, list):
        return len(found) == len(expected) and all(close(*pair, relative) for pair in zip(found, expected, strict=True))
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected, rel=relative, abs=relative / 2))
    return bool(found == expected)


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_rank_does_what_it_does_with_gloo(program: str, ran: tuple[int, Path, str]) -> None:
    size, folder, said = ran
    for rank, expected in enumerate(EXPECTED[f"{program} on {size}"]):
        path, relative = folder / f"{program}.{rank}.json", TOLERANCE.get(program, 2e-5)
        assert path.exists(), said
        found = json.loads(path.read_text())
        assert close(found["losses"], expected["losses"], relative), (rank, found["losses"], expected["losses"])
        assert list(found["gradients"]) == list(expected["gradients"])
        for parameter, gradient in expected["gradients"].items():
            assert close(found["gradients"][parameter], gradient, relative), (rank, parameter)
        assert "graph" not in expected or found["graph"] == expected["graph"]
