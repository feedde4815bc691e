"""Finds the data that differs between runs of a script, or hangs on random numbers, and so is not compared: by running
the script once more."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from autograph_cli.graph import Graph, Snapshot
from autograph_cli.graph.compared import constants
from autograph_cli.graph.diff import GraphDiff
from autograph_cli.graph.snapshot import Section, SnapshotDiff, compare, paired

_KEPT = 4
"""Random numbers count as the same if one in this many arguments that depend on them is unchanged."""


def by_data(differs: SnapshotDiff) -> bool:
    """Return whether numbers that the script brings are among what differs."""
    return any(not one.new[change.new].is_operation for _, one in differs.graphs for change in one.changed)


def by_arguments(differs: SnapshotDiff) -> bool:
    """Return whether plain arguments of what autograd did not record are among what differs."""
    return any(_changed(one) for _, one in differs.graphs)


def without_loose(made: Snapshot, again: Snapshot) -> tuple[Snapshot, list[str]]:
    """The snapshot without the numbers that another run of the same script has otherwise, and what to say of them."""
    between = dict(compare(made, again).graphs)
    sections, notes = [], []
    for section in made.sections:
        one = between.get(section.title)
        loose = set() if one is None else {c.old for c in one.changed if not one.old[c.old].is_operation}
        sections.append(_without(section, loose))
        are = "input is" if len(loose) == 1 else "inputs are"
        notes += [f"{section.title}: {len(loose)} {are} not the same in each run, and not compared"] * bool(loose)
    return replace(made, sections=tuple(sections)), notes


def without_drifted(kept: Snapshot, made: Snapshot, other: Snapshot) -> tuple[Snapshot, Snapshot, list[str]]:
    """Both snapshots without the arguments that hang on random numbers, of sections to which other random numbers came;
    `other` is of a run with other seeds. Such arguments are positions in data, as `data[i : i + 8] for i in
    torch.randint(...)` has."""
    own = _old_titles(made, other)
    hanging = {own[title]: _alike(one.old, _changed(one)) for title, one in compare(made, other).compared}
    titles = _old_titles(kept, made)
    before: dict[str, set[int]] = {}
    after: dict[str, set[int]] = {}
    notes = []
    for title, one in compare(kept, made).compared:
        pairs = [(old, new) for old, new in one.pairs.items() if new in hanging.get(title, ())]
        olds, news = (sorted(numbers) for numbers in zip(*pairs, strict=True)) if pairs else ([], [])
        same = sum(constants(one.old[a]) == constants(one.new[b]) for a, b in zip(olds, news, strict=True))
        if same * _KEPT < len(pairs):
            before[titles[title]], after[title] = set(olds), set(news)
            count = f"{len(pairs)} operation{'s' * (len(pairs) != 1)}"
            notes.append(f"{title}: {count} on random positions, which are others now, not compared")
    return _reduced(kept, before), _reduced(made, after), notes


def _old_titles(old: Snapshot, new: Snapshot) -> dict[str, str]:
    """The titles that the sections of a new snapshot have in the old one: last steps may have other numbers."""
    pairs = paired(*[[section.title for section in each.sections] for each in (old, new)])
    return {title: one for one, title in pairs.items()}


def _reduced(snapshot: Snapshot, left_out: Mapping[str, Collection[int]]) -> Snapshot:
    sections = [_without(section, left_out.get(section.title, ())) for section in snapshot.sections]
    return replace(snapshot, sections=tuple(sections))


def _changed(one: GraphDiff) -> set[int]:
    """The operations of the old graph that autograd did not record and that have other plain arguments in the new."""
    changed = [change.old for change in one.changed if "constants" in change.aspects]
    return {number for number in changed if one.old[number].kind == "untracked"}


def _alike(graph: Graph, numbers: Collection[int]) -> set[int]:
    """These operations, and those that the same lines made: by chance they may be as before."""
    places = {(graph[number].op, graph[number].source) for number in numbers}
    return {node.id for node in graph if node.kind == "untracked" and (node.op, node.source) in places}


def _without(section: Section, numbers: Collection[int]) -> Section:
    """The section without the plain arguments, or the numbers, of these nodes."""
    nodes = [replace(node, constants=(), saved=()) if node.id in numbers else node for node in section.graph]
    return replace(section, graph=replace(section.graph, nodes=tuple(nodes)))
