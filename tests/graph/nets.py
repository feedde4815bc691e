"""Graphs made by chance, and what is done to them."""

from __future__ import annotations

import random

from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType

VECTOR = TensorType("float32", (3,))
UNARY, BINARY = ("tanh", "relu", "exp"), ("mul", "add", "sub")


def leaf(number: int, name: str = "", kind: TensorType = VECTOR) -> Node:
    return Node(number, "leaf", "AccumulateGrad", "", (Output(kind, (name,) if name else ()),))


def operation(number: int, op: str, *inputs: int, kind: TensorType = VECTOR) -> Node:
    edges = tuple(map(Edge, inputs))
    return Node(number, "operation", f"{op.title()}Backward0", op, (Output(kind),), edges, edges)


def net(size: int, seed: int = 0, *, named: bool = True) -> Graph:
    """A chain of operations with leaves beside it, and here and there an earlier result."""
    chance = random.Random(seed)
    nodes, last, results = [leaf(0, "x" if named else "")], 0, [0]
    while len(nodes) < size:
        op = chance.choice(UNARY + BINARY)
        inputs = [last]
        if op in BINARY:
            if chance.random() < 0.3:
                inputs.append(chance.choice(results[-20:]))
            else:
                inputs.append(len(nodes))
                nodes.append(leaf(len(nodes), f"w{len(nodes)}" if named else ""))
        last = len(nodes)
        nodes.append(operation(last, op, *inputs))
        results.append(last)
    return Graph(tuple(nodes), (Root("loss", last),))


def inserted(graph: Graph, at: int, op: str) -> Graph:
    """The graph with one operation more, between the node `at` and all that uses it."""

    def moved(edge: Edge | None) -> Edge | None:
        return None if edge is None else Edge(edge.node + (edge.node >= at), edge.nr)

    nodes: list[Node] = []
    for node in graph:
        edges = tuple(moved(edge) for edge in node.next), tuple(moved(edge) for edge in node.args)
        nodes.append(replace(node, id=len(nodes), next=edges[0], args=edges[1]))
        if node.id == at:
            nodes.append(operation(len(nodes), op, at))
    return Graph(tuple(nodes), tuple(replace(root, node=root.node + (root.node >= at)) for root in graph.roots))


def shuffled(graph: Graph, seed: int) -> Graph:
    """The same graph with its nodes made in another order."""
    chance = random.Random(seed)
    waiting = {node.id: {edge.node for edge in (*node.args, *node.next) if edge} for node in graph}
    order: list[int] = []
    while waiting:
        ready = sorted(number for number, used in waiting.items() if not used)
        order.append(chance.choice(ready))
        del waiting[order[-1]]
        for used in waiting.values():
            used.discard(order[-1])
    new = {old: position for position, old in enumerate(order)}

    def moved(edge: Edge | None) -> Edge | None:
        return None if edge is None else Edge(new[edge.node], edge.nr)

    nodes = tuple(
        replace(
            graph[old], id=new[old], next=tuple(map(moved, graph[old].next)), args=tuple(map(moved, graph[old].args))
        )
        for old in order
    )
    return Graph(nodes, tuple(replace(root, node=new[root.node]) for root in graph.roots))
