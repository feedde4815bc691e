"""Gradients that vanish or explode: through the layers of a network, or over the turns of a loop, which use the same
weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autograph_cli.findings.numbers import gradient_of, largest
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import moves
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import behind, data_or_gradient, where
from autograph_cli.graph.walk import reached

VANISHED, EXPLODED = 1e-7, 1e4
"""The ratio of the largest gradients of two parameters in one chain below which, or the number above which, it is
told."""
DEEP = 4
"""The fewest layers whose gradients are compared."""
ROUNDING = 1e-4
"""A sum that is smaller than this part of what it is made of may be rounding."""
FEW = 4
"""The fewest turns by which a loop over data is known."""
LONG = 8
"""The fewest turns to look at."""
_Key = tuple[int, str, Source | None, str]


def _turns(seen: Seen, *, reached: bool = True) -> dict[_Key, list[Node]]:
    """The operations that take the same matrix of weights, by that leaf, what they are, where they stand and their
    module; `reached`: those alone that a backward call ran."""
    found: dict[_Key, list[Node]] = {}
    for node in seen.graph:
        ran = node.id in seen.reached or not reached
        if node.kind == "operation" and ran and not node.order and len(node.args) > 1:
            for leaf in {_weights(seen, edge) for edge in node.args} - {None}:
                found.setdefault((leaf or 0, node.op, node.source, node.module), []).append(node)
    return found


def _weights(seen: Seen, edge: Edge) -> int | None:
    """The leaf with two dimensions that an argument is, or is the transpose of."""
    node = seen.graph[edge.node]
    while node.kind == "operation" and len(node.args) == 1 and len(node.outputs[0].type.shape) == 2:
        node = seen.graph[node.args[0].node]
    return node.id if node.kind == "leaf" and len(node.outputs[0].type.shape) == 2 else None


def _extreme(seen: Seen, *, vanishes: bool) -> Iterator[Found]:
    for (leaf, *_), nodes in _turns(seen).items():
        sized = [(node, size) for node in nodes if (size := largest(gradient_of(seen, Edge(node.id))))]
        if len(nodes) < LONG or not sized:
            continue
        (first, low), (last, high) = sized[0], sized[-1]
        grown = EXPLODED < low < float("inf") and low > EXPLODED * high
        if not (low < VANISHED * high if vanishes else grown) or not _in_a_row(seen, [first, last]):
            continue
        word = "vanishes" if vanishes else "explodes"
        said = f"the gradient {word} over {len(nodes)} turns of {where(last)}"
        turns = ((nodes.index(first), low), (nodes.index(last), high))
        facts = [f"the largest number of the gradient in turn {turn} is {size:.2g}" for turn, size in turns]
        facts.append(f"each turn multiplies by {seen.shown(Edge(leaf))}")
        yield Found(said, last.source, tuple(facts), (first.id, last.id, leaf))


def _in_a_row(seen: Seen, nodes: list[Node]) -> bool:
    """Return whether the last hangs on the others by more than the weights."""
    return behind(seen.graph, [(nodes[-1].id, 0)]).issuperset(node.id for node in nodes)


def _vanishing(seen: Seen) -> Iterator[Found]:
    return _extreme(seen, vanishes=True)


def _exploding(seen: Seen) -> Iterator[Found]:
    return _extreme(seen, vanishes=False)


def _parameters(seen: Seen) -> list[tuple[Edge, float]]:
    """Return a leaf of each layer before the last, and the largest number of its gradient, in order of first use.

    The leaf is the bias, whose gradient is that of the layer's result, unless it is nothing but rounding, as before a
    normalization; else the weights.
    """
    layers: dict[str | int, list[tuple[bool, Edge, float]]] = {}
    taken = {edge: users[0] for edge, users in seen.users.items() if seen.graph[edge.node].kind == "leaf"}
    for edge, user in sorted(taken.items(), key=lambda item: item[1].id):
        node, size = seen.graph[edge.node], largest(gradient_of(seen, edge))
        many = len(node.outputs[0].type.shape) > 1
        came = largest(gradient_of(seen, Edge(user.id))) or 0.0
        if size and size == size and not node.order and (many or (node.module and not size < ROUNDING * came)):
            layers.setdefault(node.module or node.id, []).append((many, edge, size))
    found = [min(each, key=lambda one: one[0])[1:] for each in layers.values()]
    chain = behind(seen.graph, [(taken[found[-1][0]].id, 0)]) if found else set()
    return [(edge, size) for edge, size in found if taken[edge].id in chain]


def _apart(seen: Seen) -> Iterator[Found]:
    """Turns of a loop over data that no gradient goes through from one to the next, as the state that is carried is cut
    off, or made anew."""
    found: dict[object, Found] = {}
    calls = {call.id: call.parent for call in seen.graph.calls}
    ending = seen.behind(seen.outcome(), untracked=True)
    for nodes in _turns(seen, reached=False).values() if seen.is_last_of_kind and not seen.trace.failure else ():
        if len(nodes) < FEW or nodes[-1].id not in seen.reached:
            continue
        added = list(_added(seen, nodes))
        carried = [before.id in each for before, each in zip(nodes, added[1:], strict=False)]
        if not all(any(_is_read(seen.graph[number]) for number in each) for each in added[1:]):
            continue
        way = where(nodes[-1])
        if all(carried) and not _goes_back(seen, nodes):
            cuts = [seen.graph[number] for number in sorted(added[-1]) if seen.graph[number].cut]
            if [cut.op for cut in cuts] == ["detach"]:
                said = f"no gradient goes from one of {len(nodes)} turns of {way} to the one before: {where(cuts[0])} "
                said += "cuts it off"
                found.setdefault(said, Found(said, cuts[0].source, (), (cuts[0].id, nodes[-1].id)))
        inner = {calls.get(node.call) for node in nodes if node.call is not None} - {None}
        if not any(carried) and len(inner) == 1 and not any(node.id in ending for node in nodes[:-1]):
            said = (
                f"of {len(nodes)} turns of {way} the loss hangs on the last alone: nothing takes what the others make"
            )
            found.setdefault(nodes[-1].source, Found(said, nodes[-1].source, (), (nodes[-1].id,), _CARRY, _FORGETS))
    yield from found.values()


def _added(seen: Seen, nodes: list[Node]) -> Iterator[set[int]]:
    """Yield what each of some nodes hangs on and none before it does, and the one before it where it hangs on that; all
    of the graph is gone through once."""
    known: set[int] = set()

    def following(number: int) -> list[int]:
        return [] if number in known else [edge.node for edge in data_or_gradient(seen.graph[number])]

    before = -1
    for node in nodes:
        found = set(reached([node.id], following))
        yield {number for number in found if number == before or number not in known}
        known |= found
        before = node.id


def _is_read(node: Node) -> bool:
    """Return whether it is data, or a part of such."""
    return node.kind == "input" or (node.kind == "untracked" and moves(node) and node.op not in ("t", "transpose"))


def _goes_back(seen: Seen, nodes: list[Node]) -> bool:
    """Return whether a gradient goes from the last turn to what any before it made, also beside these operations: what
    is read out of a state in each turn is not the state."""
    made = (seen.graph[number] for number in seen.behind([Edge(nodes[-1].id)]))
    between = any(node.kind == "operation" and nodes[0].id < node.id <= nodes[-2].id for node in made)
    return between or any(before.id in seen.behind([Edge(after.id)]) for before, after in pairwise(nodes))


_CARRY = "Make the state before the loop, and give each turn the one that the turn before it made."
_FORGETS = "Each turn begins with a new state, so the result knows the last part of the data alone."


def _deep_vanishing(seen: Seen) -> Iterator[Found]:
    sizes = _parameters(seen)
    if len(sizes) < DEEP or not sizes[-1][1]:
        return
    (first, low), (last, high) = sizes[0], sizes[-1]
    if 0 < low < VANISHED * high:
        said = f"the gradient vanishes on the way to {seen.name(first)}"
        facts = tuple(f"the largest of {seen.name(edge)}.grad is {size:.2g}" for edge, size in (sizes[0], sizes[-1]))
        yield Found(said, seen.users[first][0].source, facts, (first.node, last.node))


def _deep_exploding(seen: Seen) -> Iterator[Found]:
    sizes = _parameters(seen)
    if len(sizes) < DEEP or not sizes[-1][1]:
        return
    (first, high), (last, low) = sizes[0], sizes[-1]
    if EXPLODED < high < float("inf") and high > EXPLODED * low:
        said = f"the gradient explodes on the way to {seen.name(first)}"
        facts = tuple(f"the largest of {seen.name(edge)}.grad is {size:.2g}" for edge, size in (sizes[0], sizes[-1]))
        yield Found(said, seen.users[first][0].source, facts, (first.node, last.node))


RULES = (
    Rule("AG303", "gradients vanish",
        "The first layers do not learn, as their gradient is smaller by many orders of magnitude.",
        "Use another activation or initial values, normalization, or connections that skip layers.",
        _deep_vanishing, ("values",)),
    Rule("AG304", "gradients explode",
        "One step changes the first layers so much that what they learned is lost.",
        "Clip them with torch.nn.utils.clip_grad_norm_, or choose smaller initial values, or normalization.",
        _deep_exploding, ("values",)),
    Rule("AG306", "gradients vanish over time",
        "Early turns do not count: the weights learn from the last turns only.",
        "Use an LSTM or a GRU, weights near an orthogonal matrix, a residual connection, or shorter sequences.",
        _vanishing, ("values",)),
    Rule("AG307", "gradients explode over time",
        "The same weights multiply the gradient in each turn, and one step throws away what was learned.",
        "Clip with torch.nn.utils.clip_grad_norm_, cut the sequence with detach, or make the weights smaller.",
        _exploding, ("values",)),
    Rule("AG316", "no gradient goes over time",
        "The weights learn from one turn alone: what was to be kept for later turns is never learned.",
        "Detach between sequences, before the loop, and not within it.",
        _apart),
)  # fmt: skip
