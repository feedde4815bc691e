"""What the recorded numbers tell: where NaN is born, gradients that vanish or explode, dead units."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.graph import Edge, Node, Values
from autograph_cli.graph.cuts import LISTED, behind, where

_NOT_FINITE = re.compile(r"\b(nan|inf)\b")
_NUMBER = re.compile(r"-?(?:inf|nan|\d[\d.]*(?:e[+-]?\d+)?)")
VANISHED, EXPLODED = 1e-7, 1e4
"""The ratio of the largest gradients of two parameters in one chain below which, or the number above which, it is
told."""
DEEP = 4
"""So many layers there must be for their gradients to be compared."""
ROUNDING = 1e-4
"""A sum that is smaller than this part of what it is made of may be rounding."""
MANY = 16
"""So many numbers must be zero for a layer to be dead."""


def not_finite(values: Values | None) -> str:
    """`nan` or `inf` where some number is one of these; else empty."""
    if values is None:
        return ""
    if values.nans:
        return "nan"
    found = _NOT_FINITE.findall(" ".join((*values.whole, values.low, values.high)))
    return "nan" if "nan" in found else "inf" if found else ""


def largest(values: Values | None) -> float | None:
    """The largest absolute value; None where it is not known, or there are no numbers."""
    if values is None:
        return None
    texts = [text for line in values.whole for text in _NUMBER.findall(line)] or [values.low, values.high]
    return max((abs(float(text)) for text in texts if text), default=None)


def value_of(seen: Seen, edge: Edge) -> Values | None:
    """The numbers of a tensor, where they were recorded."""
    measured = seen.graph[edge.node].measured
    return measured.values[edge.nr] if measured is not None and edge.nr < len(measured.values) else None


def gradient_of(seen: Seen, edge: Edge) -> Values | None:
    """What the backward of a node was given for one of its outputs."""
    measured = seen.graph[edge.node].measured
    return measured.gradients[edge.nr] if measured is not None and edge.nr < len(measured.gradients) else None


def _shown(values: Values | None) -> str:
    if values is None:
        return "not recorded"
    if values.whole:
        return " ".join(line.strip() for line in values.whole)
    return f"{values.low} to {values.high}" + (f", {values.nans} NaN" if values.nans else "")


def _born_forward(seen: Seen) -> Iterator[Found]:
    """The first node on the way to a result that is not finite, or to a NaN, whose inputs are; else the NaN that was
    there before."""
    results = {edge.node for edge in seen.outcome() if not_finite(value_of(seen, edge))}
    results |= {root.node for root in seen.graph.roots if not_finite(value_of(seen, Edge(root.node, root.nr))) == "nan"}
    results |= {edge.node for node in _sick_gradients(seen) for edge in node.args}
    if not results:
        return
    for node in seen.graph:
        kinds = [not_finite(value_of(seen, Edge(node.id, nr))) for nr in range(len(node.outputs))]
        if node.kind != "operation" or not any(kinds) or any(not_finite(value_of(seen, edge)) for edge in node.args):
            continue
        if node.id in results or _leads_on(seen, node, results):
            yield _birth(seen, node, "nan" if "nan" in kinds else "inf")
            return
    yield from _there_before(seen, results)


def _there_before(seen: Seen, results: set[int]) -> Iterator[Found]:
    """The leaves and inputs with a NaN that leads to a result, in the first kept step in which there are some."""
    given = [node for node in seen.graph if _is_given_nan(seen, node)]
    given = [node for node in given if node.id in results or _leads_on(seen, node, results)]
    earlier = [step.number for step in seen.trace.steps if step.number < seen.step.number]
    if not given or any(_sick_gradients(Seen(seen.trace, step)) for step in seen.trace.steps if step.number in earlier):
        return
    names = [seen.shown(Edge(node.id)) for node in given]
    listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    said = f"{listed} had NaN when step {seen.step.number} began"
    users = seen.users.get(Edge(given[0].id), [])
    unkept = seen.step.number - 1 - max(earlier, default=-1)
    facts = (f"{unkept} steps before it were not kept",) if unkept > 1 else ("the step before it was not kept",)
    again = f"`autograph explain --steps all {seen.trace.script}`"
    remedy = f"It was made in an earlier step: record them too, {again}. " if unkept else ""
    remedy += "What is given from outside, such as data, is to be looked at where it is made."
    nodes = tuple(node.id for node in given)
    yield Found(said, users[0].source if users else None, facts if unkept else (), nodes, remedy)


def _leads_on(seen: Seen, node: Node, results: set[int]) -> bool:
    stack, met = [node.id], {node.id}
    while stack:
        number = stack.pop()
        for nr in range(len(seen.graph[number].outputs)):
            for user in seen.users.get(Edge(number, nr), ()):
                if user.id in results:
                    return True
                if user.id not in met and not_finite(value_of(seen, Edge(user.id))):
                    met.add(user.id)
                    stack.append(user.id)
    return False


def _birth(seen: Seen, node: Node, kind: str) -> Found:
    word = {"nan": "NaN", "inf": "infinity"}[kind]
    facts = tuple(dict.fromkeys(f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}" for edge in node.args))
    half = kind == "inf" and node.outputs[0].type.dtype == "float16"
    remedy = "float16 ends at 65504: compute this in float32 or bfloat16, or make the numbers smaller." if half else ""
    return Found(f"the first {word} is made by {where(node)}", node.source, facts, (node.id,), remedy)


def _sick_gradients(seen: Seen) -> list[Node]:
    return [node for node in seen.graph if node.measured and any(map(not_finite, node.measured.gradients))]


def _born_backward(seen: Seen) -> Iterator[Found]:
    """The first node whose backward was given finite gradients and gave some that are not."""
    hidden = not any(_born_forward(seen))
    for entry in seen.graph.passes:
        sick = {node.id for node in seen.graph if node.measured and entry.id in node.measured.nonfinite}
        ran = [seen.graph[number] for number in entry.ran if sick]
        for target in [number for number in (*entry.ran, *(edge.node for edge in entry.inputs)) if number in sick]:
            senders = [(node, _edges_to(node, target)) for node in ran if _edges_to(node, target)]
            if any(node.id in sick or _was_given_nan(seen, node) for node, _ in senders):
                continue  # a gradient may be a sum: who sent the NaN had it before
            for node, after in senders:
                if _keeps_numbers(node) and (hidden or not _is_sick(seen, node)):
                    yield _gradient_birth(seen, node, after)
                    return


def _edges_to(node: Node, target: int) -> list[Edge]:
    return [edge for edge in node.next if edge is not None and edge.node == target]


def _was_given_nan(seen: Seen, node: Node) -> bool:
    """Whether it was given a NaN that was there before the step."""
    if not any(not_finite(value_of(seen, edge)) == "nan" for edge in node.args):
        return False
    return any(_is_given_nan(seen, seen.graph[number]) for number in behind(seen.graph, [(node.id, 0)]))


def _is_given_nan(seen: Seen, node: Node) -> bool:
    return not node.computes and not_finite(value_of(seen, Edge(node.id))) == "nan"


def _is_sick(seen: Seen, node: Node) -> bool:
    return any(not_finite(value_of(seen, Edge(node.id, nr))) for nr in range(len(node.outputs)))


def _gradient_birth(seen: Seen, node: Node, after: list[Edge]) -> Found:
    facts = [f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}" for edge in node.args]
    gradients = [gradient_of(seen, Edge(node.id, nr)) for nr in range(len(node.outputs))]
    if any(gradients):
        facts.append(f"the gradient that came to it was {', '.join(map(_shown, gradients))}")
    shown = [(edge, gradient_of(seen, edge)) for edge in after]
    facts += [f"the gradient of {seen.name(edge)} is {_shown(found)}" for edge, found in shown if not_finite(found)]
    word = "infinity" if [not_finite(found) for _, found in shown] == ["inf"] else "NaN"
    said = f"the first {word} of a gradient is made by the backward of {where(node)}"
    made_by = node
    while made_by.parent is not None:
        made_by = seen.graph[made_by.parent]
    if made_by is not node:
        facts.insert(0, f"it is a derivative, made by the backward of {where(made_by)}")
    return Found(
        said, made_by.source or node.source, tuple(dict.fromkeys(facts)), (node.id, *(edge.node for edge in after))
    )


def _keeps_numbers(node: Node) -> bool:
    """Whether a backward computes with numbers of the forward pass; what is linear makes no NaN of finite gradients."""
    return any(kept.type is not None and not kept.type.dtype.startswith(("bool", "int", "uint")) for kept in node.saved)


def _parameters(seen: Seen) -> list[tuple[Edge, float]]:
    """Of each layer a leaf and the largest number of its gradient, in order of first use: the bias, whose gradient is
    that of the layer's result, unless it is nothing but rounding, as before a normalization; else the weights."""
    layers: dict[str | int, list[tuple[bool, Edge, float]]] = {}
    taken = {edge: users[0] for edge, users in seen.users.items() if seen.graph[edge.node].kind == "leaf"}
    for edge, user in sorted(taken.items(), key=lambda item: item[1].id):
        node, size = seen.graph[edge.node], largest(gradient_of(seen, edge))
        many = len(node.outputs[0].type.shape) > 1
        came = largest(gradient_of(seen, Edge(user.id))) or 0.0
        if size and size == size and not node.order and (many or (node.module and not size < ROUNDING * came)):
            layers.setdefault(node.module or node.id, []).append((many, edge, size))
    return [min(each, key=lambda one: one[0])[1:] for each in layers.values()]


