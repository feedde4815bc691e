"""`autograph why`: the paths by which a gradient goes from one name to another, or where the way is cut."""

from __future__ import annotations

import difflib
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from autograph_cli.cli import completion
from autograph_cli.cli.exit_codes import as_command_error
from autograph_cli.cli.opening import Source, choose, open_trace, say_ranks, script_of, source_options
from autograph_cli.cli.options import Whole, step_option
from autograph_cli.cli.printing import say
from autograph_cli.cli.run import explain_failure
from autograph_cli.findings.book import lines_that
from autograph_cli.findings.endings import endings, read_out
from autograph_cli.findings.functions import function_text
from autograph_cli.findings.records import Seen, line_of
from autograph_cli.graph import Edge, Graph, GraphError, Node, Step, Trace, paths as ways
from autograph_cli.graph.cuts import LISTED, behind, reasons, where
from autograph_cli.graph.ledger_facts import facts_of
from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.withheld import withheld, without_withheld
from autograph_cli.record.graphs.causes import causes, first_binding, is_leaf, nameless, origins, read_scripts, unused
from autograph_cli.record.names.bindings import Script
from autograph_cli.record.run.runner import FAILED

NO_PATH = 1
"""The exit code where no gradient goes from the first name to the second."""
MANY = 12
"""Nodes of a path that are printed though half as many modules would tell it."""
LINES = 40
"""Nodes of one path that are printed at most."""
SCREEN = 32
"""The lines of all paths that are printed where no limit is asked for."""
_NEAR, _LISTED, _PATHS, _DEEPEST, _SHOWN = 5, 20, 10, 8, 3


@click.command
@click.argument("loss", shell_complete=completion.node)
@click.argument("leaf", shell_complete=completion.node)
@step_option
@click.option("--limit", type=Whole(1), help="So many paths, node by node.  [default: what fits on a screen]")
@click.option("--json", "as_json", is_flag=True, help="An object on stdout.")
@source_options
@click.pass_context
def why(
    ctx: click.Context, loss: str, leaf: str, source: Source, step: str | None, limit: int | None, as_json: bool
) -> None:
    """Print the paths of a gradient from LOSS to LEAF, in the last run, a TRACE, or FILE.py, which is run first.

    A name is a variable, an operation (tanh, TanhBackward0), or a number as `show` prints it (%7). Of many
    paths the shortest and the longest are printed, and how many there are; a long one by the modules that it goes
    through. The last lines say which optimizer holds LEAF, and which hooks are on it. Where there
    is no path, the answer says what cuts the way, as far as the trace and the script beside it tell. The exit code is 0
    where there is a path, 1 where there is none, 2 for an error, also where the script failed.

    \b
      autograph why loss w
      autograph why loss model.fc1.weight train.py
    """
    with as_command_error():
        opened = open_trace(source, step, quiet_stdout=True)
        if opened.failed_early:
            explain_failure(opened.trace, script_of(opened.trace, source), source.target.words if source.target else "")
            ctx.exit(FAILED)
        say_ranks(opened)
        chosen, told_of = choose(opened.trace, step), []
        if step is None and (other := _with_both(opened.trace, chosen, (loss, leaf))) is not None:
            told_of, chosen = [f"Step {chosen.nth} has not both; this is step {other.nth}."], other
        seen = Seen(opened.trace, chosen, read_scripts(chosen.graph, script_of(opened.trace, source)))
        paths, lines = _answer(seen, loss, leaf, limit)
        lines = [*told_of, *lines, *([] if paths else _elsewhere(opened.trace, chosen, (loss, leaf)))]
        training = _training(seen, leaf)
        if as_json:
            told = {"loss": loss, "leaf": leaf, "step": chosen.nth, "count": ways.count_words(paths.count)}
            told |= {"paths": list(_listed(chosen.graph, paths)), "cut": [] if paths else [*map(str.strip, lines)]}
            say(json.dumps({**told, "training": [*map(str.strip, training)]}, indent=2))
        else:
            say("\n".join([*lines, *training]))
        if opened.exit_code:
            explain_failure(opened.trace, script_of(opened.trace, source), source.target.words if source.target else "")
    # Where the script failed, no path is no answer.
    ctx.exit(FAILED if opened.exit_code else 0 if paths else NO_PATH)


