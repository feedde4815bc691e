"""Asides: they tell of code that is right where it is meant, and surprises where it is not."""

from __future__ import annotations

from collections.abc import Iterator

from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.unheld import left_over
from autograph_cli.findings.ways import behind_moves, memory, plain_op, takers
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import LISTED, where

_WRITES = ("copy", "fill", "index_put", "zero")


def _first_order(seen: Seen) -> Iterator[Found]:
    """Updates of weights by a derivative without a graph, through which a gradient then goes to these weights."""
    if not seen.is_last_of_kind:
        return
    wanted = seen.behind(seen.outcome(), untracked=True)
    found: dict[Source | None, list[tuple[Node, Node, Edge]]] = {}
    for node in seen.graph:
        if node.op != "grad" or node.kind != "untracked" or node.id not in wanted:
            continue
        # The first is what was differentiated, if that is still there.
        by = {node.args[position] for position in node.cut} - set(node.args[:-1])
        for update, _ in takers(seen, node):
            if update.id in seen.reached and (weights := by.intersection(update.args)):
                weight = min(weights, key=lambda edge: (edge.node, edge.nr))
                found.setdefault(node.source, []).append((node, update, weight))
    for source, updates in found.items():
        names = list(dict.fromkeys(seen.name(weights) for _, _, weights in updates))
        named = ", ".join([name for name in names if name[0] != "%"][:LISTED] or names[:1])
        first, update, _ = updates[0]
        said = f"the derivative at {line_of(source)} is made without create_graph, so the update of {named} by it, "
        said += f"{where(update)}, is of first order"
        yield Found(said, source, ("what is differentiated later takes it for a constant",), (first.id, update.id))


def _overwritten(seen: Seen) -> Iterator[Found]:
    """Parts of a result that are written over before it is used: no gradient goes through what was there."""
    told: set[Source | None] = set()
    for node in seen.graph if seen.is_last_of_kind else ():
        if plain_op(node) not in _WRITES or node.id not in seen.reached or not node.args:
            continue
        base = behind_moves(seen, node.args[0])
        while plain_op(lost := seen.graph[base.node]) in _WRITES and lost.args:
            base = behind_moves(seen, lost.args[0])  # out[0] = a; out[1] = b: a is elsewhere, so what out began as
        if lost.kind != "operation" or base == node.args[0] or node.source in told or lost.order:
            continue
        if any(memory(seen, other) == memory(seen, node.args[0]) for other in node.args[1:]):
            continue  # x[0] += 1 writes what it has changed in place
        told.add(node.source)
        yield Found(
            f"a part of {seen.name(base)} is written over at {line_of(node.source)}: what was there gets no gradient",
            node.source, (f"{where(lost)} made it",), (node.id, base.node),
        )  # fmt: skip


RULES = (
    Rule("AG702", "an update of first order",
        "Second derivatives are left out of the outer gradient, as in first-order MAML, which is cheaper and not the "
        "same.",
        "Pass create_graph=True to this call of grad where the outer gradient is to go through it.",
        _first_order, on_request=True, aside=True),
    Rule("AG703", "a part of a result is written over",
        "The gradient of these numbers goes to what was written, and nothing to what was there before.",
        "Write it with torch.where or torch.cat where both are to count.",
        _overwritten, on_request=True, aside=True),
    Rule("AG704", "gradients that no optimizer uses",
        "A part of a model that no optimizer holds stays as it is; that its gradients are computed costs time alone.",
        "Give it to the optimizer where it is to be trained; else freeze it: requires_grad_(False).",
        left_over, ledger=True, on_request=True, aside=True),
)  # fmt: skip
