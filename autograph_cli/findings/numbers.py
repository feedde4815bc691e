"""Findings from recorded numbers: where NaN is born, gradients that vanish or explode, dead units."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod

from autograph_cli.findings.book import Book
from autograph_cli.findings.calls import called, script_parts
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.graph import Edge, Node, Source, Values
from autograph_cli.graph.cuts import LISTED, where

_NOT_FINITE = re.compile(r"\b(nan|inf)\b")
_NUMBER = re.compile(r"-?(?:inf|nan|\d[\d.]*(?:e[+-]?\d+)?)")
_LARGE = {"float16": 256.0, "bfloat16": 1e19, "float32": 1e19, "complex64": 1e19, "float64": 1e154, "complex128": 1e154}
"""The numbers, in round figures, above which a square is infinite in these types."""
_PRODUCTS = ("mul", "mm", "addmm", "bmm")
RUN_AWAY = 1e6
"""The factor by which weights must have grown, and the size in which, for a step that was too large to be told."""
MANY = 16
"""The fewest zeros of a dead layer."""


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


def zeros_in(values: Values | None) -> int:
    """Return the number of zeros; 0 if it is not known."""
    if values is None:
        return 0
    return values.zeros or sum(number == "0" for line in values.whole for number in re.findall(r"[^\s,\[\]]+", line))


def gradient_of(seen: Seen, edge: Edge) -> Values | None:
    """Return what the backward of a node was given for one of its outputs."""
    measured = seen.graph[edge.node].measured
    return measured.gradients[edge.nr] if measured is not None and edge.nr < len(measured.gradients) else None


def _shown(values: Values | None) -> str:
    if values is None:
        return "not recorded"
    if values.whole:
        return " ".join(line.strip() for line in values.whole)
    return f"{values.low} to {values.high}" + (f", {values.nans} NaN" if values.nans else "")


def _born_forward(seen: Seen) -> Iterator[Found]:
    """The first node on the way to a result that is not finite, or to a NaN, whose inputs are, as far as infinity was
    not put there; else what was put or was there before."""
    results = {edge.node for edge in seen.outcome() if not_finite(value_of(seen, edge))}
    results |= {root.node for root in seen.graph.roots if not_finite(value_of(seen, Edge(root.node, root.nr))) == "nan"}
    hidden = not results
    sick = _sick_gradients(seen)
    results |= {edge.node for node in sick for edge in node.args}
    results |= {node.id for node in _senders(seen, {node.id for node in sick}) if _carries(seen, node)}
    if not results:
        return
    if (grown := _grown(seen)) is not None:
        yield grown
        return
    placed = _placed(seen)
    for node in seen.graph:
        kind = _kind(seen, node)
        if node.kind != "operation" or not kind or not _makes(seen, node, kind, placed):
            continue
        if node.id in results or _leads_on(seen, node, results):
            yield _birth(seen, node, kind, placed, hidden)
            return
    put = [node for node in seen.graph if node.kind == "operation" and node.id in placed]
    reaching = next((node for node in put if node.id in results or _leads_on(seen, node, results)), None)
    if reaching is not None:
        yield _reaches(seen, reaching)
    else:
        yield from _there_before(seen, results)


def _kind(seen: Seen, node: Node) -> str:
    """`nan` or `inf` where a result has some, NaN first."""
    kinds = [not_finite(value_of(seen, Edge(node.id, nr))) for nr in range(len(node.outputs))]
    return "nan" if "nan" in kinds else max(kinds, default="")


def _placed(seen: Seen) -> set[int]:
    """The nodes with infinity that was put there: a constant, as for a mask, and what came of such alone."""
    found: set[int] = set()
    for node in seen.graph:
        if _kind(seen, node) == "inf":
            texts = [value for _, value in node.constants] + [saved.value for saved in node.saved]
            given = [edge.node for edge in node.args if not_finite(value_of(seen, edge))]
            if node.kind != "operation" or any(map(_NOT_FINITE.search, texts)) or (given and found.issuperset(given)):
                found.add(node.id)
    return found


def _makes(seen: Seen, node: Node, kind: str, placed: set[int]) -> bool:
    """Return whether NaN or infinity is of the operation itself."""
    given = {edge.node: not_finite(value_of(seen, edge)) for edge in node.args}
    if kind == "nan":
        return all(not what or (what == "inf" and number in placed) for number, what in given.items())
    return node.id not in placed and not any(given.values())


def _senders(seen: Seen, targets: set[int]) -> Iterator[Node]:
    """The nodes that ran and sent a gradient to one of these."""
    for number in seen.reached:
        if any(edge is not None and edge.node in targets for edge in seen.graph[number].next):
            yield seen.graph[number]


def _carries(seen: Seen, node: Node) -> bool:
    """Return whether it computed with NaN, or made some, before any gradient came."""
    return _kind(seen, node) == "nan" or any(not_finite(value_of(seen, edge)) == "nan" for edge in node.args)


def _reaches(seen: Seen, node: Node) -> Found:
    facts = tuple(dict.fromkeys(f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}" for edge in node.args))
    given = [edge for edge in node.args if not_finite(value_of(seen, edge))]
    said = f"the infinity of {seen.shown(given[0])}" if given else f"the infinity that {where(node)} puts in"
    remedy = _UNPICKED if not given or _is_mask(value_of(seen, given[0])) else _WHERE_MADE
    return Found(f"{said} reaches the result", node.source, facts, (node.id,), remedy)


def _is_mask(values: Values | None) -> bool:
    """Return whether there is infinity below all numbers alone, as in a mask."""
    text = "" if values is None else " ".join((*values.whole, values.low, values.high))
    return "-inf" in text and "inf" not in text.replace("-inf", "")


def _there_before(seen: Seen, results: set[int]) -> Iterator[Found]:
    """The leaves and inputs with a NaN that leads to a result, in the first kept step in which there are some."""
    given = [node for node in seen.graph if node.kind != "operation" and _kind(seen, node) == "nan"]
    given = [node for node in given if node.id in results or _leads_on(seen, node, results)]
    earlier = [step.number for step in seen.trace.steps if step.number < seen.step.number]
    if not given or any(_sick_gradients(Seen(seen.trace, step)) for step in seen.trace.steps if step.number in earlier):
        return
    if given[0].computes:
        made, remedy = _undefined(seen, given[0])
        said = f"{seen.shown(Edge(given[0].id))}, made without a gradient, has NaN"
        facts = (f"it is made by {where(given[0])}",)
        if made is not given[0]:
            facts, said = (said,), f"the first NaN is made by {where(made)}"
        yield Found(said, made.source, facts, (made.id, given[0].id), remedy or _WHERE_MADE)
        return
    given = [node for node in given if not node.computes]
    names = [seen.shown(Edge(node.id)) for node in given]
    listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    said = f"{listed} had NaN when step {seen.step.nth} began"
    users = seen.users.get(Edge(given[0].id), [])
    unkept = seen.step.number - 1 - max(earlier, default=-1)
    facts = (f"{unkept} steps before it were not kept",) if unkept > 1 else ("the step before it was not kept",)
    again = f"`autograph explain --steps all {seen.trace.script}`"
    remedy = f"It was made in an earlier step: record them too, {again}. " if unkept else ""
    remedy += _WHERE_MADE
    nodes = tuple(node.id for node in given)
    told = facts if unkept else ()
    adam = _adam_in_half(seen, given)
    if adam is not None:
        yield Found(said, adam, (*told, f"{adam.text} has no eps"), nodes, _LARGER_EPS, _NO_EPS)
    elif (far := first_update(seen)) is not None and all(node.kind == "leaf" for node in given):
        yield Found(f"{said}, and {far[1]}", far[0], told, nodes, SMALLER_RATE, TOO_FAR)
    else:
        yield Found(said, users[0].source if users else None, told, nodes, remedy)


def _grown(seen: Seen) -> Found | None:
    """Weights that grew by orders of magnitude since the first step, until the loss was not finite."""
    first, optimizers = Seen(seen.trace, seen.of_kind[0]), list(_rates(seen))
    leaves = [node for node in seen.graph if node.kind == "leaf" and node.outputs[0].names]
    sizes = {n.outputs[0].names[0]: largest(value_of(first, Edge(n.id))) for n in first.graph if n.outputs[0].names}
    for leaf in leaves if len(optimizers) == 1 and first.step is not seen.step else ():
        name, now = leaf.outputs[0].names[0], largest(value_of(seen, Edge(leaf.id))) or 0.0
        was = sizes.get(name) or 0.0
        if now > RUN_AWAY * max(was, 1.0):
            source, cls, rate, _ = optimizers[0]
            far = first_update(seen)
            said = f"the numbers of {name} went up to {was:.2g} in step {first.step.nth}, and to {now:.2g} in step "
            facts = (f"{cls} at {line_of(source)} has lr={rate:g}",) if far is None else (far[1],)
            return Found(f"{said}{seen.step.nth}", source, facts, (leaf.id,), SMALLER_RATE, TOO_FAR)
    return None


def first_update(seen: Seen) -> tuple[Source, str, str] | None:
    """The line of the optimizer, what its first update is, and of which parameter, where that is larger than the
    weights themselves."""
    first = Seen(seen.trace, seen.of_kind[0])
    for source, name, rate, moved in _rates(seen) if first.step is not seen.step else ():
        for leaf in first.graph:
            sizes = largest(value_of(first, Edge(leaf.id))), largest(gradient_of(first, Edge(leaf.id)))
            weights, slope = (size or 0.0 for size in sizes)
            update = rate * (slope if name == "SGD" else float(slope > 0))
            known = leaf.kind == "leaf" and bool(leaf.outputs[0].names)
            # Gradients may be clipped or scaled before the step.
            if known and 0 < weights < update < float("inf") and (moved < 0 or moved > update / 2):
                said = f"the update of {leaf.outputs[0].names[0]} in step {first.step.nth}, by {name} with lr={rate:g} "
                said += f"at {source.file}:{source.line}, goes up to {update:.2g}, and its numbers to {weights:.2g}"
                return source, said, leaf.outputs[0].names[0]
    return None


def _rates(seen: Seen) -> Iterator[tuple[Source, str, float, float]]:
    """The line of each optimizer, its class, the rate of its first step, and by how much that moved; of a trace without
    a ledger, the rate that the line names as a plain number."""
    if seen.trace.ledger is not None:
        book = Book(seen.trace.ledger)
        for number, known in enumerate(book.ledger.optimizers):
            for step in book.steps_of(number)[:1]:
                if known.source is not None and known.cls in ("SGD", *_ADAPTIVE):
                    yield known.source, known.cls, step.rate, step.norm
        return
    for line, call in script_parts(seen, ast.Call):
        name, rate = called(call), _rate(call)
        if rate is not None and name in ("SGD", *_ADAPTIVE):
            yield line, name, rate, -1.0


def _rate(call: ast.Call) -> float | None:
    """The learning rate that an optimizer is given as a plain number."""
    given = [*(word.value for word in call.keywords if word.arg == "lr"), *call.args[1:2]]
    value = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return float(value) if isinstance(value, (int, float)) else None


def _adam_in_half(seen: Seen, leaves: list[Node]) -> Source | None:
    """The line of an optimizer that divides by the root of a mean of squares and eps, in float16, which has no 1e-8."""
    if any(node.kind != "leaf" or node.outputs[0].type.dtype != "float16" for node in leaves):
        return None
    adaptive = ((line, call) for line, call in script_parts(seen, ast.Call) if called(call) in _ADAPTIVE)
    return next((line for line, call in adaptive if all(x.arg not in ("eps", None) for x in call.keywords)), None)


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


def _birth(seen: Seen, node: Node, kind: str, placed: set[int], hidden: bool) -> Found:
    word = {"nan": "NaN", "inf": "infinity"}[kind]
    facts = tuple(dict.fromkeys(f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}" for edge in node.args))
    half = kind == "inf" and node.outputs[0].type.dtype == "float16"
    remedy = "float16 ends at 65504: compute this in float32 or bfloat16, or make the numbers smaller." if half else ""
    most = max((size for edge in node.args if (size := largest(value_of(seen, edge))) is not None), default=0.0)
    if kind == "inf" and not half and most > _LARGE.get(node.outputs[0].type.dtype, float("inf")):
        remedy = "The result is larger than its type can hold: make the numbers smaller, or use a larger type."
    given = [value_of(seen, edge) for edge in node.args if edge.node in placed]
    if given and not all(map(_is_mask, given)):
        remedy = _WHERE_MADE
    elif given:
        remedy = "The infinity that it is given was put there: let no row be masked whole, which leaves nothing to "
        remedy += "divide by, or mask with a large finite number, such as -1e9."
    elif hidden:
        remedy = "Change the input of the operation, not its result: torch.where(x > 0, x, 1) before it."
    elif kind == "nan":
        remedy = _too_few(seen, node) or remedy
    reason = "The result leaves it out, and the gradient does not: zero times NaN is NaN." if hidden else ""
    return Found(f"the first {word} is made by {where(node)}", node.source, facts, (node.id,), remedy, reason)


def _too_few(seen: Seen, node: Node) -> str:
    """Return what to do where an operation is NaN for it has too few numbers to go over; empty where it has some."""
    ignored, targets = dict(node.plain).get("ignore_index"), value_of(seen, node.args[-1]) if node.args else None
    if targets and set(_NUMBER.findall(" ".join((*targets.whole, targets.low, targets.high)))) == {ignored}:
        return _PASSED_OVER.format(ignored)
    sizes = [prod(seen.graph[edge.node].outputs[edge.nr].type.shape) for edge in (*node.args[:1], Edge(node.id))]
    if len(sizes) < 2 or sizes[0] > sizes[1] or node.op not in (*_SPREADS, "mean"):
        return ""
    return _NONE if not sizes[0] else _ALONE if node.op in _SPREADS else ""


def _undefined(seen: Seen, node: Node) -> tuple[Node, str]:
    """The operation without a gradient that a NaN surely comes from, and what to do; else the node itself."""
    behind = [node]
    for each in behind:
        others = (seen.graph[edge.node] for edge in each.args)
        behind += [other for other in others if other.kind == "untracked" and other not in behind]
    found = ((each, _too_few(seen, each)) for each in sorted(behind, key=lambda each: each.id))
    return next(((each, remedy) for each, remedy in found if remedy), (node, ""))


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
            if any(node.id in sick or _carries(seen, node) for node, _ in senders):
                continue  # a gradient may be a sum: who sent the NaN had it before
            # Of several, a product makes infinity only of numbers that are large already, others mostly at a zero.
            for node, after in sorted(senders, key=lambda sender: _rank(seen, sender[0])):
                if _keeps_numbers(node) and (hidden or not _is_sick(seen, node)):
                    yield _gradient_birth(seen, node, after)
                    return


def _rank(seen: Seen, node: Node) -> tuple[bool, bool]:
    """Return whether an operation is no likely one to make infinity: a product, or one that nothing is zero at."""
    edges = [*node.args, *(Edge(node.id, nr) for nr in range(len(node.outputs)))]
    return node.op in _PRODUCTS, not any(zeros_in(value_of(seen, edge)) for edge in edges)


def _edges_to(node: Node, target: int) -> list[Edge]:
    return [edge for edge in node.next if edge is not None and edge.node == target]


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
    reason, remedy = _words(seen, node)
    nodes = (node.id, *(edge.node for edge in after))
    return Found(said, made_by.source or node.source, tuple(dict.fromkeys(facts)), nodes, remedy, reason)


def _words(seen: Seen, node: Node) -> tuple[str, str]:
    """Reason and remedy of NaN or infinity that a backward makes, where the derivative need not be infinite there."""
    if node.is_custom:
        return (
            f"The backward of {node.op} was given numbers, and computed what is none.",
            "See what it divides by, and what it multiplies: a small number under the line, or torch.where before it.",
        )
    given = [value_of(seen, edge) for edge in node.args]
    given += [gradient_of(seen, Edge(node.id, nr)) for nr in range(len(node.outputs))]
    most = max((size for values in given if (size := largest(values)) is not None), default=0.0)
    if most == float("inf"):
        return (
            "It was given infinity: the difference of two, or zero times infinity, is NaN.",
            "Keep infinity out of it: let no row be masked whole, or mask with a large finite number, such as -1e9.",
        )
    if most > _LARGE.get(node.outputs[0].type.dtype, float("inf")):
        return (
            f"Products of such numbers are larger than {node.outputs[0].type.dtype} can hold.",
            "Make the numbers or the loss smaller, or compute this in a type with a larger range; in half precision, "
            "scale the loss with torch.amp.GradScaler.",
        )
    return "", ""


def _keeps_numbers(node: Node) -> bool:
    """Return whether a backward computes with numbers of the forward pass; what is linear makes no NaN of finite
    gradients."""
    return any(kept.type is not None and not kept.type.dtype.startswith(("bool", "int", "uint")) for kept in node.saved)


def _dead(seen: Seen) -> Iterator[Found]:
    """An operation of one tensor that makes zeros of negative numbers, and whose backward passes on nothing but zeros,
    though it is one that may pass on others."""
    elsewhere = [step for step in seen.trace.steps if step is not seen.step]
    alive = {_seat(node) for step in elsewhere for node in step.graph if _is_alive(Seen(seen.trace, step), node)}
    for node in seen.graph if seen.is_last_of_kind else ():
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
        off = many and _is_negative(value_of(seen, edge)) and _keeps_numbers(node) and not over_one(seen, node)
        if off and largest(made) == 0 and largest(passed) == 0 and largest(given):
            facts = (f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}",)
            said = f"{where(node)} makes zeros only, and passes on no gradient"
            yield Found(said, node.source, facts, (node.id,), "" if _trained(seen) else _UNTRAINED)


def _is_negative(values: Values | None) -> bool:
    """Return whether all numbers are below zero."""
    texts = [] if values is None else [text for line in values.whole for text in _NUMBER.findall(line)] or [values.high]
    return bool(texts) and all(text and float(text) < 0 for text in texts)


def _trained(seen: Seen) -> bool:
    """Return whether parameters may have changed before the first kept step, or it is the only one."""
    return seen.trace.steps[0].number > 0 or seen.trace.steps[0] is seen.step


def over_one(seen: Seen, node: Node) -> bool:
    """Return whether an operation goes along a dimension in which there is one number."""
    dim = next((saved.value for saved in node.saved if saved.name in ("_saved_dim", "dim")), "")
    shape = seen.graph[node.args[0].node].outputs[node.args[0].nr].type.shape
    return bool(shape) and dim.lstrip("-").isdigit() and -len(shape) <= int(dim) < len(shape) and shape[int(dim)] == 1


def _seat(node: Node) -> tuple[object, ...]:
    return node.source, node.op, node.module


def _is_alive(seen: Seen, node: Node) -> bool:
    """Return whether an operation of one tensor makes anything but zeros."""
    return len(node.args) == 1 and bool(largest(value_of(seen, Edge(node.id))))


def given_count(seen: Seen, edge: Edge) -> int:
    """Return how many numbers a tensor has, where they were recorded."""
    values = value_of(seen, edge)
    return 0 if values is None else values.count


_ADAPTIVE = ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop")
_NO_EPS = "In float16 its eps of 1e-8 is 0, and so is the square of a small gradient: it divides by zero."
_LARGER_EPS = "Keep the parameters in float32 and use torch.autocast with a GradScaler; in float16, eps=1e-4."
TOO_FAR = (
    "An update that is larger than what it changes throws the weights past where the gradient leads, further each time."
)
SMALLER_RATE = (
    "Use a learning rate that is smaller by orders of magnitude, clip the gradients, or bring the data near to one."
)
_SPREADS = ("std", "var", "std_mean", "var_mean")
_ALONE = "Pass unbiased=False, or leave it out where there is one number: the deviation is divided by n - 1."
_NONE = "It is given no numbers, and divides by how many there are: leave it out where there are none."
_PASSED_OVER = "All its targets are {}, which it passes over: leave the batch out, or let it keep some of its targets."
_UNPICKED = "Let the loss pick nothing that is masked, or mask with a large finite number, such as -1e9."
_WHERE_MADE = "What is given from outside, such as data, is to be looked at where it is made."
_UNTRAINED = "Use other initial values, of the bias first, or an activation with a slope everywhere."
_VALUES = ("values",)
RULES = (
    Rule("AG301", "NaN or infinity is born in the forward pass",
        "Every number that is computed from it, and every gradient that goes through it, is lost.",
        "Keep its inputs in the domain: clamp them, add a small number, or use a stable form such as log_softmax, "
        "log1p or logsumexp.",
        _born_forward, _VALUES),
    Rule("AG302", "NaN or infinity is born in the backward pass",
        "The derivative at this point is infinite, and zero times infinity is NaN, under torch.where as well.",
        "Change the input of the operation, not its result: torch.where(x > 0, x, 1) before it, a small number under a "
        "root, norm, logarithm or fraction.",
        _born_backward, _VALUES),
    Rule("AG305", "dead units",
        "Where all inputs are in the flat part of an activation, nothing before it gets a gradient, and so nothing "
        "changes.",
        "Use a smaller learning rate, other initial values of the bias, or an activation with a slope everywhere.",
        _dead, _VALUES),
)  # fmt: skip
