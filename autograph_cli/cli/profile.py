"""`autograph profile`: what each operation and each backward node cost, and what memory there was."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from autograph_cli.atomic_files import is_stream
from autograph_cli.cli.options import Source, Whole, choose, open_trace, say_rank, source_options, step_option
from autograph_cli.cli.printing import put, say
from autograph_cli.cli.project_defaults import ConfiguredCommand
from autograph_cli.export.exchange.profiles import FORMATS
from autograph_cli.graph.extras import extra
from autograph_cli.graph.profile import GROUPS, SORTS
from autograph_cli.record.run.store import write

MEASURED = ("time", "flops", "memory")
"""What is recorded for a profile."""


@click.command(cls=ConfiguredCommand)
@step_option
@click.option(
    "--by",
    "groups",
    type=click.Choice(list(GROUPS)),
    multiple=True,
    help="Sum up by this; may be repeated.  [default: operation, line, module, order]",
)
@click.option("--sort", type=click.Choice(SORTS), default="time", show_default=True, help="The most of this first.")
@click.option("--limit", type=Whole(1), default=12, show_default=True, help="So many rows of each table.")
@click.option(
    "-f",
    "--format",
    "format_",
    type=click.Choice(["table", *FORMATS]),
    default="table",
    show_default=True,
    help="chrome or perfetto: trace events; speedscope; collapsed: stacks, for flame graphs.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as -f json.")
@click.option("-o", "--output", help="A file, or - for stdout.  [default: -]")
@source_options
@click.pass_context
def profile(
    ctx: click.Context,
    source: Source,
    step: str | None,
    groups: tuple[str, ...],
    sort: str,
    limit: int,
    format_: str,
    as_json: bool,
    output: str | None,
) -> None:
    """Run FILE.py, and say what each operation and each backward node of a step took: time, floating-point operations,
    bytes that it made and that it keeps for backward; by operation, line, module and order of derivative. Then the
    memory over the step, its peak, and what is alive there.

    The time of recording and measuring is taken off and told. A trace can be profiled that was recorded so: autograph
    run --record time,flops,memory.

    \b
      autograph profile train.py
      autograph profile train.py --by line --sort flops
      autograph profile train.py -f chrome -o train.json -- --epochs 1
    """
    target = None if output is None else Path.cwd() / output
    opened = open_trace(source, step, quiet_stdout=True, record=MEASURED)
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    say_rank(opened)
    chosen = choose(opened.trace, step)
    format_ = "json" if as_json else format_
    if format_ == "table":
        extra("rich", "The table of profile", "rich")
        printed = importlib.import_module("autograph_cli.cli.profile_tables")
        content = printed.tables(chosen, opened.trace, groups, sort, limit)
    else:
        content = FORMATS[format_](chosen, opened.trace.script)
    if target is None or output == "-" or is_stream(output or ""):
        put(content.encode("utf-8", "backslashreplace"))
    else:
        write(target, content.encode("utf-8", "backslashreplace"))
        say(output, err=True)
    ctx.exit(opened.exit_code)
