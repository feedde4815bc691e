"""Models whose results hang on what they are not to: other examples of the batch, and what is later."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from autograph_cli.findings import last_layer, reshaped, targets
from autograph_cli.findings.book import line_that
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import shape_of
from autograph_cli.graph import Edge, Node, Source

_LOADER = re.compile(r"^[^#]*DataLoader\(")
_CAUSAL = re.compile(r"^[^#]*(triu|tril|causal|square_subsequent_mask)")


def _influences(seen: Seen) -> Iterator[Found]:
    """Yield what was found when models were called again with a part of what they were given changed."""
    if not seen.is_last or seen.trace.failure:
        return
    loaded = line_that(seen, _LOADER.match) is not None
    told = [
        one
        for rule in (*reshaped.RULES, *last_layer.RULES, *targets.RULES)
        if rule.code in _CAUSES
        for one in rule.find(seen)
    ]
    for notice in seen.trace.notices:
        # Rows are examples where a loader made them: else they may be one sequence, or a set.
        if (notice.kind == "examples" or (notice.kind == "rows" and loaded)) and not told:
            yield Found(notice.name, notice.source, (), (), _first(seen, notice.source))
        elif notice.kind == "in order" and (loss := _predicts(seen, 0)) and not told:
            said = f"the loss at {line_of(loss.source)} compares each result with what was given at the same place"
            yield Found(said, loss.source, (notice.name,), (loss.id,), _NEXT, _COPIES)
        elif (notice.kind == "future" or (notice.kind == "later" and _predicts(seen, 1))) and not told:
            masked = line_that(seen, _CAUSAL.match)
            remedy = _MASK if masked else _ONE_WAY
            yield Found(notice.name, masked or notice.source, (), (), remedy, _LEAK)


def _first(seen: Seen, source: Source | None) -> str:
    """Return what to do where a recurrent layer takes dimension 0 for the times; empty where none does."""
    here = (node for node in seen.graph if node.source and line_of(node.source) == line_of(source))
    given = (edge for node in here for edge in node.args)
    return _BATCH_FIRST if any(seen.name(edge).endswith("weight_hh_l0") for edge in given) else ""


_BATCH_FIRST = "Make the layer with batch_first=True: else dimension 0 of what it is given is the times, not the batch."


def _predicts(seen: Seen, later: int) -> Node | None:
    """Return the loss whose targets are the indices that an embedding was given, so many places later; None if none."""
    given = [(rows, shape_of(seen, node.args[-1])) for node in seen.graph if (rows := _indices(seen, node))]
    for node in seen.graph:
        target = _numbers(seen, node.args[1]) if node.op in last_layer.NLL and len(node.args) > 1 else ()
        for rows, shape in given if target and len(set(target)) > 1 else ():
            size = shape[-1]
            ahead = [rows[at + later : at + size] for at in range(0, len(rows), size)]
            short = len(target) != len(rows)
            own = size - later if short else size
            behind = [target[at : at + size - later] for at in range(0, len(target), own)]
            if ahead == behind and size > later + 1:
                return node
    return None


def _indices(seen: Seen, node: Node) -> tuple[int, ...]:
    """The indices of sequences that an embedding was given."""
    two = node.op == "embedding" and len(node.args) > 1 and len(shape_of(seen, node.args[-1])) == 2
    return _numbers(seen, node.args[-1]) if two else ()


def _numbers(seen: Seen, edge: Edge) -> tuple[int, ...]:
    """The whole numbers of a tensor, where all of them were kept."""
    measured = seen.graph[edge.node].measured
    exact = measured.exact[edge.nr] if measured is not None and edge.nr < len(measured.exact) else None
    if exact is None or not exact.data or exact.kind not in _WHOLE:
        return ()
    return struct.unpack(f"<{exact.count}{_WHOLE[exact.kind]}", exact.data)


_WHOLE = {"i8": "q", "i4": "i"}
_COPIES = "What is to be predicted is there to be copied: the loss falls, and nothing is learned of what comes next."
_NEXT = "Give the model all but the last, ids[:, :-1], and compare with all but the first, ids[:, 1:]."
_CAUSES = ("AG506", "AG510", "AG514")
"""The rules that tell of an operation by which examples come together, or that was to keep times apart."""
_LEAK = "A model that sees what it is to predict learns to copy it, and has nothing to copy where it is used."
_ONE_WAY = (
    "Let a time take in nothing later: a causal mask, layers of one direction, convolutions that are padded before the "
    "first time alone; and no mean, norm or softmax over the times."
)
_MASK = (
    "Look at which value of the mask hides, and at what it is added to: True hides in MultiheadAttention and shows in "
    "scaled_dot_product_attention; before the softmax, what is hidden is -inf."
)
RULES = (
    Rule("AG511", "a result hangs on other examples, or on what is later",
        "The examples of a batch come together by chance: what one takes from another is noise, and is not there where "
        "the model is used.",
        "Look at views, and at the dimension of each softmax, sum and norm: dimension 0 holds the examples.",
        _influences, ("independence",)),
)  # fmt: skip
