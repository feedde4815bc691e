"""Runs scripts one after the other in the ranks that mpiexec started, and leaves a trace of each.

mpiexec -n 2 python -m tests.findings.rank_runs FOLDER/*/script.py
"""

import os
import sys
from pathlib import Path

from mpi4py import MPI
from msgspec.structs import replace

from autograph_cli import engines, torch
from autograph_cli.record.log.steps import USUAL
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import rank_store
from autograph_cli.record.run.placement import Placement
from autograph_cli.record.run.runner import Target, record


def run(script: Path, place: Placement) -> None:
    """Run one as `autograph run --ranks` does, into `trace.zip` beside it."""
    folder, engine = script.parent, engines.connect("builtin")
    os.chdir(folder)
    recorder = Recorder(USUAL, script.name, engine=engine, each=True, every=True)
    _, trace = record(Target.of(script.name), USUAL, recorder=recorder)
    torch.distributed.destroy_process_group()  # the next script makes its own
    rank_store.write_part(replace(trace, rank=place.rank, ranks=place.size), folder)
    MPI.COMM_WORLD.Barrier()
    if place.rank == 0:
        rank_store.join(folder, place.size, folder / "trace.zip")


if __name__ == "__main__":
    here = Placement.here()
    assert here is not None
    os.environ.update(here.environment())
    for each in sys.argv[1:]:
        run(Path(each), here)
