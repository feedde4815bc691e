"""All steps of a run that were kept, for one page: a picture for each structure, and for each step its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.options import RenderOptions
from autograph_cli.export.page.lane import told_lane
from autograph_cli.export.page.node_table import told_measured
from autograph_cli.export.picture import whole_of
from autograph_cli.graph import Graph, Node, Step, TensorType, Trace, step_table
from autograph_cli.graph.diff import diff
from autograph_cli.graph.facts import USUAL, bytes_text
from autograph_cli.graph.marks import marks_of
from autograph_cli.graph.matching import match
from autograph_cli.graph.names import shown_name, visible
from autograph_cli.graph.saved_memory import kept_tensors, kept_words

WHOLE = 60_000
"""Nodes up to which a page has each one; of more, it has an outline, and other steps are not on it."""
MOST_DRAWN = 4_000
"""Nodes of steps of other structures that are drawn beside that of the step that is shown."""
MOST_MEASURED = 400_000
"""Nodes of all steps together whose numbers are on a page."""
MOST_COMPARED = 2_000
"""Nodes of a step that is compared with one of another structure."""
_FIXED = (*USUAL, "dtype", "line", "bytes", "saved", "links", "formula")
"""The parts of boxes that are the same in all steps of one structure."""


class KeptStep(Struct, frozen=True):
    """One step that was kept, and which picture is its own."""

    step: Step
    told: dict[str, Any]
    """The facts that a page shows."""
    structure: int = -1
    """Which of the structures it has; -1 where that is not drawn."""
    measured: dict[str, Any] | None = None
    """Its numbers, by node; None for the step that the picture was made of."""


def structures_of(shown: Step, trace: Trace, view: str, options: RenderOptions) -> tuple[list[KeptStep], list[Step]]:
    """Sort the steps of a run by structure: steps that differ in their numbers alone share a picture.

    The second list has a step for each structure that is drawn, that which is shown first.
    """
    several = len(trace.steps) > 1 and options.roots is None and options.part is None and options.colour is None
    several = several and len(shown.graph) <= WHOLE
    drawn, room, numbers = [shown], MOST_DRAWN, MOST_MEASURED
    keys = [_structure(shown, options) if several else ()]
    alike = set(options.shown) <= set(_FIXED)
    found = []
    for step in trace.steps:
        if not step.has_nodes:
            continue
        size = len(step.double or step.graph)
        key = _structure(step, options) if several and len(step.graph) <= WHOLE else None
        structure = 0 if step.number == shown.number else -1
        if structure < 0 and key is not None and alike and key in keys:
            structure = keys.index(key)
        if structure < 0 and key is not None and size <= room:
            room -= size
            structure = len(drawn)
            drawn.append(step)
            keys.append(key)
        own = structure >= 0 and drawn[structure].number == step.number
        measured = None
        if structure >= 0 and not own:
            numbers -= size
            structure, measured = (structure, _measured(step, view, options)) if numbers >= 0 else (-1, None)
        found.append(KeptStep(step, _told(trace, step), structure, measured))
    return found, drawn


def _measured(step: Step, view: str, options: RenderOptions) -> dict[str, Any]:
    seen = "double-backward" if step.double else view
    return told_measured(whole_of(step, seen, replace(options, marks=False), formulas=False).graph)


def _structure(step: Step, options: RenderOptions) -> tuple[Any, ...]:
    """All of a step that its pictures are made of."""
    graphs = [graph for graph in (step.graph, step.double) if graph is not None]
    marks = [marks_of(graph) for graph in graphs] if options.marks else []
    insides = [node.id for graph in graphs for node in graph if node.measured and node.measured.inside]
    return (*map(_bare, graphs), marks, [step.number] if insides else [])


def _bare(graph: Graph) -> Graph:
    """A graph without what was measured of it."""
    return replace(graph, nodes=tuple([replace(n, measured=None) if n.measured else n for n in graph]))


def told_changes(drawn: Sequence[Step]) -> dict[str, dict[str, Any]]:
    """Return for each two structures how the second one differs: sentences, the like of each node of the first one, or
    -1, and the nodes of the second one that have none."""
    found: dict[str, dict[str, Any]] = {}
    for one, old in enumerate(drawn):
        for other, new in enumerate(drawn):
            if one < other and max(len(old.graph), len(new.graph)) <= MOST_COMPARED:
                pairs = match(old.graph, new.graph, _types)
                met = set(pairs.values())
                found[f"{one}-{other}"] = {
                    "sentences": [visible(line) for line in diff(old.graph, new.graph).sentences],
                    "likes": [pairs.get(node.id, -1) for node in old.graph],
                    "new": [node.id for node in new.graph if node.id not in met],
                }
    return found


def _types(node: Node) -> tuple[TensorType, ...]:
    return tuple([output.type for output in node.outputs])


def _told(trace: Trace, step: Step) -> dict[str, Any]:
    row = next(each for each in step_table.rows(replace(trace, steps=(step,))))
    named = ", ".join(map(shown_name, row["roots"])) or "a tensor without a name"
    line = f" at {row['line']}" if row["line"] else ""
    ended = f"ended by {row['call']} of {named}{line}" if row["call"] else "without a backward call"
    return {
        "n": step.nth,
        "words": visible(f"Step {step.nth:,} of {max(trace.total_steps, step.nth):,}, {ended}"),
        "kind": f"{row['call']} {row['line']}",
        "passes": [visible(line) for line in _passes(step.graph)],
        "lane": told_lane(trace.ledger, step.number),
        "memory": [list(pair) for pair in _memory(step)],
    }


def _passes(graph: Graph) -> Iterator[str]:
    """Yield each backward call in words: which it is, of which root, at which line, and what it did."""
    names = {(root.node, root.nr): shown_name(root.name) for root in graph.roots}
    for entry in graph.passes:
        roots = [names.get((edge.node, edge.nr)) or f"%{edge.node}" for edge in entry.roots]
        line = f" at {entry.source.file}:{entry.source.line}" if entry.source else ""
        made = ", which made derivatives" if entry.create_graph else ""
        many = f"{len(entry.ran):,} node{'s' * (len(entry.ran) != 1)}"
        yield f"pass {entry.id + 1}: {entry.call} of {', '.join(roots)}{line}, order {entry.order}, ran {many}{made}"


def _memory(step: Step) -> Iterator[tuple[str, str]]:
    """Yield what was held when the step was over, and what its nodes kept for backward."""
    if step.memory is not None:
        yield "parameters", bytes_text(step.memory.parameters)
        yield "gradients", bytes_text(step.memory.gradients)
        yield "optimizers", bytes_text(step.memory.optimizer)
    yield "backward", kept_words(kept_tensors(step.graph), step.graph)
