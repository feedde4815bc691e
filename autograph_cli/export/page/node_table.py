"""The data of a page on the nodes of a whole graph, for all its views, to be written as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograph_cli.export.page.highlight import runs_of
from autograph_cli.export.page.saved_words import SavedWords
from autograph_cli.export.page.timeline import moments
from autograph_cli.export.scene.colouring import norm_of
from autograph_cli.export.scene.labels import Labels
from autograph_cli.graph import Graph, Node
from autograph_cli.graph.facts import bytes_of, facts_of, gradients_of, stored, values_of
from autograph_cli.graph.names import shown_name, visible
from autograph_cli.graph.records import Values

MEASURED = ("time", "times", "norm", "size", "value", "gradient", "value_bins", "gradient_bins", "check", "error")
"""The facts that differ between steps of one structure."""
_ZERO_TOLD = ("parent", "call", "pass", "norm", "size", "error")
"""The numbers that are told where they are 0, too."""


def told_nodes(graph: Graph) -> dict[str, Any]:
    """Return how many nodes there are, and for each fact `[values, at]`: of each node the position of its value, or -1.

    So what nodes have in common is read once. Where values are whole numbers, `values` is None and they stand in `at`.
    """
    return {"count": len(graph), "facts": _columns(len(graph), _records(graph))}


def told_measured(graph: Graph) -> dict[str, Any]:
    """Return the facts of `MEASURED` alone, as `told_nodes` has them."""
    return _columns(len(graph), map(_step_facts, graph))


def _step_facts(node: Node) -> dict[str, Any]:
    its = _measured(node)
    told = {name: its.get(name) for name in MEASURED}
    return {name: fact for name, fact in told.items() if fact or (fact == 0 and name in _ZERO_TOLD)}


def _columns(count: int, records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    columns: dict[str, tuple[dict[Any, int], list[int]]] = {}
    for number, facts in enumerate(records):
        for fact, value in facts.items():
            if fact not in columns:
                columns[fact] = {}, [-1] * count
            place, at = columns[fact]
            at[number] = place.setdefault(tuple(value) if isinstance(value, list) else value, len(place))
    return {fact: _column(list(place), at) for fact, (place, at) in columns.items()}


def _column(values: list[Any], at: list[int]) -> list[Any]:
    if all(value.__class__ is int and value >= 0 for value in values):
        return [None, [-1 if place < 0 else values[place] for place in at]]
    return [values, at]


def _records(graph: Graph) -> Iterator[dict[str, Any]]:
    """A record for each node; what is empty or was not recorded is left out."""
    data = any(node.args for node in graph)
    labels, saved = Labels(graph, data, brief=True), SavedWords(graph)
    for node in graph:
        names = list(dict.fromkeys(visible(shown_name(name)) for output in node.outputs for name in output.names))
        facts = {
            "title": labels.title(node),
            "kind": node.kind,
            "name": visible(node.name) or "not recorded by autograd",
            "op": visible(node.op or node.name),
            "tensors": "\n".join(
                f"{_without_number(name, node)}: {output.type}"
                for name, output in zip(labels.names[node.id], node.outputs, strict=True)
            ),
            "names": names,
            "order": node.order,
            "pass": node.pass_id,
            "parent": node.parent,
            "module": visible(node.module),
            "call": node.call,
            "line": f"{visible(node.source.file)}:{node.source.line}" if node.source else "",
            "shape": " ".join(f"[{', '.join(map(str, output.type.shape))}]" for output in node.outputs),
            "bytes": sum(bytes_of(output.type) for output in node.outputs),
            "keeps": sum(stored(node.saved).values()),
            "saved": "\n".join(saved.lines(node)),
            "args": list(dict.fromkeys(edge.node for edge in node.args)),
            **_measured(node),
        }
        yield {name: fact for name, fact in facts.items() if fact or (fact == 0 and name in _ZERO_TOLD)}


def _without_number(name: str, node: Node) -> str:
    """The name of a tensor; of one that has none, which is called after its node, without that one's number."""
    return f"%{name.removeprefix(f'%{node.id}')}" if name.startswith("%") else visible(name)


