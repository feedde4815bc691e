"""The last layer against its loss: what it can never be, what it is normalized over, what the loss makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograph_cli.findings.numbers import over_one, value_of
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import (
    behind_moves,
    ends_in_loss,
    is_given,
    maker,
    moves,
    plain_op,
    saved_value,
    shape_of,
    span,
    span_of,
    weights,
)
from autograph_cli.graph import Edge, Node
from autograph_cli.graph.cuts import where

_INF = float("inf")
_RANGES = {
    "relu": (0.0, _INF), "softplus": (0.0, _INF), "exp": (0.0, _INF), "sigmoid": (0.0, 1.0), "hardsigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0), "tanh": (-1.0, 1.0),
}  # fmt: skip
"""The range of values that an activation can make."""
_BOUNDS = {"hardtanh": ("min_val", "max_val"), "clamp": ("min", "max")}
"""The arguments that tell what these can make."""
_CTC = ("_ctc_loss", "ctc_loss")
_CTC_WORDS = (
    "Use log_softmax before ctc_loss.",
    "It makes what is picked grow, without limit: nothing makes the others smaller.",
)
NLL = ("nll_loss_forward", "nll_loss", "nll_loss2d_forward", "nll_loss2d", "nll_loss_nd")
DIFFERENCES = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
_LOGITS = "binary_cross_entropy_with_logits"
_PROBABILITIES = ("softmax", "_softmax", "sigmoid")
PART = 0.05
"""The part of the targets' span that must be out of reach."""
ROUNDING = 1e-3


def range_of(node: Node) -> tuple[float, float] | None:
    """The lowest and the highest number that an activation can make; None of what is none, or has no bounds."""
    op = plain_op(node)
    if op in _BOUNDS:
        low, high = (saved_value(node, name) for name in _BOUNDS[op])
        return (_number(low, -_INF), _number(high, _INF)) if low or high else None
    return _RANGES.get(op.removeprefix("_"))


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _forward(seen: Seen) -> Iterator[Node]:
    """The operations that backward calls ran and that are no derivatives."""
    yield from (node for node in seen.graph if node.id in seen.reached and not node.order and node.args)


def compared(seen: Seen) -> Iterator[tuple[Node, Edge, Edge]]:
    """The operations that take a difference which ends in a loss, the predictions, and the targets."""
    for node in _forward(seen):
        two = len(node.args) == 2 and node.kind == "operation"
        if two and (node.op in DIFFERENCES or (node.op in ("sub", "rsub") and ends_in_loss(seen, Edge(node.id)))):
            for made, given in (node.args, node.args[::-1]):
                if is_given(seen, given) and not is_given(seen, made):
                    yield node, made, given


def _words(low: float, high: float) -> str:
    if high == _INF:
        return f"never below {low:g}"
    return f"never above {high:g}" if low == -_INF else f"always between {low:g} and {high:g}"


def _out_of_reach(seen: Seen) -> Iterator[Found]:
    for node, made, given in compared(seen):
        last = maker(seen, made)
        reach, targets = range_of(last), span_of(seen, given)
        if reach is None or targets is None or last.kind != "operation":
            continue
        missed = max(reach[0] - targets[0], targets[1] - reach[1])
        if missed > PART * (targets[1] - targets[0]) and missed > ROUNDING:
            said = f"the predictions of {where(last)} are {_words(*reach)}, and the targets of {where(node)} are not"
            facts = (f"{seen.shown(given)} goes from {targets[0]:.4g} to {targets[1]:.4g}",)
            yield Found(said, last.source, facts, (last.id, node.id))


def _squeezed(seen: Seen) -> Iterator[Found]:
    """Yield what takes any numbers, and is given those of an activation that makes a part of them."""
    for node in _forward(seen):
        if node.op == "binary_cross_entropy":
            inner = maker(seen, node.args[0])
            taker, given = (inner, inner.args[0]) if plain_op(inner) == "sigmoid" else (node, None)
        else:
            is_logits = node.op == _LOGITS or (node.op in ("log_softmax", "_log_softmax") and _is_loss(seen, node))
            taker, given = node, node.args[0] if is_logits else None
        last = None if given is None else maker(seen, given)
        reach = None if last is None else range_of(last)
        if last is None or reach is None or _is_double(node, last) or last.kind != "operation":
            continue
        said = f"{where(taker)}, which takes any numbers, is given those of {where(last)}, {_words(*reach)}"
        yield Found(said, taker.source, (), (last.id, taker.id), _UNSQUEEZED, _reason(node, reach))


