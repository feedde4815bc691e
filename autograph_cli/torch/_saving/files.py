"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import IO, Any


@contextlib.contextmanager
def whole_or_nothing(path: Any) -> Iterator[IO[bytes]]:
    """A file beside `path` that takes its place when everything is written."""
    goal = os.path.realpath(os.fsdecode(path))
    if os.path.exists(goal) and not stat.S_ISREG(os.stat(goal).st_mode):
        with open(goal, "wb") as file:
            yield file
        return
    number, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(goal)}.", dir=os.path.dirname(goal))
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        os.chmod(temporary, _mode(goal))
        os.replace(temporary, goal)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _mode(goal: str) -> int:
    """The permissions of the file that is there, or those of a new one."""
    if os.path.exists(goal):
        return stat.S_IMODE(os.stat(goal).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
