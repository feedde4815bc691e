"""Scripts and their snapshots, several at once: each is run as its snapshot says, compared, and written where asked."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli import AutographError, engines
from autograph_cli.atomic_files import before_a_signal_ends
from autograph_cli.engines import EngineError, chosen
from autograph_cli.graph import GraphError, Snapshot
from autograph_cli.graph.diff import DEFAULT_PARTS
from autograph_cli.graph.snapshot import HOLDS, VERSION, compare
from autograph_cli.graph.snapshot_reader import SnapshotError
from autograph_cli.testing import sweeps, unsteady
from autograph_cli.testing.files import Mode, Outcome, load, missing, settle
from autograph_cli.testing.scripts import snapshot_path, take
from autograph_cli.testing.settings import STEPS, VIEWS, Settings, SettingsError


class Result(Struct, frozen=True):
    """The outcome for the snapshot of one script."""

    script: Path
    outcome: Outcome
    notes: tuple[str, ...] = ()
    """Changes that are no difference, or the parts that an update adds."""
    seconds: float = 0.0


class Asked(Struct, frozen=True):
    """The choices of the command line: how scripts are run, and what is held. None stands for the choice in the
    snapshot."""

    steps: str | None = None
    views: tuple[str, ...] | None = None
    include: tuple[str, ...] | None = None
    engine: str | None = None
    ranks: int | None = None
    within: tuple[str, ...] | None = None
    modules: Mapping[Path, str] = {}
    """The scripts that are modules, with the names of these."""


_NOTHING = Asked()


def check(
    scripts: Iterable[Path], settings: Settings, mode: Mode, pool: Executor, asked: Asked = _NOTHING
) -> Iterator[Result]:
    """Settle the snapshots of these scripts by a pool, and give them in the order of the scripts; raises
    `SettingsError` where two have the same one."""
    scripts = list(scripts)
    _check_apart(scripts)
    with before_a_signal_ends(sweeps.stop):
        yield from pool.map(partial(_timed, settings, mode, asked), scripts)


def _check_apart(scripts: Sequence[Path]) -> None:
    """Raise `SettingsError` where two scripts have the same snapshot, as `train` and `train.py` do."""
    owners: dict[Path, Path] = {}
    for script in scripts:
        path = snapshot_path(script)
        owner = owners.setdefault(path.resolve(), script)
        if owner.resolve() != script.resolve():
            raise SettingsError(f"{owner} and {script} have the same snapshot, {path}: leave out one of them.")


def command(scripts: Sequence[Path], asked: Asked, options: str = "") -> str:
    """The command that writes the snapshots of scripts."""
    ranks = f"--ranks {asked.ranks}" if asked.ranks is not None else ""
    within = " ".join(f"--module {module}" for module in asked.within or ())
    names = shlex.join(str(asked.modules.get(script, script)) for script in scripts)
    words = ["autograph snapshot", options, ranks, within, "-m" * bool(asked.modules), names]
    return " ".join(filter(None, words))


def _timed(settings: Settings, mode: Mode, asked: Asked, script: Path) -> Result:
    start = perf_counter()
    return replace(_settled(settings, mode, asked, script), seconds=perf_counter() - start)


def _settled(settings: Settings, mode: Mode, asked: Asked, script: Path) -> Result:
    path = snapshot_path(script)
    if mode == "check" and not path.exists():
        return Result(script, missing(path, command([script], asked)))
    try:
        kept = _kept(path, mode)
        if kept is not None and mode != "update" and asked.engine and chosen(asked.engine) != kept.engine:
            raise SnapshotError(
                f"{path} is of the engine {kept.engine}, and asked for is {chosen(asked.engine)}: "
                f"write it again with {command([script], asked, f'--update --engine {asked.engine}')}"
            )
        run = _as_kept(settings, asked, kept, mode)
        if kept is not None and not asked.engine and run.engine == kept.engine:
            _check_engine(path, run.engine, command([script], asked, "--update --engine builtin"))
        ranks = asked.ranks or (1 if kept is None else kept.ranks)
        module = asked.modules.get(script) or ("" if kept is None else kept.module)
        made = take(script, run, ranks=ranks, module=module)
        differs = None if kept is None or ranks > 1 else compare(kept, made, run.tolerance)
        notes: list[str] = []
        if differs and unsteady.by_data(differs):
            made, notes = unsteady.without_loose(made, take(script, run, ranks=ranks, module=module))
        if kept is not None and differs and mode != "update" and unsteady.by_arguments(differs):
            other = take(script, run, ranks=ranks, module=module, seed=1)
            kept, made, more = unsteady.without_drifted(kept, made, other)
            notes += more
        outcome = settle(path, made, mode, run.tolerance, command([script], asked), kept)
        notes += outcome.diff.notes if outcome.diff is not None else []
        notes += _added(kept, made) if kept is not None and outcome.status == "updated" else []
        return Result(script, outcome, tuple(notes))
    except (AutographError, GraphError, OSError) as error:
        return Result(script, Outcome(path, "failed", error=str(error)))


def _check_engine(path: Path, engine: str, anew: str) -> None:
    """Raise `SnapshotError` where the engine that a snapshot was made with is not installed."""
    try:
        engines.check(engine)
    except EngineError:
        raise SnapshotError(
            f"{path} is of the engine {engine}, and PyTorch is not installed here; write it again with {anew}"
        ) from None


def _kept(path: Path, mode: Mode) -> Snapshot | None:
    """The snapshot that is there; None where there is none, or one that an update may replace."""
    try:
        return load(path) if path.exists() else None
    except SnapshotError as error:
        if mode == "update" and "newer autograph" not in str(error):
            return None
        raise


def _as_kept(settings: Settings, asked: Asked, kept: Snapshot | None, mode: Mode) -> Settings:
    """Return the settings with which a script is checked: the command line's, else its snapshot's."""
    if kept is None:
        return settings
    views = tuple(view for view in VIEWS if view in {_view(section.title) for section in kept.sections})
    held = kept.holds
    if mode == "update" and (kept.version < VERSION or settings.include != DEFAULT_PARTS):
        held = tuple(part for part in HOLDS if part in settings.include or part in kept.holds)
    return replace(
        settings,
        steps=asked.steps or kept.kept or (settings.steps if kept.version < VERSION else STEPS),
        views=asked.views or views or settings.views,
        include=held if asked.include is None else asked.include,
        within=tuple(filter(None, kept.within.split(","))) if asked.within is None else asked.within,
        engine=asked.engine or (settings.engine if kept.version < VERSION else kept.engine),
    )


def _view(title: str) -> str:
    """The view that a section shows: `step 1, ranks 1-3, double backward`."""
    last = title.rpartition(", ")[2].replace(" ", "-")
    return last if last in VIEWS else "graph"


def _added(kept: Snapshot, made: Snapshot) -> list[str]:
    """Return the parts that an updated snapshot holds and the old one did not."""
    parts = [part for part in made.holds if part not in kept.holds]
    found = [f"it holds {', '.join(parts)} now"] if parts else []
    if kept.version < made.version:
        found.append("it holds every plain argument, and the data that comes to the results")
    return found
