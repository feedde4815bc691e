"""`autograph show`: a graph as text in the terminal."""

from __future__ import annotations

from collections.abc import Callable

import click

from autograph_cli import graph
from autograph_cli.cli.options import StepType, choose, open_trace, say_derived

_CUTS: dict[str | None, Callable[[graph.Graph, tuple[str, ...] | None], graph.Graph]] = {
    None: graph.slice_to_roots,
    "forward": graph.forward,
    "backward": graph.backward,
    "double-backward": graph.double_backward,
}


@click.command(short_help="Print the graph as text.")
@click.argument("source", required=False, metavar="[FILE.py | TRACE]")
@click.argument("args", nargs=-1, metavar="[-- ARGS...]")
@click.option("--forward", "view", flag_value="forward", help="Only the tensors and operations in the order of data.")
@click.option("--backward", "view", flag_value="backward", help="Only the grad_fn chain.")
@click.option("--double-backward", "view", flag_value="double-backward", help="Only the orders 0, 1 and 2.")
@click.option("--step", type=StepType(), help="first, last or a number; unless told, the last step that has a graph.")
@click.option("--root", "roots", multiple=True, metavar="NAME", help="Only what this root hangs on; may be repeated.")
@click.option("--details", is_flag=True, help="Also source lines, modules and saved values.")
@click.pass_context
def show(
    ctx: click.Context, source: str | None, args: tuple[str, ...], view: str | None, step: str | None,
    roots: tuple[str, ...], details: bool,
) -> None:  # fmt: skip
    """Print the graph of the last run, of a TRACE, or of FILE.py, which is run first, as text.

    What a script prints goes to stderr, so that stdout holds the graph alone.

    \b
      autograph show
      autograph show expr.py --backward
      autograph show expr.py > expr.txt
    """
    opened = open_trace(source, args, step, quiet_stdout=True)
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    chosen = choose(opened.trace, step)
    shown = _CUTS[view](chosen.graph, roots or None) if view or roots else chosen.graph
    if view in (None, "double-backward"):
        say_derived(chosen)
    click.echo(graph.to_text(shown, details=details), nl=False)
    ctx.exit(opened.exit_code)
