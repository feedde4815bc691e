"""The reasons why no gradient goes from one position to another, as far as a graph tells by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.paths import Position, leading_to
from autograph_cli.graph.records import UNGRADED, Edge, Graph, Node
from autograph_cli.graph.views import backward_edges, walk

LISTED = 5
"""Places that are listed at most."""


def data_or_gradient(node: Node) -> list[Edge]:
    """All that an operation hangs on: what it was given, and where its backward leads."""
    return list(dict.fromkeys([*node.args, *backward_edges(node)]))


def behind(graph: Graph, starts: Iterable[Position], *, untracked: bool = False) -> set[int]:
    """The nodes that these positions hang on, by data or by gradient, themselves included.

    The way ends at what autograd did not record, unless `untracked`.
    """

    def before(node: Node) -> list[Edge]:
        return [] if node.kind == "untracked" and not untracked else data_or_gradient(node)

    return set(walk(graph, {node for node, _ in starts}, before))


def where(node: Node) -> str:
    """The operation and its source line: `mul at expr.py:7`."""
    name = visible(node.op or node.name)
    return f"{name} at {visible(node.source.file)}:{node.source.line}" if node.source else name


def reasons(graph: Graph, starts: Sequence[Position], ends: Sequence[Position], *, untracked: bool = True) -> list[str]:
    """Sentences on why no gradient goes from `starts` to `ends`; none where the graph does not tell.

    Without `untracked`, operations that autograd did not record are not named: the script's own line is known already.
    """
    names = output_names(graph)
    inside = behind(graph, starts)
    given = behind(graph, starts, untracked=untracked)
    given = {number for number in given if untracked or graph.nodes[number].kind != "untracked"}
    said = [_refusal(graph, names, user, edge) for user, edge in _refusals(graph, given, ends)]
    for number, nr in ends[:LISTED]:
        node, name = graph.nodes[number], names[number][nr or 0]
        users = [user for user in graph.nodes if any(_takes(edge, number, nr) for edge in data_or_gradient(user))]
        if node.kind in UNGRADED:
            said += _of_input(node, name, [user for user in users if user.id in inside] or users)
        elif number not in inside:
            aside = [user for user in users if user.id not in inside]
            start = names[starts[0][0]][0] if starts else "what backward starts from"
            said += _aside(name, aside, start) if aside or not users else []
        elif nr is not None and len(node.outputs) > 1:
            said.append(f"Other results of {where(node)} lead there, and {name} does not.")
    targets = {node for node, _ in ends}
    made_from = behind(graph, ends)
    if any(node in made_from and node not in targets for node, _ in starts):
        said.append("It is the other way round: the second is made from the first.")
    return list(dict.fromkeys(said))


def _refusals(graph: Graph, inside: set[int], ends: Sequence[Position]) -> list[tuple[Node, Edge]]:
    """The operations that were given what leads to an end, and have no edge for it."""
    leading = leading_to(graph, ends)
    wanted, positions = set(ends), {node for node, _ in ends}
    whole = {node for node, nr in ends if nr is None or len(graph.nodes[node].outputs) == 1}
    found: list[tuple[Node, Edge]] = []
    for number in sorted(inside):
        node = graph.nodes[number]
        for edge in dict.fromkeys(node.args):
            leads = (
                edge.node in whole
                or (edge.node, edge.nr) in wanted
                or (edge.node in leading and edge.node not in positions)
            )
            if leads and graph.nodes[edge.node].kind not in UNGRADED and edge not in node.next:
                found.append((node, edge))
    return found[:LISTED]


def _refusal(graph: Graph, names: Sequence[tuple[str, ...]], user: Node, edge: Edge) -> str:
    kind = graph.nodes[edge.node].outputs[edge.nr].type
    return f"{where(user)} is given {names[edge.node][edge.nr]} ({kind}) and sends it no gradient."


def _takes(edge: Edge, number: int, nr: int | None) -> bool:
    return edge.node == number and nr in (None, edge.nr)


def _of_input(node: Node, name: str, users: Sequence[Node]) -> list[str]:
    kind = node.outputs[0].type
    why = "does not require grad"
    if not kind.dtype.startswith(("float", "bfloat", "complex")):
        why += f": it is {kind.dtype}, and only floating ones carry gradients"
    return [f"{name} is an input of {where(user)}, but {why}." for user in users[:LISTED]]


def _aside(name: str, users: Sequence[Node], start: str) -> list[str]:
    said = [f"{name} is used by {where(user)}, which {start} does not hang on." for user in users[:LISTED]]
    if len(users) > LISTED:
        said.append(f"... and by {len(users) - LISTED} more.")
    return said or [f"No recorded operation uses {name}."]
