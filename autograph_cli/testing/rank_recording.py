"""Records one script on several ranks, by `autograph run --ranks`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from autograph_cli import engines
from autograph_cli.atomic_files import temporary_folder
from autograph_cli.graph import Trace
from autograph_cli.graph.ranks import Rank, alike
from autograph_cli.record.run import store
from autograph_cli.testing import sweeps
from autograph_cli.testing.recording import RecordingError

_SAID = "autograph: "
"""The beginning of the line that says why ranks were stopped."""


def launch(
    script: Path,
    ranks: int,
    goal: Path,
    arguments: Sequence[str] = (),
    *,
    steps: str = "first,last",
    measured: Sequence[str] = (),
    folder: Path | None = None,
    name: str = "",
    engine: str = "builtin",
    module: str = "",
    environment: Mapping[str, str] | None = None,
    executable: str = "",
) -> list[Rank]:
    """Run a script, or with `module` that as `python -m` does, on so many ranks, in `folder`, into the file `goal`, and
    list the ranks; `environment` and `executable` as of `recording.record`.

    Raises `RecordingError` with the sentence on the rank that failed.
    """
    label = name or str(script)
    options = ["-q", "--steps", steps, "--engine", engines.chosen(engine), "--ranks", str(ranks), "-o", str(goal)]
    options += ["--record", ",".join(measured)] if measured else []
    target = ["-m", module] if module else [str(script)]
    words = ["run", *options, *target, *arguments]
    with sweeps.child(
        "autograph_cli.cli", words, folder, executable=executable or sys.executable, variables=environment or {}
    ) as process:
        said = process.communicate()[0].strip().splitlines()
    if process.returncode:
        why = next((line for line in said if line.startswith(_SAID)), said[-1] if said else "")
        why = why.removeprefix(_SAID).partition("; the other ranks")[0]
        raise RecordingError(f"{label} failed: {why or f'exit status {process.returncode}'}")
    found = store.ranks_of(goal) if goal.exists() else []
    if not any(each.nodes for each in found):
        raise RecordingError(f"{label} built no graph: no tensor that requires grad was used.")
    return found


@contextmanager
def record(
    script: Path,
    ranks: int,
    arguments: Sequence[str] = (),
    *,
    steps: str = "first,last",
    folder: Path | None = None,
    name: str = "",
    engine: str = "builtin",
    module: str = "",
) -> Iterator[Iterator[tuple[list[int], Trace]]]:
    """Run a script on so many ranks, see `launch`: the numbers of those that recorded the same, and the trace of one,
    one after another."""
    with temporary_folder() as place:
        goal = Path(place, store.OF_RANKS)
        found = launch(
            script, ranks, goal, arguments, steps=steps, folder=folder, name=name, engine=engine, module=module
        )
        yield ((those, store.load(goal, those[0])) for those in alike(found))
