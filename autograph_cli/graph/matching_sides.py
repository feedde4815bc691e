"""A graph to be matched with another: its edges in both directions, what its nodes are named, and which have a like."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from autograph_cli.graph.records import Graph, Node

Slot = tuple[int, int, int]
"""A position among a node's arguments (from 0) or gradients (from -1 down), an output number, and a node."""


class Side:
    """One graph with its edges in both directions."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = graph.nodes
        self.ins: list[list[Slot]] = [_slots(node) for node in graph.nodes]
        self.outs: list[list[Slot]] = [[] for _ in graph.nodes]
        self.children: list[list[int]] = [[] for _ in graph.nodes]
        for node in graph.nodes:
            for slot, nr, target in self.ins[node.id]:
                self.outs[target].append((slot, nr, node.id))
            if node.parent is not None:
                self.children[node.parent].append(node.id)
        self.sorted = self._sorted()
        self.image: dict[int, int] = {}
        self.apart: set[int] = set()
        """The nodes in layers that the other graph lacks; they have no counterpart there."""

    def _sorted(self) -> list[int]:
        """Every node after all that it hangs on."""
        waiting = [len(slots) for slots in self.ins]
        ready = [number for number, count in enumerate(waiting) if count == 0]
        for number in ready:  # grows while it is walked
            for _, _, user in self.outs[number]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
        return ready if len(ready) == len(waiting) else list(range(len(waiting)))

    def free(self, order: int | None) -> list[int]:
        """The nodes of this order, or of all, that have no like yet."""
        return [node.id for node in self.nodes if order in (None, node.order) and self.is_free(node.id)]

    def is_free(self, number: int) -> bool:
        """Return whether a node has no like yet, and may have one."""
        return number not in self.image and number not in self.apart


def _slots(node: Node) -> list[Slot]:
    found = [(position, edge.nr, edge.node) for position, edge in enumerate(node.args)]
    return found + [(-1 - position, edge.nr, edge.node) for position, edge in enumerate(node.next) if edge is not None]


def taken(side: Side, number: int, across: Side) -> int:
    """Return how many of its matched users' likes have another matched node in the position of this one."""
    return sum(
        (slot, nr) == (at, its) and target in across.image and across.image[target] != number
        for slot, nr, user in side.outs[number]
        if user in side.image
        for at, its, target in across.ins[side.image[user]]
    )


def is_within(node: Node, new: Callable[[str], bool]) -> bool:
    """Return whether a node ran in a new module, or is a tensor of it."""
    names = [name for output in node.outputs for name in output.names]
    modules = [node.module] if node.module else [name.rpartition(".")[0] or name for name in names]
    return bool(modules) and all(map(new, modules))


def only_users(side: Side) -> list[tuple[int, int] | None]:
    """For each node that one other uses once, at which position of which."""
    return [(uses[0][0], uses[0][2]) if len(uses) == 1 else None for uses in side.outs]


def nameless(side: Side) -> dict[int, tuple[int, int]]:
    """For each input without a name that one operation uses once, at which position of which operation that is."""
    found = {}
    for node in side.nodes:
        uses = side.outs[node.id]
        if node.kind == "input" and len(uses) == 1 and not any(output.names for output in node.outputs):
            found[node.id] = uses[0][0], uses[0][2]
    return found


def marks(graph: Graph) -> list[tuple[Hashable, ...]]:
    """Return what results and backward calls say of each node: from which call it is, and which started or ended in
    it."""
    marks: list[list[Hashable]] = [[node.pass_id] for node in graph]
    for root in graph.roots:
        marks[root.node].append(("result", root.nr))
    for entry in graph.passes:
        for edge in entry.roots:
            marks[edge.node].append(("root", entry.id, edge.nr))
        for number in entry.ran:
            if graph[number].kind == "leaf":
                marks[number].append(("leaf", entry.id))
    return [tuple(found) for found in marks]


def anchors(old: Graph, new: Graph, before: Callable[[str], str]) -> list[tuple[int, int]]:
    """Leaves and inputs of a name that one of them has in each graph."""
    known = [_named(old, str), _named(new, before)]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for name, one in known[0].items():
        other = known[1].get(name)
        if one is None or other is None or one in pairs or other in taken:
            continue
        if old[one].op == new[other].op:
            pairs[one] = other
            taken.add(other)
    return list(pairs.items())


def _named(graph: Graph, before: Callable[[str], str]) -> dict[str, int | None]:
    """The leaf or input of each name, or what was made for a buffer; None where several have it."""
    found: dict[str, int | None] = {}
    for node in graph.nodes:
        if node.kind != "operation":
            for name in filter(None, map(before, node.outputs[0].names)):
                if not node.is_operation or "." in name:
                    found[name] = node.id if name not in found else None
    return found


def homes(old: Graph, new: Graph, before: Callable[[str], str]) -> tuple[dict[int, str], dict[int, str]]:
    """For each leaf of a dotted name in either graph, the innermost module around it that both have tensors in."""
    named = [
        {node.id: name(node.outputs[0].names[0]) for node in graph if node.kind == "leaf" and node.outputs[0].names}
        for graph, name in ((old, str), (new, before))
    ]
    around = [{path for name in its.values() for path in _modules(name)} for its in named]
    both = around[0] & around[1]
    one, other = [
        {at: next(filter(both.__contains__, _modules(name)), "") for at, name in its.items()} for its in named
    ]
    return one, other


def _modules(name: str) -> Iterator[str]:
    """The path of the module of a tensor, and those of the modules around it, the innermost first."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
