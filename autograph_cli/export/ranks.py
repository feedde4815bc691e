"""The first step of the layered layout: which row each box stands in."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

SWEEPS = 6
TALL = 90.0
"""Points from which on a box counts as tall, and that are worth a move."""
MOST_TRIED = 1_000_000
"""Pairs of a tall box and another one up to which tall boxes are moved."""

Edge = tuple[int, int]


def rows_of(count: int, edges: Sequence[Edge], band: Sequence[int], *, root_below: bool) -> list[int]:
    """The row of each of `count` boxes, 0 on top; edges inside a band lead down; the root's side has higher bands.

    Boxes stand as near to the roots as edges let them, then move to where their own edges are shortest.
    """
    inner = [(tail, head) for tail, head in edges if band[tail] == band[head]]
    if root_below:
        row = [-height for height in heights(count, inner)]
    else:
        row = heights(count, [(head, tail) for tail, head in inner])
    _shorten(row, inner, root_below)
    _together(row, inner, [edge for edge in edges if band[edge[0]] != band[edge[1]]])
    return _stacked(row, band if root_below else [-number for number in band])


def heights(count: int, edges: Sequence[Edge]) -> list[int]:
    """For nodes 0 to `count`, the length of the longest way along (from, to) edges to an end; linear, no recursion."""
    incoming: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for tail, head in edges:
        incoming[head].append(tail)
        waiting[tail] += 1
    height = [0] * count
    ready = [number for number in range(count) if waiting[number] == 0]
    for number in ready:  # grows while it is walked
        for tail in incoming[number]:
            height[tail] = max(height[tail], height[number] + 1)
            waiting[tail] -= 1
            if waiting[tail] == 0:
                ready.append(tail)
    return height


def acyclic(count: int, edges: Sequence[Edge]) -> bool:
    """Return whether no way along edges leads back to where it began."""
    height = heights(count, edges)
    return all(height[tail] > height[head] for tail, head in edges)


def in_turn(count: int, edges: Iterable[Edge], rank: Callable[[int], Any]) -> list[int]:
    """The nodes 0 to `count`, each after all from which edges lead to it, and of those that can come next that of the
    least rank. Nodes that lead to one another are left out."""
    ahead: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for tail, head in edges:
        ahead[tail].append(head)
        waiting[head] += 1
    ready = [(rank(number), number) for number in range(count) if not waiting[number]]
    heapq.heapify(ready)
    order = []
    while ready:
        order.append(heapq.heappop(ready)[1])
        for head in ahead[order[-1]]:
            waiting[head] -= 1
            if not waiting[head]:
                heapq.heappush(ready, (rank(head), head))
    return order


def _shorten(row: list[int], edges: Sequence[Edge], root_below: bool, still: Container[int] = ()) -> None:
    """Move each box that does not stand `still`, within what its edges allow, to the side where it has more of them."""
    above: list[list[int]] = [[] for _ in row]
    below: list[list[int]] = [[] for _ in row]
    for tail, head in edges:
        above[head].append(tail)
        below[tail].append(head)
    ordered = sorted(range(len(row)), key=row.__getitem__)
    for sweep in range(SWEEPS):
        moved = False
        for number in reversed(ordered) if sweep % 2 == root_below else ordered:
            up, down = above[number], below[number]
            if number in still or not (up or down):
                continue
            pull = len(down) - len(up)
            lower = pull > 0 or (pull == 0 and root_below)
            if lower and down:
                target = min(map(row.__getitem__, down)) - 1
            else:
                target = max(map(row.__getitem__, up)) + 1
            moved |= target != row[number]
            row[number] = target
        if not moved:
            break


def _together(row: list[int], edges: Sequence[Edge], far: Sequence[Edge]) -> None:
    """Move boxes that edges hold together down, all by as much, while this makes more edges shorter than longer.

    Alone, none of them could move: each would draw out the edge to the others. The `far` edges lead into other bands.
    """
    for _ in range(SWEEPS):
        group = groups(len(row), [(tail, head) for tail, head in edges if row[head] == row[tail] + 1])
        slack: dict[int, list[int]] = {}
        pull = Counter(group[tail] for tail, _ in far)
        pull.subtract(group[head] for _, head in far)
        for tail, head in edges:
            if group[tail] != group[head]:
                slack.setdefault(group[tail], []).append(row[head] - row[tail] - 1)
                pull[group[tail]] += 1
                pull[group[head]] -= 1
        by = {key: min(its) for key, its in slack.items() if pull[key] > 0}
        if not by:
            break
        first = max(by, key=lambda key: (by[key], key))
        for number, its in enumerate(group):
            row[number] += by[first] * (its == first)


def groups(count: int, edges: Iterable[Edge]) -> list[int]:
    """For each node the first of all that edges join it with, whichever way they lead."""
    near: list[list[int]] = [[] for _ in range(count)]
    for tail, head in edges:
        near[tail].append(head)
        near[head].append(tail)
    group = [-1] * count
    for start in range(count):
        reached = [start] if group[start] < 0 else []
        for number in reached:  # grows while it is walked
            if group[number] < 0:
                group[number] = start
                reached += near[number]
    return group


def _stacked(row: Sequence[int], band: Sequence[int]) -> list[int]:
    """Number the rows in use from 0, those of the lowest number of a band first."""
    used = sorted({(band[number], level) for number, level in enumerate(row)})
    position = {key: number for number, key in enumerate(used)}
    return [position[band[number], level] for number, level in enumerate(row)]


def side_by_side(
    row: Sequence[int], height: Sequence[float], edges: Sequence[Edge], band: Sequence[int], *, root_below: bool
) -> list[int]:
    """The rows with each tall box moved, as far as its edges allow, to where it adds least to the height of it all."""
    tall = [number for number, high in enumerate(height) if high >= TALL]
    if len(tall) < 2 or len(tall) * len(row) > MOST_TRIED:
        return list(row)
    rows = list(row)
    inner = [(tail, head) for tail, head in edges if band[tail] == band[head]]
    for number in sorted(tall, key=lambda number: (rows[number], number)):
        its = {level for other, level in enumerate(rows) if band[other] == band[number]}
        first = max([rows[tail] + 1 for tail, head in inner if head == number], default=min(its))
        last = min([rows[head] - 1 for tail, head in inner if tail == number], default=max(its))
        beside = dict.fromkeys(range(first, last + 1), 0.0)
        for other, level in enumerate(rows):
            if level in beside and other != number:
                beside[level] = max(beside[level], height[other])
        adds = {level: max(0.0, height[number] - high) for level, high in beside.items() if level in its}
        best = min(adds, key=lambda level: (adds[level], abs(level - rows[number])), default=rows[number])
        if best != rows[number] and adds[best] + TALL <= adds[rows[number]]:
            rows[number] = best
    if rows != list(row):
        between = {tail for tail, _ in inner} & {head for _, head in inner}
        _shorten(rows, inner, root_below, between.union(tall))
    used = {level: place for place, level in enumerate(sorted(set(rows)))}
    return [used[level] for level in rows]
