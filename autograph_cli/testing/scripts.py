"""Snapshots beside scripts: which scripts are meant, what each of them made, and several at once."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograph_cli import AutographError
from autograph_cli.atomic_files import before_a_signal_ends
from autograph_cli.graph import Graph, GraphError, Section, Snapshot, Step, Trace, views
from autograph_cli.graph.diff import results
from autograph_cli.graph.snapshot import EXTRAS
from autograph_cli.testing import recording, sweeps
from autograph_cli.testing.files import SUFFIX, Mode, Outcome, settle
from autograph_cli.testing.settings import Settings, SettingsError

SKIPPED = ("_", "test_", "conftest", "setup.")
"""A folder stands for its scripts; files of these names are none."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of the snapshot of one script."""

    script: Path
    outcome: Outcome


def snapshot_path(script: Path) -> Path:
    """Where the snapshot of a script is: beside it.

    >>> snapshot_path(Path("samples/expr.py")).as_posix()
    'samples/expr.graph.txt'
    """
    return script.with_name(script.name.removesuffix(".py") + SUFFIX)


def script_path(snapshot: Path) -> Path:
    """The script that a snapshot belongs to."""
    return snapshot.with_name(snapshot.name.removesuffix(SUFFIX) + ".py")


def find(names: Sequence[str], settings: Settings, *, known: bool = False) -> list[Path]:
    """The scripts that files, snapshots, folders and patterns stand for; without names, those of the settings.

    With `known`, only those that have a snapshot, and without names all of them. Raises `SettingsError` for what is
    not there.
    """
    found: dict[Path, None] = {}
    for name in names:
        its = list(_named(name))
        if not its:
            raise SettingsError(
                f"There is no script in {name}." if Path(name).is_dir() else f"No script is named {name}."
            )
        found |= dict.fromkeys(its)
    if not names and settings.files:
        for pattern in settings.files:
            found |= dict.fromkeys(_relative(Path(path)) for path in _glob(str(settings.folder / pattern)))
        if not found:
            raise SettingsError(f"No script is named {', '.join(settings.files)}, as tool.autograph.files says.")
    elif not names and known:
        found |= dict.fromkeys(_below(Path(".")))
    elif not names:
        raise SettingsError("Name a script, a folder or a pattern, or say `files = [...]` in [tool.autograph].")
    left_out = {Path(path).resolve() for entry in settings.exclude for path in _glob(str(settings.folder / entry))}
    scripts = [path for path in found if path.resolve() not in left_out]
    return [path for path in scripts if snapshot_path(path).exists()] if known else scripts


def _named(name: str) -> Iterator[Path]:
    path = Path(name)
    if path.is_dir():
        yield from _below(path)
    elif name.endswith(SUFFIX):
        yield script_path(path)
    elif path.exists():
        yield path
    elif glob.has_magic(name):
        yield from (Path(entry) for entry in _glob(name) if entry.endswith(".py"))
    else:
        raise SettingsError(f"There is no file {name}.")


def _glob(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern, recursive=True))


def _below(folder: Path) -> Iterator[Path]:
    """The scripts in a folder, without those in hidden folders and environments."""
    for position, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith((".", "__")) and not Path(position, name, "pyvenv.cfg").exists()
        )
        scripts = [name for name in sorted(files) if name.endswith(".py") and not name.startswith(SKIPPED)]
        yield from (Path(position, name) for name in scripts)


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def take(script: Path, settings: Settings, *, name: str = "", folder: Path | None = None) -> Snapshot:
    """Run a script, and make a snapshot of what it recorded; raises `RecordingError` if it fails."""
    position = script.resolve()
    key = (
        position.relative_to(settings.folder).as_posix()
        if position.is_relative_to(settings.folder)
        else script.as_posix()
    )
    recorded = recording.record(
        position,
        settings.arguments.get(key, ()),
        steps=settings.steps,
        folder=folder,
        name=name or str(script),
        extras=[extra for extra in EXTRAS if extra in settings.include],
        engine=settings.engine,
    )
    sections = trace_sections(recorded.trace, settings)
    return Snapshot(
        script.name, sections, settings.include, recorded.trace.total_steps, recorded.values, recorded.formulas
    )


def trace_sections(trace: Trace, settings: Settings) -> tuple[Section, ...]:
    """One section for each view of each step that was kept."""

    def graph(view: str, step: Step) -> Graph:
        return results(_VIEWS[view](step), settings.include)

    return tuple(
        Section(f"step {step.number}" + (f", {view.replace('-', ' ')}" if view != "graph" else ""), graph(view, step))
        for step in trace.steps
        for view in settings.views
    )


def _double(step: Step) -> Graph:
    return step.double or views.double_backward(step.graph)


_VIEWS: dict[str, Callable[[Step], Graph]] = {
    "graph": lambda step: step.graph,
    "forward": lambda step: views.forward(step.graph),
    "backward": lambda step: views.backward(step.graph),
    "double-backward": _double,
}


def check(scripts: Iterable[Path], settings: Settings, mode: Mode, pool: Executor) -> Iterator[Result]:
    """Settle the snapshots of these scripts by a pool, and give them in the order of the scripts."""
    with before_a_signal_ends(sweeps.stop):
        yield from pool.map(partial(_settled, settings, mode), scripts)


def _settled(settings: Settings, mode: Mode, script: Path) -> Result:
    path = snapshot_path(script)
    try:
        return Result(script, settle(path, take(script, settings), mode, settings.tolerance))
    except (AutographError, GraphError, OSError) as error:
        return Result(script, Outcome(path, "failed", error=str(error)))
