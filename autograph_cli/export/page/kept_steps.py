"""All steps of a run that were kept, for one page: a picture for each structure, and for each step its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.options import RenderOptions
from autograph_cli.export.page.lane import told_lane
from autograph_cli.export.page.node_table import told_measured
from autograph_cli.export.picture import whole_of
from autograph_cli.graph import Edge, Graph, Node, Pass, Step, TensorType, Trace, step_table
from autograph_cli.graph.diff import diff
from autograph_cli.graph.facts import USUAL, bytes_text
from autograph_cli.graph.marks import marks_of
from autograph_cli.graph.matching import match
from autograph_cli.graph.names import output_names, shown_name, visible
from autograph_cli.graph.saved_memory import kept_tensors, kept_words
from autograph_cli.graph.views import part

if TYPE_CHECKING:
    from autograph_cli.findings import Finding

WHOLE = 60_000
"""Nodes up to which a page has each one; of more, it has an outline, and other steps are not on it."""
MOST_DRAWN = 12_000
"""Nodes of steps of other structures that are drawn beside that of the step that is shown."""
MOST_MEASURED = 400_000
"""Nodes of all steps together whose numbers are on a page."""
MOST_COMPARED = 20_000
"""Nodes of a step that is compared with one of another structure."""
_FIXED = (*USUAL, "dtype", "line", "bytes", "saved", "links", "formula")
"""The parts of boxes that are the same in all steps of one structure."""


class KeptStep(Struct, frozen=True):
    """One step that was kept, and which picture is its own."""

    step: Step
    told: dict[str, Any]
    """The facts that a page shows."""
    structure: int = -1
    """The number of its structure; -1 if that is not drawn."""
    measured: dict[str, Any] | None = None
    """Its numbers, by node; None for the step that the picture was made of."""
    place: Sequence[int] = ()
    """The place of each of its nodes in that picture's graph, unless each has its own number there."""


def structures_of(shown: Step, trace: Trace, view: str, options: RenderOptions) -> tuple[list[KeptStep], list[Step]]:
    """Sort the steps of a run by structure: steps that differ in their numbers alone share a picture.

    The second list has a step for each structure that is drawn, that which is shown first.
    """
    several = len(trace.steps) > 1 and not (options.roots or options.part or options.colour)
    several = several and len(shown.graph) <= WHOLE
    drawn, room, numbers = [shown], MOST_DRAWN, MOST_MEASURED
    keys = [_structure(shown, options) if several else ()]
    alike = set(options.shown) <= set(_FIXED)
    found = []
    for step in trace.steps:
        if not step.has_nodes:
            continue
        size = len(step.double or step.graph)
        own = step.number == shown.number
        place: Sequence[int] = ()
        structure = 0 if own else -1
        if not own and several and len(step.graph) <= WHOLE:
            key = _structure(step, options)
            if alike:
                structure, step, place = _found(step, key, drawn, keys, options)
            if structure < 0 and size <= room and any(node.computes for node in step.graph):
                room -= size
                own, structure = True, len(drawn)
                drawn.append(step)
                keys.append(key)
        measured = None
        if structure >= 0 and not own:
            numbers -= size
            structure, measured = (structure, _measured(step, view, options)) if numbers >= 0 else (-1, None)
        found.append(KeptStep(step, _told(trace, step), structure, measured, place))
    return found, drawn


def replaced(findings: Sequence[Finding], steps: Sequence[KeptStep]) -> list[Finding]:
    """Findings with the numbers that their nodes have in the pictures of their steps."""
    places: dict[int | None, Sequence[int]] = {each.step.number: each.place for each in steps if each.place}
    return [
        replace(finding, nodes=tuple([place[number] for number in finding.nodes if number < len(place)]))
        if (place := places.get(finding.step, ()))
        else finding
        for finding in findings
    ]


