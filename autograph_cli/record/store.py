"""Keeps the last trace in `.autograph/`, and reads traces back; a file is replaced whole or not at all."""

from __future__ import annotations

from pathlib import Path

from autograph_cli import AutographError
from autograph_cli.atomic_files import atomic_write
from autograph_cli.graph import Step, Trace, TraceError, from_json, to_json

FOLDER = ".autograph"
LAST = "trace.json"
PREVIOUS = "previous.json"


class StoreError(AutographError):
    """A trace or a picture that cannot be found, read or written."""


def find(start: Path | None = None) -> Path:
    """The last trace of the nearest store: in this folder (by default the current one) or one above it.

    Raises `StoreError` when there is none.
    """
    start = Path.cwd() if start is None else start.absolute()
    for folder in (start, *start.parents):
        path = folder / FOLDER / LAST
        if path.is_file():
            return path
    raise StoreError("Nothing was recorded here yet; record a script first: autograph run FILE.py")


def load(path: Path) -> Trace:
    """The trace in this file; raises `StoreError` when it cannot be read or is no trace."""
    try:
        return from_json(path.read_bytes().decode("utf-8", errors="replace"), str(path))
    except OSError as error:
        raise StoreError(f"Cannot read {path}: {error.strerror or error}.") from None
    except TraceError as error:
        raise StoreError(str(error)) from None


def has_nodes(step: Step) -> bool:
    """Whether autograd recorded anything in this step."""
    return any(node.kind in ("operation", "leaf") for node in step.graph)


def has_graph(trace: Trace) -> bool:
    """Whether autograd recorded anything in the steps that were kept."""
    return any(map(has_nodes, trace.steps))


def keep(trace: Trace, folder: Path) -> Path | None:
    """Make this the last trace of the folder's store, and return where it is.

    No run costs the trace before it without need: of one that recorded nothing, nothing is written and the answer is
    None; when one failed after it recorded something, the trace before it moves to `previous.json`.
    """
    if not has_graph(trace):
        return None
    store = folder / FOLDER
    last = store / LAST
    try:
        store.mkdir(exist_ok=True)
        if not (store / ".gitignore").exists():
            write(store / ".gitignore", b"*\n")
        if trace.failure and last.is_file():
            write(store / PREVIOUS, last.read_bytes())
    except OSError as error:
        raise StoreError(f"Cannot write {store}: {error.strerror or error}.") from None
    return save(trace, last)


def save(trace: Trace, path: Path) -> Path:
    """Write the trace to this file; raises `StoreError` when it cannot be written."""
    write(path, to_json(trace).encode("utf-8"))
    return path


def write(path: Path, content: bytes) -> None:
    """Replace the file's content at once; raises `StoreError` when it cannot be written, and leaves it as it was."""
    try:
        with atomic_write(path) as file:
            file.write(content)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror or error}.") from None
