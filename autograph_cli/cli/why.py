"""`autograph why`: the paths by which a gradient goes from one name to another, or where the way is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from autograph_cli.cli import completion
from autograph_cli.cli.exit_codes import as_command_error
from autograph_cli.cli.opening import Source, choose, open_trace, say_ranks, script_of, source_options
from autograph_cli.cli.options import Whole, step_option
from autograph_cli.cli.printing import say
from autograph_cli.findings.functions import function_text
from autograph_cli.graph import Graph, GraphError, Node, Step, Trace, paths as ways
from autograph_cli.graph.cuts import LISTED, behind, reasons, where
from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.withheld import withheld, without_withheld
from autograph_cli.record.graphs.causes import causes, first_binding, nameless, origins, read_scripts, unused
from autograph_cli.record.names.bindings import Script

NO_PATH = 1
"""The exit code where no gradient goes from the first name to the second."""
LINES = 40
"""Nodes of one path that are printed at most."""


@click.command
@click.argument("loss", shell_complete=completion.node)
@click.argument("leaf", shell_complete=completion.node)
@step_option
@click.option("--limit", type=Whole(1), default=10, show_default=True, help="So many paths at most.")
@source_options
@click.pass_context
def why(
    ctx: click.Context,
    loss: str,
    leaf: str,
    source: Source,
    step: str | None,
    limit: int,
) -> None:
    """Print the paths of a gradient from LOSS to LEAF, in the last run, a TRACE, or FILE.py, which is run first.

    Names are those of variables, of operations (tanh, TanhBackward0), or numbers as `show` prints them (%7). Of many
    paths the shortest and the longest are printed, and how many there are. Where there is none, the answer says what
    cuts the way, as far as the trace and the script beside it tell. The exit code is 0 where there is a path, 1 where
    there is none, 2 for an error.

    \b
      autograph why loss w
      autograph why loss model.fc1.weight train.py
    """
    with as_command_error():
        opened = open_trace(source, step, quiet_stdout=True)
        if opened.failed_early:
            ctx.exit(2)
        say_ranks(opened)
        chosen = choose(opened.trace, step)
        lines, code = _answer(chosen, loss, leaf, limit, script_of(opened.trace, source))
        lines += _elsewhere(opened.trace, chosen, (loss, leaf)) if code else []
        say("\n".join(lines))
    ctx.exit(code)


def _elsewhere(trace: Trace, chosen: Step, names: tuple[str, str]) -> list[str]:
    """The steps in whose graphs the names are that are not in this one."""
    missing = [name for name in names if not _has(chosen.graph, name)]
    steps = [step.nth for step in trace.steps if missing and all(_has(step.graph, name) for name in names)]
    listed = " or ".join(f"--step {number}" for number in steps[:LISTED])
    return [visible(f"  Step {chosen.nth} was looked at; {' and '.join(missing)} is in: {listed}.")] if steps else []


def _has(graph: Graph, name: str) -> bool:
    try:
        ways.find_positions(graph, name)
    except GraphError:
        return False
    return True


def _answer(step: Step, loss: str, leaf: str, limit: int, script: Path) -> tuple[list[str], int]:
    """Return the lines to print, and the exit code."""
    graph = step.graph
    scripts = read_scripts(graph, script)
    if _is_of_script(scripts, graph, loss):
        return [visible(line) for line in nameless(loss, scripts, step)], NO_PATH
    starts = _positions(graph, loss)
    ends = [] if _is_of_script(scripts, graph, leaf) else _positions(graph, leaf)
    paths = ways.paths(without_withheld(graph), starts, ends, limit)
    if paths:
        return _told(graph, paths, loss, leaf), 0
    if ways.paths(graph, starts, ends, 1):
        return [visible(f"{leaf} gets no gradient from {loss}."), *_kept_back(graph, starts, ends, scripts)], NO_PATH
    return _cut(graph, starts, ends, (loss, leaf), scripts), NO_PATH


def _kept_back(
    graph: Graph, starts: list[ways.Position], ends: list[ways.Position], scripts: dict[str, Script]
) -> Iterator[str]:
    """Sentences on the Functions on the way whose backward returned None."""
    leading, inside = ways.leading_to(graph, ends), behind(graph, starts)
    for node, nr in withheld(graph):
        edge, text = node.next[nr], function_text(scripts, node.op)
        if edge is None or node.id not in inside or edge.node not in leading:
            continue
        returns = [] if text is None else text.returns(nr, len(node.next))
        source = text.source(returns[-1]) if text is not None and returns else node.source
        line = f", {source.file}:{source.line} `{source.text}`" if source else ""
        yield visible(f"  {node.name} returned None for input {nr}{line}; it is of {where(node)}.")


def _is_of_script(scripts: dict[str, Script], graph: Graph, name: str) -> bool:
    """Return whether the script has a variable of this name, and the graph has not."""
    return not _has(graph, name) and first_binding(scripts, name) is not None


def _positions(graph: Graph, name: str) -> list[ways.Position]:
    try:
        return ways.find_positions(graph, name)
    except GraphError:
        every = ways.known_names(graph)
        near = [other for other in every if other.endswith(f".{name}")] or every
        more = f" and {len(near) - LINES} more" if len(near) > LINES else ""
        listed = ", ".join(map(repr, near[:LINES])) or "none"
        raise GraphError(f"There is no {name!r} here; known names: {listed}{more}.") from None


def _told(graph: Graph, paths: ways.Paths, loss: str, leaf: str) -> list[str]:
    names = output_names(graph)
    every = [*paths.shortest, *reversed(paths.longest)]
    shown = f", {len(every)} of them shown" if paths.count > len(every) else ""
    count = ways.count_words(paths.count)
    lines = [visible(f"{loss} -> {leaf}: {count} path{'s' * (paths.count != 1)}{shown}.")]
    for position, path in enumerate(every, 1):
        steps = len(path) - 1
        kind = "" if not shown else ", of the shortest" if position <= len(paths.shortest) else ", of the longest"
        lines += ["", f"{position}. {steps} step{'s' * (steps != 1)}{kind}", *_path(graph, names, path)]
    return lines


def _path(graph: Graph, names: Sequence[tuple[str, ...]], path: ways.Path) -> list[str]:
    half = LINES // 2
    printed = [*path] if len(path) <= LINES else [*path[:half], *path[-half:]]
    rows = [_row(graph.nodes[number], names[number]) for number in printed]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["   " + "  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows]
    if len(path) > LINES:
        lines.insert(half, f"   ... {len(path) - LINES} nodes more")
    return lines


def _row(node: Node, names: tuple[str, ...]) -> tuple[str, str, str, str]:
    """A node's tensors and shapes, its operation, its line and the text of that."""
    head = ", ".join(f"{name}: {output.type}" for name, output in zip(names, node.outputs, strict=True))
    what = visible(f"{node.op} ({node.name})" if node.op else node.name)
    source = node.source
    return head, what, visible(f"{source.file}:{source.line}") if source else "", visible(source.text) if source else ""


def _cut(
    graph: Graph,
    starts: list[ways.Position],
    ends: list[ways.Position],
    names: tuple[str, str],
    scripts: dict[str, Script],
) -> list[str]:
    loss, leaf = names
    its_causes = causes(graph, starts, ends, leaf, scripts)
    told = reasons(graph, starts, ends, untracked=not its_causes) if ends else unused(leaf, scripts)
    told += origins(graph, ends, scripts)
    if not scripts:
        told.append("The script as it was recorded is not in this folder, so which of its lines cut is not told.")
    elif not its_causes and not told:
        told.append("The trace does not tell why: operations outside the graph are not recorded.")
    return [visible(f"{leaf} gets no gradient from {loss}."), *(f"  {line}" for line in [*its_causes, *told])]
