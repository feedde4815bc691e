"""Variables that launchers of several processes (mpiexec, srun, torchrun) set in the environment."""

from __future__ import annotations

import os

_LAUNCHERS = {
    "PMI_SIZE": "PMI_RANK",
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE": "MV2_COMM_WORLD_RANK",
    "PALS_SIZE": "PALS_RANKID",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
    "WORLD_SIZE": "RANK",
}
"""The variables in which launchers say how many processes they started, and which of them this one is."""


def launched_size() -> int:
    """Return how many processes were started together, as the launcher's variables say; 1 without any."""
    return max(_said(name) or 1 for name in _LAUNCHERS)


def launched_rank() -> int | None:
    """Return which of the processes that were started together this one is; None for one alone."""
    ranks = [_said(rank) for size, rank in _LAUNCHERS.items() if (_said(size) or 1) > 1]
    return next((rank for rank in ranks if rank is not None), None)


def _said(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else None