def _vanishing(seen: Seen) -> Iterator[Found]:
    sizes = _parameters(seen)
    if len(sizes) < DEEP or not sizes[-1][1]:
        return
    (first, low), (last, high) = sizes[0], sizes[-1]
    if 0 < low < VANISHED * high:
        said = f"the gradient vanishes on the way to {seen.name(first)}"
        facts = tuple(f"the largest of {seen.name(edge)}.grad is {size:.2g}" for edge, size in (sizes[0], sizes[-1]))
        yield Found(said, seen.users[first][0].source, facts, (first.node, last.node))


def _exploding(seen: Seen) -> Iterator[Found]:
    sizes = _parameters(seen)
    if len(sizes) < DEEP or not sizes[-1][1]:
        return
    (first, high), (last, low) = sizes[0], sizes[-1]
    if EXPLODED < high < float("inf") and high > EXPLODED * low:
        said = f"the gradient explodes on the way to {seen.name(first)}"
        facts = tuple(f"the largest of {seen.name(edge)}.grad is {size:.2g}" for edge, size in (sizes[0], sizes[-1]))
        yield Found(said, seen.users[first][0].source, facts, (first.node, last.node))


def _dead(seen: Seen) -> Iterator[Found]:
    """An operation of one tensor with nothing but zeros, whose backward passes on nothing but zeros."""
    elsewhere = [step for step in seen.trace.steps if step is not seen.step]
    alive = {_seat(node) for step in elsewhere for node in step.graph if _is_alive(Seen(seen.trace, step), node)}
    for node in seen.graph if seen.is_last else ():
        if (
            _seat(node) in alive
            or len(node.args) != 1
            or len(node.outputs) != 1
            or node.id not in seen.reached
            or node.order
        ):
            continue
        (edge,) = node.args
        made, given = value_of(seen, Edge(node.id)), gradient_of(seen, Edge(node.id))
        passed = gradient_of(seen, edge) if edge in node.next and len(seen.users[edge]) == 1 else None
        many = made is not None and made.count >= MANY and made.count == given_count(seen, edge)
        if many and largest(made) == 0 and largest(passed) == 0 and largest(given) and largest(value_of(seen, edge)):
            facts = (f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}",)
            yield Found(f"{where(node)} makes zeros only, and passes on no gradient", node.source, facts, (node.id,))