def _found(
    step: Step, key: tuple[Any, ...], drawn: Sequence[Step], keys: Sequence[tuple[Any, ...]], options: RenderOptions
) -> tuple[int, Step, Sequence[int]]:
    """Find the structure of a step, which may number its nodes otherwise: the first step meets some leaves later."""
    if key in keys:
        return keys.index(key), step, ()
    for structure, (like, its) in enumerate(zip(drawn, keys, strict=True)):
        place = _places(like.graph, step.graph)
        if not place:
            continue
        graph = _ordered(step.graph, place)
        double = step.double and _ordered(step.double, [*place, *range(len(place), len(step.double))])
        moved = replace(step, graph=graph, double=double, profile=None)
        if _structure(moved, options) == its:
            return structure, moved, place
    return -1, step, ()


def _places(graph: Graph, other: Graph) -> Sequence[int]:
    """Return the place of each node of the second graph in the first one, if each has a like there."""
    if len(graph) > MOST_COMPARED or _kinds(graph) != _kinds(other):
        return ()
    pairs = match(other, graph, _types)
    return list(pairs.values()) if len(pairs) == len(set(pairs.values())) == len(graph) else ()


def _kinds(graph: Graph) -> Counter[tuple[str, str, str]]:
    return Counter((node.kind, node.name, node.op) for node in graph)


def _ordered(graph: Graph, place: Sequence[int]) -> Graph:
    """The graph with its nodes at these places."""
    return part(graph, sorted(range(len(place)), key=place.__getitem__), graph.roots)


def _measured(step: Step, view: str, options: RenderOptions) -> dict[str, Any]:
    seen = "double-backward" if step.double else view
    return told_measured(whole_of(step, seen, replace(options, marks=False), formulas=False).graph)


def _structure(step: Step, options: RenderOptions) -> tuple[Any, ...]:
    """All of a step that its pictures are made of."""
    graphs = [graph for graph in (step.graph, step.double) if graph is not None]
    marks = [marks_of(graph, options.held, options.hooks) for graph in graphs] if options.marks else []
    insides = [node.id for graph in graphs for node in graph if node.measured and node.measured.inside]
    return (*map(_bare, graphs), marks, [step.number] if insides else [])


def _bare(graph: Graph) -> Graph:
    """A graph without what was measured of it; its memory is numbered as nodes come to it, leaves are in order."""
    storages: dict[int, int] = {}

    def number(storage: int | None) -> int | None:
        return None if storage is None else storages.setdefault(storage, len(storages))

    def bare(node: Node) -> Node:
        outputs = tuple([replace(each, storage=number(each.storage)) for each in node.outputs])
        saved = tuple([replace(each, storage=number(each.storage)) for each in node.saved])
        return replace(node, measured=None, outputs=outputs, saved=saved)

    def in_order(entry: Pass) -> Pass:
        pairs = sorted(zip_longest(entry.inputs, entry.results), key=lambda pair: (pair[0].node, pair[0].nr))
        return replace(entry, inputs=tuple([to for to, _ in pairs]), results=tuple([made for _, made in pairs]))

    return replace(graph, nodes=tuple(map(bare, graph)), passes=tuple(map(in_order, graph.passes)))


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
    which = f"Step {step.nth:,} of {max(trace.ended, step.nth):,}"
    if step.nth > trace.ended > 0:
        which = "After the last step"
    return {
        "n": step.nth,
        "words": visible(f"{which}, {ended}"),
        "kind": f"{row['call']} {row['line']}",
        "passes": [visible(line) for line in _passes(step.graph)],
        "lane": told_lane(trace.ledger, step.number, step.passes),
        "memory": [list(pair) for pair in _memory(step)],
    }


def _passes(graph: Graph) -> Iterator[str]:
    """Yield each backward call in words: which it is, of which root, at which line, and what it did."""
    unique, roots_named = output_names(graph), {(root.node, root.nr): root.name for root in graph.roots}

    def name(edge: Edge) -> str:
        """The name of a variable, else that of the result, else the operation and its number."""
        own = unique[edge.node][edge.nr]
        if not own.startswith("%"):
            return shown_name(own)
        made = graph.nodes[edge.node]
        return shown_name(roots_named.get((edge.node, edge.nr), f"{made.op or made.name} ({own})"))

    for entry in graph.passes:
        roots = list(map(name, entry.roots))
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
