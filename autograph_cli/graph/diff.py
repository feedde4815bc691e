"""The differences of two graphs, matched by structure: added, removed and changed nodes, backward calls and roots."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from autograph_cli.graph.alignment import align
from autograph_cli.graph.compared import compared, constants, labelled, same_facts
from autograph_cli.graph.matching import match
from autograph_cli.graph.records import UNGRADED, Edge, Graph, Node, Pass, TensorType, above
from autograph_cli.graph.renumbered import renumbered
from autograph_cli.graph.reordered import reordered
from autograph_cli.graph.source import Source, Switch
from autograph_cli.graph.trace_writer import plain

Part = Literal["names", "shapes", "dtypes", "constants", "lines", "modules", "untracked"]
PARTS: tuple[Part, ...] = ("names", "shapes", "dtypes", "constants", "lines", "modules", "untracked")
DEFAULT_PARTS: tuple[Part, ...] = ("names", "shapes", "dtypes", "constants", "untracked")
"""The parts that are compared, and kept in a snapshot, next to the structure. Without `untracked`, what autograd did
not record is an input of what it recorded."""
Aspect = Literal["kind", "operation", "type", "constants", "arguments", "gradients", "origin", "line", "module"]


class Change(Struct, frozen=True):
    """A node that both graphs have, and in what it differs; `follows` when its types changed with its arguments'."""

    old: int
    new: int
    aspects: tuple[Aspect, ...]
    follows: bool = False


class PassChange(Struct, frozen=True):
    """A backward call that was added (`old` is None), removed (`new` is None) or changed."""

    old: int | None
    new: int | None
    aspects: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class GraphDiff:
    """The differences between `old` and `new`; true if there are any.

    >>> from autograph_cli.graph.records import Output, TensorType
    >>> outputs = [(Output(TensorType("float32", (size,)), ("x",)),) for size in (3, 4)]
    >>> old, new = (Graph((Node(0, "leaf", "AccumulateGrad", "", output),)) for output in outputs)
    >>> print(diff(old, new).sentences[0])
    leaf `x` float32[3] -> float32[4]
    """

    old: Graph
    new: Graph
    pairs: dict[int, int]
    """The node of `new` for each node of `old` that is there still."""
    removed: tuple[int, ...]
    added: tuple[int, ...]
    changed: tuple[Change, ...]
    passes: tuple[PassChange, ...]
    lost_roots: tuple[Edge, ...]
    new_roots: tuple[Edge, ...]
    pass_pairs: dict[int, int]
    parts: frozenset[str]
    reordered: bool = False
    """True if the terms of a sum, or the factors of a product, are in another order, and nothing else differs."""
    switches: Mapping[Source, Switch] = field(default_factory=dict)
    """The statement that switches recording off, for each line of the new script where nothing is recorded."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.changed or self.passes or self.lost_roots or self.new_roots)

    def __repr__(self) -> str:
        return f"<GraphDiff: {'; '.join(self.sentences) if self else 'the same'}>"

    @cached_property
    def sentences(self) -> list[str]:
        """The differences as a reviewer would say them, one a line."""
        found: list[str] = above("review").sentences(self)
        return found

    @cached_property
    def renamed(self) -> tuple[tuple[str, str], ...]:
        """Variables that have another name now; that alone is no difference."""
        found = []
        for one, other in self.pairs.items():
            for mine, theirs in zip(self.old[one].outputs, self.new[other].outputs, strict=False):
                if mine.names and theirs.names and not set(mine.names) & set(theirs.names):
                    found.append((mine.names[0], theirs.names[0]))
        return tuple(dict.fromkeys(found))

    def to_text(self, *, context: int = 2) -> str:
        """The lines of both graphs that differ, marked `-` and `+`, with some around them; empty for equal graphs."""
        if self.reordered:
            return ""
        return "".join(f"{line}\n" for line in above("snapshot_text").diff_lines(self, context))

    def to_json(self) -> str:
        """The differences as JSON, nodes in the form that they have in a trace."""
        return json.dumps(self.as_dict(), ensure_ascii=True, indent=1) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes."""
        return {
            "same": not self,
            "sentences": self.sentences if self else [],
            "removed": [_row(self.old[number]) for number in self.removed],
            "added": [_row(self.new[number]) for number in self.added],
            "changed": [
                {
                    "aspects": change.aspects,
                    "follows": change.follows,
                    "old": _row(self.old[change.old]),
                    "new": _row(self.new[change.new]),
                }
                for change in self.changed
            ],
            "passes": [{"old": change.old, "new": change.new, "aspects": change.aspects} for change in self.passes],
            "renamed": self.renamed,
        }


