"""`autograph steps`: the steps of a run, what ended them, and which are kept."""

from __future__ import annotations

import json

import click

from autograph_cli.cli.opening import Source, open_trace, source_options
from autograph_cli.cli.printing import say
from autograph_cli.cli.project_defaults import ConfiguredCommand
from autograph_cli.graph import step_table


@click.command(cls=ConfiguredCommand)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@source_options
@click.pass_context
def steps(ctx: click.Context, source: Source, as_json: bool) -> None:
    """List the steps of the last run, of a TRACE, or of FILE.py, which is run first.

    A step ends with a backward pass that frees its graph, or with an optimizer's step for passes that kept theirs.
    Steps that the same line ended are one kind: of each the first and the last are kept, unless `run --steps` says
    otherwise. `--step` of the other commands takes a number of this list, a line, or the name of a root.

    \b
      autograph steps
      autograph steps train.py
      autograph render --step gan.py:16
    """
    opened = open_trace(source, None, quiet_stdout=True)
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    trace = opened.trace
    if as_json:
        told = {
            "script": trace.script,
            "steps": trace.ended,
            "kinds": step_table.kinds(trace),
            "kept": step_table.rows(trace),
            "optimizers": step_table.optimizers(trace),
        }
        say(json.dumps(told, indent=1))
    else:
        say(step_table.to_text(trace), end="")
    ctx.exit(opened.exit_code)
