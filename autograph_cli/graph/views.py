"""The graphs within the graph: parts cut out for one question, each a whole graph again with ids of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.records import Edge, Graph, Node, Pass, Root

CUT = "…"
"""The beginning of an operation that is shown without the nodes that it was made from."""

MANY = 4
"""The most unnamed tensors of an untracked operation that the forward view shows; of more it shows none."""

_PARTS = ("select", "index", "slice", "unbind", "split")
"""Operations whose results are parts of a tensor, such as samples of a set of data."""
Targets = Callable[[Node], Iterable[Edge]]


def backward_edges(node: Node) -> Sequence[Edge]:
    """Return where the node's backward sends gradients."""
    following = node.next
    return following if all(following) else [edge for edge in following if edge is not None]  # type: ignore[return-value]


def edges_of(node: Node) -> list[Edge]:
    """Return all edges of a node: what it was given, and where its backward sends gradients."""
    return [*node.args, *backward_edges(node)]


def users_of(graph: Graph, targets: Targets = edges_of) -> dict[int, list[int]]:
    """The nodes that lead to each node by these of their edges, once for each of them."""
    users: dict[int, list[int]] = {}
    for node in graph:
        for edge in targets(node):
            users.setdefault(edge.node, []).append(node.id)
    return users


def argument_edges(node: Node) -> Sequence[Edge]:
    """Return what the operation was given, as far as the engine tells it."""
    return node.args


def data_edges(node: Node) -> Sequence[Edge]:
    """The tensors that the operation was given; of an engine that does not tell, those with a gradient."""
    return node.args or backward_edges(node)


def find_roots(graph: Graph, names: Iterable[str] | None = None) -> tuple[Root, ...]:
    """The roots of these names, or all; raises `GraphError`, listing the known ones, for an unknown name."""
    if names is None:
        return graph.roots
    known = {root.name: root for root in graph.roots}
    found = []
    for name in dict.fromkeys(names):
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise GraphError(f"There is no root {name!r} here; known roots: {listed}.")
        found.append(known[name])
    return tuple(found)


def reachable(graph: Graph, names: Iterable[str] | None = None) -> list[int]:
    """The ids of all nodes that these roots (or all roots) lead to, themselves included, in order."""
    return walk(graph, (root.node for root in find_roots(graph, names)), backward_edges)


def slice_to_roots(graph: Graph, names: Iterable[str] | None = None) -> Graph:
    """Return what these roots hang on, by data and by gradient, in one graph."""
    roots = find_roots(graph, names)
    kept = walk(graph, (root.node for root in roots), edges_of)
    return take(graph, kept, roots)


def forward(graph: Graph, roots: Iterable[str] | None = None) -> Graph:
    """The operations of order 0 in the order of data: `args` only.

    A derivative that an order-0 operation takes a tensor from stands at the border, without what it was made from.
    Raises `GraphError` for an unknown root, and for a root that is a derivative.
    """
    chosen = find_roots(graph, roots)
    derived = [root.name for root in chosen if graph.nodes[root.node].order]
    if roots is not None and derived:
        raise GraphError(
            f"Root {derived[0]!r} is a derivative and not part of the forward graph; "
            "it is in the double-backward graph."
        )
    chosen = tuple(root for root in chosen if not graph.nodes[root.node].order)
    starts = [root.node for root in chosen] or _sinks(graph, lambda node: node.order == 0, data_edges)

    def given(node: Node) -> Sequence[Edge]:
        return () if gathers(graph, node) else data_edges(node)

    def before(node: Node) -> Iterable[Edge]:
        return given(node) if node.order == 0 else ()

    kept = walk(graph, starts, before)
    if roots is None:
        kept = walk(graph, [*starts, *_apart(graph, kept, before)], before)
    cut = [node if node.order == 0 else _derivative(node) for node in map(graph.nodes.__getitem__, kept)]
    return take(graph, kept, chosen, cut, next_of=lambda node: (), args_of=given)


def computed(graph: Graph, roots: Iterable[str] | None = None) -> Graph:
    """All operations that these roots were computed by, those of derivatives among them; unless named, they are those
    of order 0, or if there are none, all."""
    every = find_roots(graph, roots)
    chosen = every if roots is not None else [root for root in every if not graph.nodes[root.node].order] or every
    return take(graph, walk(graph, [root.node for root in chosen], data_edges), chosen, next_of=lambda node: ())


