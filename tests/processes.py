"""Processes that tests start. One that hangs ends within minutes, and says in which line it, and each that it started, was."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PATIENCE = 240
"""The seconds after which a wait is taken for one in vain."""
os.environ["PYTHONFAULTHANDLER"] = "1"  # a Python that is told to abort prints its stacks


def finished(words: Sequence[object], *, check: bool = False, input: str = "", seconds: float = PATIENCE,
             **options: Any) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a command to its end, as `subprocess.run` does, and keep what it prints, as text."""
    command = list(map(str, words))
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, encoding="utf-8", **streams, **options) as process:
        try:
            out, err = process.communicate(input, timeout=seconds * _load())
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{command} hangs:\n{_stacks(process)[-30000:]}") from None
        except BaseException:
            process.kill()
            raise
    assert not (check and process.returncode), f"{command} ended with {process.returncode}:\n{err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _load() -> float:
    """How many times longer than alone a process takes now, from 1 to 3."""
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    return min(3.0, max(1.0, waiting / (os.cpu_count() or 1)))


def _stacks(process: subprocess.Popen[str]) -> str:
    """End a process and all that it started; what it printed, and the stacks of those that are a Python."""
    started = [*_started(process.pid), process.pid]
    pythons = [each for each in started if os.path.basename(sys.executable)[:6] in _program(each)]
    for number, those in ((signal.SIGABRT, pythons), (signal.SIGKILL, started)):
        for each in those:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return "".join(filter(None, process.communicate(timeout=10)))
    return "no stream ended"


def _started(process: int) -> Iterator[int]:
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it may have ended
            for child in map(int, path.read_text().split()):
                yield from _started(child)
                yield child


def _program(process: int) -> str:
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{process}/exe"))
    return ""
