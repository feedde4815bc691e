"""`autograph show`: a graph as text in the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import click
from msgspec import to_builtins

from autograph_cli import graph
from autograph_cli.cli.opening import (
    Source,
    choose,
    open_trace,
    say_derived,
    say_missing_order,
    say_ranks,
    source_options,
)
from autograph_cli.cli.options import (
    UsageError,
    Whole,
    open_option,
    root_option,
    show_option,
    slice_options,
    step_option,
    to_record,
)
from autograph_cli.cli.printing import say
from autograph_cli.cli.project_defaults import ConfiguredCommand
from autograph_cli.formulas import formulas_of
from autograph_cli.graph import facts
from autograph_cli.graph.ledger_text import ledger_text
from autograph_cli.graph.names import told_apart

_CUTS: dict[str | None, Callable[[graph.Graph, tuple[str, ...] | None, int | None], graph.Graph]] = {
    None: lambda whole, roots, order: graph.slice_to_roots(whole, roots),
    "forward": lambda whole, roots, order: graph.forward(whole, roots),
    "backward": lambda whole, roots, order: graph.backward(whole, roots),
    "double-backward": lambda whole, roots, order: graph.double_backward(whole, roots, order),
}


_PLACED = re.compile(r"\bat\(((?:[^(),]|\([^()]*\))+),")


@click.command(cls=ConfiguredCommand)
@click.option("--forward", "view", flag_value="forward", help="Only the tensors and operations in the order of data.")
@click.option("--backward", "view", flag_value="backward", help="Only the grad_fn chain.")
@click.option("--double-backward", "view", flag_value="double-backward", help="Only the grad_fn chains of all orders.")
@click.option("--order", type=Whole(1), help="Only the orders up to this one.")
@step_option
@root_option
@slice_options
@show_option
@open_option
@click.option("--depth", type=Whole(0), help="Modules further in than this are a line each.")
@click.option("--tracked-only", is_flag=True, help="Leave out the operations that autograd did not record.")
@click.option("--formula", is_flag=True, help="Only the derivatives, as formulas (needs sympy).")
@click.option("--details", is_flag=True, help="Also source lines, modules and saved values.")
@click.option("--ledger", is_flag=True, help="Only what happened beside operations: optimizers, steps, clips, hooks.")
@click.option("--json", "as_json", is_flag=True, help="With --ledger: as JSON.")
@source_options
@click.pass_context
def show(
    ctx: click.Context,
    source: Source,
    view: str | None,
    step: str | None,
    roots: tuple[str, ...],
    details: bool,
    part: graph.Slice,
    order: int | None,
    depth: int | None,
    shown: tuple[str, ...],
    opened_node: str | None,
    tracked_only: bool,
    formula: bool,
    ledger: bool,
    as_json: bool,
) -> None:
    """Print the graph of the last run, of a TRACE, or of FILE.py, which is run first, as text.

    The output of a script goes to stderr, so that stdout holds the graph alone.

    \b
      autograph show
      autograph show expr.py --backward
      autograph show expr.py > expr.txt
    """
    if as_json and not ledger:
        raise UsageError("--json is for --ledger; `autograph render -f json` writes the graph.")
    opened = open_trace(source, step, quiet_stdout=True, record=(*to_record(shown, opened_node), *["data"] * formula))
    if opened.failed_early:
        ctx.exit(opened.exit_code)
    say_ranks(opened)
    if ledger:
        _say_ledger(opened.trace, as_json)
        ctx.exit(opened.exit_code)
    chosen = choose(opened.trace, step)
    if order is not None:
        view = "double-backward"
    if view in (None, "double-backward"):
        say_derived(chosen)
        say_missing_order(chosen, order)
    shown_graph = chosen.double if view == "double-backward" and chosen.double else chosen.graph
    if formula:
        _say_formulas(shown_graph)
        ctx.exit(opened.exit_code)
    whole = told_apart(shown_graph)
    whole = graph.tracked(whole) if tracked_only else whole
    cut = _CUTS[view](whole, roots or None, order) if view or roots else whole
    if opened_node is not None:
        cut, words = graph.open_node(cut, opened_node, opened.trace.script)
        say(words, err=True)
        shown = (*shown, "formula")
    else:
        facts.check_recorded(chosen.graph, shown, opened.trace.script)
    if part:
        before, cut = len(cut), part.of(cut)
        say(f"{part.words()}: {len(cut)} of {before} nodes", err=True)
    if depth is not None:
        cut = graph.close_modules(cut, depth)
    say(graph.to_text(cut, details=details, shown=shown), end="")
    ctx.exit(opened.exit_code)


def _say_formulas(whole: graph.Graph) -> None:
    """The derivatives of a graph, and on stderr what `at` means in them."""
    formulas = formulas_of(whole, needed=True)
    for line in formulas:
        say(f"order {line.order}  {line}")
    if picked := next((match[1] for line in formulas if (match := _PLACED.search(line.text))), ""):
        say(f"at({picked}, g): zeros, but g at the places where {picked} was taken", err=True)


def _say_ledger(trace: graph.Trace, as_json: bool) -> None:
    """The ledger of training."""
    if trace.ledger is None:
        raise click.ClickException("this trace has no ledger: an earlier version recorded it; record the script again")
    text = json.dumps(to_builtins(trace.ledger), indent=1) + "\n" if as_json else ledger_text(trace.ledger)
    say(text, end="")
