"""`autograph diff`: how two graphs differ, whichever form they are in."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from autograph_cli.cli import completion
from autograph_cli.cli.exit_codes import CommandError, as_command_error
from autograph_cli.cli.git import checked_out
from autograph_cli.cli.opening import choose, named_rank
from autograph_cli.cli.options import SCRIPTS, DtypesType, EnginesType, StepType, UsageError, Whole, one_format
from autograph_cli.cli.printing import put, say
from autograph_cli.cli.snapshot import chosen_settings, print_diff
from autograph_cli.engines import chosen
from autograph_cli.export.comparison import FORMATS as PICTURES, render_diff, side_by_side
from autograph_cli.export.comparison_report import REPORTS
from autograph_cli.graph import Snapshot, Step, Trace
from autograph_cli.graph.snapshot import EXTRAS, HOLDS, VERSION, SnapshotDiff, compare
from autograph_cli.record.run import store
from autograph_cli.record.run.store import write
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
@click.option("--step", type=StepType(), help="Compare only this step: first, last or a number.")
@click.option(
    "--include",
    metavar="PARTS",
    shell_complete=completion.some_of(*HOLDS),
    help=f"Which facts of nodes to compare, some of: {','.join(HOLDS)}.",
)
@click.option(
    "--values",
    "by_values",
    is_flag=True,
    help="Where the numbers part first, forward or backward: exit code 0 for equal ones, but for rounding; 1; 3 where "
    "they cannot be compared.",
)
@click.option(
    "--compiled",
    is_flag=True,
    help="With --values: compare A without torch.compile, and with it, on the PyTorch that is installed.",
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="PATH",
    type=click.Path(exists=True, dir_okay=False),
    help="With --values: the Python that runs A, with its PyTorch; given twice, also the one for B. Of A alone, "
    "the other run is by this one.",
)
@click.option(
    "--dtype",
    "dtypes",
    type=DtypesType(),
    metavar="D,E",
    help="With --values: compare A in two default dtypes: float32,bfloat16. Random numbers are drawn in float32.",
)
@click.option(
    "--ranks",
    type=Whole(2),
    metavar="N",
    help="With --values: on how many ranks each script runs; the rank that parts first is named.",
)
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
    step: str | None,
    include: str | None,
    by_values: bool,
    compiled: bool,
    pythons: tuple[str, ...],
    dtypes: tuple[str, ...] | None,
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
    """
    with as_command_error():
        if by_values or compiled or pythons or dtypes or ranks:
            if views or include is not None:
                raise UsageError("--values takes no --view and --include: it compares the numbers of all nodes.")
            form = "json" if as_json else _format(format_, output)
            if form not in ("text", "json", "svg", "html"):
                raise UsageError(f"--values writes text, json, svg and html, and no {form}.")
            twice = new is None and not revisions and (compiled or pythons or dtypes)
            sides = [_at(old), _at(old)] if twice else _sides(old, new, revisions, engines or ())
            running, wanted = _running(engines, compiled, pythons), (form, output)
            pairs = [(dtypes[0], other) for other in dtypes[1:]] if dtypes else [()]
            if len(pairs) > 1 and (form != "text" or output is not None):
                raise UsageError("More than two dtypes are told as text.")
            codes = [_by_values(sides, running, step, ranks, wanted, compiled, pair) for pair in pairs]
            ctx.exit(max(codes))
        format_ = "json" if as_json else format_
        asked = chosen_settings(load(), step, views, include, None)
        settings = _settings(asked, include)
        format_ = _format(format_, output)
        modules = {str(scripts.module_path(name)): name for name in (old, new) if name is not None and module}
        if module:
            old, new = str(scripts.module_path(old)), None if new is None else str(scripts.module_path(new))
        sides = _sides(old, new, revisions, engines or ())
        traces: list[Trace] | None = [] if format_ == "html" else None
        one, other = _both(sides, _engines(engines, settings), settings, step, modules, traces)
        held = tuple(part for part in one.holds if part in other.holds and _is_alike(part, sides))
        _say_not_compared((one, other), [_title(*side) for side in sides], asked.include, held, include is not None)
        version = _OF_BOTH if one.engine != other.engine else VERSION
        one, other = (replace(each, holds=held, version=min(each.version, version)) for each in (one, other))
        difference = compare(one, other, settings.tolerance)
        if traces is not None and len(traces) == 2:
            _put(_beside(traces, sides, difference.sentences), output)
            ctx.exit(1 if difference else 0)
        _show(
            difference,
            format_,
            output,
            " - ".join(_title(*side) for side in sides),
            together,
            _command(old, new, revisions),
        )
    ctx.exit(1 if difference else 0)


