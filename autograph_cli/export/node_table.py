"""What a page knows of the nodes of a whole graph, whichever view is seen: data to be written as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autograph_cli.export.labels import Labels
from autograph_cli.export.timeline import moments
from autograph_cli.graph import Graph, Node, Values
from autograph_cli.graph.facts import bytes_of, gradients_of, stored, values_of
from autograph_cli.graph.names import shown_name, visible


def told_nodes(graph: Graph) -> Iterator[dict[str, Any]]:
    """A record for each node; what is empty or was not recorded is left out."""
    data = any(node.args for node in graph)
    labels = Labels(graph, data)
    for node in graph:
        names = list(dict.fromkeys(shown_name(name) for output in node.outputs for name in output.names))
        facts = {
            "title": labels.of(node, {}).title,
            "text": labels.tooltip(node),
            "kind": node.kind,
            "op": visible(node.op or node.name),
            "names": names,
            "order": node.order,
            "parent": node.parent,
            "module": visible(node.module),
            "call": node.call,
            "line": f"{node.source.file}:{node.source.line}" if node.source else "",
            "shape": " ".join(f"[{', '.join(map(str, output.type.shape))}]" for output in node.outputs),
            "bytes": sum(bytes_of(output.type) for output in node.outputs),
            "keeps": sum(stored(node.saved).values()),
            **_measured(node),
        }
        yield {name: fact for name, fact in facts.items() if fact or (fact == 0 and name in ("parent", "call"))}


def _measured(node: Node) -> dict[str, Any]:
    if node.measured is None:
        return {}
    return {
        "time": (node.measured.time or 0) + (node.measured.backward_time or 0),
        "largest": max(map(_largest, node.measured.gradients), default=None, key=lambda size: size or 0.0),
        "value": "\n".join(values_of(node)),
        "gradient": "\n".join(gradients_of(node)),
    }


def _largest(values: Values | None) -> float | None:
    """The largest of the absolute numbers, as far as the text of them tells."""
    if values is None:
        return None
    words = [*" ".join(values.whole).replace("[", " ").replace("]", " ").replace(",", " ").split()]
    found = []
    for word in words or [values.low, values.high]:
        try:
            found.append(abs(float(word)))
        except ValueError:  # a complex number, a truth value, or nothing
            return None
    return max((size for size in found if size == size and size != float("inf")), default=None)


def told_modules(graph: Graph) -> Iterator[dict[str, Any]]:
    """The calls of modules, each after the one that it ran in."""
    for call in graph.calls:
        turn = f" ({call.turn} of {call.turns})" if call.turns > 1 else ""
        yield {
            "title": visible(f"{call.path}: {call.cls}{turn}"),
            "path": visible(call.path),
            "parent": call.parent,
            "parameters": call.parameters,
        }


def told_sources(graph: Graph, scripts: Mapping[str, str]) -> dict[str, list[list[Any]]]:
    """Of each file the lines, with their numbers: all where the script is as it was recorded, else those recorded."""
    known: dict[str, dict[int, str]] = {}
    for node in graph:
        if node.source:
            known.setdefault(node.source.file, {})[node.source.line] = node.source.text
    return {
        name: [[line, visible(text)] for line, text in _lines(its, scripts.get(name))] for name, its in known.items()
    }


def _lines(recorded: dict[int, str], script: str | None) -> list[tuple[int, str]]:
    lines = [] if script is None else script.splitlines()
    if lines and all(n <= len(lines) and lines[n - 1].strip() == text.strip() for n, text in recorded.items()):
        return [(number, line.expandtabs()) for number, line in enumerate(lines, 1)]
    return sorted(recorded.items())


def told_steps(graph: Graph) -> dict[str, Any]:
    """All that happened, in true order: `[phase, node, whether a pass ran it]`."""
    phases: dict[str, int] = {}
    found = []
    for moment in moments(graph):
        phase = "forward"
        if moment.pass_id is not None:
            entry = graph.passes[moment.pass_id]
            several = f" {entry.id + 1}" if len(graph.passes) > 1 else ""
            phase = entry.call + several + ("" if moment.runs else " makes")
        found.append([phases.setdefault(phase, len(phases)), moment.node, int(moment.runs)])
    return {"moments": found, "phases": list(phases)}
