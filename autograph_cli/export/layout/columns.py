"""A long picture broken like a text: a tall one into columns, one that runs to the right into rows.

An arrow into another column ends at a letter, and goes on from the same letter there (`connectors.py`). What is said
here of columns is true of rows, with across and down exchanged: a picture that runs to the right is turned, broken and
turned back. Only titles stand the same way in both.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from autograph_cli.export.layout.arranging import FRAME_HEADING, FRAME_PAD, FRAME_TITLE, HEADING, PAD
from autograph_cli.export.layout.connectors import ABOVE, BELOW, Letters
from autograph_cli.export.layout.direction import DOWN, Direction
from autograph_cli.export.layout.paper import free, legend
from autograph_cli.export.layout.placed import HEAD, Lane, Line, Placed, Plate, Point, Rectangle
from autograph_cli.export.style import BAND, BESIDE, EDGE_OF_PAPER, TITLE, text_width

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
SHAPE = 0.75
"""The height of a picture over its width that suits a page best."""
TALL = 1.5
"""The height over the width above which a picture is broken."""
LOW = 700.0
"""Points of height up to which any picture stays whole."""
SMALL_TEXT, LETTER = 2.0, 0.09
"""The cost of a width at which text gets too small, and of each letter at which arrows go on."""
MOST_COLUMNS, MOST_ROWS, HIGHEST = 6, 16, 4 * WIDEST
"""The most columns and rows, and the height of a column that is of no use any more."""
APART = 26.0
"""Points between two columns."""


class Column(Struct, frozen=True):
    """A part of the picture from one break to the next, and by how much it moves."""

    top: float
    bottom: float
    left: float
    right: float
    dx: float
    dy: float
    entry: float = 0.0
    """The height at which letters come in: below the titles of the frames and bands that go on."""
    entered: float = 0.0
    """The height at which the last of them ends."""
    frames: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The left and the right end of each frame that is broken here."""


def misfit(placed: Placed) -> float:
    """Return how badly a picture fits a page: 0 for 4:3, more the taller or wider it is, and the harder to read."""
    shape = abs(math.log(placed.height / placed.width / SHAPE))
    return shape + SMALL_TEXT * max(0.0, math.log(placed.width / WIDEST)) + LETTER * placed.back


def in_columns(placed: Placed, way: Direction = DOWN) -> Placed:
    """The picture in as many columns or rows as suit a page best; as it is if it fits, or cannot be broken well."""
    if placed.width <= WIDEST if way.right else placed.height <= max(LOW, TALL * placed.width):
        return placed
    whole = placed.turned() if way.right else placed
    top, bottom = _extent(whole)
    if bottom - top > MOST_COLUMNS * HIGHEST:
        return placed
    best, broken, costs = placed, [placed], possible(whole, way)
    for count in way.pick(range(2, MOST_COLUMNS + 1), range(math.ceil(placed.width / WIDEST), MOST_ROWS + 1)):
        between = breaks(costs, top, bottom - top, count, way)
        if between is not None:
            broken.append(_broken(whole, [top, *between, bottom], way))
        best = min([its for its in broken if its.width <= WIDEST] or broken, key=misfit)
        if way.pick(broken[-1].width > WIDEST, best is not broken[-1] and best.width <= WIDEST):
            break  # more columns are wider, more rows higher
    return best


def _extent(placed: Placed) -> tuple[float, float]:
    """Return the upper and lower end of the graph itself, without title and legend."""
    tops = [position.y - position.height / 2 for position in placed.positions]
    ends = [position.y + position.height / 2 for position in placed.positions]
    tops += [plate.top for plate in placed.plates] + [lane.top for lane in placed.lanes]
    ends += [plate.bottom for plate in placed.plates] + [lane.bottom for lane in placed.lanes]
    return min(tops), max(ends)


def _broken(placed: Placed, ends: Sequence[float], way: Direction) -> Placed:
    """The picture broken at `ends`, of which the first and the last are its own."""
    letters = Letters(placed, ends[1:-1], way)
    columns = _columns(placed, ends, letters, way)
    of = _Columns(columns, ends[1:-1], way)
    plates = tuple(part for plate in placed.plates for part in _plate_parts(plate, placed.plates, of))
    lanes = tuple(part for lane in placed.lanes for part in _lane_parts(lane, placed, of))
    far = max(column.right + column.dx for column in columns)
    low = max(column.bottom + column.dy + letters.room(n, BELOW) for n, column in enumerate(columns))
    broken = letters.drawn(replace(placed, positions=tuple(map(of.position, placed.positions))), of)
    broken = replace(broken, plates=plates, lanes=lanes)
    if way.right:
        broken, far, low = broken.turned(), low, far
    samples, bottom, right = legend(broken.scene, low + 12, far)
    right = max(far, right, EDGE_OF_PAPER + text_width(placed.scene.title) * TITLE)
    return replace(broken, samples=samples, width=right + EDGE_OF_PAPER, height=bottom + EDGE_OF_PAPER)


