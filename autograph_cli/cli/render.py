"""`autograph render`: draw the graphs of a trace, or of a script that is run first."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource
from msgspec import Struct

from autograph_cli import export
from autograph_cli.atomic_files import is_stream
from autograph_cli.cli import completion
from autograph_cli.cli.options import (
    SCRIPTS,
    WATCHABLE,
    Opened,
    UsageError,
    Whole,
    choose,
    engine_option,
    one_format,
    open_option,
    open_trace,
    rank_option,
    root_option,
    say_derived,
    say_missing_order,
    show_option,
    slice_options,
    step_of_ranks,
    step_option,
    to_record,
)
from autograph_cli.cli.panels import panels_of
from autograph_cli.cli.printing import put, say
from autograph_cli.cli.project_defaults import ConfiguredCommand
from autograph_cli.export import DIRECTIONS, FLOWS, FORMATS, PARAMETERS, READABLE, VIEWS, RenderOptions
from autograph_cli.export.formats import watching
from autograph_cli.export.formats.programs import LAYOUTS
from autograph_cli.export.page.panels import Panels
from autograph_cli.export.scene.colouring import COLOURS
from autograph_cli.graph import Slice, Step
from autograph_cli.graph.reader_level import LEVELS
from autograph_cli.record.store import write

SUFFIXES = {name: format_.suffix for name, format_ in FORMATS.items()}
BY_SUFFIX = {suffix: name for name, suffix in SUFFIXES.items()} | {".gv": "dot", ".text": "text"}


@click.command(cls=ConfiguredCommand)
@click.argument("source", required=False, metavar="[FILE.py | TRACE]", shell_complete=completion.file)
@click.argument("args", nargs=-1, metavar="[-- ARGS...]")
@click.option("--forward", is_flag=True, help="The tensors and operations in the order of data (default).")
@click.option("--backward", is_flag=True, help="The grad_fn chain, from the roots to AccumulateGrad.")
@click.option("--double-backward", is_flag=True, help="All orders of derivative, each in a band of its own.")
@click.option("--order", type=Whole(1), help="--double-backward up to this order.")
@step_option
@root_option
@slice_options
@show_option
@open_option
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default=LEVELS[0],
    show_default=True,
    help="Draw the forward view as the script was written, or each operation that ran.",
)
@click.option("--depth", type=Whole(0), help="Open modules so deep; those further in are a box each.")
@click.option(
    "--max-nodes",
    type=Whole(0),
    default=READABLE,
    show_default=True,
    help="Above this many, modules and chains in a picture are folded; 0 leaves all open, loops as well.",
)
@click.option(
    "--roll/--no-roll",
    default=None,
    help="Draw one turn of each loop; unless told, where it makes a picture much smaller.",
)
@click.option(
    "--tags/--no-tags",
    default=True,
    show_default=True,
    help="Draw a leaf that is used far apart small at each use, or as one box with all its arrows.",
)
@click.option(
    "--parameters",
    type=click.Choice([name for name in PARAMETERS if name]),
    help="Write leaves on the operations that use them, or draw each; unless told, inline from 20 operations on.",
)
@click.option("--no-arguments", is_flag=True, help="Leave out arguments that are no tensors, such as `pow 2`.")
@click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default=DIRECTIONS[0],
    show_default=True,
    help="Draw it from the top down or from left to right; auto is what fits a page better.",
)
@click.option(
    "--columns/--no-columns",
    default=True,
    show_default=True,
    help="Break a long picture into columns or rows, like text.",
)
@click.option(
    "--flow",
    type=click.Choice(FLOWS),
    default=FLOWS[0],
    show_default=True,
    help="--double-backward as the gradient graph of each order, or as the data flow that computed it.",
)
@click.option(
    "--marks/--no-marks",
    default=True,
    show_default=True,
    help="Mark in red where a gradient is cut, does not arrive, or is NaN.",
)
@click.option(
    "--colour",
    "--color",
    type=click.Choice(list(COLOURS)),
    help="Colour the nodes by what they take: the more, the darker; gradient is its norm.",
)
@click.option(
    "--check",
    "checked",
    is_flag=True,
    help="Compare each node's derivative with finite differences, and colour it by the error: --colour check.",
)
@click.option("--tracked-only", is_flag=True, help="Leave out the operations that autograd did not record.")
@click.option("--watch", is_flag=True, help="Draw what run --watch noted of parameters over the steps; -f svg or csv.")
@click.option("--formula", is_flag=True, help="Write the derivatives as formulas beside the picture (needs sympy).")
@click.option("-f", "--format", "format_", type=click.Choice([*SUFFIXES, "csv"]), help="Unless told, by -o; else svg.")
@click.option("-o", "--output", help="A file, a folder, or - for stdout; unless told, expr.forward.svg and the like.")
@click.option(
    "--layout",
    shell_complete=completion.one_of(*LAYOUTS),
    help="The layout of SVG and PNG: layered (built in), graphviz-pure, or dot, if it is installed.",
)
@rank_option
@engine_option
@click.pass_context
def render(
    ctx: click.Context,
    source: str | None,
    args: tuple[str, ...],
    forward: bool,
    backward: bool,
    double_backward: bool,
    order: int | None,
    step: str | None,
    roots: tuple[str, ...],
    format_: str | None,
    output: str | None,
    max_nodes: int,
    roll: bool | None,
    tags: bool,
    level: str,
    depth: int | None,
    layout: str | None,
    part: Slice,
    shown: tuple[str, ...],
    opened_node: str | None,
    parameters: str | None,
    direction: str,
    columns: bool,
    flow: str,
    marks: bool,
    no_arguments: bool,
    colour: str | None,
    checked: bool,
    tracked_only: bool,
    watch: bool,
    formula: bool,
    rank: int | None,
    engine: str | None,
) -> None:
    """Draw the last run, the run in a TRACE, or run FILE.py and draw it.

    Several graphs go to a file each; a page (`-f html`) has all of them. With `-o -` a script's own output goes to
    stderr. Where a script made no double-backward graph, autograph made one from its root and leaves, and says so.

    \b
      autograph render
      autograph render --forward --backward --double-backward
      autograph render expr.py --backward -o graph.svg
      autograph render --backward --from w --to loss
      autograph render expr.py --show values,formula
      autograph render expr.py --backward --open TanhBackward0
      autograph render train.py --step 3 -f text -o - -- --epochs 3
    """
    if watch:
        ctx.exit(_draw_watched(source, args, format_, output, engine))
    asked = (forward, backward, double_backward or order is not None)
    views = [view for view, wanted in zip(VIEWS, asked, strict=True) if wanted] or ["forward"]
    format_ = one_format(format_, output or "", _named(output or "", format_))
    if opened_node is None and format_ == "html":
        views = views[:1]  # a page has all of them, and begins with this one
    if format_ == "csv":
        raise UsageError("The format csv is that of --watch.")
    position = Destination.of(output, format_, views)
    told = ctx.get_parameter_source("layout") is ParameterSource.COMMANDLINE
    if told and layout in LAYOUTS[1:] and position.format not in ("svg", "png"):
        raise UsageError(f"--layout {layout} is for SVG and PNG; {position.format} is not drawn by it.")
    if checked:
        colour = colour or "check"
        shown = (*shown, "check")
    recorded = COLOURS[colour].recorded if colour else ""
    record = to_record(shown, opened_node) + ((recorded,) if recorded else ())
    shown = tuple(word for word in shown if word != "arguments" or not no_arguments)
    opened = open_trace(source, args, step, quiet_stdout=position.stdout, record=record, engine=engine, rank=rank)
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    chosen = choose(opened.trace, step)
    options = RenderOptions(
        roots=roots or None,
        order=order,
        part=part,
        max_nodes=max_nodes or None,
        roll=roll,
        tags=tags,
        level=level,
        depth=depth,
        layout=layout,
        title=opened.trace.script,
        total_steps=opened.trace.total_steps,
        shown=shown,
        inside=opened_node,
        parameters=parameters,
        direction=direction,
        columns=columns,
        flow=flow,
        marks=marks,
        colour=colour,
        tracked_only=tracked_only,
        formula=formula,
        sources=script_texts(source, chosen) if position.format == "html" else {},
        panels=panels_of(opened, source, chosen) if position.format == "html" else Panels(),
    )
    draw(chosen, options, views, position, opened)
    ctx.exit(opened.exit_code)


def _draw_watched(
    source: str | None, args: tuple[str, ...], format_: str | None, output: str | None, engine: str | None
) -> int:
    """Write what was watched of parameters; the exit code."""
    suffix = Path(output or "").suffix.removeprefix(".")
    format_ = format_ or (suffix if suffix in watching.FORMATS else "svg")
    if format_ not in watching.FORMATS:
        raise UsageError(f"--watch has the formats {' and '.join(watching.FORMATS)}, not {format_}.")
    here = Path.cwd()
    opened = open_trace(source, args, None, quiet_stdout=True, watch=WATCHABLE, engine=engine)
    content = watching.FORMATS[format_](opened.trace).encode("utf-8", "backslashreplace")
    if output == "-":
        put(content)
    else:
        file = here / (output or f"{opened.stem}.watch.{format_}")
        write(file, content)
        say(file.relative_to(here) if file.is_relative_to(here) else file, err=True)
    return opened.exit_code


def script_texts(source: str | None, step: Step) -> dict[str, str]:
    """The scripts that the lines of a step are from, by name, where they were run here: a trace may name any file."""
    if source is not None and not source.endswith(SCRIPTS):
        return {}
    folder = Path(source).resolve().parent if source else Path.cwd()
    names = {node.source.file for node in step.graph if node.source}
    found = {name: (folder / name).resolve() for name in names if name.endswith(SCRIPTS)}
    return {
        name: path.read_text("utf-8", errors="replace")
        for name, path in sorted(found.items())
        if path.is_relative_to(folder) and path.is_file()
    }


def _named(output: str, asked: str | None) -> str | None:
    """The format that the end of a file's name says: `asked`, where its own files end so too."""
    ending = Path(output).suffix.lower()
    if asked and ending and SUFFIXES.get(asked, "").endswith(ending):
        return asked
    said = [suffix for suffix in BY_SUFFIX if output.lower().endswith(suffix)]
    return BY_SUFFIX[max(said, key=len)] if said else None


