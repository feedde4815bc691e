"""The first step of the layered layout: which row each box stands in."""

from __future__ import annotations

from collections.abc import Sequence

SWEEPS = 6

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


def _shorten(row: list[int], edges: Sequence[Edge], root_below: bool) -> None:
    """Move each box, within what its edges allow, to the side where it has more of them."""
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
            if not up and not down:
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


def _stacked(row: Sequence[int], band: Sequence[int]) -> list[int]:
    """Number the rows in use from 0, those of the lowest number of a band first."""
    used = sorted({(band[number], level) for number, level in enumerate(row)})
    position = {key: number for number, key in enumerate(used)}
    return [position[band[number], level] for number, level in enumerate(row)]
