"""Numbers of the wrong size: a gradient that one operation makes huge, and data that were never brought near to one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from math import prod

from autograph_cli.findings.book import at, book_of
from autograph_cli.findings.calls import made_at
from autograph_cli.findings.linear import layer_of
from autograph_cli.findings.numbers import (
    SMALLER_RATE,
    TOO_FAR,
    first_update,
    gradient_of,
    largest,
    not_finite,
    value_of,
)
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import moves, shape_of, span_of
from autograph_cli.graph import Edge, Node, Values
from autograph_cli.graph.cuts import LISTED, where

HUGE = 1e8
"""The ratio to the gradient that the pass began with which is too much for a leaf."""
JUMP = 1e4
"""The ratio of its results to its arguments from which on an operation is blamed."""
_NORMS = ("native_batch_norm", "native_layer_norm", "native_group_norm", "cudnn_batch_norm")
_BYTE = 255.0
MANY = 64


def _huge(seen: Seen) -> Iterator[Found]:
    """The operation that makes the gradient of a leaf huge by itself, as a division by nearly nothing does."""
    if not seen.graph.passes or any(not_finite(value_of(seen, edge)) for edge in seen.outcome()):
        return
    start = max((largest(gradient_of(seen, edge)) or 1.0 for edge in seen.outcome()), default=1.0)
    leaves = [seen.graph[number] for number in sorted(seen.differentiated) if seen.graph[number].kind == "leaf"]
    sizes = {node.id: largest(gradient_of(seen, Edge(node.id))) or 0.0 for node in leaves}
    found: dict[int, list[Node]] = {}
    yield from _by_leaf(seen, [leaf for leaf in leaves if HUGE * max(start, 1.0) < sizes[leaf.id] < float("inf")])
    for leaf in leaves:
        if HUGE * max(start, 1.0) < sizes[leaf.id] < float("inf"):
            blamed = _blamed(seen, leaf)
            if blamed is not None:
                found.setdefault(blamed.id, []).append(leaf)
    for number, hit in found.items():
        node = seen.graph[number]
        names = ", ".join(seen.name(Edge(leaf.id)) for leaf in hit[:5])
        came, passed = _came(seen, node), _passed(seen, node)
        said = f"the gradient of {names} goes up to {max(sizes[leaf.id] for leaf in hit):.2g}, by {where(node)}"
        facts = [f"the gradient that came to it goes up to {came:.2g}, and what it passes on to {passed:.2g}"]
        facts += [f"given {seen.shown(edge)} = {_shown(value_of(seen, edge))}" for edge in dict.fromkeys(node.args)]
        yield Found(said, node.source, tuple(facts), (number, *(leaf.id for leaf in hit)))


def _by_leaf(seen: Seen, hit: list[Node]) -> Iterator[Found]:
    """The parameters that begin with huge numbers, by which they multiply the gradient of others."""
    leaves = [seen.graph[number] for number in sorted(seen.reached)] if hit and seen.step is seen.of_kind[0] else []
    for leaf in leaves:
        size = largest(value_of(seen, Edge(leaf.id))) or 0.0
        if leaf.kind == "leaf" and leaf.outputs[0].names and HUGE < size < float("inf"):
            name = seen.name(Edge(leaf.id))
            hurt = [seen.name(Edge(each.id)) for each in hit[:LISTED]]
            said = f"{name} begins with numbers up to {size:.2g}, and multiplies the gradient of {', '.join(hurt)}"
            sizes = [largest(gradient_of(seen, Edge(each.id))) or 0.0 for each in hit[:LISTED]]
            facts = (f"the gradient of {each} goes up to {most:.2g}" for each, most in zip(hurt, sizes, strict=True))
            about = tuple(seen.name(Edge(each.id)) for each in leaves if each.kind == "leaf")
            yield Found(said, made_at(seen, name), tuple(facts), (leaf.id,), _SMALL, _LARGE, covers=about)


def _came(seen: Seen, node: Node) -> float:
    return max((largest(gradient_of(seen, Edge(node.id, nr))) or 0.0 for nr in range(len(node.outputs))), default=0.0)


def _passed(seen: Seen, node: Node) -> float:
    after = [edge for edge in node.next if edge is not None]
    return max((largest(gradient_of(seen, edge)) or 0.0 for edge in after), default=0.0)


def _blamed(seen: Seen, leaf: Node) -> Node | None:
    """The operation of one number at a time, on the way to a leaf, that multiplies the gradient the most."""
    senders = _senders(seen)
    met, stack, found = {leaf.id}, [leaf.id], list[tuple[float, Node]]()
    while stack:
        for user in senders.get(stack.pop(), ()):
            if user.id in met:
                continue
            met.add(user.id)
            stack.append(user.id)
            came, passed = _came(seen, user), _passed(seen, user)
            large = came > 0 and JUMP * came < passed < float("inf") and len(user.args) <= 2
            if large and not _is_factor(seen, user, passed / came):
                found.append((passed / came, user))
    return max(found, key=lambda one: one[0])[1] if found else None


def _is_factor(seen: Seen, node: Node, ratio: float) -> bool:
    """Return whether it is given as large a number as the gradient grows by, as what scales a loss is, or as where all
    numbers have grown."""
    sizes = [largest(value_of(seen, edge)) or 0.0 for edge in node.args]
    for _, text in node.constants:
        with contextlib.suppress(ValueError):
            sizes.append(abs(float(text)))
    return max(sizes, default=0.0) * 2 > ratio


def _senders(seen: Seen) -> dict[int, list[Node]]:
    found: dict[int, list[Node]] = {}
    for number in seen.reached:
        node = seen.graph[number]
        for edge in node.next if not node.order else ():
            if edge is not None:
                found.setdefault(edge.node, []).append(node)
    return found


def _shown(values: Values | None) -> str:
    if values is None:
        return "not recorded"
    return " ".join(line.strip() for line in values.whole) if values.whole else f"{values.low} to {values.high}"


def _bytes(seen: Seen) -> Iterator[Found]:
    """Data from 0 to 255 that go into weights as they are."""
    met: set[int] = set()
    for node in seen.graph if seen.is_last_of_kind else ():
        layer = layer_of(seen, node)
        if layer is None or _is_normalized(seen, node):
            continue
        given = _first_given(seen, layer.data)
        if given.node in met or seen.graph[given.node].kind not in ("input", "untracked"):
            continue
        met.add(given.node)
        if _is_image(seen, layer.data) or _was_bytes(seen, given):
            numbers = span_of(seen, layer.data)
            if numbers is not None and 0 <= numbers[0] < _BYTE / 8 and 0.75 * _BYTE < numbers[1] <= _BYTE:
                said = f"{seen.shown(given)} goes from {numbers[0]:g} to {numbers[1]:g}, and {where(node)} takes it so"
                source = made_at(seen, seen.name(given)) or node.source
                yield Found(said, source, (f"{seen.shown(layer.leaf)} are its weights",), (given.node, node.id))


def _first_given(seen: Seen, edge: Edge) -> Edge:
    """The tensor by which the script knows the data."""
    while moves(seen.graph[edge.node]) and not seen.graph[edge.node].outputs[edge.nr].names:
        edge = seen.graph[edge.node].args[0]
    return edge


def _is_image(seen: Seen, edge: Edge) -> bool:
    """Return whether each example is a picture of channels, or a row of at least so many numbers, all of one kind."""
    shape = shape_of(seen, edge)
    return len(shape) > 3 or (len(shape) > 1 and prod(shape[1:]) >= MANY and (len(shape) > 2 or shape[1] >= MANY))


def _was_bytes(seen: Seen, edge: Edge) -> bool:
    while moves(seen.graph[edge.node]):
        edge = seen.graph[edge.node].args[0]
        if seen.graph[edge.node].outputs[edge.nr].type.dtype == "uint8":
            return True
    return False


def _is_normalized(seen: Seen, node: Node) -> bool:
    """Return whether what the product makes is normalized next."""
    return any(user.op in _NORMS for user in seen.users.get(Edge(node.id), ()))


def _diverges(seen: Seen) -> Iterator[Found]:
    """A loss that has grown by much since the first step, whose update was larger than the weights."""
    first = Seen(seen.trace, seen.of_kind[0])
    if not seen.is_last_of_kind or first.step is seen.step or seen.trace.failure:
        return
    lines = [{each.graph[edge.node].source for edge in each.outcome()} for each in (first, seen)]
    sizes = [max((_loss(value_of(each, edge)) for edge in each.outcome()), default=0.0) for each in (first, seen)]
    grown = lines[0] == lines[1] and GROWN * max(sizes[0], 1e-6) < sizes[1] < float("inf")
    far = first_update(seen) if grown else None
    if far is not None:
        fact = f"the loss is {sizes[0]:.4g} in step {first.step.nth}, and {sizes[1]:.4g} in step {seen.step.nth}"
        nodes = tuple(edge.node for edge in seen.outcome())
        yield Found(f"the loss grows, and {far[1]}", far[0], (fact,), nodes, about=far[2:])


def _loss(values: Values | None) -> float:
    """Return the size of a loss; one that falls below zero does not grow."""
    text = "".join(values.whole).strip() if values is not None else ""
    return 0.0 if text.startswith("-") else largest(values) or 0.0


def _tested_otherwise(seen: Seen) -> Iterator[Found]:
    """A model that is given numbers of another size without gradients than with them, as data scaled in one place."""
    book = book_of(seen)
    calls = book.of("call") if book else []
    trained = {each.words: each for each in calls if each.made}
    for each in calls:
        other = trained.get(each.words)
        if each.made or other is None or each.at < other.at:
            continue
        if 0 < OTHERWISE * min(each.norm, other.norm) <= max(each.norm, other.norm):
            said = f"{each.words} is tested with numbers up to {each.norm:.4g}, and trained with numbers up to "
            said += f"{other.norm:.4g}"
            yield Found(said, each.source, (f"it is trained{at(other.source)}",))


_SMALL = "Begin with numbers near to one."
_LARGE = "What is multiplied by it gets a gradient as many times as large, and one step throws it far away."
OTHERWISE = 20.0
"""The ratio of sizes of numbers that were scaled in one place and not in the other."""
GROWN = 100.0
"""The factor by which a loss must have grown to be told."""
_VALUES = ("values",)
RULES = (
    Rule("AG311", "one operation makes a gradient huge",
        "Here its derivative is huge, like a root's, a logarithm's or a fraction's near zero: one step throws the leaf "
        "far away.",
        "Keep its input away from there: clamp it, or add a small number to what is under the root or the fraction.",
        _huge, _VALUES),
    Rule("AG312", "data from 0 to 255",
        "Weights begin for numbers near to one: with such data the first steps are too large by orders of magnitude, "
        "and activations are in their flat parts.",
        "Scale the data once, x / 255, or subtract the mean and divide by the deviation; the same for testing.",
        _bytes, _VALUES),
    Rule("AG313", "the loss diverges", TOO_FAR, SMALLER_RATE, _diverges, _VALUES),
    Rule("AG314", "tested with data of another scale",
        "Weights suit numbers like the ones they were trained on: tested with others, it is another model.",
        "Scale the data of training and testing in one place, by the same numbers.",
        _tested_otherwise, ledger=True),
)  # fmt: skip
