"""Inside of a backward: the operations that one node's backward ran, as a graph."""

from __future__ import annotations

import re

from msgspec.structs import replace

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Edge, Graph, Node, Root
from autograph_cli.graph.slices import find_nodes
from autograph_cli.graph.views import as_input, data_edges, take


def open_node(graph: Graph, name: str, script: str = "FILE.py") -> tuple[Graph, str]:
    """Return what the backward of this node ran, and in words what that is.

    The name is one that `Slice` knows, of one node. What was recorded on request is the whole of it; else the
    derivatives in this graph that were made by the node are shown, which a pass with `create_graph` leaves.
    Raises `GraphError` for a name that is unknown or of several nodes, for a leaf, and where nothing was recorded.
    """
    node = _one(graph, name)
    if node.kind != "operation":
        raise GraphError(f"{visible(name)!r} is no operation: its backward adds what comes to .grad, and no more.")
    if node.measured is not None and node.measured.inside is not None:
        return inside_of(graph, node), inside_words(node)
    made = [other.id for other in graph if other.parent == node.id]
    if not made and any(other.measured is not None and other.measured.inside is not None for other in graph):
        raise GraphError(
            f"There is nothing inside {visible(node.name)}: no backward pass of this step ran it, or what it does is "
            "no operation on tensors."
        )
    if not made:
        raise GraphError(
            f"The trace holds nothing of what {visible(node.name)} ran: no backward pass of this step ran it, or that "
            f"was not recorded, which is done on request only: autograph run --record inside {script}; "
            "of --engine torch, compiled parts tell it, and passes with create_graph=True."
        )
    first = min(graph.nodes[number].pass_id or 0 for number in made)
    kept = [number for number in made if graph.nodes[number].pass_id == first]
    return _recorded(graph, kept), f"inside {visible(node.name)}: what a pass with create_graph recorded of it"


def inside_of(graph: Graph, node: Node) -> Graph:
    """Return what was recorded of the backward of a node of this graph.

    Its inputs `args[0]`, `args[1]`, ... are what the node was given, and get the names of that.
    """
    assert node.measured is not None and node.measured.inside is not None
    inside = node.measured.inside
    given = [
        other for other in inside if other.kind == "input" and other.outputs[0].names[:1] == (f"args[{other.id}]",)
    ]
    if len(given) != len(node.args):
        return inside
    named = dict(
        zip((other.id for other in given), (graph.nodes[x.node].outputs[x.nr].names for x in node.args), strict=True)
    )
    nodes = [
        replace(other, outputs=(replace(other.outputs[0], names=named[other.id]),)) if named.get(other.id) else other
        for other in inside
    ]
    roots = [
        replace(root, name=f"grad_{names[0]}" if (names := named.get(_place(root.name))) else root.name)
        for root in inside.roots
    ]
    return replace(inside, nodes=tuple(nodes), roots=tuple(roots))


def _place(name: str) -> int:
    """Return the position of the argument whose gradient a root is; -1 if its name does not say so."""
    found = re.fullmatch(r"grad_args\[(\d+)\]", name)
    return -1 if found is None else int(found[1])


def inside_words(node: Node) -> str:
    """Return what was recorded of the backward of a node, in words; of a custom Function it is what ran."""
    assert node.measured is not None and node.measured.inside is not None
    inside = node.measured.inside
    if inside.passes:
        how = "its forward, and its backward (order 1), as they were compiled"
    elif any(root.name.startswith("grad_") for root in inside.roots):
        how = "its formula, run once more on what it was given"
    else:
        how = "its backward, as it ran"
    return f"inside {visible(node.name)}: {how}"


def _one(graph: Graph, name: str) -> Node:
    found = find_nodes(graph, [name])
    if len(found) > 1:
        names = ", ".join(f"{visible(graph.nodes[number].name)}%{number}" for number in found[:12])
        raise GraphError(f"{visible(name)!r} is the name of {len(found)} nodes; open one of them: {names}.")
    return graph.nodes[found[0]]


def _recorded(graph: Graph, made: list[int]) -> Graph:
    """These nodes, and as inputs what they were made from; what others take from them are the roots."""
    inside = set(made)
    own = {edge for number in made for edge in data_edges(graph.nodes[number])}
    border = {edge.node for edge in own} - inside
    kept = sorted(inside | border)
    nodes = [graph.nodes[number] if number in inside else as_input(graph.nodes[number]) for number in kept]
    roots = [Root(f"result {number}", number) for number in made if Edge(number) not in own]
    if len(roots) == 1:
        roots = [Root("result", roots[0].node)]
    return take(graph, kept, roots, nodes, next_of=lambda node: (), args_of=data_edges)
