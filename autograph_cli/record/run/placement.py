"""The place of this process among those that run a script."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

FOLDER, PARENT = "AUTOGRAPH_RANKS", "AUTOGRAPH_RANKS_PARENT"
"""The environment's names for the folder that the ranks share, and for the process that looks after them all."""
TIMEOUT = 1800.0
"""The seconds that a rank may stand still: as long as PyTorch waits in a collective."""
_STARTED_BY = (
    ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),  # torchrun
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS_PER_NODE"),
)
"""The variables of the environment for a process's rank, the number of ranks, and the number on its machine."""
_NUMBERS = {rank for rank, _, _ in _STARTED_BY}


class Placement(Struct, frozen=True):
    """The place of this process among those that run a script."""

    rank: int
    size: int
    local: int = 0
    """The number of ranks on this machine."""

    @classmethod
    def here(cls, environment: Mapping[str, str] = os.environ) -> Placement | None:
        """As mpiexec, srun and torchrun tell it; None for a process that runs the script alone.

        >>> Placement.here({"PMI_RANK": "1", "PMI_SIZE": "4"})
        Placement(rank=1, size=4, local=4)
        """
        for rank, size, local in _STARTED_BY:
            with contextlib.suppress(KeyError, ValueError):
                found = cls(
                    int(environment[rank]), int(environment[size]), int(environment.get(local, environment[size]))
                )
                if 0 <= found.rank < found.size and found.size > 1:
                    return found
        return None

    def environment(self) -> dict[str, str]:
        """Return what torchrun tells each process, as far as nobody has told it."""
        local = os.environ.get("MPI_LOCALRANKID") or os.environ.get("SLURM_LOCALID") or str(self.rank)
        told = {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.size),
            "LOCAL_RANK": local,
            "LOCAL_WORLD_SIZE": str(self.local),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29500",
        }
        return {name: value for name, value in told.items() if name not in os.environ}

    def folder(self, store: Path) -> Path:
        """The folder that the ranks of this machine share: the one of the process that started them all."""
        given = os.environ.get(FOLDER)
        host = importlib.import_module("socket").gethostname()  # where there are several only
        return Path(given) if given else store / f"ranks-{host}-{_starter()}"


def _starter() -> int:
    """Return the innermost process around this one that is no rank itself, as a shell between the two is."""
    process = os.getppid()
    with contextlib.suppress(OSError):  # another user's, or a system without /proc: the parent
        while {each.partition(b"=")[0].decode() for each in _proc(process, "environ").split(b"\0")} & _NUMBERS:
            process = int(_proc(process, "stat").rpartition(b") ")[2].split()[1])
    return process


def _proc(process: int, what: str) -> bytes:
    return Path("/proc", str(process), what).read_bytes()
