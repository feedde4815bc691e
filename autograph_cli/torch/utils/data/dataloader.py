"""The DataLoader: batches of a dataset, fetched here or by worker processes."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any

from ..._arrays.cuda import is_available
from ..._core.base.user_warnings import warn
from ._utils.collate import default_collate, default_convert
from ._utils.pin_memory import pin_memory
from .dataset import IterableDataset
from .fetching import FETCHERS, Failure
from .sampler import BatchSampler, Endless, RandomSampler, SequentialSampler, draw_seed
from .worker import RESTART, Ended, Restarted, run_worker

PREFETCH = 2
PATIENCE = 1.0
"""Seconds that workers get to end by themselves."""
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """Batches of a dataset, in an order that a sampler says.

    `num_workers` processes fetch them ahead; 0 fetches here. `shuffle` draws PyTorch's order for a seed; `collate_fn`
    makes a batch of a list of samples. ValueError for options that exclude each other.

    >>> from autograph_cli import torch
    >>> for batch in torch.utils.data.DataLoader(range(5), batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        streams = isinstance(dataset, IterableDataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check_sampling(streams, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = (
                Endless()
                if streams
                else RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = PREFETCH if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._streams = streams
        self._kept: _Workers | None = None
        self._warn_of_many_workers()
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_initialized"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _settings(self) -> tuple[bool, Any, bool]:
        return self._auto_collation, self.collate_fn, self.drop_last

    def _warn_of_many_workers(self) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > cores:
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {cores}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary."
            )

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and not is_available():
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used."
            )
        indices = iter(self._index_sampler)
        if self._kept is not None and not self._kept.closed:
            self._kept.restart()
            return _MultiProcessingDataLoaderIter(self, self._kept, indices)
        seed = draw_seed(self.generator)
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self, FETCHERS[self._streams](self.dataset, *self._settings), indices)
        workers = _Workers(self, seed)
        if self.persistent_workers:
            self._kept = workers
        return _MultiProcessingDataLoaderIter(self, workers, indices)

    def __len__(self) -> int:
        if not self._streams:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    for wrong, text in (
        (num_workers < 0, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."),
        (timeout < 0, "timeout option should be non-negative"),
        (
            num_workers == 0 and prefetch_factor is not None,
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None.",
        ),
        (prefetch_factor is not None and prefetch_factor < 0, "prefetch_factor option should be non-negative"),
        (persistent_workers and num_workers == 0, "persistent_workers option needs num_workers > 0"),
    ):
        if wrong:
            raise ValueError(text)


def _check_sampling(
    streams: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if streams:
        for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if given is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
                )
    for wrong, text in (
        (sampler is not None and shuffle, "sampler option is mutually exclusive with shuffle"),
        (
            batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last),
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
        ),
        (
            batch_sampler is None and batch_size is None and drop_last,
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
        ),
    ):
        if wrong:
            raise ValueError(text)


def _context(given: Any, num_workers: int) -> Any:
    if given is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"{num_workers=}"
        )
    if not isinstance(given, str):
        return given
    known = multiprocessing.get_all_start_methods()
    if given not in known:
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {known}, but got "
            f"multiprocessing_context={given!r}"
        )
    return multiprocessing.get_context(given)


