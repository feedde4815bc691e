"""The run that a command looks at: the last one, that in a trace, or that of a script, which is run first."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.cli import completion
from autograph_cli.cli.options import Command, UsageError, Whole, engine_of, engine_option
from autograph_cli.cli.printing import say
from autograph_cli.cli.targets import target_options
from autograph_cli.graph import Step, Trace, views
from autograph_cli.graph.ranks import Rank, alike, drawn, words as rank_words
from autograph_cli.graph.together import Band, together
from autograph_cli.record.run import runner, store

_SPAWNED = "multiprocessing.popen_spawn_posix"
"""The module that is imported as soon as a process is spawned."""
LAST = "trace"
"""The name of the last trace in `trace#1`."""


class Source(Struct, frozen=True):
    """The run that a command looks at: the last one, that in a trace, or that of a script, which is run first."""

    name: str | None
    """The trace, or the script; None is the last run."""
    target: runner.Target | None = None
    """The script that is run, if one is."""
    args: tuple[str, ...] = ()
    """For the script."""
    rank: int | None = None
    engine: str | None = None


_SOURCE = (
    click.argument("source", required=False, metavar="[FILE.py | TRACE]", shell_complete=completion.file),
    click.argument("args", nargs=-1, metavar="[-- ARGS...]"),
    target_options("source"),
    click.option("--rank", type=Whole(0), metavar="N", help="Of a trace of several ranks, only this one."),
    engine_option,
)


def source_options(command: Command) -> Command:
    """Add the arguments and options that say which run a command looks at; it gets them as `source`, a `Source`."""

    @functools.wraps(command)
    def wrapped(
        *given: Any,
        source: str | None,
        target: runner.Target | None,
        args: tuple[str, ...],
        rank: int | None,
        engine: str | None,
        **options: Any,
    ) -> None:
        command(*given, source=Source(source, target, args, rank, engine), **options)

    for option in reversed(_SOURCE):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


class Opened(Struct, frozen=True):
    """A trace to look at, the stem for names of files made from it, and the exit code of the script if one was run."""

    trace: Trace
    stem: str
    exit_code: int = 0
    path: Path | None = None
    """The file that it was read from."""
    rank: int | None = None
    """The one rank that was asked for."""

    def ranks(self) -> list[Rank]:
        """The ranks whose traces are in the file, where it has several and none was asked for."""
        return [] if self.path is None or self.rank is not None else store.ranks_of(self.path)

    @property
    def failed_early(self) -> bool:
        """True if the script was run, failed, and left nothing to look at; it has said why itself."""
        return self.exit_code != 0 and not store.has_graph(self.trace)


def open_trace(
    source: Source,
    step: str | None,
    *,
    quiet_stdout: bool,
    record: Collection[str] = (),
    watch: Collection[str] = (),
    steps: str | None = None,
    each: bool = False,
) -> Opened:
    """Open the last trace, the trace in a file, or that of a script which is run now and kept as the last one.

    With `quiet_stdout` what the script prints goes to stderr, as stdout is for the graph. `record` is what is recorded
    beside the graph when a script is run, `watch` what of its parameters, `steps` which steps are kept, instead of
    those that `step` needs; with `each` the last one is the last also of a long run, as far as the engine allows.
    """
    name, rank, target = source.name, source.rank, source.target
    if name is None and target is None:
        path = store.find()
        trace = store.load(path, rank)
        _say_run(trace, path)
        return Opened(trace, _stem(trace.script), path=path, rank=rank)
    if target is None:
        assert name is not None
        if source.args:
            raise UsageError(f"{name} is read as a trace and takes no arguments; a script's name ends in .py.")
        path, named = named_rank(name)
        rank = named if rank is None else rank
        return Opened(store.load(path, rank), path.stem, path=path, rank=rank)
    if rank:
        raise UsageError(f"--rank {rank} is for traces of several ranks: autograph run --ranks N {name}")
    folder = Path.cwd()
    engine = engine_of(source.engine)
    with contextlib.redirect_stdout(sys.stderr) if quiet_stdout else contextlib.nullcontext():
        result, trace = runner.record(
            target, steps or _steps_for(step), until_exit=True, record=record, watch=watch, engine=engine, each=each
        )
    try:
        store.keep(trace, folder)
    except store.StoreError as error:  # a folder that is read only: what was asked for can be shown all the same
        say(f"The trace is not kept. {error}", err=True)
    return Opened(trace, _stem(trace.script), result.exit_code)


def _say_run(trace: Trace, path: Path) -> None:
    """Tell, on stderr, which run the last one is that was recorded, where it is not what one would expect."""
    without = store.ran_without(path)
    if without:
        say(f"the last run of {trace.script}; {without} ran after it, and recorded no graph", err=True)
    try:
        text = (path.parent.parent / trace.script).read_bytes() if trace.digest else b""
    except (OSError, ValueError):
        return
    if trace.digest and store.digest_of(text) != trace.digest:
        say(f"{trace.script} has changed since this was recorded; again: autograph run {trace.script}", err=True)


def named_rank(name: str) -> tuple[Path, int | None]:
    """The trace that `NAME#2` names, and the rank; `trace#2` is one of the last trace.

    >>> named_rank("run.zip#2")
    (PosixPath('run.zip'), 2)
    """
    file, mark, number = name.rpartition("#")
    if not mark or not number.isdecimal() or Path(name).exists():
        return Path(name), None
    return (store.find() if file == LAST and not Path(file).exists() else Path(file)), int(number)


def say_ranks(opened: Opened) -> None:
    """Tell, on stderr, whose graph is shown, of a trace of several ranks."""
    groups = alike(opened.ranks())
    mine = next((those for those in groups if opened.trace.rank in those), [])
    others = " and ".join([rank_words(those) for those in groups if those is not mine])
    if others:
        say(f"{rank_words(mine)}; for {others}, which differ: --rank N", err=True)
    elif len(mine) > 1:
        say(f"{rank_words(mine)}: the same graphs, shown once", err=True)


def say_rank(opened: Opened) -> None:
    """Tell, on stderr, which rank is shown, of a trace of several: what is measured differs from rank to rank."""
    ranks = [each.rank for each in opened.ranks()]
    if len(ranks) > 1:
        say(f"rank {opened.trace.rank}, of {rank_words(ranks)}; of another one: --rank N", err=True)


def step_of_ranks(opened: Opened, step: Step, *, gradients: bool) -> Step:
    """The step with the graph of all ranks: those of the same graph once, with the collectives between them.

    With `gradients`, graphs are the same that differ only in what autograd did not record.
    """
    bands: dict[str, Band] = {}
    without: list[int] = []
    for those in alike(opened.ranks()):
        trace = opened.trace if opened.trace.rank in those else store.load(opened.path or Path(), those[0])
        graphs = [each.graph for each in trace.steps if each.number == step.number]
        without += [] if graphs else those
        called = tuple([each for each in trace.collectives if each.step == step.number])
        for graph in graphs:
            same = drawn([views.tracked(graph) if gradients else graph])
            band = bands.get(same, Band((), graph, called))
            bands[same] = replace(band, ranks=tuple(sorted([*band.ranks, *those])))
    if without:
        say(f"of {rank_words(sorted(without))} no step {step.nth} was kept; of one of them: --rank N", err=True)
    return replace(step, graph=together([*bands.values()], gradients=gradients), double=None)


def script_of(trace: Trace, source: Source) -> Path:
    """Return where the script of a trace is expected: the one that was run, or one of that name in this folder."""
    target = source.target
    if target is None:
        return Path(trace.script)
    found = importlib.util.find_spec(target.name) if target.kind == "module" else None
    return Path(target.name if found is None or found.origin is None else found.origin)


def choose(trace: Trace, wanted: str | None) -> Step:
    """The step that is asked for; by default the main one: see `Trace.main_step`.

    Where the script went on after that one, stderr tells.

    Raises `UsageError` for a step that was not kept, listing those that were, and where no step has a graph.
    """
    if wanted is not None and wanted.isdigit() and store.has_graph(trace):
        return _numbered(trace, int(wanted))
    if wanted not in (None, "first", "last") and store.has_graph(trace):
        return trace.step_named(str(wanted))
    main, with_graph = trace.main_step(), [step for step in trace.steps if step.has_nodes]
    if main is None:
        raise UsageError(no_graph(trace))
    if wanted is not None:
        return with_graph[0 if wanted == "first" else -1]
    if main is not with_graph[-1]:
        passed = any(step.passes for step in with_graph if step.number > main.number)
        which = "the last with a backward pass that is not small" if passed else "the last with a backward pass"
        say(f"step {main.nth}, {which}; what ran after it: --step last", err=True)
    return main


def _numbered(trace: Trace, number: int) -> Step:
    for step in trace.steps:
        if step.nth == number:
            return step
    numbers = ", ".join(str(step.nth) for step in trace.steps) or "none"
    raise UsageError(
        f"There is no step {number} in the trace of {trace.script}; kept steps: {numbers}, of {trace.total_steps}."
    )


def say_derived(step: Step, main: Step | None = None) -> None:
    """Tell, on stderr, where the step's double-backward graph comes from if the script did not make it, and which step
    it is if that is another one than the `main` one."""
    if main is not None and step is not main:
        other = f"step {step.nth}, the last in which the script differentiates gradients; of another one: --step N"
        say(f"double backward: {other}", err=True)
    if step.derived:
        say(f"double backward: {step.derived}", err=True)


def say_missing_order(step: Step, order: int | None) -> None:
    """Tell, on stderr, that no derivative of so high an order is there to be shown."""
    if order is None:
        return
    highest = max((node.order for graph in (step.graph, step.double) if graph for node in graph), default=0)
    if order > highest:
        say(f"double backward: there is no order {order} in this step; the highest is {highest}", err=True)


def no_graph(trace: Trace) -> str:
    """Return why there is nothing to draw, and what to add to the script."""
    broken = next((notice.name for notice in trace.notices if notice.kind == "broken"), "")
    if broken:
        return f"An error of autograph's own ended the recording of {trace.script}: {broken}"
    if trace.failure:
        return f"{trace.script} failed before autograd recorded anything: {trace.failure}"
    if trace.total_steps and not trace.steps:
        many = f"{trace.total_steps} step{'s' * (trace.total_steps != 1)}"
        return f"{trace.script} made {many}, numbered from 1, and none of those asked for is among them."
    if _SPAWNED in sys.modules:
        return (
            f"{trace.script} built no graph in this process, and what ran in those that it spawned is not recorded: "
            f"`autograph run --ranks N {trace.script}` calls the function of torch.multiprocessing.spawn in each of N "
            "ranks, and records them all."
        )
    return (
        f"{trace.script} built no graph, for no tensor required grad: make the tensors to differentiate by "
        "with requires_grad=True, such as torch.ones(3, requires_grad=True)."
    )


def _stem(script: str) -> str:
    """A name for files: `expr` for `expr.py`, `stdin` for `<stdin>`, the module's name for a module."""
    stem = script.removesuffix(".pyw").removesuffix(".py").strip("<>")
    return re.sub(r"[/\\:\0]", "_", stem) or "graph"


def _steps_for(step: str | None) -> str:
    return step if step is not None and (step.isdigit() or step in ("first", "last")) else "first,last"
