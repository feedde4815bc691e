"""Losses that are given what they are not made for, and reductions that lose digits."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograph_cli.findings.numbers import over_one
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import maker
from autograph_cli.graph import Edge, Node
from autograph_cli.graph.cuts import where

_SOFTMAX = ("softmax", "log_softmax", "_softmax", "_log_softmax")
_NORMS = ("native_layer_norm", "native_group_norm")
_MORE = "Take it off, or let it go over more numbers."
_BIAS = "No gradient goes through it to what is before: nothing but the bias is learned."
_TWICE = {
    "log_softmax": ("softmax", "_softmax"),
    "_log_softmax": ("softmax", "_softmax"),
    "binary_cross_entropy_with_logits": ("sigmoid",),
    "logsumexp": ("softmax", "_softmax"),
}
"""The losses that take any numbers, and the operations that they repeat."""
_SUMS = ("sum", "nansum", "cumsum")
_EXACT = {"float16": 2_048, "bfloat16": 256}
"""Up to here whole numbers are exact: what is added to more is rounded to it."""


def _over_one(seen: Seen) -> Iterator[Found]:
    for node in seen.graph:
        if node.op in _SOFTMAX and not node.order and node.args and over_one(seen, node):
            dim = next(saved.value for saved in node.saved if saved.name in ("_saved_dim", "dim"))
            given = seen.shown(node.args[0])
            said = f"{where(node)} is over dimension {dim} of {given}, in which there is one number"
            yield Found(said, node.source, ("its result is the same whatever it is given",), (node.id,))
        elif node.op in _NORMS and not node.order and len(node.outputs) > 1:
            count, means = prod(node.outputs[0].type.shape), prod(node.outputs[1].type.shape)
            if count == means:
                said = f"{where(node)} is over one number at a time of {seen.shown(node.args[0])}"
                fact = "what is less its own mean is 0: its result is the bias, whatever it is given"
                yield Found(said, node.source, (fact,), (node.id,), _MORE, _BIAS)


def _twice(seen: Seen) -> Iterator[Found]:
    for node in seen.graph:
        if node.order or not node.args:
            continue
        made = maker(seen, node.args[0])
        if made.op in _TWICE.get(node.op, ()) and (node.op != "logsumexp" or _is_normalized(seen, node)):
            said = f"{where(node)} is given the result of {where(made)}, and is to be given what that was given"
            remedy = "Pass probs= where probs are given, or take the softmax off." if node.op == "logsumexp" else ""
            yield Found(said, node.source, (), (made.id, node.id), remedy)


def _is_normalized(seen: Seen, node: Node) -> bool:
    """Return whether the logarithm of a sum is subtracted from what it is of, as distributions do with scores."""
    return any(user.op == "sub" and user.args[0] == node.args[0] for user in seen.users.get(Edge(node.id), ()))


def _in_half(seen: Seen) -> Iterator[Found]:
    for node in seen.graph:
        if node.op not in _SUMS or node.order or node.kind != "operation" or not node.args:
            continue
        made, given = node.outputs[0].type, seen.graph[node.args[0].node].outputs[node.args[0].nr].type
        exact = _EXACT.get(made.dtype)
        terms = _terms(node, given.shape)
        if exact is not None and given.dtype == made.dtype and terms > exact:
            said = f"{where(node)} adds up {terms} numbers in {made.dtype}"
            fact = f"{made.dtype} has every whole number up to {exact}, and from there on only some"
            yield Found(said, node.source, (fact, f"given {seen.shown(node.args[0])}"), (node.id,))


def _terms(node: Node, shape: tuple[int, ...]) -> int:
    """Return how many numbers go into each one of the result."""
    made = node.outputs[0].type.shape
    dim = next((saved.value for saved in node.saved if saved.name == "_saved_dim"), "")
    if made == shape:  # cumsum and its like
        return shape[int(dim)] if dim.lstrip("-").isdigit() and shape else 1
    return prod(shape) // max(prod(made), 1)


RULES = (
    Rule("AG502", "a softmax, or a norm, over one number",
        "It is 1 for one class, and its logarithm 0: the loss is a constant, and nothing is learned.",
        "Give the model an output for each class, or use binary_cross_entropy_with_logits for two.",
        _over_one),
    Rule("AG503", "a loss is given what it makes itself",
        "The probabilities are squeezed twice: the gradient is small, and the loss never gets near zero.",
        "Take the softmax or sigmoid off the model: cross_entropy and binary_cross_entropy_with_logits have it in "
        "them.",
        _twice),
    Rule("AG504", "many numbers are added up in half precision",
        "The result has 8 or 11 bits, whatever the kernel does within: small differences are lost, and large sums "
        "overflow.",
        "Add up in float32, sum(dtype=torch.float32), or take the mean.",
        _in_half),
)  # fmt: skip
