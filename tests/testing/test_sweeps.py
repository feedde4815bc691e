"""Many scripts at once, on this machine and over MPI: results in order, and one that dies takes no other with it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.testing import sweeps
from tests.conftest import Run
from tests.processes import finished

GRAPH = "import torch, time\ntime.sleep({})\n(torch.ones({}, requires_grad=True) * 2).sum().backward()\n"
KILLED = "import os\nos.kill(os.getpid(), 9)\n"
RAISES = "raise ValueError('no')\n"
SCRIPTS = [GRAPH.format(0.3, 1), KILLED, GRAPH.format(0, 2), RAISES, GRAPH.format(0, 3)]
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
WAYS = ["-j 1", "-j 3", pytest.param("--mpi", marks=needs_mpi)]


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command over all scripts; with --mpi on three processes."""
    for number, text in enumerate(SCRIPTS):
        (tmp_path / f"s{number}.py").write_text(text)

    def run(command: str, way: str, *options: str) -> subprocess.CompletedProcess[str]:
        launcher = [str(Path(sys.executable).parent / "mpiexec"), "-n", "3"] if way == "--mpi" else []
        words = [*launcher, sys.executable, "-m", "autograph_cli", command, *way.split(), *options, "."]
        path = os.pathsep.join((str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")))
        env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
        return finished(words, cwd=tmp_path, env=env)

    return run


@pytest.mark.parametrize("way", WAYS)
def test_snapshots_come_in_order_and_one_that_dies_loses_its_own_only(sweep: Any, way: str) -> None:
    done = sweep("snapshot", way)
    assert done.stdout.splitlines() == [
        "s0.graph.txt: written",
        "s1.py: ended before its graph was read: exit status -9",
        "s2.graph.txt: written",
        "s3.py: failed: ValueError: no",
        "s4.graph.txt: written",
        "5 snapshots: 3 written, 2 failed",
    ], done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("way", WAYS[1:])
def test_checks_come_in_order_and_one_that_dies_loses_its_own_only(sweep: Any, way: str) -> None:
    done = sweep("check", way, "--json")
    found = json.loads(done.stdout)
    assert [(one["script"], one["exit_code"]) for one in found] == [
        ("s0.py", 0),
        ("s1.py", 2),
        ("s2.py", 0),
        ("s3.py", 2),
        ("s4.py", 0),
    ]
    assert found[1]["said"] == "ended by signal 9"
    assert done.returncode == 2


@needs_mpi
def test_one_process_alone_is_told_to_start_several(autograph: Run) -> None:
    done = autograph("snapshot", "--mpi", "x.py")
    assert (done.returncode, "start it with mpiexec -n 5, of which 4 work" in done.stderr) == (2, True)


def test_jobs_are_for_one_machine() -> None:
    with pytest.raises(sweeps.SweepError, match="-j is for one machine"):
        sweeps.pool(2, over_mpi=True)


def test_a_child_is_none_of_the_processes_that_mpiexec_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert not {"PMI_RANK", "OMPI_COMM_WORLD_SIZE"} & sweeps.alone().keys()
