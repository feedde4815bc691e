"""Records a process that others start: torchrun, accelerate, Hydra, pytest, a notebook's kernel.

Where AUTOGRAPH is in the environment, `autograph.pth` calls `begin` when Python starts. Its value is 1, or options of
`autograph run`: `AUTOGRAPH="--steps all -o trace.json" torchrun --nproc-per-node 2 train.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograph_cli.record.graphs.pytorch import Awaited

_RUNNER = "autograph_cli.record.run.runner"


def begin() -> None:
    """Record from when PyTorch has been imported until the process ends."""
    folder = Path.cwd()
    Awaited(lambda: _start(folder))


def _start(folder: Path) -> None:
    multiprocessing = sys.modules.get("multiprocessing.process")
    if _RUNNER in sys.modules or (multiprocessing is not None and multiprocessing.parent_process() is not None):
        return  # `autograph` itself records, or this is a worker of a process that does
    from autograph_cli.cli.started import start  # all of the recorder, for processes that import PyTorch only

    start(folder)