class Destination(Struct, frozen=True):
    """Where the pictures go: stdout, or a path, and in which format; `here` is where the command was given."""

    here: Path
    path: Path | None
    format: str
    stdout: bool = False
    several: bool = False
    folder: bool = False

    @classmethod
    def of(cls, output: str | None, format_: str | None, views: list[str]) -> Destination:
        """Where the output of this name goes, in this format; raises `UsageError` where they do not say enough."""
        here, several = Path.cwd(), len(views) > 1
        if output is None:
            return cls(here, here, format_ or "svg", folder=True)
        path = here / output
        if output == "-" or is_stream(output):
            if several:
                raise UsageError(f"-o {output} takes one graph, not {len(views)}: {', '.join(views)}.")
            stdout = output in ("-", "/dev/stdout")
            return cls(here, None if stdout else path, format_ or "svg", stdout)
        if output.endswith("/") or path.is_dir():
            return cls(here, path, format_ or "svg", folder=True)
        if format_ is None:
            endings = ", ".join(SUFFIXES.values())
            raise UsageError(f"The name {output} does not say the format: end it in {endings}, or add -f.")
        return cls(here, path, format_, several=several)

    def file(self, stem: str, view: str) -> Path:
        """The file for one view: `-o graph.svg` for one graph, `graph.backward.svg` for one of several."""
        assert self.path is not None
        if self.folder:
            self.path.mkdir(parents=True, exist_ok=True)
            name = stem if self.format == "html" else f"{stem}.{view}"
            return self.path / f"{name}{SUFFIXES[self.format]}"
        return self.path.with_name(f"{self.path.stem}.{view}{self.path.suffix}") if self.several else self.path


def draw(step: Step, options: RenderOptions, views: list[str], position: Destination, opened: Opened) -> None:
    """Draw every view and then write them, so that a graph that cannot be drawn costs no file."""
    if "double-backward" in views:
        say_derived(step)
        say_missing_order(step, options.order)
    if opened.ranks():
        steps = {view: step_of_ranks(opened, step, gradients=view != "forward") for view in views}
    else:
        steps = dict.fromkeys(views, step)
    pictures = [(view, export.render(steps[view], view, position.format, options)) for view in views]
    for view, picture in pictures:
        if position.stdout:
            put(picture)
            continue
        file = position.file(opened.stem, view)
        write(file, picture)
        say(file.relative_to(position.here) if file.is_relative_to(position.here) else file, err=True)
