"""`autograph snapshot`: the graph of a script as a reviewed text file beside it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from autograph_cli.cli import completion
from autograph_cli.cli.exit_codes import as_command_error
from autograph_cli.cli.options import Real, StepsType, UsageError, Whole, engine_option, sweep_options
from autograph_cli.cli.printing import say
from autograph_cli.graph.snapshot import HOLDS, SnapshotDiff
from autograph_cli.record.run.store import write
from autograph_cli.testing import checking, reports, scripts, sweeps
from autograph_cli.testing.checking import Asked
from autograph_cli.testing.settings import VIEWS, Settings, load, parts

if TYPE_CHECKING:
    from autograph_cli.testing.checking import Result
    from autograph_cli.testing.files import Mode, Status

_STYLES = {"+": "green", "-": "red", "@": "cyan", "[": "bold"}
_WORDS: dict[str, str] = {"same": "the same"}
_STATUSES: tuple[Status, ...] = ("same", "written", "updated", "different", "missing", "failed")


@click.command
@click.argument("files", nargs=-1, metavar="[FILE | FOLDER | PATTERN]...", shell_complete=completion.file)
@click.option(
    "--check", "mode", flag_value="check", help="Compare only, and write nothing; one that is missing is an error."
)
@click.option("--update", "mode", flag_value="update", help="Write the snapshots that differ again.")
@click.option("-m", "module", is_flag=True, help="Each FILE is the name of a module, as in python -m.")
@click.option("-v", "--verbose", is_flag=True, help="Also list changes that are no difference, such as names.")
@click.option("--known", is_flag=True, help="Only scripts that have a snapshot; without FILE, all of these below here.")
@click.option(
    "--steps",
    type=StepsType(named=True),
    help="Steps to keep, as for autograph run, or by a line (gan.py:16) or the name of a root; first and last: of each "
    "kind of pass.  [default: first,last]",
)
@click.option("--view", "views", multiple=True, type=click.Choice(VIEWS), help="A view of a step to keep; repeatable.")
@click.option(
    "--include",
    metavar="PARTS",
    shell_complete=completion.some_of(*HOLDS),
    help=f"Which facts of nodes to keep, some of: {','.join(HOLDS)}.",
)
@click.option(
    "--module",
    "within",
    multiple=True,
    metavar="PATH",
    help="Keep only what ran in this module, `model.blocks.3` or the end of its path; repeatable.",
)
@click.option("--tolerance", type=Real(0, 1), help="By how much values may differ, relative to their size.")
@engine_option
@click.option("--ranks", type=Whole(1), metavar="N", help="On how many ranks each runs.  [default: as kept]")
@sweep_options("Scripts")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the results as JUnit XML.")
@click.option("--sarif", type=click.Path(path_type=Path), help="Also write what differs as SARIF, for code scanning.")
@click.option("--github", is_flag=True, help="Also print GitHub annotations.")
@click.pass_context
def snapshot(
    ctx: click.Context,
    files: tuple[str, ...],
    mode: Mode | None,
    module: bool,
    verbose: bool,
    known: bool,
    steps: str | None,
    views: tuple[str, ...],
    include: str | None,
    within: tuple[str, ...],
    tolerance: float | None,
    engine: str | None,
    ranks: int | None,
    jobs: int,
    over_mpi: bool,
    junit: Path | None,
    sarif: Path | None,
    github: bool,
) -> None:
    """Run each FILE, and keep its graph beside it: expr.graph.txt for expr.py.

    A snapshot that is there is compared, by structure: names of variables, line numbers and the order of independent
    statements may change. Where it differs, sentences say how, the file stays as it is, and the exit code is 1; with
    --update it is written. 2 is for an error, such as a script that fails. Defaults are in [tool.autograph].

    The head of a snapshot says what it holds and how its script is run, and it is checked so. The options are for
    snapshots that are written.

    With --ranks it runs as autograph run --ranks does; ranks of the same graphs are kept once, and the snapshot says
    how many there are.

    \b
      autograph snapshot expr.py                 write expr.graph.txt, or compare with it
      autograph snapshot --check -j 4 samples/   in CI
      autograph snapshot --update expr.py        accept the change
      autograph snapshot -m package.train        of a module, with --engine torch by the PyTorch that is installed
      autograph snapshot --ranks 4 train.py      of a script that trains on several processes
      mpiexec -n 33 autograph snapshot --mpi .   on 32 processes of a cluster, and one that tells
    """
    results: list[Result] = []
    with as_command_error(), sweeps.pool(jobs, over_mpi) as pool:
        if pool is None:
            return
        settings = chosen_settings(load(), steps, views, include, tolerance, engine)
        settings = replace(settings, within=within)
        asked = _asked(settings, steps, views, include, engine, ranks, files if module else ())
        cases = list(asked.modules) if module else scripts.find(files, settings, known=known)
        with _progress(len(cases)) as advance:
            for result in checking.check(cases, settings, mode or "write", pool, asked):
                _tell(result, verbose)
                results.append(result)
                advance()
        if junit is not None:
            write(junit, reports.junit(results))
        if sarif is not None:
            write(sarif, reports.sarif(results).encode())
        for line in reports.github(results) if github else ():
            say(line)
        _sum_up(results, asked)
    ctx.exit(max((result.outcome.exit_code for result in results), default=0))


def _asked(
    settings: Settings,
    steps: str | None,
    views: Sequence[str],
    include: str | None,
    engine: str | None,
    ranks: int | None,
    modules: Sequence[str],
) -> Asked:
    """Return what the command line says; the others of these settings are for what has no snapshot yet."""
    return Asked(
        steps,
        tuple(views) or None,
        None if include is None else settings.include,
        engine,
        ranks,
        settings.within or None,
        {scripts.module_path(name): name for name in modules},
    )


def chosen_settings(
    settings: Settings,
    steps: str | None,
    views: Sequence[str],
    include: str | None,
    tolerance: float | None,
    engine: str | None = None,
) -> Settings:
    """The settings of the project with what the command line says instead."""
    try:
        held = settings.include if include is None else parts([part for part in include.split(",") if part])
    except ValueError as error:
        raise UsageError(f"--include {error}.") from None
    return replace(
        settings,
        steps=steps or settings.steps,
        views=tuple(views) or settings.views,
        include=held,
        engine=engine or settings.engine,
        tolerance=settings.tolerance if tolerance is None else tolerance,
    )


@contextmanager
def _progress(count: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr, in a terminal, where several scripts run; gives what moves it on."""
    hidden = count < 2 or not sys.stderr.isatty()
    with click.progressbar(length=count, label="snapshots", file=sys.stderr, hidden=hidden) as bar:
        yield lambda: bar.update(1)


