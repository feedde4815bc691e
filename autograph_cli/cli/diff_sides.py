"""The two sides of a comparison: which files are meant, at which revisions, and what is put out of both."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograph_cli.cli.options import SCRIPTS, UsageError
from autograph_cli.cli.printing import put
from autograph_cli.graph import Trace
from autograph_cli.record.run.store import write
from autograph_cli.testing.settings import Settings

Named = tuple[str, str | None]
"""A file, and the revision of it that is meant; None stands for how it is now."""


class Request(Struct, frozen=True):
    """The files, revisions and engines on the command line."""

    old: str
    new: str | None
    revisions: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    modules: Mapping[str, str] = {}
    """The names of scripts that are run as modules."""

    @property
    def is_of_one(self) -> bool:
        """Return whether there is one file, as it is now."""
        return self.new is None and not self.revisions

    def sides(self, *, twice: bool = False) -> list[Named]:
        """Two files, or one at two revisions, on two engines, or `twice`."""
        if self.is_of_one and (twice or len(self.engines) == 2):
            return 2 * [at(self.old) if twice else (self.old, None)]
        if (self.new is None) != bool(self.revisions) or len(self.revisions) > 2:
            raise UsageError("Give two files, or one file and --rev once or twice.")
        if self.new is not None:
            return [at(self.old), at(self.new)]
        if not self.old.endswith(SCRIPTS):
            raise UsageError(f"--rev is for scripts, and {self.old} is none.")
        return [(self.old, revision) for revision in (*self.revisions, None)[:2]]

    def running(self, settings: Settings) -> tuple[str, str]:
        """The engines that run the one script and the other."""
        names = self.engines or (settings.engine,)
        return names[0], names[-1]


def at(name: str) -> Named:
    """The script and the revision that `FILE@REV` names; a file of that name comes first."""
    file, mark, revision = name.rpartition("@")
    return (file, revision) if mark and file.endswith(SCRIPTS) and not Path(name).exists() else (name, None)


def title(name: str, revision: str | None) -> str:
    """Return how a side is called."""
    return Path(name).name + (f" at {revision}" if revision else "")


def put_out(content: bytes, output: Path | None) -> None:
    """Print what was made, or write it into a file."""
    if output is None:
        put(content)
    else:
        write(output, content)


def page_of_both(traces: Sequence[Trace], sides: Sequence[Named], sentences: list[str], found: Any = None) -> bytes:
    """Make the page of two runs beside each other."""
    beside: Any = importlib.import_module(
        "autograph_cli.export.page.beside"
    )  # NumPy, which other comparisons do without
    runs = [
        beside.Run(title(*side), trace, {} if side[1] else _script(side[0], trace))
        for side, trace in zip(sides, traces, strict=True)
    ]
    page: str = beside.to_beside(*runs, sentences, found)
    return page.encode()


def _script(name: str, trace: Trace) -> dict[str, str]:
    """The text of a script that was run as it is now, by its name in the graph."""
    return {trace.script: Path(name).read_text("utf-8", "replace")} if name.endswith(SCRIPTS) else {}
