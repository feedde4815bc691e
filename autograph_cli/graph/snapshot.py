"""Snapshots: the graphs of one run as a text file for review, and what a check of one against another finds."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.compared import TOLERANCE as TOLERANCE, as_version, same_data
from autograph_cli.graph.diff import DEFAULT_PARTS, PARTS, GraphDiff, diff
from autograph_cli.graph.digests import parted
from autograph_cli.graph.names import visible
from autograph_cli.graph.ranks import by_each, of_groups, together
from autograph_cli.graph.records import Graph
from autograph_cli.graph.snapshot_text import folded_lines
from autograph_cli.graph.source import Source, Switch

FORMAT, VERSION = "autograph snapshot", 3
LISTED = {"hooks": "hook", "collectives": "collective"}
"""The sections of lines that are there where there is something to list, each with the word for one line."""
EXTRAS = ("values", "formulas", "digests")
"""The parts that a snapshot may hold besides graphs, as lines of text."""
HOLDS = (*PARTS, *EXTRAS)


class Section(Struct, frozen=True):
    """One graph of a snapshot under its title (`step 1`, `step 1, double backward`)."""

    title: str
    graph: Graph


class Snapshot(Struct, frozen=True):
    """The content of one file; `name` is the name of the script or the test, `holds` some of `HOLDS`."""

    name: str
    sections: tuple[Section, ...]
    holds: tuple[str, ...] = DEFAULT_PARTS
    steps: int | None = None
    """The number of steps that the script made, of which some are kept."""
    values: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    """The digests of the first step, one a line."""
    ranks: int = 1
    """The number of ranks that ran the script; of those with the same graphs a section is there once."""
    collectives: tuple[str, ...] = ()
    """The collectives of the ranks, one a line, in order: names of tensors stand in brackets."""
    hooks: tuple[str, ...] = ()
    """The hooks that send on other gradients than they are given, one a line: the script's words stand in brackets."""
    engine: str = "builtin"
    pytorch: str = ""
    """The version of the PyTorch that ran the script, if one did."""
    module: str = ""
    """The module that is started by `-m`, if any."""
    kept: str = ""
    """The steps that were asked for, if not the first and the last."""
    within: str = ""
    """The paths of the modules that it is of, with commas; empty for all that ran."""
    version: int = VERSION
    """Version 1 had no numbers that stand in the place of a tensor, as `mul` has in `x * 2`; version 2 had of plain
    arguments only these and what is kept for backward, and no data."""
    switches: Mapping[Source, Switch] = {}
    """The statement that switches recording off, for each line where nothing is recorded; not in the file."""

    def to_text(self) -> str:
        """The file's content; the same graphs give the same text.

        >>> print(Snapshot("expr.py", (Section("step 1", Graph()),), steps=1).to_text(), end="")
        autograph snapshot 3: expr.py
        holds names, shapes, dtypes, constants, untracked
        steps 1
        <BLANKLINE>
        [step 1]
        """
        lines = [f"{FORMAT} {VERSION}: {visible(self.name)}", f"holds {', '.join(self.holds) or 'structure'}"]
        if self.steps is not None:
            lines.append(f"steps {self.steps}")
        if self.ranks > 1:
            lines.append(f"ranks {self.ranks}")
        lines += [f"engine {self.engine}"] * (self.engine != "builtin")
        lines += [f"pytorch {self.pytorch}"] * bool(self.pytorch)
        lines += [f"module {self.module}"] * bool(self.module)
        lines += [f"kept {self.kept}"] * bool(self.kept)
        lines += [f"within {self.within}"] * bool(self.within)
        for position, section in enumerate(self.sections):
            like = next((one for one in self.sections[:position] if _alike(one.graph, section.graph, self.holds)), None)
            lines += ["", f"[{section.title}]" + (f" as [{like.title}]" if like else "")]
            lines += _body(section.graph, self.holds) if like is None else []
        for title in LISTED:
            if told := getattr(self, title):
                lines += ["", f"[{title}]", *(f"  {visible(line)}" for line in told)]
        for extra in EXTRAS:
            if extra in self.holds:
                lines += ["", f"[{extra}]", *(f"  {visible(line)}" for line in getattr(self, extra))]
        return "\n".join(lines) + "\n"


