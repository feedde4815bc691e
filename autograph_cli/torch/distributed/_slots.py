"""States of the ranks on this machine, in a piece of shared memory that the others read without asking."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from collections.abc import Sequence

_SIZE, _HEAD = 256, struct.Struct("<QQB")
HERE, ENDED, RAISED = range(3)
"""The states of a rank: it runs, it has left the group or ended, an error ended it."""


class Slots:
    """One slot for each rank of this machine: a count of its writes, odd within one, its process, its state, a text."""

    def __init__(self, ranks: Sequence[int], own: int, path: str) -> None:
        self.places = {rank: place for place, rank in enumerate(ranks)}
        self.own = own
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), _SIZE * len(ranks))
        self.writes = 0

    def write(self, state: int, text: str) -> None:
        """Say what this rank does."""
        start = self.places[self.own] * _SIZE
        data = text.encode()[: _SIZE - _HEAD.size]
        for step in (1, 0):
            self.writes += 1
            head = _HEAD.pack(self.writes, os.getpid(), state)
            self.memory[start : start + _SIZE] = (
                (head + data).ljust(_SIZE, b"\0") if step else self._settled(start, head)
            )

    def _settled(self, start: int, head: bytes) -> bytes:
        return head + self.memory[start + _HEAD.size : start + _SIZE]

    def read(self, rank: int) -> tuple[int, int, str]:
        """The process, the state and the text of a rank of this machine."""
        start = self.places[rank] * _SIZE
        for _ in range(100):
            row = self.memory[start : start + _SIZE]
            writes, process, state = _HEAD.unpack_from(row)
            if not writes % 2 and row == self.memory[start : start + _SIZE]:
                break
        return process, state, row[_HEAD.size :].rstrip(b"\0").decode(errors="replace")

    def close(self) -> None:
        """Let go of the memory."""
        self.memory.close()


def files_of_mpi() -> list[str]:
    """The files in which MPICH's ranks of this machine meet, all of whom have opened them: left by ranks that are
    killed, so they are removed early."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.rpartition(" ")[2].strip() for line in maps if "/dev/shm/mpich_shm_" in line}
    except OSError:
        return []
    return sorted(path for path in paths if os.path.exists(path))


def new_file(count: int) -> str:
    """A file for so many slots; who made it removes it as soon as all have opened it."""
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    handle, path = tempfile.mkstemp(prefix="autograph-ranks-", dir=folder)
    os.truncate(handle, _SIZE * count)
    os.close(handle)
    return path