def _is_loss(seen: Seen, node: Node) -> bool:
    users = seen.users.get(Edge(node.id), ())
    return any(user.op in NLL for user in users) or ends_in_loss(seen, Edge(node.id))


def _is_double(node: Node, last: Node) -> bool:
    """Return whether it is that which AG503 tells of."""
    op = plain_op(last).removeprefix("_")
    return op == "softmax" if "softmax" in node.op else node.op == _LOGITS and op == "sigmoid"


def _reason(node: Node, reach: tuple[float, float]) -> str:
    if "softmax" in node.op:
        least = "no class can have a score below 0, and where its score is 0 it gets no gradient" * (reach[1] == _INF)
        return f"Scores are to be free: {least or 'within these bounds no probability comes near 0 or 1'}."
    if reach[0] >= 0:
        return "A score of 0 is a probability of one half: none is ever below that."
    return "Within these bounds no probability comes near 0 or 1."


def _targets_out_of_range(seen: Seen) -> Iterator[Found]:
    for node in _forward(seen):
        two = node.op == _LOGITS and len(node.args) > 1 and not is_given(seen, node.args[0])
        targets = span_of(seen, node.args[1]) if two else None
        if targets is not None and (targets[0] < -ROUNDING or targets[1] > 1 + ROUNDING):
            numbers = f"go from {targets[0]:.4g} to {targets[1]:.4g}"
            said = f"the targets of {where(node)} {numbers}, and are to be between 0 and 1"
            facts = (f"they are {seen.shown(node.args[1])}",)
            yield Found(said, node.source, facts, (node.id,), _ZERO_TO_ONE, _ENDLESS)


def _signs(seen: Seen) -> Iterator[Found]:
    """Yield losses of a margin that are given targets 0 and 1: where the target is 0, they hang on nothing."""
    for node in _forward(seen):
        if node.op == "soft_margin_loss":
            targets = [node.args[1]]
        elif plain_op(node) in ("relu", "clamp", "clamp_min") and ends_in_loss(seen, Edge(node.id)):
            inner = maker(seen, node.args[0])
            products = [seen.graph[edge.node] for edge in inner.args if inner.op in ("add", "sub", "rsub")]
            recorded = [one for one in products if one.op == "mul" and one.kind == "operation"]
            targets = [edge for one in recorded for edge in one.args if is_given(seen, edge)]
        else:
            continue
        given = [seen.graph[edge.node].args[0] if seen.graph[edge.node].op == "neg" else edge for edge in targets]
        for edge in given:
            if _is_yes_or_no(seen, edge):
                said = f"{where(node)} multiplies by targets 0 and 1, and is made for -1 and 1"
                yield Found(said, node.source, (f"they are {seen.shown(edge)}",), (node.id,), _SIGNS, _NO_SIGN)


def _reach(seen: Seen) -> Iterator[Found]:
    yield from _out_of_reach(seen)
    yield from _squeezed(seen)
    yield from _targets_out_of_range(seen)
    yield from _signs(seen)


def _over_another(seen: Seen) -> Iterator[Found]:
    yield from _over_batch(seen)
    yield from _over_queries(seen)
    yield from _norms_over_batch(seen)


def _over_batch(seen: Seen) -> Iterator[Found]:
    for node in _forward(seen):
        dim = saved_value(node, "dim")
        if "softmax" not in node.op or not dim.lstrip("-").isdigit() or over_one(seen, node):
            continue
        shape = shape_of(seen, node.args[0])
        over, picked = int(dim) % max(len(shape), 1), _picked(seen, node)
        if len(shape) < 2 or picked == over or (picked is None and (over or not _is_by_example(seen, node))):
            continue
        said = f"{where(node)} is over dimension {over} of {seen.shown(node.args[0])}"
        said += ", that of the examples" if over == 0 else f", and the classes are dimension {picked}"
        remedy = f"Take it over the classes: dim={len(shape) - 1 if picked is None else picked}."
        yield Found(said, node.source, _loss_facts(seen, node), (node.id,), remedy)