def _apart(graph: Graph, kept: Iterable[int], before: Targets) -> Iterator[int]:
    """Yield what was differentiated and has nothing in common with these nodes, such as what `torch.func.grad` was
    given."""
    known = {number for number in kept if graph.nodes[number].computes}
    for number in dict.fromkeys(edge.node for entry in graph.passes for edge in entry.roots):
        if number not in known and graph.nodes[number].order == 0:
            found = [graph.nodes[other] for other in walk(graph, [number], before)]
            made = {node.id for node in found if node.computes}
            if not made & known and not any(node.order for node in found):
                known |= made
                yield number


def gathers(graph: Graph, node: Node) -> bool:
    """Return whether an untracked operation gathers many tensors, nameless and made apart or parts of one, as a loader
    does its samples."""
    if node.kind != "untracked" or len(node.args) <= MANY:
        return False
    if not all(graph.nodes[edge.node].kind in ("input", "untracked") for edge in node.args):
        return False
    names = [graph.nodes[edge.node].outputs[edge.nr].names for edge in node.args]
    if not any(names):
        made = walk(graph, [edge.node for edge in node.args], _before_parts)
        return sum(not _before_parts(graph.nodes[number]) for number in made) >= len(node.args)
    return all(names) and len({its[0].partition("~")[0] for its in names}) == 1


def _before_parts(node: Node) -> Sequence[Edge]:
    return () if node.op in _PARTS else data_edges(node)


def backward(graph: Graph, roots: Iterable[str] | None = None) -> Graph:
    """The grad_fn chain from the roots (those of order 0, when none is named) to AccumulateGrad: `next` only.

    A loss that was made from gradients leads on into their order, as its backward does.
    """
    chosen = find_roots(graph, roots)
    if roots is None:
        chosen = tuple(root for root in chosen if not graph.nodes[root.node].order)
    starts = [root.node for root in chosen] or _sinks(graph, lambda node: node.order == 0, backward_edges)
    return take(graph, walk(graph, starts, backward_edges), chosen, args_of=_none)


def double_backward(
    graph: Graph, roots: Iterable[str] | None = None, order: int | None = None, *, data: bool = False
) -> Graph:
    """The grad_fn chains of the roots, what they are derivatives of, and their own derivatives: `next` only.

    With `order`, what is of a higher one is left out: such roots, and what only they need; of what an operation takes
    from it, the node stands at the border, as in the forward view. With `data` it is how all of them were computed:
    `args` only.
    """
    if order is not None and order < 0:
        raise GraphError(f"The order must be 0 or higher, not {order}.")
    chosen = find_roots(graph, roots)
    starts = [root.node for root in chosen] or _sinks(graph, lambda node: True, backward_edges)
    met = set(walk(graph, starts, lambda node: [*backward_edges(node), *_differentiated(graph, node)]))
    for node in graph.nodes:  # a derivative comes after its parent
        if node.parent in met:
            met.add(node.id)
    edges = data_edges if data else backward_edges
    if order is None:
        kept, nodes = walk(graph, met, edges), None
    else:
        kept, nodes = _up_to(graph, order, starts, met, edges)
    inside = set(kept)
    here = tuple(root for root in chosen if root.node in inside and (order is None or graph[root.node].order <= order))
    return take(graph, kept, here, nodes, args_of=data_edges if data else _none, next_of=_none if data else None)


def _up_to(
    graph: Graph, order: int, starts: Iterable[int], met: Collection[int], edges: Targets
) -> tuple[list[int], list[Node]]:
    """Return these nodes up to an order and the nodes that they need, with those of a higher one at the border."""
    differentiated = {edge.node for number in met for edge in _differentiated(graph, graph.nodes[number])}
    first = {*starts, *differentiated, *(number for number in met if graph.nodes[number].pass_id is not None)}
    low = [number for number in first if graph.nodes[number].order <= order]
    kept = walk(graph, low, lambda node: edges(node) if node.order <= order else ())
    nodes = map(graph.nodes.__getitem__, kept)
    return kept, [node if node.order <= order else _derivative(node, order) for node in nodes]


def _differentiated(graph: Graph, node: Node) -> Sequence[Edge]:
    """Return what the backward call differentiated that made a node."""
    return () if node.pass_id is None else graph.passes[node.pass_id].roots


def _none(node: Node) -> tuple[()]:
    return ()


def walk(graph: Graph, starts: Iterable[int], targets: Targets) -> list[int]:
    """The ids of what these nodes lead to, themselves included, in order."""
    nodes = graph.nodes
    met = bytearray(len(nodes))
    stack = list(starts)
    for number in stack:
        met[number] = 1
    while stack:
        for edge in targets(nodes[stack.pop()]):
            number = edge.node
            if not met[number]:
                met[number] = 1
                stack.append(number)
    return [number for number, flag in enumerate(met) if flag]