def _row(node: Node) -> Any:
    return plain(node)


def diff(old: Graph, new: Graph, parts: Collection[str] = DEFAULT_PARTS) -> GraphDiff:
    """Compare two graphs: their structure, and what `parts` says besides (some of `PARTS`).

    Names of leaves and inputs that both graphs have tell these apart; a variable that only has another name is no
    difference. An edge that leads through an added or removed operation is not reported besides it.

    >>> diff(Graph(), Graph())
    <GraphDiff: the same>
    """
    found = _Comparison(compared(old, parts), compared(new, parts), frozenset(parts)).result()
    if not found or len(found.removed) != len(found.added):
        return found
    one, other = reordered(found.old), reordered(found.new)
    if one is None or other is None or _Comparison(one, other, frozenset(parts)).result():
        return found
    return GraphDiff(found.old, found.new, found.pairs, (), (), (), (), (), (), found.pass_pairs, found.parts, True)


def shown_type(kind: TensorType, parts: Collection[str]) -> str:
    """A type as it is compared: `float32[3]`, `[3]` without dtypes, `float32` without shapes."""
    shape = f"[{', '.join(map(str, kind.shape))}]" if "shapes" in parts else ""
    if "dtypes" not in parts:
        return shape
    return f"{kind.dtype}{shape}" + ("" if kind.device == "cpu" else f"@{kind.device}")


