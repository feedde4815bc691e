"""The process that fetches batches for a DataLoader."""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import signal
import threading
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from ..._core.base.state import process_state, thread_state
from ..._kernels import threads
from ..._ops.random_numbers.generators import manual_seed
from .fetching import FETCHERS, Failure


class WorkerInfo:
    """The facts of a worker: `id`, `num_workers`, `seed` and its copy of the `dataset`."""

    def __init__(self, **facts: Any) -> None:
        self._facts = facts
        self.__dict__.update(facts)

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{name}={value}' for name, value in self._facts.items())})"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader, what it knows of itself; None elsewhere."""
    return _info


class Ended:
    """Says that a worker's dataset has no more samples."""


class Restarted:
    """Says that a worker is ready for the next epoch."""


RESTART = "restart"


def run_worker(
    link: Connection,
    inherited: list[Connection],
    number: int,
    count: int,
    seed: int,
    dataset: Any,
    init: Any,
    kind: bool,
    settings: tuple[Any, ...],
) -> None:
    """Answer each task (position, indices) that comes by `link` with (position, batch), until None comes or the link is
    closed.

    `inherited` are the main process's ends of links: while a worker holds them, nobody can see that they are closed.
    """
    global _info
    for other in inherited:
        other.close()
    _prepare(number, seed)
    _info = WorkerInfo(id=number, num_workers=count, seed=seed + number, dataset=dataset)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stopped = threading.Event()
    threading.Thread(target=_receive, args=(link, tasks, stopped), daemon=True).start()
    where = f"in DataLoader worker process {number}"
    fetcher: Any = None
    failure: Failure | None = None
    answer: Any
    try:
        if init is not None:
            init(number)
        fetcher = FETCHERS[kind](dataset, *settings)
    except Exception as error:
        failure = Failure(error, where)
    while (task := tasks.get()) is not None and not stopped.is_set():
        position, indices = task
        if indices is RESTART or indices == RESTART:
            fetcher, answer = FETCHERS[kind](dataset, *settings), Restarted()
        else:
            answer, failure = failure or _answer(fetcher, indices, where), None
        if not _send(link, position, answer, where):
            break
    # No handler that the main process registered may run here.
    os._exit(0)


def _prepare(number: int, seed: int) -> None:
    """Be a process of its own: Ctrl-C is for the main one, nobody watches the engine here, chance has a seed, and other
    workers have the other cores."""
    threads.use(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_state.observer = process_state.passed = None
    thread_state.grad = True
    random.seed(seed + number)
    manual_seed(seed + number)
    words = np.random.SeedSequence([number, seed & 0xFFFFFFFF, seed >> 32, 0]).generate_state(4)
    np.random.seed(words)


def _receive(link: Connection, tasks: queue.SimpleQueue[Any], stopped: threading.Event) -> None:
    """Take tasks off the link at once, so that the main process never waits to hand one over."""
    parent: Any = multiprocessing.parent_process()
    task: Any = ()
    while task is not None:
        try:
            if parent.sentinel in wait([link, parent.sentinel]):
                os._exit(1)
            task = link.recv()
        except (EOFError, OSError):
            task = None
        if task is None:
            stopped.set()
        tasks.put(task)


def _answer(fetcher: Any, indices: Any, where: str) -> Any:
    try:
        return fetcher.fetch(indices)
    except StopIteration as error:
        return Failure(error, where) if hasattr(fetcher, "_dataset") else Ended()
    except Exception as error:
        return Failure(error, where)


def _send(link: Connection, position: int, answer: Any, where: str) -> bool:
    """Return whether the main process still listens."""
    try:
        link.send((position, answer))
    except (BrokenPipeError, ConnectionResetError):
        return False
    except Exception as error:
        link.send((position, Failure(error, where)))
    return True
