"""What a page knows of the nodes of a whole graph, whichever view is seen: data to be written as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from autograph_cli.export.labels import Labels
from autograph_cli.export.timeline import moments
from autograph_cli.graph import Graph, Node, Values
from autograph_cli.graph.facts import bytes_of, facts_of, gradients_of, stored, values_of
from autograph_cli.graph.names import shown_name, visible
from autograph_cli.graph.text import saved_text


def told_nodes(graph: Graph) -> Iterator[dict[str, Any]]:
    """A record for each node; what is empty or was not recorded is left out."""
    data = any(node.args for node in graph)
    labels = Labels(graph, data, brief=True)
    for node in graph:
        names = list(dict.fromkeys(shown_name(name) for output in node.outputs for name in output.names))
        facts = {
            "title": labels.of(node, {}).title,
            "kind": node.kind,
            "name": visible(node.name) or "not recorded by autograd",
            "op": visible(node.op or node.name),
            "tensors": "\n".join(
                f"{visible(name)}: {output.type}"
                for name, output in zip(labels.names[node.id], node.outputs, strict=True)
            ),
            "names": names,
            "order": node.order,
            "pass": node.pass_id,
            "parent": node.parent,
            "module": visible(node.module),
            "call": node.call,
            "line": f"{node.source.file}:{node.source.line}" if node.source else "",
            "shape": " ".join(f"[{', '.join(map(str, output.type.shape))}]" for output in node.outputs),
            "bytes": sum(bytes_of(output.type) for output in node.outputs),
            "keeps": sum(stored(node.saved).values()),
            "saved": "\n".join(visible(saved_text(saved)) for saved in node.saved),
            **_measured(node),
        }
        yield {name: fact for name, fact in facts.items() if fact or (fact == 0 and name in ("parent", "call", "pass"))}


def _measured(node: Node) -> dict[str, Any]:
    if node.measured is None:
        return {}
    return {
        "time": (node.measured.time or 0) + (node.measured.backward_time or 0),
        "times": "\n".join(facts_of(node, ("time",))),
        "formula": "\n".join(map(visible, node.measured.formula)),
        "flops": (node.measured.flops or 0) + sum(run.flops for run in node.measured.runs),
        "norm": gradient_norm(node),
        "value": "\n".join(values_of(node)),
        "gradient": "\n".join(gradients_of(node)),
    }


def gradient_norm(node: Node) -> float | None:
    """The norm of all that its backward was given, as far as the text of the numbers tells."""
    found = [] if node.measured is None else [norm for norm in map(_norm, node.measured.gradients) if norm is not None]
    return math.hypot(*found) if found else None


def _norm(values: Values | None) -> float | None:
    if values is None:
        return None
    words = " ".join(values.whole).translate(_APART).split() or [values.norm]
    try:
        norm = math.hypot(*(number for number in map(float, words) if number == number))
    except ValueError:  # complex numbers, truth values, or nothing
        return None
    return norm if norm < math.inf else None


_APART = str.maketrans("[],", "   ")


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
