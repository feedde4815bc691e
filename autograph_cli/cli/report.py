"""The report of `autograph run` on a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from autograph_cli import __version__
from autograph_cli.cli.opening import no_graph
from autograph_cli.cli.printing import say
from autograph_cli.graph import DeviceMemory, Graph, Memory, Node, Step, Trace
from autograph_cli.graph.facts import bytes_of, bytes_text
from autograph_cli.graph.marks import marks_of, marks_text
from autograph_cli.graph.names import visible
from autograph_cli.graph.saved_memory import Kept, kept_tensors, retained, total_bytes, uncounted_words
from autograph_cli.record.log.kinds import ALL_UNTIL
from autograph_cli.record.run.store import has_graph

MOST = 12
"""The most leaves or roots that are named; of more, the report gives their number."""
NOT_FOLLOWED = ", the last one that was followed: the loop did not tell which is the last, {} (--steps {} keeps it)"

AFTER = ", {}: drawn by --step last"

_UNTOLD = {
    "CopySlices": "what `CopySlices` nodes keep for backward",
    "CompiledFunctionBackward": "what ran inside of compiled parts (--record inside keeps it, --inside shows it)",
    "DifferentiableGraphBackward": "what ran inside of scripted parts",
}
"""The facts that PyTorch does not tell, by the nodes that stand for them."""


def print_report(trace: Trace, where: Path | None, folder: Path, last: bool = False) -> None:
    """Print the report on stderr: with colours in a terminal, as plain lines elsewhere."""
    title = f"{trace.script}, {_steps(trace)}" if has_graph(trace) else no_graph(trace)
    say(f"autograph: {title}", err=True, style="bold")
    for label, text in [*report(trace, where, folder, last), *untold(trace)]:
        say(f"  {label:<9}", err=True, style="cyan", end="")
        say(text, err=True)


def report(trace: Trace, where: Path | None, folder: Path, last: bool = False) -> list[tuple[str, str]]:
    """The lines of the report below its title, each with its label; `last`: the last step was asked for."""
    lines: list[tuple[str, str]] = []
    if has_graph(trace):
        for step in trace.steps:
            if trace.total_steps > 1:
                lines.append(("step", f"{step.nth}{_line(trace, step)}{_place(trace, step, last)}"))
            lines += _step(step, trace)
        if trace.failure:
            lines.append(("failed", f"{trace.failure}; what was recorded before is kept{_unseen(trace)}"))
    lines += _breaks(trace)
    if has_graph(trace):
        lines.append(("engine", _engine(trace)))
    if where is not None:
        shown = where.relative_to(folder) if where.is_relative_to(folder) else where
        lines.append(("trace", str(shown)))
    return [(label, visible(text)) for label, text in lines]


def _breaks(trace: Trace) -> list[tuple[str, str]]:
    """The places where `torch.compile` ended a graph, and why: the first ones."""
    found = [(one.name, at) for one in trace.notices if one.kind == "break" and (at := one.source)]
    lines = [("break", f"{at.file}:{at.line}: torch.compile ended a graph here: {why}") for why, at in found[:MOST]]
    return lines + ([("break", f"and {len(found) - MOST} more")] if len(found) > MOST else [])


def _engine(trace: Trace) -> str:
    """Return which engine ran the script, and its version."""
    return f"PyTorch {trace.engine_version}".rstrip() if trace.engine == "pytorch" else f"autograph {__version__}"


def _unseen(trace: Trace) -> str:
    """Return how to see the step that failed, if it was not followed."""
    last = max((kind.last for kind in trace.kinds), default=0)
    if last < ALL_UNTIL - 1 or any(step.kind is None or step.number == last for step in trace.steps):
        return ""
    again = "explain" if trace.engine == "autograph" else f"run --engine torch --steps {last + 2}"
    return f", but the step that failed was not followed: autograph {again} {trace.script}"


def untold(trace: Trace) -> list[tuple[str, str]]:
    """Return a line for each fact that PyTorch did not tell of the operations in a trace."""
    if trace.engine != "pytorch":
        return []
    nodes = (node for step in trace.steps for node in step.graph)
    names = {node.name for node in nodes if node.measured is None or node.measured.inside is None}
    return [("untold", text) for name, text in _UNTOLD.items() if name in names]


def kept_bytes(nodes: Iterable[Node]) -> int:
    """Bytes that the nodes keep for backward; memory that several of them share counts once."""
    return total_bytes(kept_tensors(Graph(tuple(nodes))))


def _steps(trace: Trace) -> str:
    total = trace.ended
    kept = len(trace.steps) - (total < trace.total_steps)
    text = f"{total} step{'' if total == 1 else 's'}"
    return text if total == kept else f"{text}, {kept} kept"


def _line(trace: Trace, step: Step) -> str:
    """Return where a step was ended, if there are several such lines."""
    kind = trace.kind_of(step)
    several = sum(each.count > 1 for each in trace.kinds) > 1
    return f", ended in {kind.source.file}:{kind.source.line}" if several and kind and kind.source else ""


def _place(trace: Trace, step: Step, last: bool) -> str:
    """Return the words for a step's place among the others."""
    main, kind = trace.main_step(), trace.kind_of(step)
    if main is None or not step.has_nodes:
        return ""
    if kind is None and step.number > main.number:
        return AFTER.format("small beside it" if step.graph.passes else "without a backward pass")
    if kind is None or not last or step is not [each for each in trace.steps if each.kind == step.kind][-1]:
        return ""
    return NOT_FOLLOWED.format(kind.last + 1, kind.last + 1) if kind.last > step.number else ""


