"""`autograph diff`: how two graphs differ, whichever form they are in."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.cli import completion
from autograph_cli.cli.diff_options import ByValues, values_options
from autograph_cli.cli.diff_sides import Named, Request, page_of_both, put_out, title
from autograph_cli.cli.exit_codes import CommandError, as_command_error
from autograph_cli.cli.git import checked_out
from autograph_cli.cli.opening import choose, named_rank
from autograph_cli.cli.options import SCRIPTS, EnginesType, StepType, UsageError, one_format
from autograph_cli.cli.printing import say
from autograph_cli.cli.snapshot import chosen_settings, print_diff
from autograph_cli.engines import chosen
from autograph_cli.export.comparison import FORMATS as PICTURES, render_diff, side_by_side
from autograph_cli.export.comparison_report import REPORTS
from autograph_cli.graph import Slice, Snapshot, Trace
from autograph_cli.graph.ranks import alike
from autograph_cli.graph.snapshot import EXTRAS, HOLDS, VERSION, SnapshotDiff, compare
from autograph_cli.record.graphs.causes import switches
from autograph_cli.record.run import store
from autograph_cli.testing import files, scripts
from autograph_cli.testing.settings import VIEWS, Settings, load, parts

FORMATS = ("text", "json", *PICTURES, *REPORTS)
_OF_BOTH = 2
"""The format of snapshots that holds what both engines tell: of the plain arguments in a later one PyTorch leaves
defaults out."""


@click.command
@click.argument("old", metavar="A", shell_complete=completion.file)
@click.argument("new", required=False, metavar="[B]", shell_complete=completion.file)
@click.option("-m", "module", is_flag=True, help="A and B are names of modules, as in python -m.")
@click.option(
    "--rev",
    "revisions",
    multiple=True,
    metavar="REV",
    help="Compare A at this git revision with A as it is now; given twice, A at both.",
)
@click.option(
    "--engines",
    type=EnginesType(),
    metavar="E,F",
    help="Compare A on two engines: builtin,torch. With one engine, it runs all scripts.",
)
@click.option("--view", "views", multiple=True, type=click.Choice(VIEWS), help="Which view of a step to compare.")
@click.option(
    "--step",
    "steps",
    type=StepType(),
    multiple=True,
    help="Compare only this step: first, last or a number; given twice with --values, one with the other.",
)
@click.option(
    "--include",
    metavar="PARTS",
    shell_complete=completion.some_of(*HOLDS),
    help=f"Which facts of nodes to compare, some of: {','.join(HOLDS)}.",
)
@click.option(
    "--module",
    "parts_of",
    multiple=True,
    metavar="PATH",
    help="Compare only what ran in this module, `model.blocks.3` or the end of its path; may be repeated.",
)
@values_options
@click.option("--json", "as_json", is_flag=True, help="With --values: an object on stdout; else as -f json.")
@click.option("-f", "--format", "format_", type=click.Choice(FORMATS), help="Unless told, by -o; else text.")
@click.option("--together", is_flag=True, help="-f svg: both graphs as one picture, as the other pictures are.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file for the result; unless told, stdout.")
@click.pass_context
def diff(
    ctx: click.Context,
    old: str,
    new: str | None,
    module: bool,
    revisions: tuple[str, ...],
    engines: tuple[str, ...] | None,
    views: tuple[str, ...],
    steps: tuple[str, ...],
    include: str | None,
    parts_of: tuple[str, ...],
    by_values: ByValues | None,
    ranks: int | None,
    as_json: bool,
    format_: str | None,
    together: bool,
    output: Path | None,
) -> None:
    """Compare A and B: scripts (.py, which are run), traces (.json) or snapshots (.graph.txt).

    Graphs are matched by structure, not by position. The exit code is 0 for equal graphs, 1 for different ones, 2 for
    trouble, like diff(1). SVG and HTML show both graphs side by side, with what was added, removed and changed
    marked; PNG and DOT both as one, with the rest folded.

    \b
      autograph diff old.py new.py
      autograph diff --rev main expr.py                  ... with the working copy
      autograph diff --rev v1.0 --rev main expr.py       ... with one another
      autograph diff -o changes.svg expr.graph.txt expr.py
      autograph diff --engines builtin,torch expr.py
      autograph diff --values old.py new.py              where numbers part first
      autograph diff --rev main -m package.train
      autograph diff --rev main --module encoder train.py
    """
    with as_command_error():
        format_ = "json" if as_json else _format(format_, output)
        modules = {str(scripts.module_path(name)): name for name in (old, new) if name is not None and module}
        if module:
            old, new = str(scripts.module_path(old)), None if new is None else str(scripts.module_path(new))
        request = Request(old, new, revisions, engines or (), modules)
        if by_values is not None:
            if views or include is not None or parts_of:
                raise UsageError("--values takes no --view, --include and --module: it compares all nodes.")
            values = importlib.import_module("autograph_cli.cli.diff_values")  # NumPy, which graphs do without
            ctx.exit(values.run(request, by_values, steps, (format_, output)))
        if len(steps) > 1:
            raise UsageError("--step is given once, or twice with --values.")
        settings = _settings(chosen_settings(load(), next(iter(steps), None), views, include, None), include)
        size = _ranks(request, ranks)
        wanted = Wanted(settings, next(iter(steps), None), request.modules, format_ == "html", size)
        taken = _both(request, wanted)
        snapshots = [_within(each, Slice(modules=parts_of)) for each, _ in taken]
        difference = _difference(request, snapshots, settings, include is not None)
        traces = [trace for _, trace in taken if trace is not None]
        if wanted.with_values and len(traces) == 2:
            put_out(page_of_both(traces, request.sides(), difference.sentences), output)
        else:
            names = " - ".join(title(*side) for side in request.sides())
            _show(difference, format_, output, names, together, _command(request))
    ctx.exit(1 if difference else 0)


class Wanted(Struct, frozen=True):
    """The way in which both sides are run or read."""

    settings: Settings
    step: str | None
    modules: Mapping[str, str]
    """The names of scripts that are run as modules."""
    with_values: bool
    """True where scripts are recorded with their numbers, for the page."""
    ranks: int = 1
    """The number of ranks that scripts are run on; with 1, of a trace of several ranks one is compared."""


def _ranks(request: Request, asked: int | None) -> int:
    """Return on how many ranks the sides are compared: those that are asked for, or that both have."""
    names = [name for name, _ in request.sides()]
    if asked is not None and not any(name.endswith(SCRIPTS) for name in names):
        raise UsageError(f"--ranks says how a script is run, and {names[0]} is none.")
    sizes = [asked if name.endswith(SCRIPTS) else _ranks_in(name) for name in names]
    return min([size or max(filter(None, sizes), default=1) for size in sizes])


def _ranks_in(name: str) -> int:
    """The number of ranks in a snapshot or a trace; 1 where one of them is meant."""
    if name.endswith(files.SUFFIX):
        return files.load(Path(name)).ranks
    path, rank = named_rank(name)
    return max(len(store.ranks_of(path)), 1) if rank is None and path.is_file() else 1


def _within(snapshot: Snapshot, part: Slice) -> Snapshot:
    """The snapshot of some modules alone, if these are asked for."""
    sections = tuple([replace(section, graph=part.of(section.graph)) for section in snapshot.sections])
    return replace(snapshot, sections=sections) if part else snapshot


def _difference(request: Request, snapshots: Sequence[Snapshot], settings: Settings, required: bool) -> SnapshotDiff:
    """Compare what both snapshots hold."""
    one, other = snapshots
    sides = request.sides()
    held = tuple(part for part in one.holds if part in other.holds and _is_alike(part, sides))
    _say_not_compared((one, other), [title(*side) for side in sides], settings.include, held, required)
    version = _OF_BOTH if one.engine != other.engine else VERSION
    one, other = (replace(each, holds=held, version=min(each.version, version)) for each in (one, other))
    return compare(one, other, settings.tolerance)


def _both(request: Request, wanted: Wanted) -> list[tuple[Snapshot, Trace | None]]:
    """Return both snapshots, each with its trace where it is none of a file. Of one script on two engines they have the
    same steps: those that autograph's engine keeps, for of PyTorch only some are followed where nobody knows which is
    the last."""
    sides, settings = request.sides(), wanted.settings
    engines = [chosen(each) for each in request.running(settings)]
    ways = [replace(wanted, settings=replace(settings, engine=engine)) for engine in engines]
    found = [_open(*side, way) for side, way in zip(sides, ways, strict=True)]
    steps = [_steps(snapshot) for snapshot, _ in found]
    asked = ",".join(steps["builtin" not in engines[:1]])
    if sides[0] != sides[1] or engines[0] == engines[1] or steps[0] == steps[1] or asked in ("", settings.steps):
        return found
    return _both(request, replace(wanted, settings=replace(settings, steps=asked)))


def _command(request: Request) -> str:
    """The command that says the same."""
    named = [request.modules.get(name, name) for name in (request.old, request.new) if name is not None]
    revisions = [word for revision in request.revisions for word in ("--rev", revision)]
    return " ".join(["autograph diff", *["-m"] * bool(request.modules), *revisions, *named])


def _settings(asked: Settings, include: str | None) -> Settings:
    """Unless told what to compare, also what autograd did not record."""
    if include is not None:
        return asked
    return replace(asked, include=parts([*asked.include, "untracked"]))


def _steps(snapshot: Snapshot) -> list[str]:
    titles = (section.title.partition(",")[0].removeprefix("step ") for section in snapshot.sections)
    return list(dict.fromkeys(titles))


def _is_alike(part: str, sides: Sequence[Named]) -> bool:
    """Return whether the part means the same on both sides: the values of a trace are those of its steps, of others
    those of the script's end."""
    return part != "values" or len({name.endswith((*SCRIPTS, files.SUFFIX)) for name, _ in sides}) == 1