def _sinks(graph: Graph, wanted: Callable[[Node], bool], targets: Targets) -> list[int]:
    """The nodes that nothing wanted leads to, inputs and leaves left aside."""
    led = {edge.node for node in graph.nodes if wanted(node) for edge in targets(node)}
    return [node.id for node in graph.nodes if node.kind == "operation" and wanted(node) and node.id not in led]


def take(
    graph: Graph,
    kept: Sequence[int],
    roots: Iterable[Root],
    nodes: Sequence[Node] | None = None,
    next_of: Callable[[Node], Iterable[Edge | None]] | None = None,
    args_of: Targets | None = None,
) -> Graph:
    """These nodes under new ids; edges, parents and passes follow, and what leads outside is dropped."""
    nodes = [graph.nodes[old] for old in kept] if nodes is None else nodes
    moved = _Moved(graph, kept, nodes)
    if not (moved.stay and next_of is None):
        nodes = [
            moved.node(number, node, next_of(node) if next_of else node.next, args_of(node) if args_of else node.args)
            for number, node in enumerate(nodes)
        ]
    elif args_of is not None:
        nodes = [node if (args := args_of(node)) is node.args else replace(node, args=tuple(args)) for node in nodes]
    return Graph(
        tuple(nodes),
        tuple(replace(root, node=moved.positions[root.node]) for root in roots),
        tuple(moved.entry(number, graph.passes[old]) for old, number in moved.passes.items()),
        graph.calls,
        kept,
    )


class _Moved:
    """The new ids of the nodes of a graph that are kept, and of the passes that made them."""

    def __init__(self, graph: Graph, kept: Sequence[int], nodes: Sequence[Node]) -> None:
        made_by = {node.pass_id for node in nodes}
        self.passes = {old: number for number, old in enumerate(sorted(old for old in made_by if old is not None))}
        self.positions = [-1] * len(graph.nodes)
        for number, old in enumerate(kept):
            self.positions[old] = number
        self.every = len(kept) == len(graph.nodes)
        self.stay = self.every and all(old == number for old, number in self.passes.items())
        """True if all nodes have the numbers that they had."""

    def _edge(self, edge: Edge) -> Edge:
        position = self.positions[edge.node]
        return edge if position == edge.node else Edge(position, edge.nr)

    def edges(self, edges: Iterable[Edge]) -> tuple[Edge, ...]:
        """Return the edges that lead to what is kept."""
        if self.every:
            return tuple(edges)
        return tuple([self._edge(edge) for edge in edges if self.positions[edge.node] >= 0])

    def each(self, edges: Iterable[Edge | None]) -> tuple[Edge | None, ...]:
        """Return the edges, None for one that leads outside."""
        if self.every:
            return tuple(edges)
        return tuple([None if edge is None or self.positions[edge.node] < 0 else self._edge(edge) for edge in edges])

    def node(self, number: int, node: Node, following: Iterable[Edge | None], args: Iterable[Edge]) -> Node:
        """Return a node with these edges, under its new id."""
        if self.stay:
            return replace(node, next=tuple(following), args=tuple(args))
        parent = -1 if node.parent is None else self.positions[node.parent]
        return replace(
            node,
            id=number,
            next=self.each(following),
            args=self.edges(args),
            parent=None if parent < 0 else parent,
            pass_id=None if node.pass_id is None else self.passes[node.pass_id],
            cut=(),
        )

    def entry(self, number: int, entry: Pass) -> Pass:
        """Return a pass under its new id."""
        positions = self.positions
        shown = [place for place, edge in enumerate(entry.inputs) if positions[edge.node] >= 0]
        return replace(
            entry,
            id=number,
            roots=self.edges(entry.roots),
            ran=tuple([positions[old] for old in entry.ran if positions[old] >= 0]),
            inputs=self.edges(entry.inputs[place] for place in shown),
            results=self.each(entry.results[place] for place in shown) if entry.results else (),
        )


def is_change(node: Node) -> bool:
    """Return whether an operation changed its first argument."""
    return node.op.endswith("_") and not node.op.endswith("__") and bool(node.args)


