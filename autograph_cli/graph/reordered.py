"""A graph with the terms of sums and the factors of products in one order: two that differ in that alone are the same
but for rounding."""

from __future__ import annotations

import functools
import importlib
import json
from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from msgspec.structs import replace

from autograph_cli.graph.compared import constants, labelled
from autograph_cli.graph.records import Edge, Graph, Node
from autograph_cli.graph.views import data_edges, part

SYMMETRIC = Path(__file__).with_name("symmetric.json")
"""Operations of two tensors in either order, written from the engine's records by `make operations`."""
_SUM = "add"
"""One that is given another is one of three."""
Term = tuple[Edge, Edge | None]


def reordered(graph: Graph) -> Graph | None:
    """Return the graph with the arguments of such operations in one order, and sums of sums, and of a number, as one;
    None if there is nothing to put in order."""
    both = {node.id for node in graph if _commutes(node)}
    if not both:
        return None
    inner = _inner(graph, both)
    terms: dict[int, list[Term]] = {}
    plain: dict[int, tuple[tuple[str, str], ...]] = {}
    texts: dict[int, str] = {}
    nodes = list(graph.nodes)
    given = {node.id: [edge.node for edge in data_edges(node)] for node in graph}
    for number in TopologicalSorter(given).static_order():
        node = graph[number]
        if number in both or number in inner:
            next_ = node.next[: len(node.args)] or (None,) * len(node.args)  # a number has an empty place, too
            pairs = list(zip(node.args, next_, strict=True))
            found = [term for pair in pairs for term in (terms[pair[0].node] if pair[0].node in inner else [pair])]
            found.sort(key=lambda term: (texts[term[0].node], term[0].nr))
            terms[number] = found
            given_too = [each for edge in node.args for each in plain.get(edge.node, ()) if edge.node in inner]
            plain[number] = tuple(sorted([*constants(node).items(), *given_too]))
            following = tuple([edge for _, edge in found]) if node.next else ()
            args = tuple([edge for edge, _ in found])
            nodes[number] = replace(node, args=args, next=following, saved=(), constants=plain[number], cut=())
        texts[number] = _text(graph, nodes[number], texts)
    kept = [node.id for node in graph if node.id not in inner]
    return part(replace(graph, nodes=tuple(nodes)), kept, graph.roots)


@functools.cache
def _symmetric() -> frozenset[str]:
    return frozenset(json.loads(SYMMETRIC.read_text("utf-8")))


def _commutes(node: Node) -> bool:
    """Return whether it is such an operation, of two tensors and nothing else."""
    of_two = node.op in _symmetric() and len(node.args) == 2 and len(node.next) in (0, 2)
    return of_two and "alpha" not in constants(node)


def _inner(graph: Graph, both: set[int]) -> set[int]:
    """The sums that another sum alone uses, as one of its terms."""
    uses = Counter(edge.node for node in graph for edge in node.args)
    needed = {node.parent for node in graph} | {edge.node for entry in graph.passes for edge in entry.roots}
    needed |= {root.node for root in graph.roots}
    needed |= {edge.node for node in graph if node.id not in both for edge in node.next if edge is not None}
    return {
        edge.node
        for node in graph
        if node.op == _SUM and node.id in both
        for edge in node.args
        if edge.node not in needed and uses[edge.node] == 1
        if (one := graph[edge.node]).op == _SUM and one.order == node.order and one.kind == node.kind
        if edge.node in both or (len(one.args) == 1 and "alpha" not in constants(one))
    }


def _text(graph: Graph, node: Node, texts: Mapping[int, str]) -> str:
    """A node and all that it hangs on, in short: the same in each graph."""
    names = () if node.is_operation else node.outputs[0].names[:1]
    types = [str(output.type) for output in node.outputs]
    given = [(texts[edge.node], edge.nr) for edge in data_edges(node)]
    what = node.kind in ("leaf", "input"), node.op, types, labelled(graph, node), given, names
    found = importlib.import_module("hashlib").blake2b(repr(what).encode(), digest_size=8)  # OpenSSL comes with it
    return str(found.hexdigest())
