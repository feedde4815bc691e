"""A forward view as the script was written: a layer or a call of a function is one node, views in a row are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.graph.closing import Merging, measured_together
from autograph_cli.graph.layers import layer_words
from autograph_cli.graph.records import Edge, Graph, Measured, Node, Saved, Values
from autograph_cli.graph.views import as_input, data_edges, is_change, is_cut, take, users_of, walk, written_base

USER, ATEN = LEVELS = ("user", "aten")
"""As the script was written, or each operation that ran."""
CALLED = frozenset(
    (
        *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "chunk", "contiguous"),
        *("flatten", "unflatten", "ravel", "reshape"),
    )
)
"""Functions that run a single operation of another name."""
Key = tuple[str, int]
_RESHAPES = frozenset(
    (
        *("view", "reshape", "transpose", "permute", "t", "unsqueeze", "squeeze", "expand", "flatten", "unflatten"),
        *("alias", "_unsafe_view", "_reshape_alias", "movedim", "swapaxes", "numpy_T", "mT", "adjoint", "view_as"),
    )
)
"""Operations that give a tensor another shape and nothing else."""


class Written(Struct, frozen=True):
    """A forward view as the script was written."""

    graph: Graph
    calls: frozenset[int] = frozenset()
    """The calls of modules that became one node."""
    several: frozenset[int] = frozenset()
    """The nodes that stand for several operations: the numbers of their outputs are none that the script knows."""
    places: Mapping[int, int] = {}
    """The node that each node of the view became, or is a part of; none of what is left out."""

    def lasts(self) -> list[int]:
        """The last node of the view that is a part of each node."""
        last = {new: old for old, new in sorted(self.places.items())}
        return [last[new] for new in sorted(last)]

    def parts(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """The nodes that each node stands for, where they are several, by these numbers of the nodes of the view."""
        found: dict[int, list[int]] = {}
        for old, new in sorted(self.places.items()):
            found.setdefault(new, []).append(numbers[old])
        return {new: olds for new, olds in found.items() if len(olds) > 1}


def as_written(view: Graph) -> Written:
    """The forward view with one node for each layer of `torch.nn`, each expression of the script, views in a row."""
    graph = _without_constructors(view)
    kept = range(len(graph)) if graph is view else graph.numbers
    merging = _Merged(graph, _Grouping(graph).keys())
    merged = merging.graph()
    last = {member.id: its[-1].id for key, its in merging.operations.items() for member in merging.members[key]}
    places = {old: merging.place[last.get(number, number)] for number, old in enumerate(kept)}
    if view.numbers:
        merged = replace(merged, numbers=[view.numbers[kept[number]] for number in merging.place])
    several = frozenset(merging.place[its[-1].id] for its in merging.operations.values() if len(its) > 1)
    return Written(merged, frozenset(number for what, number in merging.operations if what == "call"), several, places)


def _without_constructors(graph: Graph) -> Graph:
    """The graph with buffers as inputs: how a constructor filled them is no part of what the script computed."""
    paths = {call.path for call in graph.calls}
    state = {node.id: path for node in graph if (path := _buffer_of(node, paths))}
    if not state:
        return graph
    nodes = [replace(as_input(node), module=state[node.id]) if node.id in state else node for node in graph]
    used = {edge.node for node in graph for edge in node.args}
    ends = [node.id for node in graph if node.id not in used] + [root.node for root in graph.roots]
    whole = replace(graph, nodes=tuple(nodes))
    return take(whole, walk(whole, ends, data_edges), graph.roots)


def _buffer_of(node: Node, paths: Collection[str]) -> str:
    """The path of the module whose buffer a constructor made with this node; empty if it is none."""
    if node.kind != "untracked" or node.call is not None or not node.outputs:
        return ""
    owners = (name.rpartition(".")[0] for name in node.outputs[0].names)
    return next((owner for owner in owners if owner in paths), "")


class _Grouping:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.users = graph, users_of(graph)
        self.found: list[Key | None] = [None] * len(graph)
        self.rooted = {root.node for root in graph.roots}

    def keys(self) -> list[Key | None]:
        """The node that each node is a part of."""
        leaves = self._leaf_calls()
        for node in self.graph:
            if node.order or not node.computes or is_cut(node):
                continue
            if node.call in leaves and node.call is not None:
                self.found[node.id] = "call", node.call
            elif node.written is not None:
                self.found[node.id] = "written", node.written[0]
        self._drop(self._wrong())
        self._take_drawn()
        self._drop(self._alone())
        self._take_views()
        self._drop(self._entered())
        return self.found

    def _leaf_calls(self) -> set[int]:
        """The calls of layers in which no other module ran."""
        outer: set[int] = set()
        for inner in {node.call for node in self.graph if node.call is not None}:
            call = self.graph.calls[inner].parent
            while call is not None and call not in outer:
                outer.add(call)
                call = self.graph.calls[call].parent
        return {call.id for call in self.graph.calls if call.layer is not None and call.id not in outer}

    def _wrong(self) -> Iterator[Key]:
        """Expressions that changed in place what they did not make, or a part of it: all of it goes on from there."""
        for node in self.graph:
            key = self.found[node.id]
            if key is None or not is_change(node):
                continue
            base = written_base(self.graph, node)
            outside = self.found[node.args[0].node] != key
            if base is not None or (key[0] != "call" and outside):
                yield key

    def _alone(self) -> Iterator[Key]:
        """Expressions of which a single operation is left in this view, but for an index with tensors in it."""
        for key, members in self._members().items():
            if key[0] != "call" and len(members) < 2 and not self._is_index(members[0]):
                yield key

    def _is_index(self, number: int) -> bool:
        written = self.graph[number].written
        return written is not None and written[1].startswith("[") and len(self.graph[number].args) > 1

    def _members(self) -> dict[Key, list[int]]:
        members: dict[Key, list[int]] = {}
        for number, key in enumerate(self.found):
            if key is not None:
                members.setdefault(key, []).append(number)
        return members

    def _drop(self, keys: Iterable[Key]) -> None:
        gone = set(keys)
        self.found = [None if key in gone else key for key in self.found] if gone else self.found

    def _take_views(self) -> None:
        """Views in a row, each of which only the next one uses."""
        for node in self.graph:
            if not self._is_view(node) or len(node.args) != 1:
                continue
            before = self.graph[node.args[0].node]
            if not (self._is_view(before) and before.call == node.call and self.users[before.id] == [node.id]):
                continue
            named = before.outputs[0].names and node.call is None
            if named or before.id in self.rooted:
                continue
            key = self.found[before.id] = self.found[before.id] or ("views", before.id)
            self.found[node.id] = key

    def _is_view(self, node: Node) -> bool:
        mine = self.found[node.id]
        return node.op in _RESHAPES and not node.order and (mine is None or mine[0] == "views")

    def _take_drawn(self) -> None:
        """Yield the nodes that a layer or a function drew at random for itself alone, such as the mask of a dropout."""
        for node in self.graph:
            if node.kind == "untracked" and not node.args and node.id not in self.rooted:
                keys = {self.found[user] for user in self.users.get(node.id, ())}
                mine: list[Key] = [] if node.call is None else [("call", node.call)]
                mine += [] if node.written is None else [("written", node.written[0])]
                if len(keys) == 1 and keys <= set(mine):
                    self.found[node.id] = keys.pop()

    def _entered(self) -> Iterator[Key]:
        """Yield what something else takes a tensor from and gives one to: it is no one step."""
        for key, members in self._members().items():
            inside = set(members)
            after: set[int] = set()
            for number in range(members[0] + 1, members[-1] + 1):
                from_it = any(edge.node in inside or edge.node in after for edge in self.graph[number].args)
                if number not in inside and from_it:
                    after.add(number)
                elif number in inside and any(edge.node in after for edge in self.graph[number].args):
                    yield key
                    break


class _Merged(Merging[Key]):
    def _open(self, node: Node) -> Node:
        """An operation alone, by the words of the function of another name that ran it, if one did."""
        node = super()._open(node)
        words = "" if node.written is None or node.order or is_cut(node) else node.written[1]
        if words.partition(" ")[0] not in CALLED:
            return node
        return replace(node, op=words, saved=_tensors([node]), constants=(), written=None)

    def _used(self) -> dict[Key, list[Edge]]:
        """The outputs of each key; the calls of a layer have the same ones, first those that all made."""
        used = super()._used()
        calls: dict[str, list[Key]] = {}
        for key in self.operations:
            if key[0] == "call":
                calls.setdefault(self.whole.calls[key[1]].path, []).append(key)
        for keys in calls.values():
            made = {key: _by_operation(self.operations[key]) for key in keys} if len(keys) > 1 else {}
            wanted = set()
            for key, which in made.items():
                its = {member: operation for operation, member in which.items()}
                wanted |= {(its[edge.node], edge.nr) for edge in used[key]}
            often = Counter(its for which in made.values() for its in which)
            ranked = sorted(wanted, key=lambda one: (-often[one[0]], *one))
            for key, which in made.items():
                used[key] = [Edge(which[its], nr) for its, nr in ranked if its in which]
        return used

    def merged(self, key: Key, node: Node, outputs: Sequence[Edge]) -> Node:
        members = self.members[key]
        operations = self.operations[key]
        names = [member.name or member.op for member in operations]
        tracked = any(member.kind == "operation" for member in operations)
        return replace(
            node,
            kind="operation" if tracked else "untracked",
            name=", ".join(dict.fromkeys(names)),
            op=self._words(key, node, operations),
            saved=_tensors(members),
            constants=(),
            written=None,
            cut=self._cut(members, node),
            measured=self._measured(members, outputs),
        )

    def _words(self, key: Key, node: Node, operations: Sequence[Node]) -> str:
        if key[0] == "call":
            call = self.whole.calls[key[1]]
            around = "" if call.parent is None else f"{self.whole.calls[call.parent].path}."
            path, words = call.path.removeprefix(around), layer_words(call.cls, call.layer or "")
            return words if path == call.cls else f"{path}: {words}"
        if key[0] == "written":
            assert operations[0].written is not None
            return operations[0].written[1]
        (edge,) = operations[0].args
        given, made = self.whole[edge.node].outputs[edge.nr].type, node.outputs[0].type
        return f"reshape {list(given.shape)}→{list(made.shape)}"

    def _cut(self, members: Sequence[Node], node: Node) -> tuple[int, ...]:
        """Return where among the arguments stands what required a gradient and ends here."""
        cut = {self.position.get(member.args[place]) for member in members for place in member.cut}
        return tuple([place for place, edge in enumerate(node.args) if edge in cut])

    def _measured(self, members: Sequence[Node], outputs: Sequence[Edge]) -> Measured | None:
        """Return what was measured of several operations: their sums, and the numbers of what is seen of them."""
        together = measured_together(members)
        if together is None:
            return None
        each = [member.measured for member in members if member.measured is not None]

        def numbers(name: str) -> tuple[Values | None, ...]:
            found = [(getattr(self.whole[edge.node].measured, name, ()), edge.nr) for edge in outputs]
            return tuple([values[nr] if nr < len(values) else None for values, nr in found])

        return replace(
            together,
            values=numbers("values"),
            gradients=numbers("gradients"),
            error=max((one.error for one in each if one.error is not None), default=None),
            wrong=next((one.wrong for one in each if one.wrong), ""),
            nonfinite=tuple(sorted({number for one in each for number in one.nonfinite})),
        )


def _tensors(nodes: Iterable[Node]) -> tuple[Saved, ...]:
    return tuple([saved for node in nodes for saved in node.saved if saved.type is not None])


def _by_operation(members: Sequence[Node]) -> dict[tuple[str, int], int]:
    """Map each operation of a call, which is told by its name and its turn among those of this name, to its node."""
    met: Counter[str] = Counter()
    found = {}
    for member in members:
        met[member.op] += 1
        found[member.op, met[member.op]] = member.id
    return found
