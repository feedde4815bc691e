"""Many items at once: on this machine, or on the processes that mpiexec or srun started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import autograph_cli
from autograph_cli import AutographError
from autograph_cli.atomic_files import before_a_signal_ends

_OF_LAUNCHERS = ("PMI_", "PMIX_", "PALS_", "OMPI_", "MV2_", "MPI_LOCAL", "HYDI_")
"""The prefixes of variables by which a process knows that it is one of several."""
_ROOT = str(Path(autograph_cli.__file__).resolve().parent.parent)
_running: set[subprocess.Popen[str]] = set()
"""The processes in which items are running."""


class SweepError(AutographError):
    """No processes to spread items over."""


def pool(jobs: int = 1, over_mpi: bool = False) -> AbstractContextManager[Executor | None]:
    """Return what runs calls, `jobs` at once; its `map` gives their results in order. What may die runs in a `child`.

    With `over_mpi` the calls run on the other processes that mpiexec started: there it gives None, once all is done.
    SweepError without mpi4py, or for one process alone.
    """
    if not over_mpi:
        return ThreadPoolExecutor(max_workers=jobs)
    if jobs > 1:
        raise SweepError("-j is for one machine; with --mpi as many run at once as mpiexec started.")
    if find_spec("mpi4py") is None:
        raise SweepError("--mpi needs mpi4py: pip install 'autograph-cli[mpi]'.")
    from mpi4py import MPI, futures  # where a sweep over MPI is asked for: importing it starts MPI

    if MPI.COMM_WORLD.size == 1:
        raise SweepError("--mpi spreads over several processes: start it with mpiexec -n 5, of which 4 work.")
    return cast(AbstractContextManager[Executor | None], futures.MPICommExecutor(MPI.COMM_WORLD))


def python(module: str, *words: str, executable: str = sys.executable) -> list[str]:
    """The command line that runs `main` of a module of this package with these words; it imports nothing from the
    working directory, where scripts have modules of their own."""
    start = f"import sys; sys.path[:not sys.flags.safe_path] = [{_ROOT!r}]; from {module} import main; main()"
    return [executable, "-c", start, *words]


@contextmanager
def child(
    module: str,
    words: Sequence[str],
    folder: Path | None = None,
    stdin: Any = None,
    executable: str = sys.executable,
    variables: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """A process of its own for one item, see `python`, which ends with the block and with this process; its stdout is a
    pipe; `variables` are added to its environment."""
    with (
        before_a_signal_ends(stop),
        subprocess.Popen(
            python(module, *words, executable=executable),
            cwd=folder,
            env={**environment(), **(variables or {})},
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        _running.add(process)
        try:
            yield process
        finally:
            _running.discard(process)
            process.kill()  # does nothing to a process that has ended


def stop() -> None:
    """End the processes in which items are running."""
    for process in list(_running):
        process.terminate()


def alone() -> dict[str, str]:
    """The environment of a process that is none of those which mpiexec started."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OF_LAUNCHERS)}


def environment() -> dict[str, str]:
    """This package can be imported, whichever folder the script is run in."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**alone(), "PYTHONPATH": os.pathsep.join([*paths, _ROOT]), "PYTHONIOENCODING": "utf-8"}