def _listed(graph: Graph, paths: ways.Paths) -> Iterator[list[dict[str, object]]]:
    """The paths as JSON has them: each node's number, tensors, operation and line."""
    names = output_names(graph)
    for path in (*paths.shortest, *reversed(paths.longest)):
        nodes = [graph.nodes[number] for number in path]
        yield [
            {
                "node": node.id,
                "tensors": [
                    f"{name}: {output.type}" for name, output in zip(names[node.id], node.outputs, strict=True)
                ],
                "operation": node.op or node.name,
                "source": node.source
                and {"file": node.source.file, "line": node.source.line, "text": node.source.text},
            }
            for node in nodes
        ]


def _with_both(trace: Trace, chosen: Step, names: tuple[str, str]) -> Step | None:
    """The last other step in whose graph both names are, where they are not in this one."""
    having = [step for step in trace.steps if all(_found(step.graph, name) for name in names)]
    return having[-1] if having and chosen not in having else None


def _elsewhere(trace: Trace, chosen: Step, names: tuple[str, str]) -> list[str]:
    """The steps in whose graphs the names are that are not in this one."""
    missing = [name for name in names if not _found(chosen.graph, name)]
    steps = [step.nth for step in trace.steps if missing and all(_found(step.graph, name) for name in names)]
    listed = " or ".join(f"--step {number}" for number in steps[:LISTED])
    return [visible(f"  Step {chosen.nth} was looked at; {' and '.join(missing)} is in: {listed}.")] if steps else []


def _training(seen: Seen, leaf: str) -> list[str]:
    """Return what the ledger knows of a leaf: a path alone moves nothing."""
    graph, ledger = seen.graph, seen.trace.ledger
    if ledger is None or _of_module(graph, leaf):
        return []
    found = [graph[number] for number, _ in _found(graph, leaf) if graph[number].kind in ("leaf", "input")]
    held = [each.name for each in ledger.parameters]
    inside = [name for name in held if name == leaf or name.startswith(f"{leaf}.") or name.endswith(f".{leaf}")]
    if not found and not inside and (_found(graph, leaf) or not is_leaf(dict(seen.scripts), leaf)):
        return []  # a result, or no tensor: what optimizers hold says nothing of it
    names = [leaf, *(name for node in found for name in node.outputs[0].names)]
    return [visible(f"  {fact}.") for fact in facts_of(ledger, inside or names)]


def _found(graph: Graph, name: str) -> list[ways.Position]:
    """The positions of a name; none where the graph has not got it."""
    try:
        return ways.find_positions(graph, name)
    except GraphError:
        return []


def _answer(seen: Seen, loss: str, leaf: str, limit: int | None) -> tuple[ways.Paths, list[str]]:
    """Return the paths of a gradient, and the lines to print."""
    graph, scripts = seen.graph, dict(seen.scripts)
    if _is_of_script(scripts, graph, loss):
        return ways.Paths(), [visible(line) for line in nameless(loss, scripts, seen.step)]
    starts = _positions(graph, loss)
    inside = _of_module(graph, leaf)
    ends = inside or ([] if _is_of_script(scripts, graph, leaf) else _positions(graph, leaf))
    paths = ways.paths(without_withheld(graph), starts, ends, limit or _PATHS)
    if paths:
        lines = _told(graph, paths, loss, leaf, whole=limit is not None)
        return paths, [*lines, *_of_parameters(graph, starts, inside), *_of_results(graph, ends)]
    if ways.paths(graph, starts, ends, 1):
        return ways.Paths(), [
            visible(f"{leaf} gets no gradient from {loss}."),
            *_kept_back(graph, starts, ends, scripts),
        ]
    return ways.Paths(), _cut(seen, starts, ends, (loss, leaf))


def _of_module(graph: Graph, name: str) -> list[ways.Position]:
    """The parameters of the module that has this path, where no tensor has it."""
    if _found(graph, name):
        return []
    return [(node.id, 0) for node in graph if any(each.startswith(f"{name}.") for each in node.outputs[0].names)]


def _of_parameters(graph: Graph, starts: list[ways.Position], inside: list[ways.Position]) -> Iterator[str]:
    """A sentence on how many parameters of a module get a gradient."""
    without = [each for each in inside if not ways.paths(without_withheld(graph), starts, [each], 1)]
    if inside:
        named = ", ".join(graph[number].outputs[0].names[0] for number, _ in without[:LISTED])
        more = f"; not {named}{', ...' * (len(without) > LISTED)}" if without else ""
        yield visible(f"  {len(inside) - len(without)} of its {len(inside)} parameters get a gradient{more}.")