class SnapshotDiff(Struct, frozen=True):
    """The differences of a new snapshot from a kept one; true if there are any."""

    graphs: tuple[tuple[str, GraphDiff], ...] = ()
    """The sections that differ, by title."""
    others: tuple[str, ...] = ()
    """Sentences on all else: steps, sections, values, formulas, what is held."""
    compared: tuple[tuple[str, GraphDiff], ...] = ()
    """All sections that both have, equal ones included."""
    renamed: tuple[tuple[str, str, str], ...] = ()
    """The operations whose nodes another version of PyTorch calls otherwise, with the old name and the new one."""

    def __bool__(self) -> bool:
        return bool(self.graphs or self.others)

    @property
    def sentences(self) -> list[str]:
        """The differences as a reviewer would say them, each once; with the sections in front where they are not
        true of all."""
        where: dict[str, list[str]] = {}
        for title, one in self.graphs:
            for sentence in one.sentences:
                where.setdefault(sentence, []).append(title)
        every = len(self.compared)
        told = [("" if len(those) == every else f"{together(those)}: ") + one for one, those in where.items()]
        return [*told, *self.others]

    @property
    def notes(self) -> list[str]:
        """Return what is otherwise, and no difference: names, and the order of sums and products."""
        found = [
            f"{title}: the terms of a sum, or the factors of a product, are in another order"
            for title, one in self.compared
            if one.reordered
        ]
        renamed = dict.fromkeys(pair for _, one in self.compared for pair in one.renamed)
        found += [f"PyTorch calls the node of `{op}` {new} now, not {old}" for op, old, new in self.renamed]
        return found + [f"`{visible(old)}` is called `{visible(new)}` now" for old, new in renamed]

    def to_text(self, context: int = 2) -> str:
        """The lines that differ, by section."""
        return "".join(f"[{title}]\n{one.to_text(context=context)}" for title, one in self.graphs)


def compare(old: Snapshot, new: Snapshot, tolerance: float = TOLERANCE) -> SnapshotDiff:
    """Compare section by section; names of variables and the order of independent operations are no difference."""
    parts = [part for part in old.holds if part in new.holds and part in PARTS]
    others = []
    if set(old.holds) != set(new.holds):
        asked = ", ".join(new.holds) or "structure"
        others.append(f"the snapshot holds {', '.join(old.holds) or 'structure'}; asked for is {asked}")
    if old.within != new.within:
        others.append(f"the snapshot is of {old.within or 'all modules'}; asked for is {new.within or 'all modules'}")
    if old.steps != new.steps:
        others.append(f"the script made {new.steps} step{'s' * (new.steps != 1)}, not {old.steps}")
    if old.ranks != new.ranks:
        others.append(f"the script ran on {new.ranks} rank{'s' * (new.ranks != 1)}, not {old.ranks}")
    mine, theirs = ({section.title: section.graph for section in one.sections} for one in (old, new))
    if old.ranks == new.ranks > 1:
        mine, theirs = of_groups(mine, theirs, new.ranks)
    if (version := min(old.version, new.version)) < VERSION:
        mine, theirs = ({title: as_version(graph, version) for title, graph in one.items()} for one in (mine, theirs))
    renamed = _renamed(mine.values(), theirs.values()) if list(_upgraded(old, new)) else ()
    mine = {title: _with_names(graph, renamed) for title, graph in mine.items()} if renamed else mine
    pairs = paired(list(mine), list(theirs))
    others += [f"{title} is gone" for title in mine if title not in pairs]
    others += [f"{title} is new" for title in theirs if title not in pairs.values()]
    for title in LISTED:
        lists = getattr(old, title), getattr(new, title)
        if not old.ranks == new.ranks > 1 or by_each(lists[0], old.ranks) != by_each(lists[1], new.ranks):
            others += _listed(title, *lists)
    for extra in EXTRAS:
        if extra == "digests" in old.holds and extra in new.holds:
            others += parted(old.digests, new.digests, tolerance)
        elif extra in old.holds and extra in new.holds:
            others += _lines(extra, getattr(old, extra), getattr(new, extra), tolerance)
    each = ((title, diff(mine[one], theirs[title], parts)) for one, title in pairs.items())
    compared = tuple((title, dataclasses.replace(one, switches=new.switches)) for title, one in each)
    found = SnapshotDiff(tuple(pair for pair in compared if pair[1]), tuple(others), compared, renamed)
    return replace(found, others=(*others, *_upgraded(old, new))) if found else found