def _over_queries(seen: Seen) -> Iterator[Found]:
    """Yield softmaxes of products of two results, as many of each, that go over the first, and weigh results as if it
    were the last; none whose sums are weighed again, as mass that is handed on, or divided by the sums of weights."""
    for node in _forward(seen):
        dim, shape = saved_value(node, "dim"), shape_of(seen, node.args[0])
        if "softmax" not in node.op or len(shape) < 2 or not dim.lstrip("-").isdigit() or shape[-1] != shape[-2]:
            continue
        over_first = int(dim) % len(shape) == len(shape) - 2
        weighed = _weighs(seen, Edge(node.id), len(shape) - 2) if over_first else None
        if weighed is None or _is_shared_out(seen, weighed):
            continue
        scores = seen.graph[node.args[0].node]
        while scores.op in _SCALED or (moves(scores) and scores.op != "transpose"):
            scores = seen.graph[scores.args[0].node]
        pair = [seen.behind([edge], untracked=True) for edge in scores.args] if scores.op in ("bmm", "mm") else []
        both = frozenset.intersection(*map(frozenset, pair)) if len(pair) == 2 and all(pair) else ()
        # Or the scores of a graph's edges are made of the values of their nodes.
        if both or behind_moves(seen, weighed.args[1]).node in seen.behind([node.args[0]]):
            said = f"{where(node)} is over dimension {len(shape) - 2} of {seen.shown(node.args[0])}, and "
            said += f"{where(weighed)} adds up over the last: the weights of one query do not sum to 1"
            yield Found(said, node.source, (f"the scores are made by {where(scores)}",), (node.id, weighed.id),
                        "Take it over what is weighed: dim=-1.", _QUERIES)  # fmt: skip


def _norms_over_batch(seen: Seen) -> Iterator[Found]:
    """Yield products of examples with each other, scores of a softmax, where norms over the examples divide both."""
    for node in _forward(seen):
        both = [_over_examples(seen, edge, first) for edge, first in zip(node.args, (1, 0), strict=False)]
        if node.op == "mm" and all(both) and _scores(seen, Edge(node.id)):
            divided = next(filter(None, both))
            said = f"{where(divided)} divides {seen.shown(divided.args[0])} by norms over dimension 0, that of the "
            yield Found(
                f"{said}examples, and {where(node)} takes the products over dimension 1",
                divided.source, (), (divided.id, node.id), "Take the norm over the features: dim=1.", _NO_COSINE,
            )  # fmt: skip


def _over_examples(seen: Seen, edge: Edge, summed: int) -> Node | None:
    """The division by norms over dimension 0 that made an operand of a product, which adds up over dimension 1."""
    node = seen.graph[edge.node]
    while node.op in ("t", "transpose"):
        edge, summed = node.args[0], 1 - summed
        node = seen.graph[edge.node]
    by = node.args[1] if node.op == "div" and len(node.args) == 2 else edge
    shape, sides = shape_of(seen, edge), shape_of(seen, behind_moves(seen, by))
    while seen.graph[by.node].op in ("expand", "clamp_min", "add", "unsqueeze"):
        by = seen.graph[by.node].args[0]
    norm = "norm" in seen.graph[by.node].op
    return node if norm and summed == 1 and len(shape) == 2 and sides[-2:] in ((1, shape[1]), shape[1:]) else None


def _scores(seen: Seen, edge: Edge) -> bool:
    """Return whether a softmax goes over a result, scaled or masked."""
    users = [user for user in seen.users.get(edge, ()) if not user.order]
    return any("softmax" in user.op or (user.op in _SCALED and _scores(seen, Edge(user.id))) for user in users)


def _weighs(seen: Seen, edge: Edge, dim: int) -> Node | None:
    """The product that takes weights, moved or dropped out, as its first operand, and does not add up over a dimension;
    None where another use is made."""
    users = [user for user in seen.users.get(edge, ()) if not user.order]
    if len(users) != 1:
        return None
    user, shape = users[0], shape_of(seen, edge)
    if user.op in ("bmm", "mm"):
        return user if user.args[0] == edge and dim == len(shape) - 2 else None
    dropped = user.op == "mul" and any(is_given(seen, other) for other in user.args)
    now = _moved_dim(user, dim, shape) if moves(user) and user.op not in _PARTS else dim if dropped else None
    return None if now is None else _weighs(seen, Edge(user.id), now)