def _columns(placed: Placed, ends: Sequence[float], letters: Letters, way: Direction) -> list[Column]:
    """The columns with their positions."""
    columns: list[Column] = []
    at = None
    reaches = [(*_reach(part), part) for parts in letters.cut for part in (parts[0], parts[-1])]
    for number, (top, bottom) in enumerate(pairwise(ends)):
        inside = [part for first, last, part in reaches if top - 0.01 <= first and last <= bottom + 0.01]
        left, right, frames = _sides(placed, inside, top, bottom, way)
        for out, frame in enumerate(_around(placed.plates, top), 1):
            first, last = letters.sides(number, ABOVE, frames[frame])
            frames[frame] = (
                min(frames[frame][0], first - FRAME_PAD * out),
                max(frames[frame][1], last + FRAME_PAD * out),
            )
            left, right = min(left, frames[frame][0]), max(right, frames[frame][1])
        for end in (ABOVE, BELOW):
            left, right = letters.sides(number, end, (left, right))
        at = way.pick(min(left, EDGE_OF_PAPER), left) if at is None else at + APART
        opened = _continued(placed.plates, top) * way.pick(FRAME_HEADING, FRAME_PAD)
        opened += sum(lane.top < top < lane.bottom for lane in placed.lanes) * way.pick(HEADING, PAD)
        entering = letters.room(number, ABOVE)
        first = top if opened or entering else _first(placed, top)
        entry = ends[0] + opened
        dy = entry + entering - first
        columns.append(Column(top, bottom, left, right, at - left, dy, entry, entry + entering, frames))
        at += right - left
    return columns


def _around(plates: Sequence[Plate], y: float) -> list[str]:
    """The frames that a break goes through, the inner ones first, where none is beside another."""
    through = sorted((plate for plate in plates if plate.top < y < plate.bottom), key=lambda plate: -plate.depth)
    alone = len({plate.depth for plate in through}) == len(through)
    return [plate.frame.id for plate in through] if alone else []


def _continued(plates: Sequence[Plate], y: float) -> int:
    """Return how many frames around each other a break goes through."""
    return len({plate.depth for plate in plates if plate.top < y < plate.bottom})


def _first(placed: Placed, top: float) -> float:
    """Return where what is below this height begins."""
    tops = [position.y - position.height / 2 for position in placed.positions]
    tops += [frame.top for frame in placed.plates] + [frame.top for frame in placed.lanes]
    return min(y for y in tops if y >= top)


def _reach(part: Line) -> tuple[float, float]:
    ends = [y for _, y in part.points(1)]
    return min(ends), max(ends)


