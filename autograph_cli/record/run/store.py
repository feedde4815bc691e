"""Keeps the last trace in `.autograph/`, and reads traces back; a file is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from autograph_cli import AutographError
from autograph_cli.atomic_files import atomic_write
from autograph_cli.graph import Trace, TraceError, read_trace, write_trace
from autograph_cli.graph.ranks import Rank
from autograph_cli.record.run import rank_store

FOLDER = ".autograph"
LAST = "trace.json.gz"
PREVIOUS = "previous.json.gz"
OF_RANKS = "trace.zip"
"""The last trace, where several ranks made it."""
WITHOUT = "without.txt"
"""The name of the script that ran after the last trace was made, and recorded nothing."""
FORMER = "trace.json"
"""The name of the last trace before traces were compressed."""


class StoreError(AutographError):
    """A trace or a picture that cannot be found, read or written."""


def find(start: Path | None = None) -> Path:
    """The last trace of the nearest store: in this folder (by default the current one) or one above it.

    Raises `StoreError` when there is none.
    """
    start = Path.cwd() if start is None else start.absolute()
    others = ""
    for folder in (start, *start.parents):
        for name in (OF_RANKS, LAST, FORMER):
            path = folder / FOLDER / name
            if path.is_file():
                if folder == start or _is_own(path):
                    return path
                others = others or f". {path} is another user's; to look at it, name it."
    raise StoreError(f"Nothing was recorded here yet; record a script first: autograph run FILE.py{others}")


def _is_own(path: Path) -> bool:
    """Return whether this user, or the one who may do all, made the file and the store that it is in."""
    return not hasattr(os, "geteuid") or {path.stat().st_uid, path.parent.stat().st_uid} <= {0, os.geteuid()}


def load(path: Path, rank: int | None = None) -> Trace:
    """The trace in this file, of several ranks that of one; raises `StoreError` when it cannot be read or is none."""
    try:
        if rank_store.holds_ranks(path):
            return rank_store.read_rank(path, rank, rank_store.ranks_in(path))
        if rank:
            raise StoreError(f"There is no rank {rank} in {path}: one process made it.")
        return read_trace(path.read_bytes(), str(path))
    except OSError as error:
        raise StoreError(f"Cannot read {path}: {error.strerror or error}.") from None
    except TraceError as error:
        raise StoreError(str(error)) from None
    except MemoryError:
        raise StoreError(f"{path} is too large for the memory that there is.") from None


def ranks_of(path: Path) -> list[Rank]:
    """The ranks whose traces are in this file; none where one process made it."""
    try:
        return rank_store.ranks_in(path) if rank_store.holds_ranks(path) else []
    except TraceError as error:
        raise StoreError(str(error)) from None


def has_graph(trace: Trace) -> bool:
    """Return whether autograd recorded anything in the steps that were kept."""
    return any(step.has_nodes for step in trace.steps)


def keep(trace: Trace, folder: Path) -> Path | None:
    """Make this the last trace of the folder's store, and return where it is.

    No run costs the trace before it without need: of one that recorded nothing, nothing is written and the answer is
    None; when one failed after it recorded something, the trace before it moves to `previous.json.gz`.
    """
    if not has_graph(trace):
        if (folder / FOLDER).is_dir():
            write(folder / FOLDER / WITHOUT, f"{trace.script}\n".encode("utf-8", "replace"), follow=False)
        return None
    store = made(folder)
    last = store / LAST
    before = [path for path in (last, store / FORMER) if path.is_file()]
    try:
        if trace.failure and before:
            write(store / PREVIOUS, before[0].read_bytes(), follow=False)
        save(trace, last, follow=False)
        forget_others(last)
    except OSError as error:
        raise StoreError(f"Cannot write {store}: {error.strerror or error}.") from None
    return last


def ran_without(path: Path) -> str:
    """Return the script that ran after the trace in this file was made, and recorded nothing; empty if none did."""
    try:
        return (path.parent / WITHOUT).read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def digest_of(source: bytes) -> str:
    """Return a digest of a script's text.

    >>> digest_of(b"import torch")
    'cf1070d3a16f24b2'
    """
    found = importlib.import_module("hashlib").sha256(source)  # OpenSSL comes with it: for runs of a file alone
    return str(found.hexdigest()[:16])


def set_aside(folder: Path) -> None:
    """Move the last trace of the folder's store, if there is one, to `previous`: one of a failure takes its place."""
    for name in (OF_RANKS, LAST, FORMER):
        path = folder / FOLDER / name
        if path.is_file():
            path.replace(path.with_name(name.replace("trace", "previous", 1)))


def forget_others(last: Path) -> None:
    """Remove what was the last trace, where this is it now."""
    for name in (OF_RANKS, LAST, FORMER, WITHOUT):
        if name != last.name:
            (last.parent / name).unlink(missing_ok=True)


def made(folder: Path) -> Path:
    """The folder's store, which is made if it is not there; raises `StoreError` when that fails."""
    store = folder / FOLDER
    try:
        store.mkdir(exist_ok=True)
        if not os.path.lexists(store / ".gitignore"):
            write(store / ".gitignore", b"*\n", follow=False)
    except OSError as error:
        raise StoreError(f"Cannot write {store}: {error.strerror or error}.") from None
    return store


def save(trace: Trace, path: Path, *, follow: bool = True) -> Path:
    """Write the trace to this file, compressed if its name ends in .gz; raises `StoreError` when that fails. See
    `atomic_write` for `follow`."""
    with _written(path, follow) as file:
        write_trace(trace, file, compressed=path.suffix == ".gz")
    return path


def write(path: Path, content: bytes, *, follow: bool = True) -> None:
    """Replace the file's content at once; raises `StoreError` when it cannot be written, and leaves it as it was."""
    with _written(path, follow) as file:
        file.write(content)


@contextlib.contextmanager
def _written(path: Path, follow: bool) -> Iterator[IO[bytes]]:
    try:
        with atomic_write(path, follow=follow) as file:
            yield file
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror or error}.") from None