def _of_results(graph: Graph, ends: list[ways.Position]) -> Iterator[str]:
    """A sentence on a result of forward, whose `.grad` is read in vain."""
    made = [graph[number] for number, _ in ends if graph[number].kind == "operation" and not graph[number].order]
    if made and len(made) == len(ends) and made[-1].outputs[0].names:
        yield visible(
            f"  It is no leaf, as {where(made[-1])} makes it: it keeps no .grad without retain_grad() before."
        )


_FREEZES = re.compile(r"^[^#]*\.requires_grad(\s*=\s*False|_\(\s*(requires_grad\s*=\s*)?False)")


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
        line = f", {line_of(source)} `{source.text}`" if source else ""
        yield visible(f"  {node.name} returned None for input {nr}{line}; it is of {where(node)}.")


def _is_of_script(scripts: dict[str, Script], graph: Graph, name: str) -> bool:
    """Return whether the script has a variable of this name, and the graph has not."""
    own = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
    in_text = any(own.search(line) for script in scripts.values() for line in script.lines)
    return in_text and not _found(graph, name) and first_binding(scripts, name) is not None


def _positions(graph: Graph, name: str) -> list[ways.Position]:
    try:
        return ways.find_positions(graph, name)
    except GraphError:
        every = ways.known_names(graph)
        within = (other.partition(f".{name}.")[0] for other in every if f".{name}." in other)
        near = [other for other in every if other.endswith(f".{name}")]
        near += [f"{holder}.{name}" for holder in dict.fromkeys(within)]
        near = near or difflib.get_close_matches(name, every, _NEAR, 0.6) or every
        more = f" and {len(near) - _LISTED} more" if len(near) > _LISTED else ""
        listed = ", ".join(map(repr, near[:_LISTED])) or "none"
        raise GraphError(f"There is no {name!r} here; known names: {listed}{more}.") from None


