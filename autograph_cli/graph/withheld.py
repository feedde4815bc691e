"""Gradients that the backward of a custom Function kept back: it returned None for an input that needs one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograph_cli.graph.records import Edge, Graph, Node, Pass


def withheld(graph: Graph) -> list[tuple[Node, int]]:
    """The nodes whose backward was given a gradient for every output and led to nothing at an edge, with the positions
    of these edges.

    A pass that was told what to differentiate by goes to nothing else, and one that failed to nothing more, so only the
    others tell.
    """
    found = {
        (node.id, nr): (node, nr)
        for entry in graph.passes
        if entry.call == "backward" and entry.ran and not entry.results and not entry.failed
        for node, nr in _of_pass(graph, entry)
    }
    return [found[key] for key in sorted(found)]


def _of_pass(graph: Graph, entry: Pass) -> Iterator[tuple[Node, int]]:
    ran = set(entry.ran)
    custom = [graph[number] for number in entry.ran if graph[number].is_custom]
    if not any(edge is not None and edge.node not in ran for node in custom for edge in node.next):
        return
    given = {*entry.roots, *(edge for number in ran for edge in graph[number].next if edge is not None)}
    for node in custom:
        if all(Edge(node.id, nr) in given for nr in range(len(node.outputs))):
            yield from ((node, nr) for nr, edge in enumerate(node.next) if edge is not None and edge.node not in ran)


def without_withheld(graph: Graph) -> Graph:
    """The graph with the edges alone along which a gradient came."""
    closed = {(node.id, nr) for node, nr in withheld(graph)}
    if not closed:
        return graph
    nodes = [
        replace(node, next=tuple([None if (node.id, nr) in closed else edge for nr, edge in enumerate(node.next)]))
        for node in graph
    ]
    return replace(graph, nodes=tuple(nodes))