def _running(engines: tuple[str, ...] | None, compiled: bool, pythons: Sequence[str]) -> list[tuple[str, str]]:
    """The engine and the Python of each run."""
    if len(pythons) > 2:
        raise UsageError("Give --python once or twice.")
    names = _engines(engines, load()) if engines or not (compiled or pythons) else ("torch", "torch")
    return [*zip(map(chosen, names), (*pythons, "", "")[:2], strict=True)]


def _by_values(
    sides: list[tuple[str, str | None]],
    running: Sequence[tuple[str, str]],
    step: str | None,
    ranks: int | None,
    wanted: tuple[str, Path | None],
    compiled: bool,
    dtypes: tuple[str, ...],
) -> int:
    """Compare the numbers of both sides, and return the exit code."""
    values = importlib.import_module("autograph_cli.cli.diff_values")  # NumPy, which other comparisons do without
    ways = [values.Way(engine, path, words=f" by {path}" if path else "") for engine, path in running]
    if compiled:
        ways[0] = replace(ways[0], environment=values.EAGER, words=", eager")
    for number, dtype in enumerate(dtypes):
        ways[number] = replace(ways[number], dtype=dtype, words=f" in {dtype}{ways[number].words}")
    pairs = values.open_ranks(sides, ways, step, ranks)
    opened = pairs[0] if pairs else values.open_sides(sides, ways, step)
    found = values.compare_ranks(pairs) if pairs else values.compare(opened)
    form, output = wanted
    content = _page_of_values(opened, found, sides) if form == "html" else values.content(found, opened, form)
    if dtypes and form == "text":
        content = f"{' and '.join(dtypes)}: ".encode() + content
    _put(content, output)
    code: int = values.CODES[found.verdict]
    return code


def _page_of_values(opened: Sequence[Any], found: Any, sides: list[tuple[str, str | None]]) -> bytes:
    """Make the page of both runs, where their numbers part marked."""
    traces = [_with(side.trace, its) for side, its in zip(opened, (found.old, found.new), strict=True)]
    settings = load()
    one, other = (Snapshot(each.script, scripts.trace_sections(each, settings)) for each in traces)
    return _beside(traces, sides, compare(one, other, settings.tolerance).sentences, found)


def _with(trace: Trace, step: Step | None) -> Trace:
    """The trace with a step that was recorded later."""
    if step is None or any(each is step for each in trace.steps):
        return trace
    steps = [each for each in trace.steps if each.number != step.number]
    return replace(trace, steps=tuple(sorted([*steps, step], key=lambda each: each.number)))


def _beside(traces: list[Trace], sides: list[tuple[str, str | None]], sentences: list[str], found: Any = None) -> bytes:
    """Make the page of two runs beside each other."""
    beside = importlib.import_module("autograph_cli.export.page.beside")  # NumPy, as above
    runs = [
        beside.Run(_title(*side), trace, {} if side[1] else _script(side[0], trace))
        for side, trace in zip(sides, traces, strict=True)
    ]
    page: str = beside.to_beside(*runs, sentences, found)
    return page.encode()


def _script(name: str, trace: Trace) -> dict[str, str]:
    """The text of a script that was run as it is now, by its name in the graph."""
    return {trace.script: Path(name).read_text("utf-8", "replace")} if name.endswith(SCRIPTS) else {}


def _put(content: bytes, output: Path | None) -> None:
    if output is None:
        put(content)
    else:
        write(output, content)


def _command(old: str, new: str | None, revisions: tuple[str, ...]) -> str:
    """The command that says the same."""
    words = [*(word for revision in revisions for word in ("--rev", revision)), old, *([] if new is None else [new])]
    return " ".join(["autograph diff", *words])


def _settings(asked: Settings, include: str | None) -> Settings:
    """Unless told what to compare, also what autograd did not record."""
    if include is not None:
        return asked
    return replace(asked, include=parts([*asked.include, "untracked"]))


def _both(
    sides: list[tuple[str, str | None]],
    engines: tuple[str, str],
    settings: Settings,
    step: str | None,
    modules: Mapping[str, str],
    traces: list[Trace] | None = None,
) -> tuple[Snapshot, Snapshot]:
    """Return both snapshots. Of one script on two engines they have the same steps: those that autograph's engine
    keeps, for of PyTorch only some are followed where nobody knows which is the last. `traces` gets what was recorded
    of what is no snapshot."""
    if traces is not None:
        traces.clear()
    one, other = (
        _open(*side, replace(settings, engine=e), step, modules, traces) for side, e in zip(sides, engines, strict=True)
    )
    if sides[0] != sides[1] or chosen(engines[0]) == chosen(engines[1]) or _steps(one) == _steps(other):
        return one, other
    asked = ",".join(_steps(one if chosen(engines[0]) == "builtin" else other))
    if asked in ("", settings.steps):
        return one, other
    return _both(sides, engines, replace(settings, steps=asked), step, modules, traces)


