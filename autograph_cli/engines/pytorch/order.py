"""The nodes that a backward pass of PyTorch runs, in its order: it tells neither, but follows from the graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

from autograph_cli.engines.pytorch.private import LEAF


def is_leaf(node: Any) -> bool:
    """Return whether a node adds up the gradient of a leaf."""
    return node.__class__ is LEAF


def nodes_run(roots: Sequence[Any], inputs: Sequence[Any] | None, *, captures: bool) -> list[Any]:
    """The nodes that a pass from these roots runs: of those that are ready the one with the highest sequence number.

    With `inputs` (tensors or edges) only what leads to one of them runs; where the pass `captures` gradients, as `grad`
    does, the nodes of these themselves do not, unless they lead to another.
    """
    waits = _waiting(roots)
    ends = _ends(waits, inputs or ())
    wanted = None if inputs is None else _leading(waits, ends)
    ready = [(_rank(node), place, node) for place, node in enumerate(dict.fromkeys(roots)) if not waits[node]]
    heapq.heapify(ready)
    count, found = len(ready), []
    while ready:
        node = heapq.heappop(ready)[2]
        if wanted is None or node in wanted or (node in ends and (is_leaf(node) or not captures)):
            found.append(node)
        for following, _ in node.next_functions:
            if following is not None:
                waits[following] -= 1
                if not waits[following]:
                    count += 1
                    heapq.heappush(ready, (_rank(following), count, following))
    return found


def _ends(nodes: Iterable[Any], inputs: Iterable[Any]) -> set[Any]:
    """The nodes of these tensors and edges. That of a leaf is found by its variable: to ask for it may make one."""
    leaves = {id(x) for x in inputs if getattr(x, "grad_fn", x) is None}
    ends = {x.grad_fn if hasattr(x, "grad_fn") else x.node for x in inputs if id(x) not in leaves}
    return ends | ({node for node in nodes if is_leaf(node) and id(node.variable) in leaves} if leaves else set())


def _rank(node: Any) -> int:
    """Leaves at once, then the newest."""
    return -1 << 64 if is_leaf(node) else -int(node._sequence_nr())


def _waiting(roots: Iterable[Any]) -> dict[Any, int]:
    """Return the number of nodes that each reachable node waits for."""
    waits = dict.fromkeys(roots, 0)
    stack = list(waits)
    while stack:
        for following, _ in stack.pop().next_functions:
            if following is None:
                continue
            if following not in waits:
                waits[following] = 0
                stack.append(following)
            waits[following] += 1
    return waits


def _leading(nodes: dict[Any, int], ends: set[Any]) -> set[Any]:
    """The nodes that lead to one of these."""
    users: dict[Any, list[Any]] = {}
    for node in nodes:
        for following, _ in node.next_functions:
            if following is not None:
                users.setdefault(following, []).append(node)
    found: set[Any] = set()
    stack = [end for end in ends if end in nodes]
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in found:
                found.add(user)
                stack.append(user)
    return found