def written_base(graph: Graph, node: Node) -> Edge | None:
    """Return what an operation changed through a view, a part, of it: the rest of what it made is from there."""
    if not (node.op[-1:] == "_" and is_change(node) and node.outputs):
        return None
    made, edge = node.outputs[0].type, node.args[0]
    while (found := graph.nodes[edge.node]).outputs[edge.nr].type != made:
        if not found.args:
            return None
        edge = found.args[0]
    return None if edge in node.args else edge


def bordering(node: Node) -> Node:
    """The node at the border of what is shown: an operation without what it was made from."""
    if not node.computes:
        return node
    return replace(node, op=CUT + what_was_cut(node), next=(), args=(), saved=())


def is_cut(node: Node) -> bool:
    """Return whether a node is shown without what it was made from."""
    return node.op.startswith(CUT)


def what_was_cut(node: Node) -> str:
    """The operation of a node, also of one that is shown without what it was made from; empty if it is not known."""
    return node.op.removeprefix(CUT)


def tracked(graph: Graph) -> Graph:
    """The graph without the operations that autograd did not record; what the others take from these are inputs."""
    if not any(node.kind == "untracked" for node in graph):
        return graph
    taken = {edge for node in graph if node.kind != "untracked" for edge in (*node.args, *node.next)}
    ran = {number for entry in graph.passes for number in entry.ran} | {root.node for root in graph.roots}
    kept: list[Node] = []
    new: dict[Edge, Edge] = {}
    for node in graph:
        outputs = [Edge(node.id, nr) for nr in range(len(node.outputs))]
        if node.kind == "untracked":
            for edge in (edge for edge in outputs if edge in taken):
                new[edge] = Edge(len(kept))
                kept.append(as_input(replace(node, outputs=(node.outputs[edge.nr],))))
        elif node.kind == "operation" or outputs[0] in taken or (node.kind == "leaf" and node.id in ran):
            new |= {edge: Edge(len(kept), edge.nr) for edge in outputs}
            kept.append(node)
    return _renumbered(graph, kept, new, graph.roots)


def part(graph: Graph, numbers: Sequence[int], roots: Iterable[Root]) -> Graph:
    """These nodes of a graph, which hang on no others, with all of its backward calls; and these roots."""
    kept = [graph.nodes[number] for number in numbers]
    new = {
        Edge(node.id, nr): Edge(number, nr) for number, node in enumerate(kept) for nr in range(len(node.outputs) or 1)
    }
    return _renumbered(graph, kept, new, roots)


def _renumbered(graph: Graph, kept: Sequence[Node], new: Mapping[Edge, Edge], roots: Iterable[Root]) -> Graph:
    return Graph(
        tuple([_under(number, node, new) for number, node in enumerate(kept)]),
        tuple([replace(root, node=new[edge].node) for root in roots if (edge := Edge(root.node, root.nr)) in new]),
        tuple([_pass_under(entry, new) for entry in graph.passes]),
        graph.calls,
    )


def _under(number: int, node: Node, new: Mapping[Edge, Edge]) -> Node:
    """The node with a new number, and edges that lead to the new ones."""
    parent = None if node.parent is None else new[Edge(node.parent)].node
    following = tuple([None if edge is None else new[edge] for edge in node.next])
    return replace(node, id=number, args=tuple([new[edge] for edge in node.args]), next=following, parent=parent)


def _pass_under(entry: Pass, new: Mapping[Edge, Edge]) -> Pass:
    told = [place for place, edge in enumerate(entry.inputs) if edge in new]
    results = [entry.results[place] for place in told] if entry.results else []
    return replace(
        entry,
        roots=tuple([new[edge] for edge in entry.roots if edge in new]),
        ran=tuple([new[Edge(number)].node for number in entry.ran if Edge(number) in new]),
        inputs=tuple([new[entry.inputs[place]] for place in told]),
        results=tuple([None if edge is None else new.get(edge) for edge in results]),
    )


def _derivative(node: Node, order: int = 0) -> Node:
    """A derivative at the border of a view that has none above this order."""
    return replace(bordering(node), order=order if node.computes else 0, parent=None, pass_id=None)


def as_input(node: Node) -> Node:
    """The node as an input, of which nothing is known but its outputs."""
    return Node(node.id, "input", "Input", "", node.outputs, source=node.source, module=node.module, call=node.call)


def taken(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield the outputs that something takes, that have a name, or that are results: nodes and numbers."""
    yield from ((edge.node, edge.nr) for node in graph for edge in node.args)
    yield from ((root.node, root.nr) for root in graph.roots)
    yield from ((node.id, nr) for node in graph for nr, output in enumerate(node.outputs) if output.names)
