"""`autograph open`: all views of a trace on a page, in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from autograph_cli import export
from autograph_cli.cli import completion
from autograph_cli.cli.exit_codes import CommandError
from autograph_cli.cli.opening import Source, choose, open_trace, say_derived, say_rank, source_options
from autograph_cli.cli.options import RECORDABLE, WordsType, step_option
from autograph_cli.cli.panels import panels_of
from autograph_cli.cli.printing import say
from autograph_cli.cli.render import script_texts
from autograph_cli.export import READABLE, RenderOptions
from autograph_cli.record.run.store import FOLDER, write


@click.command(name="open")
@step_option
@click.option(
    "--record",
    type=WordsType(RECORDABLE),
    default="values,time,flops,formula",
    show_default=True,
    shell_complete=completion.some_of(*RECORDABLE),
    metavar="FACTS",
    help=f"Which facts to record of a script beside its graph, some of: {','.join(RECORDABLE)}.",
)
@click.option("--formula", is_flag=True, help="Write the derivatives as formulas, too (needs sympy).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help=f"The page; unless told, {FOLDER}/page.html.")
@click.option("--no-browser", is_flag=True, help="Make the page, and open nothing.")
@source_options
@click.pass_context
def browse(
    ctx: click.Context,
    source: Source,
    step: str | None,
    record: tuple[str, ...],
    formula: bool,
    output: Path | None,
    no_browser: bool,
) -> None:
    """Make the page of the last run, of the run in a TRACE, or of FILE.py, which is run first, and open it.

    It is one file, to keep or to send: it needs no network and no server.

    \b
      autograph open
      autograph open expr.py --record values,check
      autograph open trace.json -o page.html --no-browser
    """
    opened = open_trace(source, step, quiet_stdout=False, record=record)
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    say_rank(opened)
    chosen = choose(opened.trace, step)
    say_derived(chosen)
    options = RenderOptions(
        max_nodes=READABLE,
        title=opened.trace.script,
        held=opened.trace.held,
        hooks=opened.trace.hooks,
        formula=formula,
        sources=script_texts(opened.trace, source, chosen),
        panels=panels_of(opened, source, chosen),
    )
    file = (output or Path(FOLDER, "page.html")).absolute()
    if output is None:
        file.parent.mkdir(exist_ok=True)
    write(file, export.render(chosen, "forward", "html", options), follow=output is not None)
    say(output or Path(FOLDER, "page.html"), err=True)
    if not no_browser and not webbrowser.open(file.as_uri()):
        raise CommandError(f"No browser was found here; open {file} in one.")
    ctx.exit(opened.exit_code)
