"""Views that were meant to change the order of dimensions, and change which numbers belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

from autograph_cli.findings.calls import classes
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import shape_of
from autograph_cli.graph import Edge, Node
from autograph_cli.graph.cuts import where

_VIEWS = ("view", "_unsafe_view", "_reshape_alias", "reshape")
_PADS = ("cat", "constant_pad_nd", "pad", "zeros", "ones", "arange", "linspace")
"""Operations that change the length of rows on purpose, to shift them by a view, or whose results have no order."""


def crosses(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a view puts parts of two dimensions into one, where each is cut: neither a split nor a merge.

    >>> crosses((5, 4, 6), (4, 5, 6)), crosses((2, 10, 64), (2, 8, 10, 8)), crosses((3, 4, 8, 8), (3, 64, 4))
    (True, True, True)
    >>> crosses((2, 10, 64), (2, 10, 8, 8)), crosses((2, 12), (6, 4)), crosses((4, 3, 5), (12, 5))
    (False, False, False)
    """
    old, new = ([side for side in shape if side != 1] for shape in (before, after))
    if prod(old) != prod(new) or old == new or 0 in old:
        return False
    if len(new) > 1 and Counter(old) == Counter(new):
        return True  # the same sides in another order
    return _is_merged_in_another_order(old, new) or _cuts_two(old, new)


def _is_merged_in_another_order(old: list[int], new: list[int]) -> bool:
    """Return whether sides are what (C, H, W) has as (HW, C): merges of neighbours, in another order than they stood
    in."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    old, new = old[same:], new[same:]
    if len(old) < 3 or len(new) != 2:
        return False
    splits = [(prod(old[:at]), prod(old[at:])) for at in range(1, len(old))]
    return (new[1], new[0]) in splits and (new[0], new[1]) not in splits


def _cuts_two(old: list[int], new: list[int]) -> bool:
    """Return whether some side of the result begins and ends within two different sides that it was made of."""
    ends_old, ends_new = _ends(old), _ends(new)
    if any(later % earlier for earlier, later in pairwise(sorted(ends_old | ends_new))):
        return True
    bounds = sorted(ends_new)
    for low, high in pairwise([1, *bounds]):
        if low not in ends_old | {1} and high not in ends_old and any(low < end < high for end in ends_old):
            return True
    return False


def _ends(sides: Sequence[int]) -> set[int]:
    """Return how many numbers lie within the last one, two, ... dimensions."""
    return {prod(sides[at:]) for at in range(len(sides))}


def _views(seen: Seen) -> Iterator[Found]:
    """Views that mix dimensions: of several that do the same, and of one that turns back another, the first."""
    told: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Node]] = {}
    for node in _mixing(seen):
        before, after = shape_of(seen, node.args[0]), shape_of(seen, Edge(node.id))
        if not any(then[:2] == after[:2] and now[:2] == before[:2] for then, now in told):
            told.setdefault((before, after), []).append(node)
    for (_, after), nodes in told.items():
        node = nodes[0]
        said = f"{where(node)} reads {seen.shown(node.args[0])} as {list(after)}, and so mixes its dimensions"
        facts = [
            f"row 0 of the result has the first {prod(after[1:])} numbers in memory, whichever dimension they are of"
        ]
        facts += [f"{where(other)} does the same" for other in nodes[1:] if other.source != node.source]
        yield Found(said, node.source, tuple(dict.fromkeys(facts)), tuple(each.id for each in nodes))


def _mixing(seen: Seen) -> Iterator[Node]:
    for node in seen.graph if seen.is_last_of_kind else ():
        if node.op not in _VIEWS or len(node.args) != 1 or node.order or not _counts(seen, node):
            continue
        before, after = shape_of(seen, node.args[0]), shape_of(seen, Edge(node.id))
        made = seen.graph[node.args[0].node]
        if made.op not in _PADS and made.kind != "leaf" and crosses(before, after):
            yield node


def _counts(seen: Seen, node: Node) -> bool:
    """Return whether it is in the user's own lines, and goes into what is differentiated."""
    following = [user for user in seen.users.get(Edge(node.id), ()) if not user.order]
    return (
        node.source is not None and bool(following) and node.kind in ("operation", "untracked") and _is_own(seen, node)
    )


def _is_own(seen: Seen, node: Node) -> bool:
    """Return whether the script itself has the module in which a node is made, if it is in one."""
    cls = "" if node.call is None else seen.graph.calls[node.call].cls
    return not cls or not seen.scripts or cls in classes(seen)


RULES = (
    Rule("AG510", "a view where a permutation is meant",
        "A view keeps the order of the numbers in memory and cuts it elsewhere: examples, times and channels end up in "
        "one another.",
        "Use permute or transpose to change the order of dimensions; view and reshape only split or merge neighbours.",
        _views),
)  # fmt: skip
