"""The third step of the layered layout: how far to the right each point of each row is."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from autograph_cli.export.layout.ordering import SMALL, Web
from autograph_cli.export.ranks import groups

GAP, NARROW = 20.0, 9.0
"""Points between two boxes, and between two lines or a line and a box."""

LONG = 1_000
"""The number of boxes that count, inside a frame, for those on the way to one of its ports."""

Aside = Mapping[tuple[int, int], float]

GIVING = 1e-4
"""The weight of what gives way to all else in its row."""
MAIN = 4
"""The ratio of lengths from which on the nodes below two ways stand straight under the longer one."""
AROUND = 1e-6
"""The weight of the points of an edge that leads past a way between the same two boxes, such as a skip connection."""


def across(
    web: Web,
    widths: Sequence[float],
    count: int,
    *,
    root_below: bool,
    aside: Aside | None = None,
    main: Container[int] = (),
) -> list[float]:
    """The x of the middle of each point; `widths` of the first `count`, the boxes, and of the points of long edges.

    `aside` tells how far to the right of its middle a point would like another to stand, 0 where it does not say.
    What leads to one of `main`, or from it, stands straight under it.
    Each sweep puts every point of a row under (or over) the middle of its neighbours as nearly as the row has room.
    """
    steps = [_steps(points, widths, count) for points in web.rows]
    x = [0.0] * len(web.row)
    for points, step in zip(web.rows, steps, strict=True):
        for point, position in zip(points, step, strict=True):
            x[point] = position - step[-1] / 2
    from_above = _depths(web.rows, web.above, count, main)
    from_below = _depths(web.rows[::-1], web.below, count, main)
    around = _around(web, from_above)
    weight = [AROUND if point in around else 1.0 if point < count else 6.0 for point in range(len(web.row))]
    above, below = _Side(_past(web.above, around), from_above), _Side(_past(web.below, around), from_below)
    upper = _pulls(web.rows, above, below, weight)
    lower = _pulls(web.rows[::-1], below, above, weight)
    backwards = steps[::-1]
    sweeps, still = 12 if len(web.row) <= SMALL else 6, 0
    for sweep in range(sweeps):
        before = x[:]
        # The last sweep leads to the roots, so that what has several inputs stands in the middle of them.
        down = (sweeps - sweep) % 2 == root_below
        for (row, leaders, heavy), step in zip(*(upper, steps) if down else (lower, backwards), strict=True):
            wanted = [
                x[point] if those is None else _wish(point, those, x, aside)
                for point, those in zip(row, leaders, strict=True)
            ]
            if len(row) > 1:
                wanted = packed(wanted, heavy, step)
            for point, position in zip(row, wanted, strict=True):
                x[point] = position
        still = still + 1 if x == before else 0
        if still == 2:  # neither the way down nor the way up moves anything
            break
    _straighten(web, x, widths, count)
    _close_up(web, x, widths, count)
    return x


def _steps(points: Sequence[int], widths: Sequence[float], count: int) -> list[float]:
    """Return where each point of a row would be if all stood as close as they may."""
    steps = [0.0]
    for left, right in pairwise(points):
        steps.append(steps[-1] + _apart(left, right, widths, count))
    return steps


def _apart(left: int, right: int, widths: Sequence[float], count: int) -> float:
    """Return how far the middles of two neighbours must be apart."""
    return (widths[left] + widths[right]) / 2 + (GAP if left < count and right < count else NARROW)


def _straighten(web: Web, x: list[float], widths: Sequence[float], count: int) -> None:
    """Give as many successive points of a long edge as there is room for one x."""
    position = {point: number for points in web.rows for number, point in enumerate(points)}

    def bounds(point: int) -> tuple[float, float]:
        points, number = web.rows[web.row[point]], position[point]
        low, high = float("-inf"), float("inf")
        if number:
            low = x[points[number - 1]] + _apart(points[number - 1], point, widths, count)
        if number + 1 < len(points):
            high = x[points[number + 1]] - _apart(point, points[number + 1], widths, count)
        return low, high

    for chain in web.chains:
        run: list[int] = []
        low, high = float("-inf"), float("inf")
        for point in [*chain[1:-1], None]:
            its = (float("inf"), float("-inf")) if point is None else bounds(point)
            if max(low, its[0]) > min(high, its[1]) + 1e-9:
                goal = _middle([x[other] for other in run] or [0.0])
                for other in run:
                    x[other] = min(max(goal, low), high)
                run, (low, high) = [], its
            else:
                low, high = max(low, its[0]), min(high, its[1])
            if point is not None:
                run.append(point)


def _close_up(web: Web, x: list[float], widths: Sequence[float], count: int) -> None:
    """Move the parts of the graph that hang together to the left as far as there is room."""
    part = groups(len(web.row), (edge for chain in web.chains for edge in pairwise(chain)))
    before: dict[int, list[tuple[int, int | None]]] = {}
    for points in web.rows:
        for left, right in zip([None, *points], points, strict=False):
            if left is None or part[left] != part[right]:
                before.setdefault(part[right], []).append((right, left))
    edge = min(x[point] - widths[point] / 2 for point in range(len(x)))
    members: dict[int, list[int]] = {}
    for point, its in enumerate(part):
        members.setdefault(its, []).append(point)
    for its in sorted(members, key=lambda its: min(x[point] for point in members[its])):
        slack = min(
            x[point] - (edge + widths[point] / 2 if left is None else x[left] + _apart(left, point, widths, count))
            for point, left in before[its]
        )
        for point in members[its]:
            x[point] -= slack


def _depths(
    rows: Sequence[Sequence[int]], near: Sequence[Sequence[int]], count: int, main: Container[int]
) -> list[int]:
    """For each point the most boxes on a way that leads to it, itself included; one of `main` counts for many."""
    deep = [0] * len(near)
    for points in rows:
        for point in points:
            own = LONG if point in main else int(point < count)
            deep[point] = max([deep[other] for other in near[point]], default=0) + own
    return deep


def _around(web: Web, from_above: Sequence[int]) -> set[int]:
    """The points of edges that lead past a longer way between the same two boxes."""
    around: set[int] = set()
    for chain in web.chains:
        upper, lower = chain[0], chain[-1]
        at = max(web.above[lower], key=from_above.__getitem__, default=upper)
        if len(chain) == 2 or at == chain[-2]:
            continue
        while web.row[at] > web.row[upper] and web.above[at]:
            at = max(web.above[at], key=from_above.__getitem__)
        if at == upper:
            around.update(chain[1:-1])
    return around


def _past(near: Sequence[Sequence[int]], around: Container[int]) -> list[Sequence[int]]:
    """The neighbours of each point without those that lead around, if there are others."""
    return [[other for other in its if other not in around] or its if len(its) > 1 else its for its in near]


class _Side(NamedTuple):
    """The neighbours of each point above it, or below it, and the most boxes on a way that leads to it from there."""

    near: Sequence[Sequence[int]]
    deep: Sequence[int]


Pull = tuple[Sequence[int], list[Sequence[int] | None], list[float]]
"""The points of a row, what each follows in a sweep (None if it stays), and how much it weighs."""


def _pulls(rows: Sequence[Sequence[int]], side: _Side, other: _Side, weight: Sequence[float]) -> list[Pull]:
    """Return the pull on each row in a sweep from one side."""
    pulls: list[Pull] = []
    for points in rows:
        leaders: list[Sequence[int] | None] = [
            None
            if not side.near[point] or _joins(point, other.near[point], side.deep)
            else _leaders(side.near[point], side.deep)
            for point in points
        ]
        heavy = [
            GIVING if those is None else weight[point] * other.deep[point] ** 2
            for point, those in zip(points, leaders, strict=True)
        ]
        pulls.append((points, leaders, heavy))
    return pulls


def _joins(point: int, far: Sequence[int], deep: Sequence[int]) -> bool:
    """Return whether a short branch joins a much longer way here: it stays where the other sweep has put it."""
    least = MAIN * deep[point]
    return any(least < deep[other] for other in far)


def _leaders(near: Sequence[int], deep: Sequence[int]) -> Sequence[int]:
    """The main way, where one is much longer than all others; else all neighbours."""
    if len(near) > 1:
        longest = max(near, key=deep.__getitem__)
        if all(MAIN * deep[other] <= deep[longest] for other in near if other != longest):
            return [longest]
    return near


def _wish(point: int, leaders: Sequence[int], x: Sequence[float], aside: Aside | None) -> float:
    """The middle of what a point follows."""
    if aside is not None:
        return _middle([x[other] + aside.get((other, point), 0.0) for other in leaders])
    return x[leaders[0]] if len(leaders) == 1 else _middle([x[other] for other in leaders])


def _middle(values: list[float]) -> float:
    """The median; of an even number, the middle of the two inner ones."""
    values.sort()
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def packed(wanted: Sequence[float], weight: Sequence[float], steps: Sequence[float]) -> list[float]:
    """The positions nearest to those wanted that are as far apart as `steps`, by pooling adjacent violators."""
    pools: list[tuple[float, float, int]] = []
    for goal, heavy, step in zip(wanted, weight, steps, strict=True):
        mean, total, size = goal - step, heavy, 1
        while pools and pools[-1][0] > mean:
            before, its, many = pools.pop()
            mean = (before * its + mean * total) / (its + total)
            total, size = its + total, many + size
        pools.append((mean, total, size))
    shifts = [mean for mean, _, size in pools for _ in range(size)]
    return [shift + step for shift, step in zip(shifts, steps, strict=True)]