def _tell(result: Result, verbose: bool) -> None:
    outcome = result.outcome
    if outcome.status in ("written", "updated"):
        say(f"{outcome.path}: {outcome.status}")
    elif outcome.status in ("failed", "missing"):
        # What failed often begins with the name of the script, which stands here already.
        say(f"{result.script}: {outcome.error.removeprefix(f'{result.script} ')}", style="red")
    if outcome.diff:
        if outcome.status == "different":
            say(f"{outcome.path}: the graph is different", style="bold")
        print_diff(outcome.diff)
    for note in result.notes if verbose or outcome.status == "updated" else ():
        say(f"  {note}")


def print_diff(diff: SnapshotDiff) -> None:
    """The sentences, then the lines, in colour where there are colours."""
    for sentence in diff.sentences:
        say(f"  {sentence}", style="yellow")
    text = diff.to_text()
    if text:
        say()
    for line in text.splitlines():
        say(f"  {line}", style=_STYLES.get(line[:1]))


def _sum_up(results: Sequence[Result], asked: Asked) -> None:
    counts = Counter(result.outcome.status for result in results)
    parts = [f"{counts[status]} {_WORDS.get(status, status)}" for status in _STATUSES if counts[status]]
    total = f"{len(results)} snapshot{'s' * (len(results) != 1)}"
    say(f"{total}: {', '.join(parts)}" if parts else total, style="bold")
    if counts["different"]:
        different = [result.script for result in results if result.outcome.status == "different"]
        say(f"accept with: {checking.command(different, asked, '--update')}")
