"""The order in which the nodes of a backward pass run where their numbers do not tell it."""

from __future__ import annotations

import heapq

from ..tape.node import Node


def when_ready(nodes: list[Node]) -> list[Node]:
    """The order in which nodes run where one leads to a node with a higher number, as to a view's history that was made
    anew."""
    waits = dict.fromkeys(nodes, 0)
    for node in nodes:
        for edge in node._ag_edges:
            if edge is not None and edge[0] in waits:
                waits[edge[0]] += 1
    positions = {node: i for i, node in enumerate(nodes)}
    ready = [positions[node] for node in nodes if not waits[node]]
    order = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for edge in node._ag_edges:
            if edge is not None and edge[0] in waits:
                waits[edge[0]] -= 1
                if not waits[edge[0]]:
                    heapq.heappush(ready, positions[edge[0]])
    return order