def _sides(
    placed: Placed, inside: Sequence[Line], top: float, bottom: float, way: Direction
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Return how far to the left and to the right what is between two heights reaches, and each frame that is broken
    there."""
    ends = [(its.x - its.width / 2, its.y, its.x + its.width / 2) for its in placed.positions if top <= its.y <= bottom]
    ends += [(x, min(max(y, top), bottom), x) for part in inside for x, y in part.points(4)]
    for line, arrow in zip(placed.lines, placed.scene.arrows, strict=True):
        if line.label and top <= line.label[1] <= bottom:
            (x, y), half = line.label, way.across(arrow.label) / 2
            ends.append((x - half, y, x + half))
    frames = {}
    for plate in sorted(placed.plates, key=lambda plate: -plate.depth):
        if plate.top < bottom and plate.bottom > top:
            left, right = plate.left, plate.right
            if plate.top < top or plate.bottom > bottom:
                left, right = frames[plate.frame.id] = _needed(plate, ends, top, way)
            ends += [(left, y, right) for y in (max(top, plate.top), min(bottom, plate.bottom))]
    left, right = min(start for start, _, _ in ends), max(end for _, _, end in ends)
    lanes = [lane for lane in placed.lanes if lane.top < bottom and lane.bottom > top]
    if not lanes:
        return left, right, frames
    if way.right:
        return left - HEADING - PAD / 2, right + PAD + BESIDE * _most_beside(lanes), frames
    for lane in lanes:
        width = text_width(lane.band.title + (CONTINUED if lane.top < top else "")) * BAND
        at = left if lane.top < top else title_of(lane, placed, left)
        right = max(right, at + width, *(lane.beside[0] + text_width(words) * TITLE for words in lane.band.beside))
    return left - PAD, right + PAD, frames


def _needed(
    plate: Plate, ends: Sequence[tuple[float, float, float]], top: float, way: Direction
) -> tuple[float, float]:
    """Return the left and right end that a broken frame needs around its content and its title."""
    inner = [
        (left, right)
        for left, y, right in ends
        if plate.left <= left and right <= plate.right and plate.top <= y <= plate.bottom
    ]
    if not inner:
        return plate.left, plate.right
    left, right = min(start for start, _ in inner) - FRAME_PAD, max(end for _, end in inner) + FRAME_PAD
    if way.right:
        return max(plate.left, left - FRAME_HEADING), min(plate.right, right)
    goes_on = plate.top < top
    width = text_width(plate.frame.title + CONTINUED * goes_on) * FRAME_TITLE
    left = max(plate.left, left if goes_on else min(left, plate.title[0] - FRAME_PAD))
    return left, max(min(plate.right, right), (left + FRAME_PAD if goes_on else plate.title[0]) + width + FRAME_PAD)


def _most_beside(lanes: Iterable[Lane]) -> int:
    """The lines of the longest text below bands that stand side by side."""
    return max(len(lane.band.beside) for lane in lanes)


def title_of(lane: Lane, placed: Placed, left: float) -> float:
    """Return where the title of a band whose column begins here can start so that no arrow runs through it."""
    labels = [arrow.label for arrow in placed.scene.arrows]
    return free(placed.lines, labels, left, text_width(lane.band.title) * BAND, lane.top)


class _Columns:
    """The new place of everything in a picture of several columns."""

    def __init__(self, columns: Sequence[Column], breaks: Sequence[float], way: Direction) -> None:
        self.columns, self.breaks, self.way = columns, breaks, way

    def at(self, y: float) -> int:
        """The column in which a height is."""
        return bisect_right(self.breaks, y)

    def point(self, point: Point, column: int | None = None) -> Point:
        """A point where it goes."""
        its = self.columns[self.at(point[1]) if column is None else column]
        return point[0] + its.dx, point[1] + its.dy

    def position(self, position: Rectangle) -> Rectangle:
        """A box where it goes."""
        x, y = self.point((position.x, position.y))
        return replace(position, x=x, y=y)

    def parts(self, top: float, bottom: float) -> Iterator[tuple[int, float, float]]:
        """The columns that something high reaches into, and from where to where."""
        for number, column in enumerate(self.columns):
            upper, lower = max(top, column.top), min(bottom, column.bottom)
            if upper < lower:
                yield number, upper, lower


def _plate_parts(plate: Plate, plates: Sequence[Plate], of: _Columns) -> Iterator[Plate]:
    """The parts of a frame, one a column that it reaches into."""
    for turn, (number, top, bottom) in enumerate(of.parts(plate.top, plate.bottom)):
        column, frame = of.columns[number], plate.frame
        left, right = (x + column.dx for x in column.frames.get(frame.id, (plate.left, plate.right)))
        top, bottom, title = top + column.dy, bottom + column.dy, of.point(plate.title, number)
        if turn:
            frame = replace(frame, id=f"{frame.id}.{turn}", title=frame.title + CONTINUED)
            inner = _continued([x for x in plates if x.depth > plate.depth], column.top)
            top = column.entry - of.way.pick(FRAME_HEADING, FRAME_PAD) * (inner + 1)
            title = left + FRAME_PAD, top + FRAME_HEADING - 4.5
        if of.way.right:
            title = left + FRAME_HEADING - 4.5, column.entered if turn else title[1]
        yield replace(plate, frame=frame, left=left, top=top, right=right, bottom=bottom, title=title)


def _lane_parts(lane: Lane, placed: Placed, of: _Columns) -> Iterator[Lane]:
    """The parts of a band, one a column that it reaches into, each as wide as the column."""
    for turn, (number, top, bottom) in enumerate(of.parts(lane.top, lane.bottom)):
        column, band = of.columns[number], lane.band
        left, right = column.left + column.dx, column.right + column.dx
        top, bottom = top + column.dy, bottom + column.dy
        beside = of.point(lane.beside, number)
        if turn:
            band = replace(band, title=band.title + CONTINUED)
            top = column.entry - of.way.pick(HEADING, PAD)
        if of.way.right:
            title = left + 15, column.entered if turn else top + PAD
            its = (each for each in placed.lanes if each.top < column.bottom and each.bottom > column.top)
            beside = right - BESIDE * (_most_beside(its) - 0.75), beside[1]
        else:
            title = left + PAD if turn else title_of(lane, placed, column.left + PAD) + column.dx, top + 15
        yield Lane(band, left, top, right, bottom, title, turn, beside)


# ------------------------------------------------------------------ where to break


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