def _upgraded(old: Snapshot, new: Snapshot) -> Iterator[str]:
    """Yield the sentence on the versions of PyTorch, which may explain a difference and is none."""
    if old.pytorch and new.pytorch and old.pytorch != new.pytorch:
        yield f"the snapshot was made with PyTorch {old.pytorch}, and this is PyTorch {new.pytorch}"


def _renamed(old: Iterable[Graph], new: Iterable[Graph]) -> tuple[tuple[str, str, str], ...]:
    """Return the operations that have one kind of node in each version of PyTorch, under two names."""
    known: list[dict[str, set[str]]] = [{}, {}]
    for names, graphs in zip(known, (old, new), strict=True):
        for node in (node for graph in graphs for node in graph if node.kind == "operation" and not node.is_custom):
            names.setdefault(node.op, set()).add(node.name)
    both = ((op, *known[0][op], *known[1][op]) for op in known[0] if op in known[1])
    return tuple([(each[0], each[1], each[2]) for each in both if len(each) == 3 and each[1] != each[2]])


def _with_names(graph: Graph, renamed: Sequence[tuple[str, str, str]]) -> Graph:
    """Return a graph of an old version of PyTorch with the names that nodes have in the new one."""
    names = {(op, old): new for op, old, new in renamed}
    nodes = [replace(node, name=names.get((node.op, node.name), node.name)) for node in graph]
    return replace(graph, nodes=tuple(nodes))


def paired(old: list[str], new: list[str]) -> dict[str, str]:
    """The sections to be compared, by title; last steps with other numbers are one another's, view by view."""
    pairs = {title: title for title in old if title in new}
    left, right = ([title for title in titles if title not in pairs] for titles in (old, new))
    views = [[title.partition(", ")[2] for title in titles] for titles in (left, right)]
    return pairs | (dict(zip(left, right, strict=True)) if views[0] == views[1] else {})


def _alike(one: Graph, other: Graph, holds: Sequence[str]) -> bool:
    return len(one) == len(other) > 0 and not diff(one, other, holds)


def _body(graph: Graph, holds: Sequence[str]) -> list[str]:
    lines, heading = [], ""
    for above, text in folded_lines(graph, holds):
        if above != heading:
            heading = above
            lines.append(heading)
        lines.append(f"  {text}")
    return lines


def _listed(title: str, old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Sentences on hooks or collectives; what stands in brackets is no difference."""
    mine, theirs = ([line.partition(" (")[0] for line in lines] for lines in (old, new))
    matched = difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    changed = [codes for codes in matched if codes[0] != "equal"]
    gone = [f"{LISTED[title]} gone: {line}" for _, i, j, _, _ in changed for line in old[i:j]]
    return [*gone, *(f"{LISTED[title]} new: {line}" for _, _, _, i, j in changed for line in new[i:j])]


def _lines(extra: str, old: Sequence[str], new: Sequence[str], tolerance: float) -> list[str]:
    """Sentences on lines such as `loss = 0.25`, by what stands before the first equals sign."""
    mine, theirs = ({line.partition(" = ")[0]: line.partition(" = ")[2] for line in lines} for lines in (old, new))
    word = extra.removesuffix("s")
    found = [f"{word} of `{name}` is gone" for name in mine if name not in theirs]
    found += [f"{word} of `{name}` is new: {theirs[name]}" for name in theirs if name not in mine]
    for name, text in mine.items():
        other = theirs.get(name, text)
        if not (same_data(text, other, tolerance, tolerance) if extra == "values" else text == other):
            found.append(f"{word} of `{name}` {text} -> {other}")
    return found