class _BaseDataLoaderIter:
    """The batches of one epoch."""

    _loader: DataLoader

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def _pinned(self, batch: Any) -> Any:
        return pin_memory(batch) if self._loader.pin_memory else batch


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches that are fetched when they are asked for."""

    def __init__(self, loader: DataLoader, fetcher: Any, indices: Iterator[Any]) -> None:
        self._loader, self._fetcher, self._indices = loader, fetcher, indices

    def __next__(self) -> Any:
        return self._pinned(self._fetcher.fetch(next(self._indices)))


class _Workers:
    """The processes of one loader, each with a link over which tasks and batches go."""

    def __init__(self, loader: DataLoader, seed: int) -> None:
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self.closed = False
        self.links: list[Any] = []
        self.processes: list[Any] = []
        self.ended: set[int] = set()
        """Workers whose dataset has no more samples."""
        try:
            for number in range(loader.num_workers):
                link, other = context.Pipe()
                self.links.append(link)
                inherited = list(self.links) if context.get_start_method() == "fork" else []
                process = context.Process(
                    target=run_worker,
                    daemon=True,
                    args=(
                        other,
                        inherited,
                        number,
                        loader.num_workers,
                        seed,
                        loader.dataset,
                        loader.worker_init_fn,
                        loader._streams,
                        loader._settings,
                    ),
                )
                process.start()
                other.close()
                self.processes.append(process)
        except BaseException:
            self.close()
            raise

    def restart(self) -> None:
        """Begin another epoch: batches that nobody took are thrown away."""
        for link in self.links:
            link.send((-1, RESTART))
        for link in self.links:
            try:
                while not isinstance(link.recv()[1], Restarted):
                    pass
            except EOFError:
                raise self.dead() from None
        self.ended.clear()

    def dead(self) -> RuntimeError:
        """The error of workers that ended without being asked to."""
        time.sleep(0.05)
        gone = ", ".join(str(p.pid) for p in self.processes if not p.is_alive())
        self.close()
        return RuntimeError(f"DataLoader worker (pid(s) {gone}) exited unexpectedly")

    def send(self, worker: int, task: tuple[int, Any]) -> None:
        try:
            self.links[worker].send(task)
        except OSError:
            raise self.dead() from None

    def receive(self, timeout: float) -> list[tuple[int, int, Any]]:
        """Return what has come, as (worker, position, answer); RuntimeError when nothing comes in time, or a worker is
        gone."""
        ready = wait(self.links, timeout or None)
        if not ready:
            self.close()
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        try:
            return [(self.links.index(link), *link.recv()) for link in ready]  # type: ignore[call-arg, union-attr]
        except (EOFError, OSError):
            raise self.dead() from None

    def close(self) -> None:
        """End all workers; those that do not end by themselves are ended."""
        if self.closed:
            return
        self.closed = True
        for link in self.links:
            with contextlib.suppress(OSError):
                link.send(None)
            link.close()
        until = time.monotonic() + PATIENCE
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches that are fetched by workers, each `prefetch_factor` batches ahead."""

    def __init__(self, loader: DataLoader, workers: _Workers, indices: Iterator[Any]) -> None:
        self._loader, self._workers, self._indices = loader, workers, indices
        self._turn = 0
        """The worker that gets the next task."""
        self._sent = self._next = 0
        self._owner: dict[int, int] = {}
        """The worker of the task of each position."""
        self._arrived: dict[int, Any] = {}
        for _ in range((loader.prefetch_factor or 1) * loader.num_workers):
            self._hand_out()

    def _hand_out(self) -> None:
        """Give one more task to the next worker that still has samples."""
        count = len(self._workers.links)
        for step in range(count):
            worker = (self._turn + step) % count
            if worker not in self._workers.ended:
                break
        else:
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        self._turn = (worker + 1) % count
        self._owner[self._sent] = worker
        self._workers.send(worker, (self._sent, indices))
        self._sent += 1

    def __next__(self) -> Any:
        while True:
            self._pass_over_ended()
            found = self._next if self._loader.in_order else next(iter(self._arrived), self._next)
            if found in self._arrived:
                return self._give(found)
            if self._next >= self._sent:
                if not self._loader.persistent_workers:
                    self._workers.close()
                raise StopIteration
            if self._workers.closed:
                raise RuntimeError("the workers of this DataLoader have ended")
            for worker, position, answer in self._workers.receive(self._loader.timeout):
                self._take(worker, position, answer)

    def _pass_over_ended(self) -> None:
        """Places that nothing will come for: given out of order already, or of a worker whose samples have ended."""
        while self._next < self._sent and self._next not in self._arrived:
            owner = self._owner.get(self._next)
            if owner is not None and owner not in self._workers.ended:
                return
            self._owner.pop(self._next, None)
            self._next += 1

    def _take(self, worker: int, position: int, answer: Any) -> None:
        if isinstance(answer, Ended):
            self._workers.ended.add(worker)
            self._owner.pop(position, None)
            self._hand_out()
        else:
            self._arrived[position] = answer

    def _give(self, position: int) -> Any:
        answer = self._arrived.pop(position)
        self._owner.pop(position, None)
        if position == self._next:
            self._next += 1
        self._hand_out()
        if isinstance(answer, Failure):
            answer.reraise()
        return self._pinned(answer)