def _told(graph: Graph, paths: ways.Paths, loss: str, leaf: str, *, whole: bool) -> list[str]:
    """Return the lines that tell of paths: `whole` ones, or what fits on a screen of them."""
    names = output_names(graph)
    every = [*paths.shortest, *reversed(paths.longest)]
    if not whole and (len(every[0]) + 2 > SCREEN or 2 * len(_runs(graph, every[0], _DEEPEST)) <= len(every[0]) > MANY):
        count = ways.count_words(paths.count)
        many = f"{count} path{'s' * (paths.count != 1)}, the shortest of {len(every[0]) - 1} steps, by modules"
        return [visible(f"{loss} -> {leaf}: {many}:"), *_by_modules(graph, names, every[0])]
    shown = every
    while not whole and len(shown) > 1 and sum(len(path) + 2 for path in shown) > SCREEN:
        shown = [path for path in shown if path is not shown[len(shown) // 2]]
    few = f", {len(shown)} of them shown" if paths.count > len(shown) else ""
    count = ways.count_words(paths.count)
    lines = [visible(f"{loss} -> {leaf}: {count} path{'s' * (paths.count != 1)}{few}.")]
    for position, path in enumerate(shown, 1):
        steps = len(path) - 1
        short = any(path is one for one in paths.shortest)
        kind = "" if not few else ", of the shortest" if short else ", of the longest"
        lines += ["", f"{position}. {steps} step{'s' * (steps != 1)}{kind}", *_path(graph, names, path)]
    return lines


def _path(graph: Graph, names: Sequence[tuple[str, ...]], path: ways.Path) -> list[str]:
    half = LINES // 2
    printed = [*path] if len(path) <= LINES else [*path[:half], *path[-half:]]
    lines = _table([_row(graph.nodes[number], names[number]) for number in printed])
    if len(path) > LINES:
        lines.insert(half, f"   ... {len(path) - LINES} nodes more")
    return lines


def _table(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Return rows in columns, as wide as the terminal at most."""
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["   " + "  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows]
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else max(map(len, lines))
    return [line if len(line) <= width else f"{line[: width - 3]}..." for line in lines]


def _by_modules(graph: Graph, names: Sequence[tuple[str, ...]], path: ways.Path) -> list[str]:
    """A path as the modules that it goes through, so deep that it fits on a screen."""
    runs = [[number] for number in path]
    for depth in range(_DEEPEST, 0, -1):
        runs = _runs(graph, path, depth)
        if len(runs) <= SCREEN - 4:
            break
    rows = []
    for run in runs[: SCREEN // 2] + runs[SCREEN // 2 :][-SCREEN // 2 :]:
        last = graph.nodes[run[0]]
        head, what, line, text = _row(last, names[run[0]])
        module = _module(graph, last, depth)
        if module and last.is_operation:
            cls = next((call.cls for call in graph.calls if call.path == module), "")
            many = f", {len(run)} operations" if len(run) > 1 else f": {visible(last.op)}"
            what = f"{module}{f' ({cls})' if cls else ''}{many}"
        elif len(run) > 1:
            what = f"{len(run)} operations, from {what}"
        several = len(last.outputs) > 1
        rows.append((f"{names[run[0]][0]}: {last.outputs[0].type}" if several else head, what, line, text))
    lines = _table(rows)
    if len(runs) > SCREEN:
        lines.insert(SCREEN // 2, f"   ... {len(runs) - SCREEN} modules more")
    return lines


def _runs(graph: Graph, path: ways.Path, depth: int) -> list[list[int]]:
    """The nodes of a path, those together that follow each other in one module."""
    runs: list[list[int]] = []
    for number in path:
        node = graph.nodes[number]
        before = graph.nodes[runs[-1][0]] if runs else None
        own = _module(graph, node, depth)
        if before is not None and own and node.kind != "leaf" and own == _module(graph, before, depth):
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _module(graph: Graph, node: Node, depth: int) -> str:
    return ".".join(node.module.split(".")[:depth])


def _row(node: Node, names: tuple[str, ...]) -> tuple[str, str, str, str]:
    """A node's tensors and shapes, its operation, its line and the text of that."""
    named = [f"{name}: {output.type}" for name, output in zip(names, node.outputs, strict=True)]
    if len(named) > 1 and not any(output.names for output in node.outputs):
        kinds = Counter(str(output.type) for output in node.outputs)
        named = [f"%{node.id}: {', '.join(f'{count} x {kind}' for kind, count in kinds.items())}"]
    head = ", ".join(named[:_SHOWN] + ["..."] * (len(named) > _SHOWN))
    what = visible(f"{node.op} ({node.name})" if node.op else node.name)
    source = node.source
    return head, what, visible(f"{source.file}:{source.line}") if source else "", visible(source.text) if source else ""


def _cut(seen: Seen, starts: list[ways.Position], ends: list[ways.Position], names: tuple[str, str]) -> list[str]:
    graph, scripts, (loss, leaf) = seen.graph, dict(seen.scripts), names
    ungraded = bool(ends) and all(graph[number].kind == "input" for number, _ in ends)
    its_causes = [] if ungraded else causes(graph, starts, ends, leaf, scripts)
    its_causes = its_causes or ([] if ungraded else _ends(seen, starts, ends))
    told = reasons(graph, starts, ends, untracked=not its_causes) if ends else unused(leaf, scripts)
    told += origins(graph, ends, scripts)
    if not scripts:
        told.append("The script as it was recorded is not in this folder, so which of its lines cut is not told.")
    elif ungraded:
        freezing = lines_that(seen, _FREEZES.search)[:LISTED]
        told += [f"{line_of(line)} `{line.text}` freezes." for line in freezing]
    elif not its_causes and not told:
        told.append("The trace does not tell why: operations outside the graph are not recorded.")
    return [visible(f"{leaf} gets no gradient from {loss}."), *(visible(f"  {line}") for line in [*its_causes, *told])]


def _ends(seen: Seen, starts: list[ways.Position], ends: list[ways.Position]) -> list[str]:
    """Sentences on the operations, or else on the text of lines, at which the ways of a leaf end."""
    leaves = [Edge(number, nr or 0) for number, nr in ends if seen.graph[number].kind == "leaf"]
    roots = [Edge(number, nr or 0) for number, nr in starts]
    found = [f"{one.fact(seen)}." for leaf in leaves for one in endings(seen, leaf, roots) if one.kind != "constant"]
    return list(dict.fromkeys(found or [f"{fact}." for leaf in leaves for *_, fact in read_out(seen, leaf)]))[:LISTED]
