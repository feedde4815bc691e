"""Where a long picture is best broken: between its rows, evenly, where few arrows and frames go on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping

from autograph_cli.export.layout.arranging import FRAME_HEADING, FRAME_PAD, FRAME_TITLE, HEADING, PAD
from autograph_cli.export.layout.direction import Direction
from autograph_cli.export.layout.placed import HEAD, Placed
from autograph_cli.export.style import BAND, text_width

WIDEST = 1_150.0
"""Points of width up to which text is still read where a page shows a picture at 900 pixels."""
MOST = 16
"""Arrows that may lead from one column into the next."""
CONTINUED = " (continued)"
CLEAR = 2.5
"""Points around a box or a title that no break comes near to."""
STRAY, STRAY_ROW = 0.4, 0.6
"""The part of a column's height, or of a row's length, by which a break may be off from the ideal one."""
EVEN = 8.0
"""The cost of a break that is off by a whole column, where an arrow that leads on costs 1."""
LONGEST = WIDEST - 100.0
"""Points of the picture that fit into a row, beside its borders and the arrows at its ends."""


def breaks(costs: Mapping[float, float], top: float, high: float, count: int, way: Direction) -> list[float] | None:
    """The best of these breaks between so many columns or rows, as even as can be; None if there are no good ones."""
    step, stray = high / count, way.pick(STRAY, STRAY_ROW)
    best = {top: (0.0, [top])}
    for number in range(1, count + 1):
        ideal = top + step * number
        near = {y: cost for y, cost in costs.items() if abs(y - ideal) <= stray * step}
        best = {
            y: min(
                (least + cost + EVEN * abs(y - ideal) / step + _too_long(y - last, way), [*breaks, y])
                for last, (least, breaks) in best.items()
                if last < y
            )
            for y, cost in (near if number < count else {top + high: 0.0}).items()
            if min(best, default=y) < y
        }
    return next((breaks[1:-1] for _, breaks in best.values()), None)


def _too_long(length: float, way: Direction) -> float:
    """The cost of a row that is longer than a page is wide."""
    return max(0.0, length - LONGEST) if way.right else 0.0


def possible(placed: Placed, way: Direction) -> dict[float, float]:
    """Return where a picture can be broken, with no more than `MOST` arrows across, and what is bad about it."""
    starts = sorted(min(y for _, y in line.points(1)) for line in placed.lines)
    ends = sorted(max(y for _, y in line.points(1)) for line in placed.lines)
    costs: dict[float, float] = {}
    for y in _gaps(placed, way):
        across = bisect_left(starts, y) - bisect_right(ends, y)
        inside = 2 * sum(plate.top < y < plate.bottom for plate in placed.plates)
        inside += 6 * sum(lane.top < y < lane.bottom for lane in placed.lanes)
        if across <= MOST:
            costs[y] = across + inside
    return costs


def _gaps(placed: Placed, way: Direction) -> list[float]:
    """The middles of all that is between rows of boxes, titles, borders and labels.

    Beside a title that goes along the picture there is none, nor where its frame would go on for less than its length.
    """
    taken = [
        (position.y - position.height / 2 - HEAD - CLEAR, position.y + position.height / 2 + CLEAR)
        for position in placed.positions
    ]
    for line, arrow in zip(placed.lines, placed.scene.arrows, strict=True):
        if line.label:
            half = way.along(arrow.label) / 2 + 1
            taken.append((line.label[1] - half, line.label[1] + half))
    for plate in placed.plates:
        width = text_width(plate.frame.title) * FRAME_TITLE + 2 * FRAME_PAD
        again = way.pick(0.0, width + text_width(CONTINUED) * FRAME_TITLE)
        taken.append((plate.top - CLEAR, plate.top + way.pick(FRAME_HEADING, width) + CLEAR))
        taken.append((plate.bottom - again - CLEAR, plate.bottom + CLEAR))
    for lane in placed.lanes:
        width = text_width(lane.band.title) * BAND + 2 * PAD
        again = way.pick(0.0, width + text_width(CONTINUED) * BAND)
        taken.append((lane.top, lane.top + way.pick(HEADING, width) + CLEAR))
        taken.append((lane.bottom - again - CLEAR, lane.bottom))
        taken += [(lane.top, lane.bottom)] if lane.band.beside else []
    taken.sort()
    gaps, reached = [], taken[0][1]
    for start, end in taken:
        if start > reached:
            gaps.append((reached + start) / 2)
        reached = max(reached, end)
    return gaps
