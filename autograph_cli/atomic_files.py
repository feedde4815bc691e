"""Files that are replaced whole or not at all, whatever ends the process that writes them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: what a killed process left behind stays
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = ".autograph-", ".tmp"
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d{1,9})")


_LEFTOVER = re.compile(rf"{re.escape(_PREFIX)}[0-9a-f]{{12}}{re.escape(_SUFFIX)}")
_unfinished: set[str] = set()
"""Files and folders that must not stay, of all threads."""
_making = threading.RLock()
"""The lock held while one is made; an ending process never gives it back."""


@contextlib.contextmanager
def atomic_write(path: Any, *, follow: bool = True) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path`, and its permissions, when everything is written.

    What is no regular file (a device, a pipe, `/dev/stdout`, `>(...)`) is written directly, and through a link what it
    leads to is replaced; unless `follow`, whatever is there is replaced itself.
    """
    name = os.fsdecode(path)
    if follow and is_stream(name):
        number = _descriptor(name)
        with open(name if number is None else os.dup(number), "wb") as file:
            yield file
        return
    goal = os.path.realpath(name) if follow else os.path.abspath(name)
    folder = os.path.dirname(goal)
    _remove_leftovers(folder)
    made: list[str] = []
    with _removed_at_the_end(made), open(_create(folder, made), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
        if os.path.isfile(goal) and not os.path.islink(goal):
            os.chmod(made[-1], stat.S_IMODE(os.stat(goal).st_mode))
        os.replace(made[-1], goal)


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """A new folder that is gone after the block, and when a signal ends the process."""
    made: list[str] = []
    with _removed_at_the_end(made):
        with _making:
            made.append(tempfile.mkdtemp(prefix="autograph-"))
            _unfinished.update(made)
        yield made[0]


def is_stream(name: str) -> bool:
    """Return whether what has this name cannot be replaced by another file."""
    with contextlib.suppress(OSError, ValueError):
        mode = os.stat(name).st_mode
        return _descriptor(name) is not None or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def _descriptor(name: str) -> int | None:
    """The number of the open file that the name stands for: writing to it goes on where that stands."""
    found = _DESCRIPTOR.fullmatch(os.path.abspath(name))
    if found is None:
        return None
    return {"stdout": 1, "stderr": 2}.get(found[1]) or int(found[2])


def _create(folder: str, made: list[str]) -> int:
    """A new file with a lock on it, for as long as its process lives; its name is added to `made`."""
    while True:
        made.append(os.path.join(folder, f"{_PREFIX}{os.urandom(6).hex()}{_SUFFIX}"))
        with _making:
            _unfinished.add(made[-1])
            number = os.open(made[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        _lock(number, wait=True)
        if os.fstat(number).st_nlink:
            return number
        os.close(number)  # taken for a leftover before it was locked


def _remove_leftovers(folder: str) -> None:
    """Remove what killed processes left in the folder: nobody holds a lock on it any more."""
    with contextlib.suppress(OSError):
        for name in filter(_LEFTOVER.fullmatch, os.listdir(folder or ".")):
            with contextlib.suppress(OSError):
                _remove_leftover(os.path.join(folder, name))


def _remove_leftover(name: str) -> None:
    if fcntl is None or not stat.S_ISREG(os.lstat(name).st_mode):  # opening a pipe would wait for its other end
        return
    number = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if _lock(number, wait=False):
            os.unlink(name)
    finally:
        os.close(number)


def _lock(number: int, wait: bool) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by another, or none on this file system
        return False
    return True


@contextlib.contextmanager
def _removed_at_the_end(made: list[str]) -> Iterator[None]:
    """Remove these files and folders after the block, and before a signal that ends processes ends this one."""
    with before_a_signal_ends(lambda: None):
        try:
            yield
        finally:
            _remove(made)
            _unfinished.difference_update(made)


def _remove(names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):
            shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


class _End:
    """A handler of signals that does something, removes what is unfinished in any thread, and then lets what handled
    the signal before handle it."""

    def __init__(self, action: Callable[[], None], before: Any) -> None:
        self.action, self.before = action, before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.action()
        _making.acquire()  # from now on no thread makes another one
        _remove([*_unfinished])
        signal.signal(number, self.before)
        os.kill(os.getpid(), number)


@contextlib.contextmanager
def before_a_signal_ends(action: Callable[[], None]) -> Iterator[None]:
    """Within the block: call this before SIGTERM or SIGHUP ends the process, unless that has a handler of its own."""
    ending: dict[signal.Signals, _End] = {}
    if threading.current_thread() is threading.main_thread():
        for number in [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]:
            before = signal.getsignal(number)
            if before is signal.SIG_DFL or isinstance(before, _End):
                ending[number] = _End(action, before)
    try:
        for number, end in ending.items():
            signal.signal(number, end)
        yield
    finally:
        for number, ours in ending.items():
            handler: object = signal.getsignal(number)
            if handler is ours:
                signal.signal(number, ours.before)
