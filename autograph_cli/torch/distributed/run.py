"""`torch.distributed.run`, which PyTorch starts several processes with: MPI does it here."""

from __future__ import annotations

from ._refusals import refusing

__all__ = ["main"]

main = refusing(
    "run",
    "MPI starts the processes: `autograph run --ranks 4 SCRIPT ARGS`, or `mpiexec -n 4 autograph run SCRIPT ARGS`",
)

if __name__ == "__main__":
    main()