def _step(step: Step, trace: Trace) -> list[tuple[str, str]]:
    nodes = step.own
    lines = [("roots", _listed(_roots(step.graph)) or "none")]
    lines.append(("leaves", _listed(_leaves(nodes)) or "none"))
    seen = marks_text(marks_of(step.graph, trace.held, trace.hooks, step.older))
    lines += [("marked", f"{seen}: red in the pictures")] if seen else []
    orders = Counter(node.order for node in nodes if node.kind == "operation")
    lines.append(("nodes", ", ".join(f"order {order}: {orders[order]}" for order in sorted(orders)) or "none"))
    lines += _memory(step, nodes)
    if step.derived:
        lines.append(("derived", step.derived))
    return lines + growth(step.double or step.graph)


def _memory(step: Step, nodes: list[Node]) -> list[tuple[str, str]]:
    """Return the lines on memory: activations are the results that nodes save, not the leaves and inputs."""
    kept = kept_tensors(Graph(tuple(nodes)))
    if step.memory is None or not step.memory.devices:
        return _held(kept, step.memory, more=uncounted_words(nodes))
    lines = []
    by_device = {each.device: each for each in step.memory.devices}
    for place in dict.fromkeys([*by_device, *(each.type.device for each in kept)]):
        there = [each for each in kept if each.type.device == place]
        lines += _held(there, by_device.get(place, DeviceMemory(place)), f" on {place}", uncounted_words(nodes))
    return lines


def _held(
    kept: list[Kept], memory: Memory | DeviceMemory | None, where: str = "", more: str = ""
) -> list[tuple[str, str]]:
    """Return the lines on the memory held at one place."""
    lines = [("memory", f"{bytes_text(total_bytes(kept))} kept for backward{where}{more}")]
    if memory is None:
        return lines
    parts = (
        ("parameters", memory.parameters),
        ("gradients", memory.gradients),
        ("optimizer state", memory.optimizer),
        ("saved activations", total_bytes(retained(kept))),
    )
    held = ", ".join(f"{name} {bytes_text(count)}" for name, count in parts)
    return [*lines, ("held", held + (" or more" if more else "") + where)]


def growth(graph: Graph) -> list[tuple[str, str]]:
    """A line for each order, if there are several: its operations, and the bytes that they made and keep."""
    orders: dict[int, list[Node]] = {}
    for node in graph:
        if node.kind == "operation":
            orders.setdefault(node.order, []).append(node)
    if len(orders) < 2:
        return []
    rows = [("order", "nodes", "made", "kept")]
    for order in sorted(orders):
        output_bytes = sum(bytes_of(output.type) for node in orders[order] for output in node.outputs)
        kept = kept_bytes(orders[order])
        rows.append((str(order), str(len(orders[order])), bytes_text(output_bytes), bytes_text(kept)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [("growth" if number == 0 else "", line) for number, line in enumerate(table)]


def _roots(graph: Graph) -> list[str]:
    return [f"{root.name} {graph[root.node].outputs[root.nr].type}" for root in graph.roots]


def _leaves(nodes: Iterable[Node]) -> list[str]:
    return [
        f"{node.outputs[0].names[0] if node.outputs[0].names else f'%{node.id}'} {node.outputs[0].type}"
        for node in nodes
        if node.kind == "leaf"
    ]


def _listed(texts: list[str]) -> str:
    more = f", and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return ", ".join(texts[:MOST]) + more
