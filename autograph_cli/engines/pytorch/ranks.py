"""`torch.multiprocessing.spawn` in a process that is one of several ranks already."""

from __future__ import annotations

import gc
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch.multiprocessing

_EVERY = 0.02


@contextmanager
def called_here(rank: int, size: int, folder: Path) -> Iterator[None]:
    """Within the block, `spawn` of as many processes as there are ranks calls its function in each rank, as with the
    engine of this package: what other processes do is not recorded. `folder` is that which the ranks share."""
    module: Any = sys.modules["torch.multiprocessing.spawn"]
    starts = _starts(module, rank, size, folder)
    with (
        mock.patch.object(module, "start_processes", starts),
        mock.patch.object(torch.multiprocessing, "start_processes", starts),
    ):
        yield


def _starts(module: Any, rank: int, size: int, folder: Path) -> Callable[..., Any]:
    original, calls = module.start_processes, itertools.count()

    def start_processes(
        fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, *more: Any, **named: Any
    ) -> Any:
        if nprocs != size:
            return original(fn, args, nprocs, join, *more, **named)
        fn(rank, *args)
        gc.collect()  # what held a port lets go of it
        _meet(folder, f"spawned-{next(calls)}", rank, size)
        return None if join else module.ProcessContext([], [])

    return start_processes


def _meet(folder: Path, name: str, rank: int, size: int) -> None:
    """Wait for the other ranks, as one waits for spawned processes: the next ones may listen on the same port."""
    (folder / f"{name}-{rank}").touch()
    while len([*folder.glob(f"{name}-*")]) < size:
        time.sleep(_EVERY)
