"""Summaries that tell the traces of several ranks apart without reading them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.records import Graph, Node, Source
from autograph_cli.graph.trace import Collective, Trace
from autograph_cli.graph.trace_writer import encoded
from autograph_cli.graph.views import tracked

T = TypeVar("T")
_TITLE = re.compile(r"([^,:]+)(?:, ranks? (\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*))?(.*)", re.DOTALL)


class Rank(Struct, frozen=True):
    """One rank of a run, as the list of all ranks has it."""

    rank: int
    file: str = ""
    """The file of its trace, among those of the others."""
    drawn: str = ""
    """A hash of its graphs; ranks of the same one are drawn once."""
    built: str = ""
    """A hash of the operations in its graphs that autograd recorded, shapes and values left aside."""
    nodes: int = 0
    failure: str = ""
    failed_at: Source | None = None
    collectives: tuple[Collective, ...] = ()


def summary(trace: Trace, file: str = "") -> Rank:
    """The summary of a rank's trace."""
    graphs = [graph for step in trace.steps for graph in (step.graph, step.double) if graph is not None]
    return Rank(
        trace.rank,
        file,
        drawn(graphs),
        _hash(f"{node.kind} {node.name} {node.op} {node.next}" for graph in map(tracked, graphs) for node in graph),
        sum(map(len, graphs)),
        trace.failure,
        trace.failed_at,
        tuple([replace(each, given=(), made=()) for each in trace.collectives]),
    )


def drawn(graphs: Iterable[Graph]) -> str:
    """A hash of what is drawn of graphs: of their nodes, in whatever order they came."""
    return _hash(line for graph in graphs for line in sorted(_structure(graph)))


def _structure(graph: Graph) -> list[str]:
    """A hash of each node, and of all that it hangs on; of what comes later, as a view's history may, it alone."""
    found = [_hash([encoded(_alone(node)).decode()]) for node in graph]
    for node in graph:
        edges = [None if edge is None else (found[edge.node], edge.nr) for edge in (*node.args, *node.next)]
        above = None if node.parent is None else found[node.parent]
        found[node.id] = _hash([found[node.id], f"{edges} {above}"])
    return found


def _alone(node: Node) -> Node:
    """The node without its numbers, edges, and what is numbered in the order in which it came.

    The constants of what autograd did not record are left out, too: each rank takes other rows of the data.
    """
    outputs = tuple([replace(output, storage=None) for output in node.outputs])
    saved = tuple([replace(each, storage=None) for each in node.saved])
    constants = () if node.kind == "untracked" else node.constants
    return replace(
        node, id=0, outputs=outputs, saved=saved, next=(), args=(), parent=None, measured=None, constants=constants
    )


def _hash(lines: Iterable[str]) -> str:
    found = importlib.import_module("hashlib").sha256()  # OpenSSL comes with it
    for line in lines:
        found.update(line.encode("utf-8", errors="surrogatepass") + b"\n")
    return str(found.hexdigest()[:16])


def alike(ranks: Iterable[Rank]) -> list[list[int]]:
    """The numbers of the ranks, those that are drawn once together, in order of the first of them.

    >>> alike([Rank(0, drawn="a"), Rank(1, drawn="b"), Rank(2, drawn="a")])
    [[0, 2], [1]]
    """
    found: dict[str, list[int]] = {}
    for each in ranks:
        found.setdefault(each.drawn, []).append(each.rank)
    return list(found.values())


def words(ranks: Sequence[int]) -> str:
    """Ranks as they are named: `rank 3`, `ranks 0-3, 7`.

    >>> words([0, 1, 2, 5])
    'ranks 0-2, 5'
    """
    return f"rank{'s' * (len(ranks) > 1)} {listed(ranks)}"


def listed(numbers: Iterable[int]) -> str:
    """Numbers with those that follow one another as one: `0-2, 5`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{span[0]}-{span[-1]}" if len(span) > 1 else str(span[0]) for span in spans)


def numbers(text: str) -> list[int]:
    """The numbers that `listed` wrote.

    >>> numbers("0-2, 5")
    [0, 1, 2, 5]
    """
    spans = [part.split("-") for part in text.split(", ") if part]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def of_groups(old: Mapping[str, T], new: Mapping[str, T], size: int) -> tuple[dict[str, T], dict[str, T]]:
    """The sections of two runs of `size` ranks, under titles of the largest groups of ranks that are alike in both.

    >>> of_groups({"step 1": "a"}, {"step 1, rank 0": "a", "step 1, rank 1": "b"}, 2)[0]
    {'step 1, rank 0': 'a', 'step 1, rank 1': 'a'}
    """
    sides = [_by_rank(side, size) for side in (old, new)]
    found: tuple[dict[str, T], dict[str, T]] = {}, {}
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        both = [side.get(key, {}) for side in sides]
        groups: dict[tuple[int, int], list[int]] = {}
        for rank in sorted({*both[0], *both[1]}):
            groups.setdefault((id(both[0].get(rank)), id(both[1].get(rank))), []).append(rank)
        for ranks in groups.values():
            title = f"{key[0]}, {words(ranks)}{key[1]}" if len(groups) > 1 or len(ranks) < size else "".join(key)
            for side, parts in zip(both, found, strict=True):
                if ranks[0] in side:
                    parts[title] = side[ranks[0]]
    return found


def _by_rank(sections: Mapping[str, T], size: int) -> dict[tuple[str, str], dict[int, T]]:
    """Each section of each rank, by what stands before the ranks in its title, and what after."""
    found: dict[tuple[str, str], dict[int, T]] = {}
    for title, section in sections.items():
        step, ranks, view = _parted(title)
        found.setdefault((step, view), {}).update(dict.fromkeys(numbers(ranks) or range(size), section))
    return found


def _parted(title: str) -> tuple[str, str, str]:
    step, ranks, rest = _TITLE.fullmatch(title).groups(default="")  # type: ignore[union-attr]
    return step, ranks, rest


def by_each(lines: Iterable[str], size: int) -> list[tuple[int, str]]:
    """Each line on collectives for each of its ranks, without these, rank by rank."""
    parts = [_parted(line) for line in lines]
    every = [(rank, step + rest) for step, those, rest in parts for rank in (numbers(those) or range(size))]
    return sorted(every, key=lambda pair: pair[0])


def together(titles: Iterable[str]) -> str:
    """The titles of sections, those of the same ranks under one.

    >>> together(["step 1, rank 1", "step 2, rank 1"])
    'step 1, step 2, rank 1'
    """
    found: dict[str, list[str]] = {}
    for title in titles:
        step, _, rest = title.partition(", ")
        found.setdefault(rest, []).append(step)
    return "; ".join(", ".join(filter(None, [*steps, rest])) for rest, steps in found.items())