def _moved_dim(node: Node, dim: int, shape: tuple[int, ...]) -> int | None:
    """The place of a dimension after an operation that moves numbers; None where that is not known."""
    if node.op == "transpose":
        swapped = [int(saved_value(node, name)) % len(shape) for name in ("dim0", "dim1")]
        return swapped[1 - swapped.index(dim)] if dim in swapped else dim
    if node.op == "permute":
        order = [int(each) % len(shape) for each in saved_value(node, "dims").strip("()").split(",") if each.strip()]
        return order.index(dim)
    made, inner = node.outputs[0].type.shape, prod(shape[dim + 1 :])
    same = (at for at, size in enumerate(made) if size == shape[dim] and prod(made[at + 1 :]) == inner)
    return next(same, None)


def _is_shared_out(seen: Seen, product: Node) -> bool:
    """Return whether a product weighs data, or what was weighed before, or is divided by a part of itself."""
    value, sums = behind_moves(seen, product.args[1]), {Edge(product.id)}
    divided = any(node.op == "div" and {behind_moves(seen, edge) for edge in node.args} == sums for node in seen.graph)
    return divided or is_given(seen, value) or seen.graph[value.node].op == "bmm"


def _loss_facts(seen: Seen, node: Node) -> tuple[str, ...]:
    users = [user for user in seen.users.get(Edge(node.id), ()) if user.op in NLL]
    return tuple(f"nll_loss at {line_of(user.source)} picks a class of each example from it" for user in users[:1])


def _picked(seen: Seen, node: Node) -> int | None:
    """The dimension of the classes, as the loss has it that is given this result or its logarithm; None without."""
    made = Edge(node.id)
    shape = shape_of(seen, made)
    for user in seen.users.get(made, ()):
        if user.op in NLL:
            return 1 if len(shape) > 1 else 0
        if len(shape) == 2 and shape[0] != shape[1] and ends_in_loss(seen, Edge(user.id)):
            counts = [prod(shape_of(seen, index)) for index in user.args[1:]]
            if user.op == "gather" and counts == [shape[0]]:
                return int(saved_value(user, "dim")) % 2
            if user.op == "index" and counts == [shape[0]] * 2:
                return 1
        if user.op in ("log", "add", "clamp") and shape_of(seen, Edge(user.id)) == shape:
            return _picked(seen, user)
    return None


def _is_by_example(seen: Seen, node: Node) -> bool:
    """Return whether dimension 0 is that of examples, each multiplied by the same weights, and all goes into a loss
    beside targets of the same shape."""
    product = maker(seen, node.args[0])
    if product.op not in ("mm", "addmm") or weights(seen, product.args[-1]) is None:
        return False
    if shape_of(seen, node.args[0]) != shape_of(seen, Edge(product.id)):
        return False
    made = Edge(node.id)
    users = [user for user in seen.users.get(made, ()) if not user.order]
    given = [other for user in users for other in user.args if other != made and is_given(seen, other)]
    return ends_in_loss(seen, made) and any(shape_of(seen, other) == shape_of(seen, made) for other in given)


def _raw_scores(seen: Seen) -> Iterator[Found]:
    for node in _forward(seen):
        picks = node.op in (*NLL, *_CTC)
        given = node.args[0] if picks else _kl_input(seen, node)
        numbers = None if given is None else span_of(seen, given)
        if given is None or numbers is None or numbers[1] <= ROUNDING:
            continue
        last = maker(seen, given)
        name = "ctc_loss" if node.op in _CTC else "nll_loss" if picks else "kl_div"
        said = (
            f"{name} at {line_of(node.source)} is given {seen.shown(given)}, which are no logarithms of probabilities"
        )
        facts = (f"they go from {numbers[0]:.4g} to {numbers[1]:.4g}, and are made by {where(last)}",)
        words = ("", _NLL_OF_PROBABILITIES * (plain_op(last) in _PROBABILITIES))
        words = _CTC_WORDS if node.op in _CTC else words
        words = words if picks else (_KL_REMEDY, _KL_REASON)
        yield Found(said, node.source, facts, (last.id, node.id), *words)


