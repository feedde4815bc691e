"""Gradients that vanish or explode over the turns of a loop, which use the same weights."""

from __future__ import annotations

from collections.abc import Iterator

from autograph_cli.findings.numbers import EXPLODED, VANISHED, gradient_of, largest
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import behind, where

LONG = 8
"""The fewest turns to look at."""
_Key = tuple[int, str, Source | None, str]


def _turns(seen: Seen) -> dict[_Key, list[Node]]:
    """The operations that take the same matrix of weights, by that leaf, what they are, where they stand and their
    module."""
    found: dict[_Key, list[Node]] = {}
    for node in seen.graph:
        if node.kind == "operation" and node.id in seen.reached and not node.order and len(node.args) > 1:
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


RULES = (
    Rule(
        "AG306",
        "gradients vanish over time",
        "Early turns do not count: the weights learn from the last turns only.",
        "Use an LSTM or a GRU, weights near an orthogonal matrix, a residual connection, or shorter sequences.",
        _vanishing,
        ("values",),
    ),
    Rule(
        "AG307",
        "gradients explode over time",
        "The same weights multiply the gradient in each turn, and one step throws away what was learned.",
        "Clip with torch.nn.utils.clip_grad_norm_, cut the sequence with detach, or make the weights smaller.",
        _exploding,
        ("values",),
    ),
)
