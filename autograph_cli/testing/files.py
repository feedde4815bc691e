"""Snapshot files: found, read, compared, and replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from autograph_cli.graph.snapshot import TOLERANCE, Snapshot, SnapshotDiff, compare
from autograph_cli.graph.snapshot_reader import SnapshotError, read_snapshot
from autograph_cli.record.run.store import write

SUFFIX = ".graph.txt"
Status = Literal["same", "written", "updated", "removed", "different", "missing", "failed"]
Mode = Literal["write", "check", "update"]


class Outcome(Struct, frozen=True):
    """The result of one snapshot: its file, and the difference or the error if there is one."""

    path: Path
    status: Status
    diff: SnapshotDiff | None = None
    error: str = ""

    @property
    def exit_code(self) -> int:
        """As `diff`: 0 for the same, 1 for a difference, 2 for an error."""
        return {"failed": 2, "different": 1, "missing": 2}.get(self.status, 0)


def in_ci() -> bool:
    """Return whether this runs where nobody would keep a new file: `CI` is set."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def load(path: Path) -> Snapshot:
    """The snapshot in this file; raises `SnapshotError` if it is none, or cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise SnapshotError(f"{path} is no autograph snapshot: it is not UTF-8.") from None
    except OSError as error:
        raise SnapshotError(f"Cannot read {path}: {error.strerror or error}.") from None
    return read_snapshot(text, str(path))


def missing(path: Path, command: str) -> Outcome:
    """Return the outcome for a missing file, which names the command that writes it."""
    return Outcome(path, "missing", error=f"there is no {path}; write it with: {command}")


def settle(
    path: Path,
    snapshot: Snapshot,
    mode: Mode,
    tolerance: float = TOLERANCE,
    command: str = "",
    kept: Snapshot | None = None,
) -> Outcome:
    """Compare a new snapshot with the file, or `kept`, the part of it that is compared, and write it where asked.

    `check` writes nothing; one that is missing is an error, which names the command. `write` leaves a file that differs
    as it is, and writes one that is missing; `update` writes what differs, if only in names, and replaces a file that
    is damaged.
    """
    if not path.exists():
        return missing(path, command) if mode == "check" else _write(path, snapshot, "written")
    try:
        diff = compare(load(path) if kept is None else kept, snapshot, tolerance)
    except SnapshotError as error:
        if mode != "update" or "newer autograph" in str(error):
            return Outcome(path, "failed", error=str(error))
        return _write(path, snapshot, "updated")
    if mode == "update" and (diff or path.read_text("utf-8") != snapshot.to_text()):
        return _write(path, snapshot, "updated", diff)
    return Outcome(path, "different" if diff else "same", diff)


def _write(path: Path, snapshot: Snapshot, status: Status, diff: SnapshotDiff | None = None) -> Outcome:
    write(path, snapshot.to_text().encode("utf-8"))
    return Outcome(path, status, diff)
