"""A smaller part of a graph: what is between two names, or around one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.records import Graph, Root
from autograph_cli.graph.views import bordering, take

LISTED = 12
"""Names that a message lists at most."""


class Slice(Struct, frozen=True):
    """The part of a graph that is asked for; several names of one kind count together.

    A name is a variable's (`w`, or `x~2` for its second holder), a root's, an operation's (`tanh`, `TanhBackward0`), or
    a number as the text of the same view prints it (`%7`, or `MulBackward0%7`).

    >>> bool(Slice()), Slice(start=("w",), end=("loss",)).words()
    (False, 'from w to loss')
    """

    start: tuple[str, ...] = ()
    """Keep what depends on one of these."""
    end: tuple[str, ...] = ()
    """Keep what one of these depends on."""
    around: tuple[str, ...] = ()
    """Keep what is at most `radius` edges from one of these."""
    radius: int = 2
    modules: tuple[str, ...] = ()
    """Keep what ran in one of these modules, by their paths, or the ends of these."""
    order: int | None = None
    """Keep what is of this order."""

    def __bool__(self) -> bool:
        return bool(self.start or self.end or self.around or self.modules or self.order is not None)

    def words(self) -> str:
        """The request in words."""
        parts = [f"{word} {', '.join(names)}" for word, names in (("from", self.start), ("to", self.end)) if names]
        if self.around:
            parts.append(f"around {', '.join(self.around)} (radius {self.radius})")
        if self.modules:
            parts.append(f"in {', '.join(self.modules)}")
        if self.order is not None:
            parts.append(f"of order {self.order}")
        return " ".join(map(visible, parts))

    def of(self, graph: Graph) -> Graph:
        """The part of this graph; operations that it takes a tensor from stand at its border, as `…tanh`.

        Raises `GraphError` for a name that is not in the graph, and if nothing is in the part.
        """
        if not self:
            return graph
        used = [sorted({edge.node for edge in (*node.args, *node.next) if edge is not None}) for node in graph.nodes]
        users: list[list[int]] = [[] for _ in graph.nodes]
        for number, its in enumerate(used):
            for other in its:
                users[other].append(number)
        kept = set(range(len(graph)))
        if self.start:
            kept &= _near(find_nodes(graph, self.start), [users])
        if self.end:
            kept &= _near(find_nodes(graph, self.end), [used])
        if self.around:
            kept &= _near(find_nodes(graph, self.around), [users, used], self.radius)
        if self.modules:
            kept &= _within(graph, self.modules)
        if self.order is not None:
            kept &= {node.id for node in graph if node.order == self.order}
            used = [[] for _ in graph.nodes]  # what it is a derivative of has no place in it
        if not kept:
            raise GraphError(f"Nothing lies {self.words()}: no path leads there.")
        return _cut_out(graph, kept, used, _outputs(graph, kept) if self.modules else [])


def find_nodes(graph: Graph, names: Iterable[str]) -> list[int]:
    """The nodes of these names; raises `GraphError` for a name that is not there, with similar ones."""
    known: dict[str, list[int]] = {}
    for node, printed in zip(graph.nodes, output_names(graph), strict=True):
        for output, name in zip(node.outputs, printed, strict=True):
            for key in dict.fromkeys((*output.names, name)):
                known.setdefault(key, []).append(node.id)
    for root in graph.roots:
        if root.node not in known.setdefault(root.name, []):
            known[root.name].append(root.node)
    operations: dict[str, list[int]] = {}
    for node in graph.nodes:
        if node.computes:
            for key in dict.fromkeys(filter(None, (node.op, node.name))):
                operations.setdefault(key, []).append(node.id)
    found: list[int] = []
    for name in names:
        its = known.get(name) or operations.get(name) or _numbered(graph, name)
        if not its:
            raise GraphError(f"There is no {name!r} here; {_similar(name, [*known, *operations])}.")
        found += its
    return found


def _numbered(graph: Graph, name: str) -> list[int]:
    number = re.fullmatch(r"(\w*)%(\d{1,9})(?:\.\d+)?", name)
    if number is None or int(number[2]) >= len(graph):
        return []
    node = graph.nodes[int(number[2])]
    return [node.id] if number[1] in ("", node.name, node.op) else []


def _similar(name: str, known: Sequence[str]) -> str:
    names = [other for other in known if not other.startswith("%")]
    inner = [other for other in dict.fromkeys(names) if other.endswith(f".{name}")]  # a parameter without its module
    close = inner or difflib.get_close_matches(name, names, LISTED) or sorted(set(names))
    more = f" and {len(close) - LISTED} more" if len(close) > LISTED else ""
    return f"names: {', '.join(map(repr, close[:LISTED])) or 'none'}{more}"


def _near(starts: Iterable[int], neighbours: Sequence[list[list[int]]], radius: int | None = None) -> set[int]:
    """Return what these lead to, in at most `radius` steps."""
    met = set(starts)
    ring, steps = list(met), 0
    while ring and (radius is None or steps < radius):
        following = {other for number in ring for its in neighbours for other in its[number]} - met
        met |= following
        ring, steps = list(following), steps + 1
    return met


def _within(graph: Graph, names: Iterable[str]) -> set[int]:
    """The nodes that ran in one of these modules, and their parameters and buffers; raises `GraphError` for a module
    that is not there, with similar ones."""
    paths = dict.fromkeys(call.path for call in graph.calls)
    wanted: list[str] = []
    for name in names:
        its = [name] if name in paths else [path for path in paths if path.endswith(f".{name}")]
        if not its:
            close = difflib.get_close_matches(name, paths, LISTED) or list(paths)[:LISTED]
            raise GraphError(f"There is no module {name!r} here; modules: {', '.join(map(repr, close)) or 'none'}.")
        wanted += its
    inside = tuple([f"{path}." for path in wanted])
    return {node.id for node in graph if f"{node.module}.".startswith(inside)}


def _outputs(graph: Graph, kept: set[int]) -> list[Root]:
    """Return the outputs that are used outside of these nodes, as roots under their own names."""
    names, known = output_names(graph), {(root.node, root.nr) for root in graph.roots}
    found: dict[tuple[int, int], Root] = {}
    for node in graph:
        for edge in filter(None, (*node.args, *node.next)) if node.id not in kept else ():
            at = edge.node, edge.nr
            if edge.node in kept and graph[edge.node].computes and at not in known:
                name = names[edge.node][edge.nr]
                found.setdefault(at, Root("output" if name.startswith("%") else name, *at))
    return list(found.values())


def _cut_out(graph: Graph, kept: set[int], used: Sequence[list[int]], outputs: Sequence[Root] = ()) -> Graph:
    border = {other for number in kept for other in used[number]} - kept
    numbers = sorted(kept | border)
    nodes = [bordering(graph.nodes[number]) if number in border else graph.nodes[number] for number in numbers]
    return take(graph, numbers, [*(root for root in graph.roots if root.node in kept), *outputs], nodes)