def _seat(node: Node) -> tuple[object, ...]:
    return node.source, node.op, node.module


def _is_alive(seen: Seen, node: Node) -> bool:
    """Whether an operation of one tensor makes anything but zeros."""
    return len(node.args) == 1 and bool(largest(value_of(seen, Edge(node.id))))


def given_count(seen: Seen, edge: Edge) -> int:
    """How many numbers a tensor has, where they were recorded."""
    values = value_of(seen, edge)
    return 0 if values is None else values.count


_VALUES = ("values",)
RULES = (
    Rule(
        "AG301",
        "NaN or infinity is born in the forward pass",
        "Every number that is computed from it, and every gradient that goes through it, is lost.",
        "Keep its inputs in the domain: clamp them, add a small number, or use a stable form such as log_softmax, "
        "log1p or logsumexp.",
        _born_forward,
        _VALUES,
    ),
    Rule(
        "AG302",
        "NaN or infinity is born in the backward pass",
        "The derivative at this point is infinite, and zero times infinity is NaN, under torch.where as well.",
        "Change the input of the operation, not its result: torch.where(x > 0, x, 1) before sqrt, a small number "
        "under a root, norm or logarithm.",
        _born_backward,
        _VALUES,
    ),
    Rule(
        "AG303",
        "gradients vanish",
        "The first layers do not learn, as their gradient is smaller by many orders of magnitude.",
        "Use another activation or initial values, normalization, or connections that skip layers.",
        _vanishing,
        _VALUES,
    ),
    Rule(
        "AG304",
        "gradients explode",
        "One step changes the first layers so much that what they learned is lost.",
        "Clip them with torch.nn.utils.clip_grad_norm_, or choose smaller initial values, or normalization.",
        _exploding,
        _VALUES,
    ),
    Rule(
        "AG305",
        "dead units",
        "Where all inputs are in the flat part of an activation, nothing before it gets a gradient, and so nothing "
        "changes.",
        "Use a smaller learning rate, other initial values of the bias, or an activation with a slope everywhere.",
        _dead,
        _VALUES,
    ),
)
