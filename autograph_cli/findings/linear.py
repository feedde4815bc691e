"""Linear layers in a row with nothing between them: they can do no more than one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct

from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import PRODUCTS, behind_moves, maker, moves, shape_of, weights
from autograph_cli.graph import Edge, Node
from autograph_cli.graph.cuts import LISTED, where

_ATTENTION = ("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu")


class Layer(Struct, frozen=True):
    """A product of data and weights that are learned."""

    node: Node
    data: Edge
    leaf: Edge
    given: int
    """The count of numbers that it takes of each example, or each place, as far as its weights mix them."""
    made: int


def layer_of(seen: Seen, node: Node) -> Layer | None:
    """The layer that an operation is, if it is one whose weights are learned."""
    if node.op not in PRODUCTS or node.order or node.id not in seen.reached or node.kind != "operation":
        return None
    operands = node.args[1:] if node.op in ("addmm", "baddbmm") else node.args[:2]
    if len(operands) != 2 or saved_groups(node) != "1":
        return None
    data, by = operands
    leaf = weights(seen, by)
    if leaf is None or leaf.node not in seen.differentiated or weights(seen, data) is not None:
        return None
    shapes = shape_of(seen, data), shape_of(seen, Edge(node.id)), shape_of(seen, by)
    if node.op == "convolution":
        return Layer(node, data, leaf, shapes[2][1], shapes[2][0])
    return Layer(node, data, leaf, shapes[0][-1], shapes[1][-1]) if all(shapes) else None


def saved_groups(node: Node) -> str:
    """Return the number of groups of a convolution; 1 for all else."""
    found = [saved.value for saved in node.saved if saved.name in ("_saved_groups", "groups")]
    found += [value for name, value in node.constants if name == "groups"]
    return next(iter(found), "1")


def _following(seen: Seen, edge: Edge) -> list[Layer] | None:
    """The layers that all uses of a result are, moves and the adding of a bias apart; None where some are others."""
    found: list[Layer] = []
    for user in seen.users.get(edge, ()):
        if user.order:
            continue
        after = layer_of(seen, user)
        if after is not None and after.data == edge:
            found.append(after)
        elif user.kind == "operation" and (moves(user) or _adds_bias(seen, user, edge)):
            deeper = _following(seen, Edge(user.id))
            if deeper is None:
                return None
            found += deeper
        else:
            return None
    return found or None


def _adds_bias(seen: Seen, node: Node, edge: Edge) -> bool:
    """Return whether an operation adds a leaf to the tensor, of one number for each feature."""
    others = [other for other in node.args if other != edge]
    if node.op not in ("add", "add_") or len(others) != 1:
        return False
    leaf = behind_moves(seen, others[0])
    shape = shape_of(seen, others[0])
    return seen.graph[leaf.node].kind == "leaf" and prod(shape) == max(shape, default=1) <= shape_of(seen, edge)[-1]


def _in_a_row(seen: Seen) -> Iterator[Found]:
    others = [Seen(seen.trace, step) for step in seen.of_kind if step is not seen.step]
    known = [{_seat(first, after[0]) for first, after in _pairs(other)} for other in others]
    # One pass alone may be there to be looked at; and what is there in one step, as without dropout, may be no other.
    rows: list[list[Layer]] = []
    for layer, after in _pairs(seen) if seen.is_last_of_kind and known else ():
        if not all(_seat(layer, after[0]) in each for each in known):
            continue
        longer = next((row for row in rows if row[-1].node is layer.node), None)
        if longer is None:
            rows.append([layer, *after])
        else:
            longer += after
    for first, last, *rest in rows:
        said = f"{where(last.node)} is given the result of {where(first.node)} as it is, and two linear layers in a row"
        facts = [f"{seen.shown(each.leaf)} is the weight of {where(each.node)}" for each in (first, last, *rest)]
        nodes = tuple(each.node.id for each in (first, last, *rest))
        yield Found(f"{said} are one", last.node.source, tuple(dict.fromkeys(facts[:LISTED])), nodes)


def _pairs(seen: Seen) -> Iterator[tuple[Layer, list[Layer]]]:
    """The layers whose results go to further layers only, and those."""
    for node in seen.graph:
        layer = layer_of(seen, node)
        after = None if layer is None else _following(seen, Edge(node.id))
        if layer is not None and after and all(_is_needless(seen, layer, each) for each in after):
            yield layer, after


def _seat(*layers: Layer) -> tuple[object, ...]:
    return tuple((layer.node.source, layer.node.op, layer.node.module) for layer in layers)


def _is_needless(seen: Seen, first: Layer, last: Layer) -> bool:
    """Return whether the first takes nothing away, as a layer of few numbers between two of many does, and both stand
    in one model or function."""
    if first.leaf == last.leaf or first.made < min(first.given, last.made) or _is_correction(seen, last):
        return False
    if _is_weighted(seen, first.data):
        return False
    if _is_separable(seen, first, last) or (last.given != first.made and not _is_flattened(seen, first, last)):
        return False
    calls = [None if layer.node.call is None else seen.graph.calls[layer.node.call] for layer in (first, last)]
    if calls[0] is None or calls[1] is None:
        functions = {layer.node.source.function for layer in (first, last) if layer.node.source}
        return calls[0] is calls[1] and len(functions) == 1
    return calls[0] == calls[1] or (calls[0].parent is not None and calls[0].parent == calls[1].parent)


def _is_weighted(seen: Seen, edge: Edge) -> bool:
    """Return whether a tensor is a product of two that were computed, as attention is, whose heads a layer of their own
    puts together."""
    made = maker(seen, edge)
    return made.op in (*PRODUCTS, *_ATTENTION) and all(seen.graph[e.node].kind != "leaf" for e in _sources(seen, made))


def _sources(seen: Seen, node: Node) -> list[Edge]:
    return [behind_moves(seen, edge) for edge in node.args]


def _is_correction(seen: Seen, layer: Layer) -> bool:
    """Return whether the result is added to another tensor of its shape, as that of a low-rank adapter is."""
    made = Edge(layer.node.id)
    while (scaled := _scaled(seen, made)) is not None:
        made = scaled
    sums = [user for user in seen.users.get(made, ()) if user.op in ("add", "add_", "sub")]
    others = [other for user in sums for other in user.args if other != made]
    return any(shape_of(seen, other) == shape_of(seen, made) for other in others)


def _scaled(seen: Seen, edge: Edge) -> Edge | None:
    """A result multiplied by one number, where nothing else is made of it."""
    users = [user for user in seen.users.get(edge, ()) if not user.order]
    if len(users) != 1 or users[0].op not in ("mul", "div", "mul_", "div_"):
        return None
    others = [shape_of(seen, other) for other in users[0].args if other != edge]
    return Edge(users[0].id) if all(prod(shape) == 1 for shape in others) else None


def _is_separable(seen: Seen, first: Layer, last: Layer) -> bool:
    """Return whether one of two convolutions mixes channels at each place, and the other one places."""
    sizes = [prod(shape_of(seen, layer.leaf)[2:]) for layer in (first, last) if layer.node.op == "convolution"]
    return len(sizes) == 2 and min(sizes) == 1 < max(sizes)


def _is_flattened(seen: Seen, first: Layer, last: Layer) -> bool:
    """Return whether a convolution is followed by a layer of all that it made of an example."""
    made = shape_of(seen, Edge(first.node.id))
    return first.node.op == "convolution" and prod(made[1:]) == last.given


RULES = (
    Rule("AG509", "no activation between linear layers",
        "A linear function of a linear function is a linear function: the second layer adds parameters, and nothing "
        "that the first could not do.",
        "Put an activation between them, such as ReLU, or leave one of them out.",
        _in_a_row),
)  # fmt: skip