class _Comparison:
    def __init__(self, old: Graph, new: Graph, parts: frozenset[str]) -> None:
        self.old, self.new, self.parts = old, new, parts
        self.plain = {id(node): labelled(graph, node) for graph in (old, new) for node in graph}
        self.before = renumbered(old, new)
        self.image = match(old, new, self._fine, names="names" in parts)
        self.origin = {other: one for one, other in self.image.items()}
        self.through: dict[tuple[bool, int], set[int]] = {}
        keys = [[entry.call for entry in graph.passes] for graph in (old, new)]
        self.pass_pairs = dict(align(*keys))

    def result(self) -> GraphDiff:
        changed = [change for one, other in self.image.items() if (change := self._change(one, other))]
        return GraphDiff(
            self.old,
            self.new,
            self.image,
            tuple(node.id for node in self.old if node.id not in self.image),
            tuple(node.id for node in self.new if node.id not in self.origin),
            tuple(self._folded(changed)),
            tuple(self._passes()),
            *self._roots(),
            self.pass_pairs,
            self.parts,
        )

    def _fine(self, node: Node) -> Hashable:
        types = tuple(shown_type(output.type, self.parts) for output in node.outputs)
        return types, self.plain[id(node)] if "constants" in self.parts else (), node.kind

    def _change(self, one: int, other: int) -> Change | None:
        old, new, parts = self.old[one], self.new[other], self.parts
        types = [tuple(shown_type(output.type, parts) for output in node.outputs) for node in (old, new)]
        positions = [node.source and (node.source.file, node.source.line) for node in (old, new)]
        found: dict[Aspect, bool] = {
            "kind": old.kind != new.kind,
            "operation": old.is_operation and new.is_operation and _operation(old, new),
            "type": types[0] != types[1],
            "constants": "constants" in parts and old.kind == new.kind and not self._same_plain(old, new),
            "arguments": bool(old.args and new.args) and not self._same_edges(old.args, new.args),
            "gradients": "untracked" not in (old.kind, new.kind) and not self._same_gradients(old, new),
            "origin": not self._same_origin(old, new),
            "line": "lines" in parts and positions[0] != positions[1],
            "module": "modules" in parts and old.module != self.before(new.module),
        }
        if found["arguments"] and found["gradients"]:
            found["gradients"] = old.next.count(None) != new.next.count(None)
        aspects = tuple(aspect for aspect, differs in found.items() if differs)
        return Change(one, other, aspects) if aspects else None

    def _same_plain(self, old: Node, new: Node) -> bool:
        if new.is_operation:
            return self.plain[id(old)] == self.plain[id(new)]
        return same_facts(constants(old), constants(new))

    def _same_edges(self, old: tuple[Edge | None, ...], new: tuple[Edge | None, ...]) -> bool:
        return len(old) == len(new) and all(map(self._same_edge, old, new))

    def _same_gradients(self, old: Node, new: Node) -> bool:
        """Return whether the gradient edges are alike, but for those that came with what was put in or taken out."""

        def same(one: Edge | None, other: Edge | None) -> bool:
            if one is None and other is not None and other.node not in self.origin:
                return any(self.image.get(edge.node) in self._beyond(self.new, other.node) for edge in old.args)
            if other is None and one is not None and one.node not in self.image:
                return any(self.origin.get(edge.node) in self._beyond(self.old, one.node) for edge in new.args)
            return self._same_edge(one, other)

        return len(old.next) == len(new.next) and all(map(same, old.next, new.next))

    def _same_edge(self, old: Edge | None, new: Edge | None) -> bool:
        if old is None or new is None:
            return old is new or self._is_input(old, new)
        image, origin = self.image.get(old.node), self.origin.get(new.node)
        if image is not None and origin is not None:
            return image == new.node and old.nr == new.nr
        if image is not None:
            return image in self._beyond(self.new, new.node)
        if origin is not None:
            return origin in self._beyond(self.old, old.node)
        return True

    def _is_input(self, old: Edge | None, new: Edge | None) -> bool:
        """Return whether an edge went because what it led to has no gradient now, or came for the opposite reason."""
        if old is not None:
            image = self.image.get(old.node)
            return image is not None and self.new[image].kind in UNGRADED
        origin = self.origin.get(new.node) if new is not None else None
        return origin is not None and self.old[origin].kind in UNGRADED

    def _beyond(self, graph: Graph, start: int) -> set[int]:
        """The matched nodes that an unmatched one leads to, through others like it."""
        key = graph is self.new, start
        if key not in self.through:
            known = self.origin if graph is self.new else self.image
            stack, met = [start], {start}
            found: set[int] = set()
            while stack:
                node = graph[stack.pop()]
                for edge in (*node.args, *node.next):
                    if edge is None or edge.node in met:
                        continue
                    met.add(edge.node)
                    (found.add if edge.node in known else stack.append)(edge.node)
            self.through[key] = found
        return self.through[key]

    def _same_origin(self, old: Node, new: Node) -> bool:
        if old.parent is None or new.parent is None:
            return old.parent == new.parent
        image = self.image.get(old.parent)
        return image == new.parent or (image is None and new.parent not in self.origin)

    def _folded(self, changed: list[Change]) -> Iterable[Change]:
        """Mark the changes of type that came with those of an argument."""
        typed = {change.old for change in changed if "type" in change.aspects}
        for change in changed:
            own = {edge.node for edge in (*self.old[change.old].args, *self.old[change.old].next) if edge is not None}
            follows = change.aspects == ("type",) and bool(own & typed)
            yield Change(change.old, change.new, change.aspects, follows)

    def _passes(self) -> Iterable[PassChange]:
        old, new = self.old.passes, self.new.passes
        pairs = self.pass_pairs
        for one in range(len(old)):
            if one not in pairs:
                yield PassChange(one, None)
            else:
                aspects = tuple(self._pass_aspects(old[one], new[pairs[one]]))
                if aspects:
                    yield PassChange(one, pairs[one], aspects)
        yield from (PassChange(None, other) for other in range(len(new)) if other not in pairs.values())

    def _pass_aspects(self, old: Pass, new: Pass) -> Iterable[str]:
        if not self._same_edges(old.roots, new.roots):
            yield "roots"
        if old.order != new.order:
            yield "order"
        if old.create_graph != new.create_graph:
            yield "create_graph"
        mine, theirs = {self.image.get(leaf) for leaf in reached(self.old, old)}, set(reached(self.new, new))
        if {leaf for leaf in mine if leaf is not None} != {leaf for leaf in theirs if leaf in self.origin}:
            yield "gradients"

    def _roots(self) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        old = [Edge(root.node, root.nr) for root in self.old.roots]
        new = [Edge(root.node, root.nr) for root in self.new.roots]
        return (
            tuple(edge for edge in old if edge.node in self.image and not self._among(new, edge)),
            tuple(edge for edge in new if edge.node in self.origin and not self._among(old, edge, back=True)),
        )

    def _among(self, edges: list[Edge], edge: Edge, *, back: bool = False) -> bool:
        """Return whether an output of one graph is among these of the other."""
        like = Edge((self.origin if back else self.image)[edge.node], edge.nr)
        return like in edges or any(self._same_edge(*((one, edge) if back else (edge, one))) for one in edges)


def reached(graph: Graph, entry: Pass) -> list[int]:
    """The leaves that a backward call went to, in order."""
    return sorted({number for number in entry.ran if graph[number].kind == "leaf"})


def _operation(old: Node, new: Node) -> bool:
    """Return whether two nodes are of different operations; a text without gradients does not name the grad_fn."""
    if old.op and new.op and old.op != new.op:
        return True
    return bool(old.next and new.next) and old.name != new.name