def _say_not_compared(
    sides: tuple[Snapshot, Snapshot], names: list[str], asked: tuple[str, ...], held: tuple[str, ...], required: bool
) -> None:
    """Tell, on stderr, what was asked for and cannot be compared, for only what was compared is equal; raises
    `CommandError` where it is `required`, and where there is nothing at all."""
    if not any(side.sections for side in sides):
        raise CommandError(f"There is nothing to compare: neither {names[0]} nor {names[1]} has a graph.")
    for part in asked:
        without = dict.fromkeys(name for side, name in zip(sides, names, strict=True) if part not in side.holds)
        if part not in held:
            why = (
                f"not held by {' and '.join(without)}"
                if without
                else "a trace has those of its steps, a script its last"
            )
        elif part in EXTRAS and not any(getattr(side, part) for side in sides):
            why = f"there are none in {' and '.join(dict.fromkeys(names))}"
        else:
            continue
        told = f"The {part} are not compared: {why}."
        if required:
            raise CommandError(told)
        say(told, err=True)


def _format(format_: str | None, output: Path | None) -> str:
    if output is None:
        return format_ or "text"
    named = output.suffix.lstrip(".").lower()
    named = {"txt": "text", "md": "markdown"}.get(named, named)
    wanted = one_format(format_, output, named if named in FORMATS else None)
    if wanted is None:
        raise UsageError(
            f"The name {output} does not say the format: end it in .txt, .json, .svg, .png, .dot, .html or .md."
        )
    return wanted


