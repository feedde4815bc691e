"""Models whose results hang on what they are not to: other examples of the batch, and what is later."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograph_cli.findings import last_layer, reshaped
from autograph_cli.findings.book import line_that
from autograph_cli.findings.records import Found, Rule, Seen

_LOADER = re.compile(r"^[^#]*DataLoader\(")
_CAUSAL = re.compile(r"^[^#]*(triu|tril|causal|square_subsequent_mask)")


def _influences(seen: Seen) -> Iterator[Found]:
    """Yield what was found when models were called again with a part of what they were given changed."""
    if not seen.is_last or seen.trace.failure:
        return
    loaded = line_that(seen, _LOADER.match) is not None
    told = [one for rule in (*reshaped.RULES, *last_layer.RULES) if rule.code in _CAUSES for one in rule.find(seen)]
    for notice in seen.trace.notices:
        # Rows are examples where a loader made them: else they may be one sequence, or a set.
        if (notice.kind == "examples" or (notice.kind == "rows" and loaded)) and not told:
            yield Found(notice.name, notice.source)
        elif notice.kind == "future" and not told:
            masked = line_that(seen, _CAUSAL.match)
            remedy = _MASK if masked else _ONE_WAY
            yield Found(notice.name, masked or notice.source, (), (), remedy, _LEAK)


_CAUSES = ("AG506", "AG510")
"""The rules that tell of an operation by which examples come together."""
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
    Rule(
        "AG511",
        "a result hangs on other examples, or on what is later",
        "The examples of a batch come together by chance: what one takes from another is noise, and is not there where "
        "the model is used.",
        "Look at views, and at the dimension of each softmax, sum and norm: dimension 0 holds the examples.",
        _influences,
        ("independence",),
    ),
)
