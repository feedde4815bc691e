"""Savings that a script could make: work that comes out the same in each step, and memory kept for backward."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.steps import FEWEST
from autograph_cli.graph import Edge, Graph, Node, Source, Values
from autograph_cli.graph.cuts import behind
from autograph_cli.graph.facts import bytes_text
from autograph_cli.graph.saved_memory import Kept, kept_tensors, total_bytes, uncounted_words

MUCH = 10_000
"""The fewest numbers that a line must make in each step to be told."""
LARGE, PART = 1 << 20, 0.1
"""The fewest bytes, and the least part of all that is kept, that must be saved to be told."""


def _repeated(seen: Seen) -> Iterator[Found]:
    """Lines without a gradient whose operations all give the same numbers in the first and in the last step."""
    first = seen.trace.steps[0]
    if not seen.is_last or seen.step.number - first.number < FEWEST - 1:
        return
    before, now = _made_by(first.graph), _made_by(seen.graph)
    for source, nodes in now.items():
        known = [_numbers(node) for node in nodes]
        same = known == [_numbers(node) for node in before.get(source, [])] and any(map(any, known))
        count = sum(prod(output.type.shape) for node in nodes for output in node.outputs)
        told = same and len(nodes) > 1 and count >= MUCH and not source.text.startswith("for ")
        if told and not any(_of_given(seen, node) for node in nodes):
            listed = ", ".join(dict.fromkeys(node.op for node in nodes))
            fact = f"{listed} make the same numbers in step {first.nth} and in step {seen.step.nth}"
            yield Found(
                f"line {source.line} repeats in each step what needs no gradient and comes out the same",
                source,
                (fact,),
                tuple(node.id for node in nodes),
            )


def _made_by(graph: Graph) -> dict[Source, list[Node]]:
    """The operations without a gradient, by line; what draws random numbers has no arguments."""
    found: dict[Source, list[Node]] = {}
    for node in graph:
        if node.kind == "untracked" and node.source is not None and node.args:
            found.setdefault(node.source, []).append(node)
    return found


def _of_given(seen: Seen, node: Node) -> bool:
    """Return whether a module computes it from what it is called with, which is the caller's to vary, as by batches."""
    made_of = (seen.graph[number] for number in behind(seen.graph, [(node.id, 0)], untracked=True))
    return bool(node.module) and any(
        each.kind == "input" and not any("." in name for name in each.outputs[0].names) for each in made_of
    )


def _numbers(node: Node) -> tuple[Values | None, ...]:
    """Return what an operation made, as far as it is known: of what goes into an operation with a gradient."""
    return node.measured.values if node.measured is not None else ()


def _more_saved(seen: Seen) -> Iterator[Found]:
    """Results that are kept for backward and could be computed again from others that are kept as well."""
    kept = kept_tensors(seen.graph)
    total = total_bytes(kept)
    by_origin = {each.origin: each for each in kept if each.origin is not None}
    needed: set[Edge] = set()
    left_out: set[Edge] = set()
    spared: dict[Source, list[tuple[Node, Kept]]] = {}
    for edge, each in sorted(by_origin.items(), key=lambda item: (-item[1].bytes, -item[0].node)):
        node = seen.graph[edge.node]
        sources = set(node.args)
        if each.given or node.kind != "operation" or node.order or node.source is None:
            continue
        there = all((given in by_origin and given not in left_out) or _is_given(seen, given) for given in sources)
        if there and edge not in needed:
            needed |= sources
            left_out.add(edge)
            spared.setdefault(node.source, []).append((node, each))
    every = f"all nodes keep {bytes_text(total)}{uncounted_words(seen.graph)}"
    for source, found in spared.items():
        size = sum(each.bytes for _, each in found)
        if size >= LARGE and size >= PART * total:
            makers = ", ".join(dict.fromkeys(node.op for node, _ in found))
            users = ", ".join(dict.fromkeys(seen.graph[number].op for _, each in found for number, _ in each.savers))
            yield Found(
                f"{bytes_text(size)} are kept for backward that could be computed again",
                source,
                (f"the results of {makers}, kept for the backward of {users}; {every}",),
                tuple(node.id for node, _ in found),
            )


def _is_given(seen: Seen, edge: Edge) -> bool:
    return seen.graph[edge.node].kind != "operation"


RULES = (
    Rule("AG405", "the same work in each step",
        "It takes time in each step, and its result depends on nothing that is learned.",
        "Compute it once, before the loop.",
        _repeated, ("values",)),
    Rule("AG701", "more is kept for backward than needed",
        "It takes memory from forward until backward, and its inputs are kept too: they are enough to make it again.",
        "Wrap these lines in torch.utils.checkpoint.checkpoint, or write them as one Function that saves its input "
        "and computes the rest in backward, as a fused convolution and batch norm does.",
        _more_saved, on_request=True),
)  # fmt: skip