def _kl_input(seen: Seen, node: Node) -> Edge | None:
    """Return what `kl_div` compares with targets, t * (log t - given), where this is its difference."""
    if node.op != "sub" or len(node.args) != 2 or seen.graph[node.args[0].node].op != "xlogy":
        return None
    target, product = seen.graph[node.args[0].node].args[0], seen.graph[node.args[1].node]
    others = [edge for edge in product.args if edge != target] if product.op == "mul" else []
    return others[0] if len(others) == 1 and product.source == node.source and is_given(seen, target) else None


def _absolute(seen: Seen) -> Iterator[Found]:
    for node, made, given in compared(seen):
        last = maker(seen, made)
        users = seen.users.get(Edge(node.id), ())
        by_size = node.op == "l1_loss" or (bool(users) and all(user.op == "abs" for user in users))
        alone = len([user for user in seen.users.get(made, ()) if not user.order]) == 1
        if by_size and alone and plain_op(last) in _PROBABILITIES and _is_yes_or_no(seen, given):
            said = (
                f"{where(node)} takes the absolute difference of the probabilities of {where(last)} and targets 0 or 1"
            )
            yield Found(said, node.source, (f"the targets are {seen.shown(given)}",), (last.id, node.id))


def _is_yes_or_no(seen: Seen, edge: Edge) -> bool:
    """Return whether there are zeros and ones, and nothing else."""
    values = value_of(seen, edge) or value_of(seen, behind_moves(seen, edge))
    if values is None or span(values) != (0.0, 1.0):
        return False
    if values.whole:
        return not "".join(values.whole).translate(str.maketrans("", "", "01[], \n"))
    ones = values.count - values.zeros
    return abs(float(values.mean) * values.count - ones) < ROUNDING * ones


_SCALED = ("mul", "div", "masked_fill", "add")
_PARTS = ("diagonal", "select", "slice", "narrow", "unbind", "split", "chunk", "index", "as_strided", "movedim")
_QUERIES = "Queries compete for each key, so what one query takes in hangs on all the others, later ones too."
_NLL_OF_PROBABILITIES = (
    "nll_loss takes no logarithm: given probabilities it is never below -1, and what is wrong by far costs hardly more "
    "than what is nearly right."
)
_UNSQUEEZED = "Take the activation off: the loss is to be given what the last linear layer makes."
_ZERO_TO_ONE = "Give probabilities, or 0 and 1: (target + 1) / 2 of -1 and 1; for several classes use cross_entropy."
_SIGNS = "Make the targets 2 * target - 1, or use binary_cross_entropy_with_logits for 0 and 1."
_NO_SIGN = "Where the target is 0 the loss is the same whatever is predicted: nothing is learned of these examples."
_ENDLESS = "For such a target the loss has no lowest value: it falls for ever, and the scores grow without end."
_NO_COSINE = "A cosine is of two examples, each divided by its own norm: here each feature is, by that of all examples."
_KL_REASON = "kl_div takes the logarithms of what is predicted: of probabilities themselves it says nothing."
_KL_REMEDY = "Give it log_softmax(scores, dim=-1), and the targets as probabilities."
_VALUES = ("values",)
RULES = (
    Rule("AG505", "the last layer cannot make what its loss asks for",
        "These targets cannot be reached, whatever is learned, and where the activation is flat nothing is learned.",
        "Take the activation off the last layer, or bring the targets to its range.",
        _reach, _VALUES),
    Rule("AG506", "a softmax, or a norm, over the examples, or the queries",
        "The examples of a batch compete with each other, and the probabilities of an example do not sum to 1.",
        "Take it over the classes: dim=-1.",
        _over_another),
    Rule("AG507", "nll_loss of raw scores",
        "nll_loss picks one number of each example and makes it grow, without limit: no other is made smaller.",
        "Use log_softmax before nll_loss, or cross_entropy, which has it in it.",
        _raw_scores, _VALUES),
    Rule("AG508", "absolute differences of probabilities",
        "Its lowest value is at 0 or 1, whichever is the more frequent: probabilities go to one class, and the "
        "gradient of a large error is no larger than of a small one.",
        "Use binary_cross_entropy_with_logits or cross_entropy on the scores.",
        _absolute, _VALUES),
)  # fmt: skip
