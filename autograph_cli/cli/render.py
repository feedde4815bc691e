"""`autograph render`: draw the graphs of a trace, or of a script that is run first."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from autograph_cli import export
from autograph_cli.atomic_files import is_stream
from autograph_cli.cli.opening import (
    Opened,
    Source,
    choose,
    open_trace,
    say_derived,
    say_missing_order,
    script_of,
    source_options,
    step_of_ranks,
)
from autograph_cli.cli.options import SCRIPTS, WATCHABLE, UsageError, one_format, step_option
from autograph_cli.cli.panels import panels_of
from autograph_cli.cli.picture_options import picture_options
from autograph_cli.cli.printing import put, say
from autograph_cli.cli.project_defaults import ConfiguredCommand
from autograph_cli.export import FORMATS, LAYOUTS, VIEWS, RenderOptions
from autograph_cli.export.formats import watching
from autograph_cli.graph import Step, Trace
from autograph_cli.record.run.store import write

SUFFIXES = {name: format_.suffix for name, format_ in FORMATS.items()}
BY_SUFFIX = {suffix: name for name, suffix in SUFFIXES.items()} | {".gv": "dot", ".text": "text"}


@click.command(cls=ConfiguredCommand)
@click.option("--forward", is_flag=True, help="The tensors and operations in the order of data (default).")
@click.option("--backward", is_flag=True, help="The grad_fn chain, from the roots to AccumulateGrad.")
@click.option("--double-backward", is_flag=True, help="All orders of derivative, each in a band of its own.")
@step_option
@picture_options
@click.option("--watch", is_flag=True, help="Draw what run --watch noted of parameters over the steps; -f svg or csv.")
@click.option("-f", "--format", "format_", type=click.Choice([*SUFFIXES, "csv"]), help="Unless told, by -o; else svg.")
@click.option("-o", "--output", help="A file, a folder, or - for stdout; unless told, expr.forward.svg and the like.")
@source_options
@click.pass_context
def render(
    ctx: click.Context,
    source: Source,
    forward: bool,
    backward: bool,
    double_backward: bool,
    step: str | None,
    options: RenderOptions,
    record: tuple[str, ...],
    watch: bool,
    format_: str | None,
    output: str | None,
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
      autograph render expr.py --backward --inside TanhBackward0
      autograph render train.py --step 3 -f text -o - -- --epochs 3
    """
    if watch:
        ctx.exit(_draw_watched(source, format_, output))
    asked = (forward, backward, double_backward or options.order is not None)
    views = [view for view, wanted in zip(VIEWS, asked, strict=True) if wanted] or ["forward"]
    format_ = one_format(format_, output or "", _named(output or "", format_))
    if options.inside is None and format_ == "html":
        views = views[:1]  # a page has all of them, and begins with this one
    if format_ == "csv":
        raise UsageError("The format csv is that of --watch.")
    position = Destination.of(output, format_, views)
    told = ctx.get_parameter_source("layout") is ParameterSource.COMMANDLINE
    if told and options.layout in LAYOUTS[1:] and position.format not in ("svg", "png"):
        raise UsageError(f"--layout {options.layout} is for SVG and PNG; {position.format} is not drawn by it.")
    opened = open_trace(source, step, quiet_stdout=position.stdout, record=record)
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    chosen = choose(opened.trace, step)
    options = replace(
        options,
        title=opened.trace.script,
        total_steps=opened.trace.ended,
        held=opened.trace.held,
        hooks=opened.trace.hooks,
    )
    if position.format == "html":
        texts = script_texts(opened.trace, source, chosen)
        options = replace(options, sources=texts, panels=panels_of(opened, source, chosen))
    again = chosen if step is not None else opened.trace.differentiated_again(chosen)
    draw(chosen, again, options, views, position, opened)
    ctx.exit(opened.exit_code)


def _draw_watched(source: Source, format_: str | None, output: str | None) -> int:
    """Write what was watched of parameters, and return the exit code."""
    named = "csv" if (output or "").lower().endswith(".csv") else _named(output or "", format_)
    format_ = one_format(format_, output or "", named) or "svg"
    if format_ not in watching.FORMATS:
        raise UsageError(f"--watch has the formats {' and '.join(watching.FORMATS)}, not {format_}.")
    here = Path.cwd()
    opened = open_trace(source, None, quiet_stdout=True, watch=WATCHABLE)
    content = watching.FORMATS[format_](opened.trace).encode("utf-8", "backslashreplace")
    if output == "-":
        put(content)
    else:
        file = here / (output or f"{opened.stem}.watch.{format_}")
        write(file, content)
        say(file.relative_to(here) if file.is_relative_to(here) else file, err=True)
    return opened.exit_code


def script_texts(trace: Trace, source: Source, step: Step) -> dict[str, str]:
    """Read the scripts that the lines of a step are from, where they were run here: a trace may name any file."""
    if source.name is not None and source.target is None:
        return {}
    folder = script_of(trace, source).resolve().parent if source.name else Path.cwd()
    names = {node.source.file for node in step.graph if node.source}
    paths = {name: (folder / name).resolve() for name in names if name.endswith(SCRIPTS)}
    return {
        name: path.read_text("utf-8", errors="replace")
        for name, path in sorted(paths.items())
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
    """The output of pictures: stdout or a path, and the format; `here` is the folder where the command was given."""

    here: Path
    path: Path | None
    format: str
    stdout: bool = False
    several: bool = False
    folder: bool = False

    @classmethod
    def of(cls, output: str | None, format_: str | None, views: list[str]) -> Destination:
        """Return where the output of this name goes, in this format; raises `UsageError` where they do not say
        enough."""
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


def draw(
    step: Step, again: Step, options: RenderOptions, views: list[str], position: Destination, opened: Opened
) -> None:
    """Draw every view and then write them, so that a graph that cannot be drawn costs no file; the double backward is
    that of another step where the script differentiates derivatives `again` there."""
    if "double-backward" in views:
        say_derived(again, step)
        say_missing_order(again, options.order)
    if opened.ranks():
        steps = {view: step_of_ranks(opened, step, gradients=view != "forward") for view in views}
    else:
        steps = dict.fromkeys(views, step) | {"double-backward": again}
    pictures = [(view, export.render(steps[view], view, position.format, options)) for view in views]
    for view, picture in pictures:
        if position.stdout:
            put(picture)
            continue
        file = position.file(opened.stem, view)
        write(file, picture)
        say(file.relative_to(position.here) if file.is_relative_to(position.here) else file, err=True)