def _open(name: str, revision: str | None, wanted: Wanted) -> tuple[Snapshot, Trace | None]:
    settings = wanted.settings
    if name.endswith(files.SUFFIX):
        return files.load(Path(name)), None
    if name.endswith(SCRIPTS):
        label = f"{name} at {revision}" if revision else ""
        measured = ("values",) if wanted.with_values else ()
        module = wanted.modules.get(name, "")
        with checked_out(Path(name), revision) as script:
            if wanted.ranks > 1:
                return scripts.take(script, settings, name=label, ranks=wanted.ranks, module=module), None
            return scripts.taken(script, settings, name=label, module=module, measured=measured)
    path, rank = named_rank(name)
    trace = _with_step(store.load(path, rank), wanted)
    if wanted.ranks > 1:
        every = store.ranks_of(path)
        recorded = ((those, _with_step(store.load(path, those[0]), wanted)) for those in alike(every))
        return replace(scripts.of_ranks(recorded, len(every), settings), name=trace.script), trace
    sections = scripts.trace_sections(trace, settings)
    values = tuple(scripts.trace_values(trace)) if "values" in settings.include else ()
    digests = tuple(scripts.trace_digests(trace)) if "digests" in settings.include else ()
    has = {"values": bool(values), "digests": bool(digests)}
    held = tuple(part for part in settings.include if part not in EXTRAS or has.get(part))
    if rank is None and len(ranks := store.ranks_of(path)) > 1:
        say(f"Of {path}, rank {trace.rank} is compared, of {len(ranks)}; another one is {path}#1.", err=True)
    around = switches((step.graph for step in trace.steps), Path(trace.script))
    made = Snapshot(trace.script, sections, held, trace.total_steps, values, digests=digests, switches=around)
    version = trace.engine_version.partition("+")[0]
    return replace(made, hooks=scripts.trace_hooks(trace, settings), pytorch=version), trace


def _with_step(trace: Trace, wanted: Wanted) -> Trace:
    return trace if wanted.step is None else replace(trace, steps=(choose(trace, wanted.step),))


def _show(
    difference: SnapshotDiff, format_: str, output: Path | None, names: str, together: bool, command: str
) -> None:
    if format_ == "text" and output is None:
        print_diff(difference)
        return
    content = _content(difference, format_, names, together, command)
    put_out(content, output)


def _content(difference: SnapshotDiff, format_: str, names: str, together: bool, command: str) -> bytes:
    if format_ == "json":
        sections = {name: one.as_dict() for name, one in difference.compared}
        whole = {"format": "autograph-diff", "version": 1, "same": not difference, "sentences": difference.sentences}
        return (json.dumps({**whole, "sections": sections}, indent=1) + "\n").encode()
    if format_ == "text":
        return "".join(
            [f"{line}\n" for line in difference.sentences] + ["\n", difference.to_text()] * bool(difference)
        ).encode()
    if format_ in REPORTS:
        one, _, other = names.partition(" - ")
        return REPORTS[format_](difference, (one, other), command)
    if not difference.graphs:
        raise CommandError("There is nothing to draw: the graphs are the same.")
    name, first = difference.graphs[0]
    if format_ == "svg" and not together:
        one, _, other = names.partition(" - ")
        which = f" · {name}" if len(difference.graphs) == 1 else ""
        return side_by_side(
            [graph for _, graph in difference.graphs], (f"before: {one}{which}", f"after: {other}{which}")
        )
    return render_diff(first, format=format_, title=f"{names}, {name}")
