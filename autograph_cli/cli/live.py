"""A line on the terminal that says how far a training run has come."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from autograph_cli.record.log.steps import Progress

if TYPE_CHECKING:
    from autograph_cli.record.recorder import Recorder

EVERY = 0.25
"""Seconds between two changes of the line; runs that are shorter show none."""
_ERASE = "\r\x1b[K"


@contextlib.contextmanager
def line(recorder: Recorder) -> Iterator[None]:
    """Show how far the run has come while the block runs, if stdout and stderr are a terminal that can erase a line."""
    if not (_is_terminal(sys.stdout) and _is_terminal(sys.stderr)) or os.environ.get("TERM", "dumb") == "dumb":
        yield
        return
    shown = Line(sys.stderr.write, sys.stderr.flush, time.monotonic)
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Watched(sys.stdout, shown), _Watched(sys.stderr, shown)
    recorder.watcher = shown.update
    try:
        yield
    finally:
        recorder.watcher = None
        shown.erase()
        if isinstance(sys.stdout, _Watched) and isinstance(sys.stderr, _Watched):
            sys.stdout, sys.stderr = before


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


class Line:
    """One line below what a script prints; it gives way to the script, and waits while a line of that is unfinished."""

    def __init__(self, write: Callable[[str], object], flush: Callable[[], object], clock: Callable[[], float]) -> None:
        self._write, self._flush, self._clock = write, flush, clock
        self._began = clock()
        self._next = self._began + EVERY
        self._last = (self._began, 0)
        self._visible = False
        self._unfinished = False

    def update(self, progress: Progress) -> None:
        """Show this, if it is time to."""
        now = self._clock()
        if now < self._next or self._unfinished:
            return
        since, steps = self._last
        self._last, self._next = (now, progress.steps), now + EVERY
        speed = (progress.steps - steps) / (now - since)
        text = text_of(progress, speed)[: shutil.get_terminal_size().columns - 1]
        self._write(f"{_ERASE}\x1b[2m{text}\x1b[0m")
        self._flush()
        self._visible = True

    def erase(self) -> None:
        """Take the line away."""
        if self._visible:
            self._visible = False
            self._write(_ERASE)
            self._flush()

    def written(self, text: str) -> None:
        """The script has written this."""
        if text:
            self._unfinished = not text.endswith("\n")


def text_of(progress: Progress, speed: float) -> str:
    """The words of the line.

    >>> text_of(Progress(steps=1200, nodes=37, kept=1), 853.6)
    'autograph: step 1,200 · 854 steps/s · 37 nodes a step · 1 step recorded'
    """
    rate = f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}"
    recorded = f"{progress.kept} step{'' if progress.kept == 1 else 's'} recorded"
    return f"autograph: step {progress.steps:,} · {rate} steps/s · {progress.nodes:,} nodes a step · {recorded}"


class _Watched:
    """A stream that the line makes room for."""

    def __init__(self, stream: TextIO, line: Line) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        self._line.erase()
        self._line.written(text)
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        for text in lines:
            self.write(text)

    def flush(self) -> None:
        self._line.erase()  # what flushes may go on to write to the terminal itself, as `input` does
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._stream.__reduce_ex__(protocol)  # `copy` and `pickle` say of it what they say of the stream

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)
