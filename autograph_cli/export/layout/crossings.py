"""How many arrows of a picture cross."""

from __future__ import annotations

from itertools import combinations, pairwise

from autograph_cli.export.layout.placed import Placed, Point

STEPS = 3
"""Straight pieces that a curve is taken for."""
Piece = tuple[float, float, float, float, Point, Point]
"""A straight line: its left, top, right and bottom, and its ends."""


def crossings(placed: Placed, most: int) -> int:
    """Return how many pairs of arrows cross, but where they begin or end together; up to this many are counted."""
    ways = [[_piece(a, b) for a, b in pairwise(line.points(STEPS)) if a != b] for line in placed.lines]
    around = [
        (min(p[0] for p in way), min(p[1] for p in way), max(p[2] for p in way), max(p[3] for p in way), way)
        for way in ways
        if way
    ]
    count = 0
    for (left, top, right, bottom, way), (its_left, its_top, its_right, its_bottom, other) in combinations(around, 2):
        if left > its_right or its_left > right or top > its_bottom or its_top > bottom:
            continue
        if way[0][4] == other[0][4] or way[-1][5] == other[-1][5]:
            continue
        area = max(left, its_left), max(top, its_top), min(right, its_right), min(bottom, its_bottom)
        near = _within(other, *area)
        if near and any(_meet(a, b) for a in _within(way, *area) for b in near):
            count += 1
            if count >= most:
                break
    return count


def _piece(a: Point, b: Point) -> Piece:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]), a, b


def _within(way: list[Piece], left: float, top: float, right: float, bottom: float) -> list[Piece]:
    """The pieces that reach into an area."""
    return [p for p in way if p[0] <= right and left <= p[2] and p[1] <= bottom and top <= p[3]]


def _meet(one: Piece, other: Piece) -> bool:
    if one[0] > other[2] or other[0] > one[2] or one[1] > other[3] or other[1] > one[3]:
        return False
    (a, b), (c, d) = one[4:], other[4:]
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
