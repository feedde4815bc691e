"""Calls between ranks, on 2 and on 4 processes, against what PyTorch's gloo does (`record_collectives.py`)."""

import functools
import json
import os
import pathlib
import re
import sys
import tempfile

from tests.cases import for_each
from tests.processes import finished

HERE = pathlib.Path(__file__).parent
RECORDED = json.loads((HERE / "collectives.json").read_text())
MPIEXEC = pathlib.Path(sys.executable).parent / "mpiexec"

CARRIED = ("broadcast of int16",)
"""What gloo refuses, and MPI carries: it is bytes."""


@functools.cache
def played(size):
    """Return what the cases gave on each rank; one launch plays all of them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [MPIEXEC, "-n", str(size), sys.executable, HERE / "play.py", folder, str(size)]
        done = finished(command, env={**os.environ, "PYTHONPATH": ""})
        assert done.returncode == 0, done.stdout + done.stderr
        files = [pathlib.Path(folder, f"{rank}.json") for rank in range(size)]
        spawned = [pathlib.Path(folder, f"spawned.{rank}").read_text() for rank in range(size)]
        return [json.loads(file.read_text()) | {"spawned": text} for file, text in zip(files, spawned, strict=True)]


@for_each("name", RECORDED)
@for_each("size", [2, 4])
def test_ranks_get_what_they_get_by_gloo(name, size):
    found, recorded = (
        [without_addresses(rank) for rank in ranks] for ranks in (rows(name, size), RECORDED[name][str(size)])
    )
    if name in CARRIED:
        assert all("Invalid scalar type" in rank[0] for rank in recorded)
        assert all(rank == found[0] for rank in found)
    else:
        assert found == recorded


def test_spawn_runs_the_function_in_the_processes_that_mpi_started():
    assert rows("spawned", 2) == ["True 2.0"] * 2


def rows(name, size):
    return [rank[name] for rank in played(size)]


def without_addresses(found):
    return json.loads(re.sub(r"0x[0-9a-f]+", "0x", json.dumps(found)))
