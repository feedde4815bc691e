"""Marks the nodes of both graphs at which two runs part, for a picture or a page."""

from __future__ import annotations

from typing import Literal

from autograph_cli.graph.divergence import Divergence
from autograph_cli.graph.parting import Parting

Mark = Literal["first", "other", "alone"]
"""`first`: where the numbers part; `other`: other results, or gradients where these part; `alone`: without a like."""
Marks = dict[int, Mark]


def front(found: Divergence) -> tuple[Marks, Marks]:
    """Return the marks of the nodes of the old graph and of the new one; none where the runs do not part.

    >>> front(Divergence("equal"))
    ({}, {})
    """
    aligned, parting = found.aligned, found.parting
    if aligned is None or parting is None:
        return {}, {}
    old: Marks = {node.id: "alone" for node in aligned.old if node.id not in aligned.pairs}
    new: Marks = {node.id: "alone" for node in aligned.new if node.id not in aligned.likes}
    parted = {number for (number, _), each in aligned.results.items() if each.level == "parted"}
    for one in aligned.strayed if parting.backward else parted:
        old[one] = new[aligned.pairs[one]] = "other"
    # A collective is no node of the graph: what follows from it is not the first.
    first: Mark = "first" if found.exchanged is None else "other"
    for marks, numbers in zip((old, new), _first(parting), strict=True):
        marks.update(dict.fromkeys(numbers, first))
    return old, new


def _first(parting: Parting) -> tuple[set[int], set[int]]:
    """The nodes at which it begins."""
    old = {*parting.olds, *(() if parting.old is None or parting.olds else (parting.old,))}
    new = {*parting.news, *(() if parting.new is None or parting.news else (parting.new,))}
    if parting.kind == "cut" and parting.ends is not None:
        (new if parting.lost else old).add(parting.ends)
    return old, new
