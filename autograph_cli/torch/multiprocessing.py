"""`torch.multiprocessing`: Python's own, in which tensors travel as shared memory."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection
from typing import Any

from ._launched import launched_rank, launched_size
from ._reductions import register

register()

_SHARING = {"file_descriptor", "file_system"}
_chosen = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names that may be set."""
    return set(_SHARING)


def get_sharing_strategy() -> str:
    """Return what `set_sharing_strategy` was told."""
    return _chosen[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Taken note of: tensors travel by file descriptor either way."""
    assert new_strategy in _SHARING
    _chosen[0] = new_strategy


class ProcessException(Exception):
    """A process of `spawn` failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process of `spawn` raised an exception."""


class ProcessExitedException(ProcessException):
    """A process of `spawn` ended with a signal or an exit code of its own."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """The processes that `spawn(join=False)` started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors
        self._waiting = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one ends, or `timeout` seconds; whether all have ended. If one failed, the others are ended and
        this raises."""
        ready = connection.wait(list(self._waiting), timeout=timeout) if self._waiting else []
        failed = None
        for sentinel in ready:
            index = self._waiting.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                failed = index
                break
        if failed is None:
            return not self._waiting
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        raise self._failure(failed)

    def _failure(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        if not errors.empty():
            text = errors.get()
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid
            )
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            said = f"process {index} terminated with signal {name}"
            return ProcessExitedException(said, index, process.pid, code, name)
        return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.put(traceback.format_exc())
        raise SystemExit(1) from None


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes, and wait for them; with `join=False` a `ProcessContext` comes back at
    once. Where MPI has started as many processes already, each of them runs its own `fn(rank, *args)`."""
    rank = launched_rank()
    if rank is not None and launched_size() == nprocs and multiprocessing.parent_process() is None:
        fn(rank, *args)
        return None if join else ProcessContext([], [])
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        errors.append(context.SimpleQueue())
        processes.append(context.Process(target=_run, args=(fn, index, args, errors[-1]), daemon=daemon))
        processes[-1].start()
    result = ProcessContext(processes, errors)
    if not join:
        return result
    while not result.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with fresh interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def __getattr__(name: str) -> Any:
    return getattr(multiprocessing, name)
