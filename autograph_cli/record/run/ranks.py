"""One rank of a script that several processes run: which one this is, what it tells of itself, and the part it leaves.

The ranks of one machine share a folder. In it each rank says where it is (`rank-0.state`, by a thread of its own, so
that it is known of one that is killed too), and finds what ends the run (`stop`), whatever its script waits for.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from autograph_cli.graph import Collective, Trace
from autograph_cli.record.names.source_locations import innermost
from autograph_cli.record.run import rank_faults, rank_store
from autograph_cli.record.run.placement import Placement

if TYPE_CHECKING:
    from autograph_cli.record.recorder import Recorder

STOP = "stop"
_leave = os._exit
"""Python's own: within a run it tells the recorder of a script that leaves."""
EVERY = 0.05
"""Seconds between two looks at where a rank is."""
STOPPED = 1
"""The exit code of a rank that was stopped since another one failed."""
_LINE = re.compile(r'  File "(.*)", line (\d+) in ')
_ESCAPED = re.compile(r"\\(?:x(..)|u(....)|U(.{8}))")


class MainStack:
    """The stack of the main thread, read by another one.

    Read as text: while a frame object of a thread that goes on is made, the frame may end (Python 3.11 dies of that).
    """

    def __init__(self) -> None:
        self._heading = f"hread 0x{threading.main_thread().ident:016x} "

    def lines(self) -> list[tuple[str, int]]:
        """The files and lines that the main thread is in, the innermost first."""
        with tempfile.TemporaryFile("w+", encoding="ascii") as file:
            faulthandler.dump_traceback(file)
            file.seek(0)
            stack = file.read().partition(self._heading)[2].partition("\n\n")[0]
        found = map(_LINE.match, stack.splitlines())
        return [(_ESCAPED.sub(_character, line[1]), int(line[2])) for line in found if line]


def _character(escaped: re.Match[str]) -> str:
    return chr(int("".join(filter(None, escaped.groups())), 16))


class Member:
    """This process as one rank, from before its script begins until its part is written."""

    def __init__(self, place: Placement, folder: Path, recorder: Recorder) -> None:
        self.place, self.folder, self.recorder = place, folder, recorder
        self._parent = os.getppid()
        self._lock = threading.Lock()
        self._kept = False
        self._state: dict[str, Any] = {"rank": place.rank, "phase": "running", "moved": time.time(), "groups": {}}
        self._written = 0.0
        recorder.collectives.watcher = self._begins
        self._stack = MainStack()
        self._tell()
        threading.Thread(target=self._watch, daemon=True, name="autograph-rank").start()

    def _begins(self, each: Collective) -> None:
        """The script comes to a collective; the thread will tell."""
        if each.peer is None:
            line = f"{each.source.file}:{each.source.line}" if each.source else ""
            told = [each.sequence, each.op, each.bytes, line, list(each.ranks)]
            self._state["groups"] = {**self._state["groups"], each.group: told}
            self._state["moved"] = time.time()

    def _watch(self) -> None:
        while not self._kept:
            self._look()
            if os.getppid() != self._parent:
                _leave(STOPPED)  # who looks after this process was killed
            if (self.folder / STOP).exists():
                self._stopped()
            time.sleep(EVERY)

    def _look(self) -> None:
        place = innermost(self._stack.lines())
        at = f"{self.recorder.sources.file(place[0])}:{place[1]}" if place else self._state.get("at", "")
        if at != self._state.get("at"):
            self._state |= {"at": at, "moved": time.time()}
        if self._state["moved"] > self._written:
            self._tell()

    def _tell(self) -> None:
        with self._lock, contextlib.suppress(OSError):  # the folder goes when the run is over
            self._written = time.time()
            path = self.folder / f"rank-{self.place.rank}.state"
            path.with_suffix(".new").write_text(json.dumps(self._state))
            path.with_suffix(".new").replace(path)

    def _stopped(self) -> None:
        """Another rank has failed: what was recorded here is kept, whatever the script waits for."""
        with contextlib.suppress(BaseException):
            said = rank_faults.told(self.folder / STOP).said
            self.recorder.log.adopt()
            self.keep(replace(self.recorder.trace(), failure=f"stopped: {said}"), "stopped")
        _leave(STOPPED)

    def keep(self, trace: Trace, phase: str = "", code: int = 0) -> None:
        """Write this rank's part, and say how the script ended, and with which exit code."""
        self._state |= {"moved": time.time(), "failure": trace.failure, "code": code}
        self._state["phase"] = phase or ("failed" if trace.failure else "done")
        if trace.failed_at is not None:
            self._state["at"] = f"{trace.failed_at.file}:{trace.failed_at.line}"
        self._tell()
        rank_store.write_part(replace(trace, rank=self.place.rank, ranks=self.place.size), self.folder)
        mpi = sys.modules.get("mpi4py.MPI")
        if self._state["phase"] == "done" and self.place.local < self.place.size and mpi is not None:
            rank_store.send_to_first(mpi.COMM_WORLD, self.folder, socket.gethostname())
        self._kept = phase != "stopped"
