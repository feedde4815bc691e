"""Masks of attention that leave a query nothing to look at, and padding that is taken for a result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from autograph_cli.findings.book import at
from autograph_cli.findings.numbers import gradient_of, value_of, zeros_in
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import PRODUCTS, behind_moves, is_given, memory, moves, plain_op, saved_value, shape_of
from autograph_cli.graph import Edge, Node
from autograph_cli.graph.cuts import where
from autograph_cli.record.graphs.causes import first_binding

_ATTENTION = re.compile("scaled_dot_product|_safe_softmax")


def _seeing_nothing(seen: Seen) -> Iterator[Found]:
    """Attention whose mask leaves some queries nothing to look at, for which fused kernels return zeros."""
    told = any(notice.kind == "future" for notice in seen.trace.notices)  # by a mask that is turned round
    for node in seen.graph if seen.is_last_of_kind and not told else ():
        if node.id not in seen.reached or node.order or not _ATTENTION.search(node.op):
            continue
        fused = len(node.args) > 3
        made = node if fused else _weighted(seen, node)
        if made is None or (fused and zeros_in(value_of(seen, node.args[2]))):
            continue
        size = shape_of(seen, Edge(made.id))[-1]
        rows = zeros_in(value_of(seen, Edge(made.id))) // size
        # What nothing looks at, as the queries of padding, gets no gradient.
        if rows and zeros_in(gradient_of(seen, Edge(made.id))) < rows * size:
            masks = [node.args[3]] if fused else _added(seen, node)
            mask = next(filter(None, (_mask(seen, edge) for edge in masks)), "")
            who = ("1 query", "its result is") if rows == 1 else (f"{rows} queries", "their results are")
            said = f"the mask{mask} of the attention{at(node.source)} leaves {who[0]} nothing to look at: {who[1]} "
            said += "zeros, which go into the loss"
            yield Found(said, node.source, (f"the result is {seen.shown(Edge(made.id))}",), (node.id,))


def _mask(seen: Seen, edge: Edge) -> str:
    """The name of the mask that a script made, and the line."""
    stack, met = [edge], {edge}
    for each in stack:
        node = seen.graph[each.node]
        name = next(iter(node.outputs[each.nr].names), "")
        made = first_binding(dict(seen.scripts), name) if name else None
        if made is not None:
            return f" {name} ({made[0]}:{made[2].line})"
        following = [arg for arg in node.args if node.kind == "untracked" and arg not in met]
        stack += following
        met.update(following)
    return ""


def _weighted(seen: Seen, node: Node) -> Node | None:
    """The product of weights of attention and values, where these have no zeros of their own."""
    users = [user for user in seen.users.get(Edge(node.id), ()) if not user.order]
    if len(users) != 1 or (users[0].op not in PRODUCTS and not moves(users[0])):
        return None
    if moves(users[0]):
        return _weighted(seen, users[0])
    others = [edge for edge in users[0].args if edge.node != node.id]
    return None if any(zeros_in(value_of(seen, edge)) for edge in others) else users[0]


def _added(seen: Seen, node: Node) -> Iterator[Edge]:
    """Return what was added to scores that has no history."""
    yield from (edge for edge in seen.graph[node.args[0].node].args if is_given(seen, edge))


def _padding(seen: Seen) -> Iterator[Found]:
    yield from _last_of_padded(seen)
    yield from _seen_by_attention(seen)


def _seen_by_attention(seen: Seen) -> Iterator[Found]:
    """A mask of attention that hides all tokens but the padding of an embedding."""
    pads = {(node.args[1], saved_value(node, "padding_idx")) for node in seen.graph if node.op == "embedding"}
    for node in seen.graph if seen.is_last_of_kind else ():
        hides = plain_op(node) == "masked_fill" and float(saved_value(node, "value") or 0) < _HIDDEN
        mask = behind_moves(seen, node.args[1]) if hides else Edge(node.id)
        made = seen.graph[mask.node]
        if hides and made.op == "ne" and (made.args[0], saved_value(made, "other")) in pads:
            said = f"the mask that {where(made)} makes hides what is no padding, {where(node)}, and shows padding alone"
            fact = (
                f"{seen.shown(made.args[0])} goes into an embedding whose padding_idx is {saved_value(made, 'other')}"
            )
            yield Found(said, made.source, (fact,), (made.id, node.id), _TURN, _HIDES)


_HIDDEN = -1e3
_TURN = "Turn it round, ids == padding: True hides in key_padding_mask and masked_fill."
_HIDES = "Where the mask is True the scores become -inf, and nothing is taken in from there."


def _last_of_padded(seen: Seen) -> Iterator[Found]:
    """The last time of sequences that were filled up with zeros, which some of them do not have."""
    for node in seen.graph if seen.is_last_of_kind else ():
        if node.op != "select" or node.id not in seen.reached or node.order:
            continue
        whole = node.args[0]
        while seen.graph[whole.node].op in ("index_select", "transpose", "clone"):
            whole = seen.graph[whole.node].args[0]
        shape, made = shape_of(seen, node.args[0]), Edge(node.id)
        over = int(saved_value(node, "dim")) % len(shape)
        last = int(saved_value(node, "index")) % shape[over] == shape[over] - 1
        filled = seen.graph[whole.node].op == "copy_" and seen.graph[memory(seen, whole).node].op in _FILLED
        size, number = shape[-1], prod(shape[:-1]) // shape[over]
        rows = zeros_in(value_of(seen, made)) // size
        # What goes into no loss gets no gradient.
        learned = zeros_in(gradient_of(seen, made)) < rows * size
        if len(shape) == 3 and over < 2 and last and filled and 0 < rows < number and learned:
            said = f"{where(node)} takes the last time of all {number} sequences: zeros, for {rows} which ended before"
            yield Found(said, node.source, (f"it takes it of {seen.shown(node.args[0])}",), (node.id,))


_FILLED = ("full", "zeros", "new_zeros", "zeros_like")
RULES = (
    Rule("AG315", "a query of attention that sees nothing",
        "A softmax over nothing is no number; fused kernels give zeros for it, which are learned from as if they were "
        "a result.",
        "Let each query see at least one key, itself or a start token, and look at which value of the mask hides: True "
        "hides in MultiheadAttention, and shows in scaled_dot_product_attention.",
        _seeing_nothing, ("values",)),
    Rule("AG518", "padding is taken for a result",
        "Padding comes after the end of a sequence, and tells nothing of it: these examples all look the same.",
        "Take each at its own end, out[torch.arange(n), lengths - 1], or the last state that the network returns.",
        _padding, ("values",)),
)  # fmt: skip
