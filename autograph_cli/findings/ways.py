"""The ways of numbers through a step: where they come from unchanged, and whether they end in a loss."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograph_cli.findings.numbers import value_of
from autograph_cli.findings.records import Seen
from autograph_cli.graph import Edge, Node, Values

_MOVES = frozenset(
    "view _unsafe_view _reshape_alias as_strided diagonal reshape squeeze unsqueeze flatten unflatten t "
    "transpose permute movedim select slice narrow unbind split chunk clone alias contiguous expand _to_copy "
    "index".split()
)
"""The operations whose result has no number that they were not given."""
_COPIES = ("clone", "contiguous", "_to_copy", "index", "reshape")
"""The ones that may give it new memory."""
PRODUCTS = frozenset(
    ["mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "matmul", "linear", "convolution", "dot", "einsum"]
)
_NUMBER = re.compile(r"-?(?:inf|nan|\d[\d.]*(?:e[+-]?\d+)?)")


def takers(seen: Seen, start: Node, unlike: re.Pattern[str] | None = None) -> Iterator[tuple[Node, Edge]]:
    """The first operations with a gradient that take what is computed from a node without one, each with what it takes;
    on no way over lines that are `unlike` it."""
    stack, met = [start], {start.id}
    for node in stack:
        for edge in (Edge(node.id, nr) for nr in range(len(node.outputs))):
            for user in seen.users.get(edge, ()):
                text = "" if user.source is None else user.source.text
                if user.id in met or (unlike is not None and unlike.search(text)):
                    continue
                met.add(user.id)
                if user.kind == "untracked":
                    stack.append(user)
                else:
                    yield user, edge


def moves(node: Node) -> bool:
    """Return whether an operation changes the shape, the place or the type of numbers alone."""
    return node.computes and node.op in _MOVES and bool(node.args)


def summands(seen: Seen, total: Edge) -> list[Edge]:
    """The numbers that are added up to one, each before it is multiplied by a constant."""
    found, stack = [], [total]
    while stack:
        edge = stack.pop()
        node = seen.graph[edge.node]
        adds = node.op in ("add", "sub", "rsub") or (node.op in ("mul", "div", "neg") and len(node.next) == 1)
        if adds and node.outputs[0].type.shape == () and all(not shape_of(seen, one) for one in node.args):
            stack += [one for one in node.next if one is not None]
        else:
            found.append(edge)
    return found


def memory(seen: Seen, edge: Edge) -> Edge:
    """The tensor that first had the memory which a view, or what was changed in place, is in."""
    node = seen.graph[edge.node]
    while node.args and (node.op.endswith("_") or (node.op in _MOVES and node.op not in _COPIES)):
        edge = node.args[0]
        node = seen.graph[edge.node]
    return edge


def behind_moves(seen: Seen, edge: Edge) -> Edge:
    """The tensor that has the numbers first, before they were moved."""
    while moves(seen.graph[edge.node]):
        edge = seen.graph[edge.node].args[0]
    return edge


def maker(seen: Seen, edge: Edge) -> Node:
    """The node that made the numbers of a tensor."""
    return seen.graph[behind_moves(seen, edge).node]


def plain_op(node: Node) -> str:
    """The name of an operation without the mark of what is done in place: `relu` of `relu_`."""
    return node.op if node.op.startswith("_") else node.op.rstrip("_")


def shape_of(seen: Seen, edge: Edge) -> tuple[int, ...]:
    """The shape of a tensor."""
    return seen.graph[edge.node].outputs[edge.nr].type.shape


def saved_value(node: Node, name: str) -> str:
    """A plain value that an operation was given, as text; empty where there is none."""
    return next((value for key, value in node.plain if key == name), "")


def span(values: Values | None) -> tuple[float, float] | None:
    """The lowest and the highest number; None where they are not known, or none is finite."""
    if values is None:
        return None
    texts = [text for line in values.whole for text in _NUMBER.findall(line)] or [values.low, values.high]
    numbers = [number for number in map(float, filter(None, texts)) if abs(number) < float("inf")]
    return (min(numbers), max(numbers)) if numbers else None


def span_of(seen: Seen, edge: Edge) -> tuple[float, float] | None:
    """The same of a tensor, also where only what it was moved from has them."""
    return span(value_of(seen, edge)) or span(value_of(seen, behind_moves(seen, edge)))


def is_given(seen: Seen, edge: Edge) -> bool:
    """Return whether no gradient goes to a tensor: data, targets, what was detached."""
    return seen.graph[edge.node].kind in ("input", "untracked")


def weights(seen: Seen, edge: Edge) -> Edge | None:
    """The leaf of several dimensions that an operand is, or is a view of, as the last update by hand left it."""
    found = behind_moves(seen, edge)
    while seen.graph[found.node].kind == "untracked" and seen.graph[found.node].op.endswith("_"):
        found = seen.graph[found.node].args[0]
    return found if seen.graph[found.node].kind == "leaf" and len(shape_of(seen, found)) > 1 else None


def ends_in_loss(seen: Seen, edge: Edge) -> bool:
    """Return whether all uses of a tensor lead, element by element or by sums, to what a backward call started from,
    and meet no other tensor with a gradient on the way but single numbers."""
    roots, waiting = set(seen.outcome()), {edge: None}
    for tensor in _growing(waiting):
        users = [user for user in seen.users.get(tensor, ()) if not user.order]
        if bool(users) == (tensor in roots) or not all(_leads_on(seen, user, tensor) for user in users):
            return False
        made = (Edge(user.id) for user in users)
        waiting.update(dict.fromkeys(its for its in made if _count(seen, tensor) > 1 or its not in roots))
    return True


def _growing(waiting: dict[Edge, None]) -> Iterator[Edge]:
    """Yield what a dictionary holds, and what is put into it meanwhile."""
    done = 0
    while done < len(waiting):
        yield from (todo := list(waiting)[done:])
        done += len(todo)


def _leads_on(seen: Seen, user: Node, edge: Edge) -> bool:
    size = _count(seen, edge)
    if user.kind != "operation" or user.op in PRODUCTS or _count(seen, Edge(user.id)) > size:
        return False
    others = [other for other in user.args if other != edge and not is_given(seen, other)]
    return size == 1 or not any(_count(seen, other) > 1 for other in others)


def _count(seen: Seen, edge: Edge) -> int:
    count = 1
    for side in shape_of(seen, edge):
        count *= side
    return count