def _measured(node: Node) -> dict[str, Any]:
    if node.measured is None:
        return {}
    return {
        "time": (node.measured.time or 0) + (node.measured.backward_time or 0),
        "times": "\n".join(facts_of(node, ("time",))),
        "formula": "\n".join(map(visible, node.measured.formula)),
        "flops": (node.measured.flops or 0) + sum(run.flops for run in node.measured.runs),
        "norm": _norm(node.measured.gradients),
        "size": _norm(node.measured.values),
        "value": "\n".join(map(visible, values_of(node))),
        "gradient": "\n".join(map(visible, gradients_of(node))),
        "value_bins": _bins(node.measured.values),
        "gradient_bins": _bins(node.measured.gradients),
        "check": "\n".join(facts_of(node, ("check",))),
        "error": node.measured.error
        if node.measured.error is not None and math.isfinite(node.measured.error)
        else None,
    }


def _norm(values: Sequence[Values | None]) -> float | None:
    """The norm of tensors together; that of what is NaN in part is not told."""
    sick = any(each is not None and (each.nans or any("nan" in line for line in each.whole)) for each in values)
    return None if sick else norm_of(values)


def _bins(values: Iterable[Values | None]) -> str:
    """The histograms of tensors with many numbers, a line for each: which output and the counts, lowest, highest."""
    told = [
        f"{nr} {','.join(map(str, each.bins))}\t{visible(each.low)}\t{visible(each.high)}"
        for nr, each in enumerate(values)
        if each is not None and any(each.bins)
    ]
    return "\n".join(told)


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
    """Return the numbered lines of each file: all if the script is as it was recorded, else those recorded."""
    recorded: dict[str, dict[int, str]] = {}
    for node in graph:
        if node.source:
            recorded.setdefault(node.source.file, {})[node.source.line] = node.source.text
    return {visible(name): _coloured(_lines(its, scripts.get(name))) for name, its in recorded.items()}


def _coloured(lines: list[tuple[int, str]]) -> list[list[Any]]:
    texts = [visible(text) for _, text in lines]
    return [[number, text, runs] for (number, _), text, runs in zip(lines, texts, runs_of(texts), strict=True)]


def told_lines(graph: Graph) -> dict[str, int]:
    """Return the bytes that each line keeps for backward: what several of its operations keep counts once."""
    lines: dict[str, list[Node]] = {}
    for node in graph:
        if node.source and node.saved:
            lines.setdefault(f"{visible(node.source.file)}:{node.source.line}", []).append(node)
    kept = {
        line: sum(stored([saved for node in nodes for saved in node.saved]).values()) for line, nodes in lines.items()
    }
    return {line: count for line, count in kept.items() if count}


def _lines(recorded: dict[int, str], script: str | None) -> list[tuple[int, str]]:
    lines = [] if script is None else script.splitlines()
    if lines and all(n <= len(lines) and lines[n - 1].strip() == text.strip() for n, text in recorded.items()):
        return [(number, line.expandtabs()) for number, line in enumerate(lines, 1)]
    return sorted(recorded.items())


def told_steps(graph: Graph) -> dict[str, Any]:
    """All that happened, in true order: `[phase, node, whether a pass ran it]`."""
    phases: dict[str, int] = {}
    steps = []
    for moment in moments(graph):
        phase = "forward"
        if moment.pass_id is not None:
            entry = graph.passes[moment.pass_id]
            several = f" {entry.id + 1}" if len(graph.passes) > 1 else ""
            phase = entry.call + several + ("" if moment.runs else " makes")
        steps.append([phases.setdefault(phase, len(phases)), moment.node, int(moment.runs)])
    return {"moments": steps, "phases": list(phases)}
