"""The second step of the layered layout: long edges become chains of points, and rows an order with few crossings."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random

from msgspec import Struct

from autograph_cli.export.ranks import Edge

SMALL, LARGE = 2_000, 20_000
"""Points up to which many sweeps, and some, are worth their time."""
POINTS_PER_BOX = 30
"""Points of long edges that one box may cost on average; beyond, the longest edges lead straight across."""


Ends = Mapping[tuple[int, int], float]
TRIES, FEW = 2, 300
"""Further orders by chance that are tried where edges cross between so few points."""


class _Fine(Struct, frozen=True):
    """For each point, in the order of its neighbours: where on them its edges end, and where on itself."""

    above: list[list[float]]
    below: list[list[float]]
    here: list[list[float]]
    """On itself, of the edges that lead down."""


class Web(Struct, frozen=True):
    """Points in rows, joined from row to row: first the boxes, then one point for each row that an edge crosses."""

    rows: list[list[int]]
    chains: list[list[int]]
    """For each edge the points that it visits, from the upper end to the lower one."""
    row: list[int]
    above: list[list[int]]
    below: list[list[int]]


def weave(
    count: int,
    edges: Sequence[Edge],
    row: Sequence[int],
    fixed: Mapping[int, list[int]] | None = None,
    *,
    from_below: bool = False,
    ends: Ends | None = None,
    quick: bool = False,
) -> Web:
    """Put a point on every row that an edge crosses, and order the points of each row; of `fixed` rows it is given.

    `ends`: where edges, by number, end on their upper (0) or lower (1) box if that is told, from -0.5 to 0.5.
    The first order follows the edges from the top, or `from_below`; where edges still cross, and the graph is not
    big, the other way is tried too; not if it is to be `quick`.
    """
    rows = list(row)
    spans = [abs(row[tail] - row[head]) for tail, head in edges]
    longest = _longest(spans, POINTS_PER_BOX * count + 1_000)
    chains = []
    for (tail, head), span in zip(edges, spans, strict=True):
        upper, lower = (tail, head) if row[tail] <= row[head] else (head, tail)
        if span > longest:
            chains.append([upper, lower])
            continue
        points = range(len(rows), len(rows) + span - 1)
        rows.extend(range(row[upper] + 1, row[lower]))
        chains.append([upper, *points, lower])
    above: list[list[int]] = [[] for _ in rows]
    below: list[list[int]] = [[] for _ in rows]
    for chain in chains:
        for upper, lower in pairwise(chain):
            if rows[lower] - rows[upper] == 1:
                below[upper].append(lower)
                above[lower].append(upper)
    best: Web | None = None
    fewest = 0
    fine = _fine(chains, rows, ends)
    for order in _first_orders(rows, above, below, from_below):
        web = Web(order, chains, rows, above, below)
        for number, its in (fixed or {}).items():
            web.rows[number][:] = its
        crossings = _uncross(web, fixed or {}, fine, quick=quick)
        if best is None or crossings < fewest:
            best, fewest = web, crossings
        if not fewest or len(rows) > SMALL or quick:
            break
    assert best is not None
    return best


def _first_orders(
    row: Sequence[int], above: list[list[int]], below: list[list[int]], from_below: bool
) -> Iterator[list[list[int]]]:
    """Yield orders to begin with: along the edges from one end and from the other; then, of few points, any."""
    yield _first_order(row, above, below, from_below)
    yield _first_order(row, above, below, not from_below)
    chance = Random(len(row))
    for _ in range(TRIES if len(row) <= FEW else 0):
        order = _first_order(row, above, below, from_below)
        for points in order:
            chance.shuffle(points)
        yield order


def crossings_in(web: Web, ends: Ends) -> int:
    """Return how many edges cross."""
    position = [0] * len(web.row)
    for points in web.rows:
        _number(points, position)
    return _crossings(web, position, _fine(web.chains, web.row, ends))


def _longest(spans: Sequence[int], limit: int) -> int:
    """The longest span for which all edges up to it cross no more than `limit` rows together."""
    total, longest = 0, max(spans, default=0)
    for span in sorted(spans):
        total += span
        if total > limit:
            return max(1, span - 1)
        longest = span
    return longest


def _first_order(
    row: Sequence[int], above: list[list[int]], below: list[list[int]], from_below: bool
) -> list[list[int]]:
    """Points in the order in which a walk along the edges, deep first, meets them."""
    rows: list[list[int]] = [[] for _ in range(max(row) + 1)]
    met = bytearray(len(row))
    for start in sorted(range(len(row)), key=lambda number: (-row[number] if from_below else row[number], number)):
        stack = [start]
        while stack:
            number = stack.pop()
            if met[number]:
                continue
            met[number] = 1
            rows[row[number]].append(number)
            stack.extend(other for other in reversed(above[number] + below[number]) if not met[other])
    return rows


def _fine(chains: Sequence[Sequence[int]], row: Sequence[int], ends: Ends | None) -> _Fine | None:
    if not ends:
        return None
    fine = _Fine([[] for _ in row], [[] for _ in row], [[] for _ in row])
    for number, chain in enumerate(chains):
        first, last = ends.get((number, 0), 0.0), ends.get((number, 1), 0.0)
        for upper, lower in pairwise(chain):
            if row[lower] - row[upper] == 1:
                here, there = first if upper == chain[0] else 0.0, last if lower == chain[-1] else 0.0
                fine.above[lower].append(here)
                fine.below[upper].append(there)
                fine.here[upper].append(here)
    return fine


def _uncross(web: Web, fixed: Container[int], fine: _Fine | None, *, quick: bool) -> int:
    """Sort rows by the middle of their neighbours, down and up in turn, and keep the best order that was met.

    Returns how many edges cross.
    """
    free = [points for number, points in enumerate(web.rows) if number not in fixed]
    size = len(web.row)
    sweeps = 24 if size <= SMALL and not quick else 8 if size <= LARGE else 2
    position = [0] * size
    for points in web.rows:
        _number(points, position)
    best, fewest, since = [list(points) for points in web.rows], _crossings(web, position, fine), 0
    for sweep in range(sweeps):
        if fewest == 0 or since > 6:
            break
        down = sweep % 2 == 0
        near = web.above if down else web.below
        parts = None if fine is None else fine.above if down else fine.below
        for points in free if down else reversed(free):
            wanted = {
                number: _median(_seen(near[number], position, None if parts is None else parts[number]))
                for number in points
            }
            _sort_some(points, wanted)
            _number(points, position)
        if size <= SMALL and not quick:
            _swap(web, position, free, fine, even=sweep % 4 > 1)
        crossings = _crossings(web, position, fine)
        since += 1
        if crossings < fewest:
            best, fewest, since = [list(points) for points in web.rows], crossings, 0
    web.rows[:] = best
    return fewest


def _number(points: list[int], position: list[int]) -> None:
    for number, point in enumerate(points):
        position[point] = number


def _seen(near: Iterable[int], position: Sequence[int], parts: Sequence[float] | None) -> list[float]:
    """Return where a point sees its neighbours."""
    if parts is None:
        return [position[other] for other in near]
    return [position[other] + part for other, part in zip(near, parts, strict=True)]


def _median(values: list[float]) -> float | None:
    if not values:
        return None
    values.sort()
    half = len(values) // 2
    if len(values) % 2:
        return float(values[half])
    if len(values) == 2:
        return (values[0] + values[1]) / 2
    left, right = values[half - 1] - values[0], values[-1] - values[half]
    return (values[half - 1] * right + values[half] * left) / (left + right) if left + right else float(values[half])


def _sort_some(points: list[int], wanted: dict[int, float | None]) -> None:
    """Sort by what is wanted; those that want nothing keep their positions."""
    movable = [point for point in points if wanted[point] is not None]
    movable.sort(key=lambda point: wanted[point] or 0.0)
    following = iter(movable)
    points[:] = [point if wanted[point] is None else next(following) for point in points]


def _swap(web: Web, position: list[int], free: Sequence[list[int]], fine: _Fine | None, *, even: bool) -> None:
    """Swap neighbours as long as that saves crossings; at first also where it makes no difference, if `even`."""
    sides: tuple[tuple[list[list[int]], list[list[float]] | None], ...] = ((web.above, None), (web.below, None))
    if fine is not None:
        sides = ((web.above, fine.above), (web.below, fine.below))
    for turn in range(4):
        least = 0 if even and turn == 0 else 1
        swapped = False
        for points in free:
            for left in range(len(points) - 1):
                a, b = points[left], points[left + 1]
                saved = 0
                for near, parts in sides:
                    its = _seen(near[a], position, None if parts is None else parts[a])
                    others = _seen(near[b], position, None if parts is None else parts[b])
                    saved += _pairs(its, others) - _pairs(others, its)
                if saved >= least and (saved or web.above[a] or web.below[a]):
                    points[left], points[left + 1] = b, a
                    position[a], position[b] = left + 1, left
                    swapped = True
        if not swapped:
            return


def _pairs(left: list[float], right: list[float]) -> int:
    """Crossings between the edges of two neighbours that stand in this order."""
    return sum(a > b for a in left for b in right)


def _crossings(web: Web, position: list[int], fine: _Fine | None) -> int:
    total = 0
    if fine is not None:
        return sum(_crossings_below(web, points, position, fine) for points in web.rows)
    for points in web.rows:
        ends = [sorted(position[other] for other in web.below[point]) for point in points]
        total += _inversions([end for row in ends for end in row])
    return total


def _crossings_below(web: Web, points: Sequence[int], position: Sequence[int], fine: _Fine) -> int:
    """Crossings below a row, those between edges that have their own positions on one box included."""
    lines = sorted(
        (position[point] + here, position[other] + there)
        for point in points
        for other, here, there in zip(web.below[point], fine.here[point], fine.below[point], strict=True)
    )
    rank = {end: number for number, end in enumerate(sorted({end for _, end in lines}))}
    return _inversions([rank[end] for _, end in lines])


def _inversions(values: list[int]) -> int:
    """The number of pairs that stand in falling order, by a tree of counts."""
    size = max(values, default=-1) + 1
    tree = [0] * (size + 1)
    count = 0
    for seen, value in enumerate(values):
        smaller, index = 0, value + 1
        while index:
            smaller += tree[index]
            index &= index - 1
        count += seen - smaller
        index = value + 1
        while index <= size:
            tree[index] += 1
            index += index & -index
    return count
