"""Shapes that go together by broadcasting and were probably not meant to."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from math import prod

from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import saved_value, shape_of
from autograph_cli.graph import Edge, Node
from autograph_cli.graph.cuts import where


def _outer(seen: Seen) -> Iterator[Found]:
    for node in seen.graph:
        if node.kind != "operation" or len(node.args) != 2 or len(node.outputs) != 1 or node.order:
            continue
        row, column = sorted(map(_before_expanding(seen), node.args), key=lambda edge: len(shape_of(seen, edge)))
        given, other, made = (shape_of(seen, edge) for edge in (row, column, Edge(node.id)))
        table = broadcast(given, other)
        if table is None or given == other:
            continue
        # Of a pairwise table one meant to reduce one dimension; a loss is the sum or mean of everything.
        reduced = not made or (made == table and _is_all_reduced(seen, Edge(node.id)))
        if not reduced or not _is_meant(seen, column, row):
            continue
        if _without_ones(given) == _without_ones(other) and prod(table) > prod(given):
            numbers = " x ".join(map(str, table))
            verb, reason = ("multiplies", _EACH) if node.op == "mul" else ("compares", "")
            said = f"{where(node)} {verb} {numbers} numbers of {seen.shown(column)} and {seen.shown(row)}"
            nodes = node.id, column.node, row.node
            yield Found(said, node.source, ("they are reduced to one number",), nodes, "", reason)
        elif node.op in _FUSED and min(prod(given), prod(other)) > 1:
            said = f"{where(node)} compares {seen.shown(column)} and {seen.shown(row)}, whose shapes differ"
            fact = f"what is missing is repeated, and {prod(table)} pairs are compared"
            yield Found(said, node.source, (fact,), (node.id, column.node, row.node), _ONE_SHAPE, _REPEATED)


_EACH = "Each number of one is multiplied by every number of the other, so the gradient is a sum over all of them."


def broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two shapes go together to; None where they do not."""
    length = max(len(one), len(other))
    sides = list(zip((1,) * (length - len(one)) + one, (1,) * (length - len(other)) + other, strict=True))
    return None if any(a != b and 1 not in (a, b) for a, b in sides) else tuple(b if a == 1 else a for a, b in sides)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(side for side in shape if side != 1)


def _before_expanding(seen: Seen) -> Callable[[Edge], Edge]:
    """Return what a tensor was broadcast from, if it was."""

    def before(edge: Edge) -> Edge:
        node = seen.graph[edge.node]
        return before(node.args[0]) if node.op == "expand" and len(node.args) == 1 else edge

    return before


def _is_meant(seen: Seen, column: Edge, row: Edge) -> bool:
    """Return whether the one with more dimensions was computed so, or given so and compared with what was computed; not
    made so on purpose from one with fewer."""
    node, other = seen.graph[column.node], seen.graph[row.node]
    shape = _without_ones(shape_of(seen, column))
    if any(shape_of(seen, edge) == shape != shape_of(seen, column) for edge in node.args):
        return False
    return node.kind == "operation" or (node.kind in ("input", "untracked") and other.kind == "operation")


def _is_all_reduced(seen: Seen, edge: Edge) -> bool:
    """Return whether all uses of a table go, element by element, to single numbers, and none with another table, for
    which this one would be meant as such."""
    users = seen.users.get(edge, [])
    if not users:
        return False
    for user in users:
        shape = user.outputs[0].type.shape
        others = [other for other in user.args if other != edge and shape_of(seen, other) == shape_of(seen, edge)]
        if any(edge.node not in seen.behind([other]) for other in others):
            return False
        if shape and not (shape == shape_of(seen, edge) and _is_all_reduced(seen, Edge(user.id))):
            return False
    return True


def _divided(seen: Seen) -> Iterator[Found]:
    """Square tables by the sums of their rows, or less their means, where these lie along the columns."""
    for node in seen.graph:
        if node.op not in _ALONG or node.order or len(node.args) != 2:
            continue
        table, made = node.args[0], seen.graph[node.args[1].node]
        while made.op in ("add", "clamp", "clamp_min") and made.args:
            made = seen.graph[made.args[0].node]
        shape = shape_of(seen, table)
        square = len(shape) > 1 and shape[-1] == shape[-2] > 1 and shape_of(seen, node.args[1]) == shape[:-1]
        last = saved_value(made, "dim").strip("(,)") in ("-1", str(len(shape) - 1))
        if not square or not last or made.op != _ALONG[node.op] or made.args != (table,):
            continue
        numbers = _exact(node)
        side, meant = shape[-1], float(node.op == "div")
        rows = [sum(numbers[at : at + side]) for at in range(0, len(numbers), side)]
        columns = [sum(numbers[at::side]) for at in range(side)] if len(shape) == 2 else []
        if rows and not _all_are(rows, meant) and not (columns and _all_are(columns, meant)):
            said = f"{where(node)} takes {seen.shown(table)} and {made.op} of its rows, {seen.shown(node.args[1])}, "
            said += "which goes along the columns"
            fact = f"the rows of the result add up to {min(rows):.3g} to {max(rows):.3g}, and not to {meant:g}"
            yield Found(said, node.source, (fact,), (node.id, made.id), _KEEP, _LAST)


_ALONG = {"div": "sum", "sub": "mean"}
_KEEP = "Keep the dimension: x / x.sum(1, keepdim=True)."
_LAST = "Shapes are put side by side from the last dimension on: the first number is that of the first column."


def _exact(node: Node) -> tuple[float, ...]:
    """The numbers of a result, where all were kept."""
    exact = node.measured.exact[0] if node.measured is not None and node.measured.exact else None
    if exact is None or not exact.data or exact.kind not in ("f4", "f8"):
        return ()
    return struct.unpack(f"<{exact.count}{'f' if exact.kind == 'f4' else 'd'}", exact.data)


def _all_are(sums: list[float], meant: float) -> bool:
    return all(abs(each - meant) < 1e-3 for each in sums)


_FUSED = ("mse_loss", "smooth_l1_loss", "huber_loss")
_REPEATED = "Losses take both of one shape: what is missing of one is repeated for it, as PyTorch warns."
_ONE_SHAPE = "Give both the same shape."
RULES = (
    Rule("AG501", "(n, 1) and (n,) are broadcast to (n, n)",
        "Each prediction is compared with the target of every example, so the gradient is a sum over all of them.",
        "Give both the same shape: prediction.squeeze(1), or target.unsqueeze(1).",
        _outer),
    Rule("AG516", "a table is divided by sums that lie the other way",
        "Each column is divided by the sum of a row.",
        "Keep the dimension that is summed.",
        _divided, ("values",)),
)  # fmt: skip
