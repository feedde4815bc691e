"""Findings from step to step: graphs that grow, and graphs of gradients that nobody differentiates."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from autograph_cli.findings.book import not_called
from autograph_cli.findings.kept import kept_graphs
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.graph import Edge, Node, Pass, Source
from autograph_cli.graph.cuts import LISTED, behind
from autograph_cli.record.names.bindings import Script

FEWEST = 4
"""The fewest steps or calls of a loop."""


def _by_line(graph: Iterable[Node]) -> Counter[tuple[Source, str]]:
    return Counter((node.source, node.op) for node in graph if node.source is not None and node.kind == "operation")


def _grows(seen: Seen) -> Iterator[Found]:
    """Yield what keeps graphs of earlier steps; where nothing is known to, a line that is in the last graph once for
    each step, and was not in the first, most of it made in those steps."""
    kept = [] if any(_retained(seen)) else list(kept_graphs(seen))
    yield from kept
    steps = seen.trace.steps
    passed = seen.step.number - steps[0].number
    if kept or not seen.is_last or passed < FEWEST - 1:
        return
    first, last = _by_line(steps[0].graph), _by_line(seen.graph)
    older = _by_line(seen.graph.nodes[: seen.step.older])
    # The script's own derivatives of derivatives may come later than the first step: only what came to stay counts.
    grown = [
        (key, count)
        for key, count in last.items()
        if count > first[key] and count >= passed * max(1, first[key]) and (first[key] or _adds_up(seen, key, passed))
        if 2 * older[key] >= count
    ]
    if not grown:
        return
    (source, op), count = max(grown, key=lambda item: (item[1], -item[0][0].line))
    nodes = tuple(node.id for node in seen.graph if (node.source, node.op) == (source, op))
    yield Found(
        f"the graph grows from step to step: {op} at {line_of(source)} is in it {count} times",
        source,
        (
            f"the graph of step {steps[0].nth} has {len(steps[0].graph)} nodes",
            f"the graph of step {seen.step.nth} has {len(seen.graph)} nodes",
        ),
        nodes,
    )


def _adds_up(seen: Seen, key: tuple[Source, str], passed: int) -> bool:
    """Return whether what the first step had not yet is of so many steps: one node hangs on as many uses of one leaf,
    where a line that looks at each parameter in turn uses each once."""
    made = [node for node in seen.graph if (node.source, node.op) == key]
    leaves = Counter(edge for node in made for edge in set(node.args) if seen.graph[edge.node].kind == "leaf")
    leaf, count = max(leaves.items(), key=lambda item: item[1], default=(None, 0))
    users = {node.id for node in made if leaf in node.args}
    ends = range(len(seen.graph) - 1, -1, -1) if count >= passed else ()
    return any(users <= behind(seen.graph, [(end, 0)]) for end in ends)


def _retained(seen: Seen) -> Iterator[Found]:
    """Calls of one line within one step, each of which ran what the one before had run, and more."""
    for source, entries in _calls(seen).items():
        sizes = [len(entry.ran) for entry in entries]
        alike = len({(entry.order, entry.create_graph) for entry in entries}) == 1 and entries[0].order == 1
        both = ((set(before.ran), after.ran) for before, after in pairwise(entries))
        grown = all(2 * len(before.intersection(after)) > len(before) for before, after in both)
        if alike and grown and len(sizes) >= FEWEST and all(low < high for low, high in pairwise(sizes)):
            said = f"each {entries[0].call} at {line_of(source)} runs more nodes than the one before"
            yield Found(said, source, (f"{sizes[0]} nodes at first, {sizes[-1]} at the end",), tuple(entries[-1].ran))


def _calls(seen: Seen) -> dict[Source, list[Pass]]:
    found: dict[Source, list[Pass]] = {}
    for entry in seen.graph.passes:
        if entry.source is not None:
            found.setdefault(entry.source, []).append(entry)
    return found


def _never_differentiated(seen: Seen) -> Iterator[Found]:
    """Calls of one line that record their derivatives, of which no later call runs any."""
    used = {number for entry in seen.graph.passes for number in entry.ran}
    made: dict[int, list[int]] = {}
    for node in seen.graph:
        if node.pass_id is not None and node.kind == "operation":
            made.setdefault(node.pass_id, []).append(node.id)
    ledger = seen.trace.ledger
    every = (
        Counter(each.source for each in ledger.happenings if each.kind == "backward" and each.made) if ledger else {}
    )
    for source, entries in _calls(seen).items():
        asked = [entry for entry in entries if entry.create_graph and entry.call == "backward"]
        count = max(len(asked), every.get(source, 0) if seen.is_last else 0)
        nodes = [number for entry in asked for number in made.get(entry.id, ())]
        outer = any(
            user.kind == "operation" and user.pass_id is None and _takes(user.args, set(nodes)) for user in seen.graph
        )
        if count >= FEWEST and nodes and not used.intersection(nodes) and not outer:
            yield Found(
                f"{count} calls of backward with create_graph=True at {line_of(source)} made graphs that nothing "
                "differentiates",
                source,
                (f"{len(nodes)} nodes of derivatives are kept",),
                tuple(nodes),
            )


def _takes(args: Iterable[Edge], nodes: set[int]) -> bool:
    return any(edge.node in nodes for edge in args)


def _stale(seen: Seen) -> Iterator[Found]:
    if not seen.is_last or any(map(_scales_gradients, seen.scripts.values())):
        return
    notices = [notice for notice in seen.trace.notices if notice.kind == "stale"]
    by_line: dict[Source | None, list[str]] = {}
    for notice in notices:
        by_line.setdefault(notice.source, []).append(notice.name)
    for source, names in by_line.items():
        said = f"the gradient of {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''} adds up over steps"
        fact = f"step {notices[0].step + 1} adds to what was there before the parameters were changed"
        named = not_called(seen, "zero_grad")
        if named:
            facts = (fact, f"it is added at {line_of(source)}")
            said = f"{said}: {line_of(named)} names zero_grad, and does not call it"
            yield Found(said, named, facts, (), _CALL_IT, covers=tuple(names))
        else:
            yield Found(said, source, (fact,), covers=tuple(names))


_CALL_IT = "Write the parentheses: zero_grad()."


def _scales_gradients(script: Script) -> bool:
    """Return whether a script multiplies `.grad` in place by something: what stays of it is meant to."""
    for part in ast.walk(script.tree):
        target: ast.expr | None = None
        if isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Mult, ast.Div)):
            target = part.target
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in ("mul_", "div_"):
            target = part.func.value
        if isinstance(target, ast.Attribute) and target.attr == "grad":
            return True
    return False


RULES = (
    Rule("AG401", "a graph grows from step to step",
        "Every step keeps the graphs of all steps before it: memory and time grow until something fails.",
        "Add numbers, not tensors (total += loss.item()), and detach what is carried to the next step "
        "(hidden = hidden.detach()).",
        _grows),
    Rule("AG402", "a retained graph grows from call to call",
        "With retain_graph=True each backward pass goes through the graphs of all turns of the loop before it.",
        "Detach what is carried to the next turn, and leave retain_graph out.",
        _retained),
    Rule("AG403", "create_graph=True in a loop",
        "The gradients keep the graph that made them, and each turn of the loop keeps one more.",
        "Leave create_graph out where no derivative of a gradient is taken.",
        _never_differentiated),
    Rule("AG404", "gradients add up over steps",
        "backward adds to .grad: each step goes along gradients of earlier parameters as well.",
        "Call optimizer.zero_grad(), or set .grad to None, before each backward.",
        _stale),
)  # fmt: skip
