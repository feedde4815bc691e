"""The second step of the layered layout: long edges become chains of points, and rows an order with few crossings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise
from random import Random

from msgspec import Struct

from autograph_cli.export.ranks import Edge

SMALL, LARGE = 2_000, 20_000
"""Points up to which many sweeps, and some, are worth their time."""
POINTS_PER_BOX = 30
"""Points of long edges that one box may cost on average; beyond, the longest edges lead straight across."""


Ends = Sequence[tuple[tuple[int, int], float]]
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
    fixed: Sequence[tuple[int, Sequence[int]]] = (),
    *,
    from_below: bool = False,
    ends: Ends = (),
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
        for number, its in fixed:
            web.rows[number][:] = its
        crossings = _uncross(web, dict(fixed), fine, quick=quick)
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
    position, fine = _positions(web), _fine(web.chains, web.row, ends)
    return sum(_crossings_below(web, points, position, fine) for points in web.rows)


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


def _fine(chains: Sequence[Sequence[int]], row: Sequence[int], ends: Ends) -> _Fine | None:
    if not ends:
        return None
    at = dict(ends)
    fine = _Fine([[] for _ in row], [[] for _ in row], [[] for _ in row])
    for number, chain in enumerate(chains):
        first, last = at.get((number, 0), 0.0), at.get((number, 1), 0.0)
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
    free = [row for row in range(len(web.rows)) if row not in fixed]
    size = len(web.row)
    sweeps = 24 if size <= SMALL and not quick else 8 if size <= LARGE else 2
    position = _positions(web)
    below = [_crossings_below(web, points, position, fine) for points in web.rows]
    best, fewest, since = [list(points) for points in web.rows], sum(below), 0
    for sweep in range(sweeps):
        if fewest == 0 or since > 6:
            break
        moved = _sort(web, position, free, fine, down=sweep % 2 == 0)
        if size <= SMALL and not quick:
            moved |= _swap(web, position, free, fine, even=sweep % 4 > 1)
        for row in moved | {row - 1 for row in moved if row}:
            below[row] = _crossings_below(web, web.rows[row], position, fine)
        crossings = sum(below)
        since += 1
        if crossings < fewest:
            best, fewest, since = [list(points) for points in web.rows], crossings, 0
    web.rows[:] = best
    return fewest


def _positions(web: Web) -> list[int]:
    position = [0] * len(web.row)
    for points in web.rows:
        _number(points, position)
    return position


def _number(points: list[int], position: list[int]) -> None:
    for number, point in enumerate(points):
        position[point] = number


def _seen(near: Iterable[int], position: Sequence[int], parts: Sequence[float] | None) -> list[float]:
    """Return where a point sees its neighbours."""
    if parts is None:
        return [position[other] for other in near]
    return [position[other] + part for other, part in zip(near, parts, strict=True)]


def _median(values: list[float]) -> float:
    values.sort()
    half = len(values) // 2
    if len(values) % 2:
        return float(values[half])
    if len(values) == 2:
        return (values[0] + values[1]) / 2
    left, right = values[half - 1] - values[0], values[-1] - values[half]
    return (values[half - 1] * right + values[half] * left) / (left + right) if left + right else float(values[half])


def _sort(web: Web, position: list[int], free: Sequence[int], fine: _Fine | None, *, down: bool) -> set[int]:
    """Sort rows by the middle of what is above them, from the top down, or of what is below; return those that changed.

    Points that have nothing there keep their positions.
    """
    near = web.above if down else web.below
    parts = None if fine is None else fine.above if down else fine.below
    moved = set()
    for row in free if down else reversed(free):
        points = web.rows[row]
        wanted = {
            point: _median(_seen(near[point], position, None if parts is None else parts[point]))
            for point in points
            if near[point]
        }
        following = iter(sorted((point for point in points if point in wanted), key=wanted.__getitem__))
        order = [next(following) if point in wanted else point for point in points]
        if order != points:
            points[:] = order
            _number(points, position)
            moved.add(row)
    return moved


def _swap(web: Web, position: list[int], free: Sequence[int], fine: _Fine | None, *, even: bool) -> set[int]:
    """Swap neighbours as long as that saves crossings; at first also where it makes no difference, if `even`.

    Returns the rows that changed. A row is looked at again only where it or one beside it has changed.
    """
    moved: set[int] = set()
    waiting = set(free)
    for turn in range(4):
        following: set[int] = set()
        for row in free:
            if row in waiting and _swapped(web, web.rows[row], position, fine, 0 if even and turn == 0 else 1):
                moved.add(row)
                waiting.add(row + 1)
                following |= {row - 1, row}
        waiting = following
        if not waiting:
            break
    return moved


def _swapped(web: Web, points: list[int], position: list[int], fine: _Fine | None, least: int) -> bool:
    """Swap neighbours of one row where that saves so many crossings; return whether any were."""
    above = [_seen(web.above[point], position, None if fine is None else fine.above[point]) for point in points]
    below = [_seen(web.below[point], position, None if fine is None else fine.below[point]) for point in points]
    swapped = False
    for left in range(len(points) - 1):
        right = left + 1
        saved = _saved(above[left], above[right]) + _saved(below[left], below[right])
        if saved >= least and (saved or above[left] or below[left]):
            points[left], points[right] = points[right], points[left]
            for its in (above, below):
                its[left], its[right] = its[right], its[left]
            swapped = True
    if swapped:
        _number(points, position)
    return swapped


def _saved(left: list[float], right: list[float]) -> int:
    """Return the number of crossings that two neighbours save by changing places."""
    return sum((a > b) - (a < b) for a in left for b in right)


def _crossings_below(web: Web, points: Sequence[int], position: Sequence[int], fine: _Fine | None) -> int:
    """Crossings below a row, those between edges that have their own positions on one box included."""
    if fine is None:
        return _inversions(end for point in points for end in sorted(position[other] for other in web.below[point]))
    lines = sorted(
        (position[point] + here, position[other] + there)
        for point in points
        for other, here, there in zip(web.below[point], fine.here[point], fine.below[point], strict=True)
    )
    return _inversions(end for _, end in lines)


def _inversions(values: Iterable[float]) -> int:
    """The number of pairs that stand in falling order."""
    before: list[float] = []
    count = 0
    for value in values:
        place = bisect_right(before, value)
        count += len(before) - place
        before.insert(place, value)
    return count