def _steps(snapshot: Snapshot) -> list[str]:
    titles = (section.title.partition(",")[0].removeprefix("step ") for section in snapshot.sections)
    return list(dict.fromkeys(titles))


def _engines(engines: tuple[str, ...] | None, settings: Settings) -> tuple[str, str]:
    """The engines that run the one script and the other."""
    names = engines or (settings.engine,)
    return names[0], names[-1]


def _sides(
    old: str, new: str | None, revisions: tuple[str, ...], engines: tuple[str, ...]
) -> list[tuple[str, str | None]]:
    """Two files, or one at two revisions or on two engines; None stands for how it is now."""
    if len(engines) == 2 and new is None and not revisions:
        return [(old, None), (old, None)]
    if (new is None) != bool(revisions) or len(revisions) > 2:
        raise UsageError("Give two files, or one file and --rev once or twice.")
    if new is not None:
        return [_at(old), _at(new)]
    if not old.endswith(SCRIPTS):
        raise UsageError(f"--rev is for scripts, and {old} is none.")
    return [(old, revision) for revision in (*revisions, None)[:2]]


def _at(name: str) -> tuple[str, str | None]:
    """The script and the revision that `FILE@REV` names; a file of that name comes first."""
    file, mark, revision = name.rpartition("@")
    return (file, revision) if mark and file.endswith(SCRIPTS) and not Path(name).exists() else (name, None)


def _is_alike(part: str, sides: list[tuple[str, str | None]]) -> bool:
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


def _title(name: str, revision: str | None) -> str:
    return Path(name).name + (f" at {revision}" if revision else "")


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


def _open(
    name: str,
    revision: str | None,
    settings: Settings,
    step: str | None,
    modules: Mapping[str, str],
    traces: list[Trace] | None,
) -> Snapshot:
    if not name.endswith(SCRIPTS):
        if name.endswith(files.SUFFIX):
            return files.load(Path(name))
        path, rank = named_rank(name)
        trace = store.load(path, rank)
        if step is not None:
            trace = replace(trace, steps=(choose(trace, step),))
        if traces is not None:
            traces.append(trace)
        sections = scripts.trace_sections(trace, settings)
        values = tuple(scripts.trace_values(trace)) if "values" in settings.include else ()
        lacks = ("formulas",) if values else EXTRAS
        held = tuple(part for part in settings.include if part not in lacks)
        if rank is None and len(ranks := store.ranks_of(path)) > 1:
            say(f"Of {path}, rank {trace.rank} is compared, of {len(ranks)}; another one is {path}#1.", err=True)
        return Snapshot(trace.script, sections, held, trace.total_steps, values)
    title = f"{name} at {revision}" if revision else ""
    with checked_out(Path(name), revision) as script:
        measured = () if traces is None else ("values",)
        module = modules.get(name, "")
        return scripts.take(script, settings, name=title, module=module, measured=measured, traces=traces)


def _show(
    difference: SnapshotDiff, format_: str, output: Path | None, title: str, together: bool, command: str
) -> None:
    if format_ == "text" and output is None:
        print_diff(difference)
        return
    content = _content(difference, format_, title, together, command)
    _put(content, output)


def _content(difference: SnapshotDiff, format_: str, title: str, together: bool, command: str) -> bytes:
    if format_ == "json":
        sections = {name: one.as_dict() for name, one in difference.compared}
        whole = {"format": "autograph-diff", "version": 1, "same": not difference, "sentences": difference.sentences}
        return (json.dumps({**whole, "sections": sections}, indent=1) + "\n").encode()
    if format_ == "text":
        return "".join(
            [f"{line}\n" for line in difference.sentences] + ["\n", difference.to_text()] * bool(difference)
        ).encode()
    if format_ in REPORTS:
        one, _, other = title.partition(" - ")
        return REPORTS[format_](difference, (one, other), command)
    if not difference.graphs:
        raise CommandError("There is nothing to draw: the graphs are the same.")
    name, first = difference.graphs[0]
    if format_ == "svg" and not together:
        one, _, other = title.partition(" - ")
        names = f" · {name}" if len(difference.graphs) == 1 else ""
        return side_by_side(
            [graph for _, graph in difference.graphs], (f"before: {one}{names}", f"after: {other}{names}")
        )
    return render_diff(first, format=format_, title=f"{title}, {name}")
