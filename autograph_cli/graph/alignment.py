"""The longest common part of two sequences, by Myers' greedy way: quick where they differ in little."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence

MOST_EDITS = 1_500
"""Sequences that differ in more are paired item by item, in order."""


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions with equal items, rising on both sides and as many as there can be.

    >>> align("abcd", "axcd")
    [(0, 0), (2, 2), (3, 3)]
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    inner = _myers(old[start : len(old) - end], new[start : len(new) - end])
    pairs = [(position, position) for position in range(start)]
    pairs += [(one + start, other + start) for one, other in inner]
    return pairs + [(len(old) - position, len(new) - position) for position in range(end, 0, -1)]


def _myers(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    if not old or not new:
        return []
    reached = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(len(old) + len(new), MOST_EDITS) + 1):
        history.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(reached, diagonal, edits)
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _back(history, len(old), len(new))
    return _in_order(old, new)


def _step(reached: dict[int, int], diagonal: int, edits: int) -> int:
    down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
    return reached[diagonal + 1] if down else reached[diagonal - 1] + 1


def _back(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reached, diagonal = history[edits], x - y
        start = _step(reached, diagonal, edits)
        while x > start and y > start - diagonal:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
        x, y = (x, y - 1) if down else (x - 1, y)
    return pairs[::-1]


def _in_order(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Each item with the next free equal one; rising on the old side only."""
    positions: dict[Hashable, deque[int]] = defaultdict(deque)
    for position, item in enumerate(new):
        positions[item].append(position)
    return [(position, positions[item].popleft()) for position, item in enumerate(old) if positions.get(item)]
