"""Shapes that go together by broadcasting and were probably not meant to."""

from __future__ import annotations

from collections.abc import Iterator

from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.graph import Edge
from autograph_cli.graph.cuts import behind, where


def _outer(seen: Seen) -> Iterator[Found]:
    for node in seen.graph:
        if node.kind != "operation" or len(node.args) != 2 or len(node.outputs) != 1 or node.order:
            continue
        args = [_before_expanding(seen, edge) for edge in node.args]
        column = next((edge for edge in args if _is_column(seen, edge)), None)
        row = next((edge for edge in args if len(_shape(seen, edge)) == 1), None)
        if column is None or row is None or not _is_meant_as_column(seen, column, row):
            continue
        (size,) = _shape(seen, row)
        # Of a pairwise table one meant to reduce one dimension; a loss is the sum or mean of everything.
        made = Edge(node.id)
        if _shape(seen, column)[0] == size and (not _shape(seen, made) or _is_all_reduced(seen, made)):
            yield Found(
                f"{where(node)} compares {size} x {size} numbers of {seen.shown(column)} and {seen.shown(row)}",
                node.source,
                ("they are reduced to one number",),
                (node.id, column.node, row.node),
            )


def _before_expanding(seen: Seen, edge: Edge) -> Edge:
    """What a square was broadcast from, if it was."""
    node = seen.graph[edge.node]
    shape = _shape(seen, edge)
    if len(node.args) == 1 and len(shape) == 2 and shape[0] == shape[1]:
        before = _shape(seen, node.args[0])
        if before in ((shape[0], 1), shape[:1]):
            return node.args[0]
    return edge


def _shape(seen: Seen, edge: Edge) -> tuple[int, ...]:
    return seen.graph[edge.node].outputs[edge.nr].type.shape


def _is_column(seen: Seen, edge: Edge) -> bool:
    shape = _shape(seen, edge)
    return len(shape) == 2 and shape[1] == 1 and shape[0] > 1


def _is_meant_as_column(seen: Seen, column: Edge, row: Edge) -> bool:
    """Whether it was computed as a column, or given as one and compared with what was computed; not made one on purpose
    from a row of as many numbers."""
    node, other = seen.graph[column.node], seen.graph[row.node]
    if any(_shape(seen, given) == _shape(seen, column)[:1] for given in node.args):
        return False
    return node.kind == "operation" or (node.kind == "input" and other.kind == "operation")


def _is_all_reduced(seen: Seen, edge: Edge) -> bool:
    """Whether all uses of a table go, element by element, to single numbers, and none with another table, for which
    this one would be meant as such."""
    users = seen.users.get(edge, [])
    if not users:
        return False
    for user in users:
        shape = user.outputs[0].type.shape
        others = [other for other in user.args if other != edge and _shape(seen, other) == _shape(seen, edge)]
        if any(edge.node not in behind(seen.graph, [(other.node, other.nr)]) for other in others):
            return False
        if shape and not (shape == _shape(seen, edge) and _is_all_reduced(seen, Edge(user.id))):
            return False
    return True


RULES = (
    Rule(
        "AG501",
        "(n, 1) and (n,) are broadcast to (n, n)",
        "Each prediction is compared with the target of every example, so the gradient is a sum over all of them.",
        "Give both the same shape: prediction.squeeze(1), or target.unsqueeze(1).",
        _outer,
    ),
)
