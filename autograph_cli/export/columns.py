"""A tall picture broken into columns, as a text is; arrows into the next column lead up between the two."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from autograph_cli.export.arranging import FRAME_HEADING, FRAME_PAD, HEADING, PAD
from autograph_cli.export.layered import free
from autograph_cli.export.placed import HEAD, Lane, Line, Placed, Plate, Point, Rectangle, Stroke
from autograph_cli.export.style import BAND, EDGE, EDGE_OF_PAPER, TITLE, label_width, text_width

SHAPE = 0.75
"""The height of a picture over its width that suits a page best."""
TALL = 1.5
"""How many times as high as wide a picture may be before it is broken."""
LOW = 700.0
"""Points of height up to which any picture stays whole."""
WIDEST = 1_150.0
"""Points of width up to which text is still read where a page shows a picture at 900 pixels."""
MOST_COLUMNS, HIGHEST = 6, 4 * WIDEST
"""How many columns there may be, and the height of one that is of no use any more."""
APART, WAY = 26.0, 9.0
"""Points between two columns, and what each arrow that leads into the next one takes there and at its ends."""
MOST = 8
"""Arrows that may lead from one column into the next."""
CORNER = 5.0
CONTINUED = " (continued)"
CLEAR = 5.0
"""Points around a box or a title that no break comes near to."""
STRAY = 0.3
"""The part of a column's height by which a break may be off from the ideal one."""


@dataclass(frozen=True, slots=True)
class Column:
    """A part of the picture from one break to the next, and by how much it moves."""

    top: float
    bottom: float
    left: float
    right: float
    dx: float
    dy: float
    entry: float = 0.0
    """Where the first arrow from the column before comes in: below the titles of what goes on in this one."""


def in_columns(placed: Placed) -> Placed:
    """The picture in as many columns as suit a page best; as it is if it fits, or cannot be broken well."""
    top, bottom = _extent(placed)
    high = bottom - top
    if high <= max(LOW, TALL * placed.width) or high > MOST_COLUMNS * HIGHEST:
        return placed
    found = [placed]
    for count in range(2, MOST_COLUMNS + 1):
        breaks = _breaks(placed, top, high, count)
        broken = None if breaks is None else _broken(placed, [top, *breaks, bottom])
        if broken is not None and broken.width <= WIDEST:
            found.append(broken)
    return min(found, key=lambda its: abs(math.log(its.height / its.width / SHAPE)))


def _extent(placed: Placed) -> tuple[float, float]:
    """From where to where the graph itself reaches, without title and legend."""
    tops = [position.y - position.height / 2 for position in placed.positions]
    ends = [position.y + position.height / 2 for position in placed.positions]
    tops += [plate.top for plate in placed.plates] + [lane.top for lane in placed.lanes]
    ends += [plate.bottom for plate in placed.plates] + [lane.bottom for lane in placed.lanes]
    return min(tops), max(ends)


# ------------------------------------------------------------------ where to break


def _breaks(placed: Placed, top: float, high: float, count: int) -> list[float] | None:
    """The best breaks between this many columns; None if there are no good ones."""
    gaps = _gaps(placed)
    starts = sorted(min(y for _, y in line.points(1)) for line in placed.lines)
    ends = sorted(max(y for _, y in line.points(1)) for line in placed.lines)
    found: list[float] = []
    step = high / count
    for number in range(1, count):
        ideal = top + step * number
        near = [y for y in gaps if abs(y - ideal) <= STRAY * step and (not found or y > found[-1])]
        costs = []
        for y in near:
            across = bisect_left(starts, y) - bisect_right(ends, y)
            inside = 2 * sum(plate.top < y < plate.bottom for plate in placed.plates)
            inside += 6 * sum(lane.top < y < lane.bottom for lane in placed.lanes)
            if across <= MOST:
                costs.append((across + inside + 8 * abs(y - ideal) / step, y))
        if not costs:
            return None
        found.append(min(costs)[1])
    return found


def _gaps(placed: Placed) -> list[float]:
    """The middles of all that is between rows of boxes, titles, borders and labels."""
    taken = [
        (position.y - position.height / 2 - HEAD - CLEAR, position.y + position.height / 2 + CLEAR)
        for position in placed.positions
    ]
    taken += [(line.label[1] - EDGE * 0.6, line.label[1] + EDGE * 0.6) for line in placed.lines if line.label]
    for plate in placed.plates:
        taken += [(plate.top - CLEAR, plate.top + FRAME_HEADING + CLEAR), (plate.bottom - CLEAR, plate.bottom + CLEAR)]
    for lane in placed.lanes:
        taken += [(lane.top, lane.top + HEADING + CLEAR), (lane.bottom - CLEAR, lane.bottom)]
        taken += [(lane.top, lane.bottom)] if lane.band.beside else []
    taken.sort()
    found, reached = [], taken[0][1]
    for start, end in taken:
        if start > reached:
            found.append((reached + start) / 2)
        reached = max(reached, end)
    return found


# ------------------------------------------------------------------ the picture, broken


def _broken(placed: Placed, ends: Sequence[float]) -> Placed:
    """The picture broken at `ends`, of which the first and the last are its own."""
    cut = [_cut(line, ends[1:-1]) for line in placed.lines]
    columns, ways = _columns(placed, ends, cut)
    of = _Columns(columns, ends[1:-1])
    positions = tuple(of.position(position) for position in placed.positions)
    lines = tuple(_joined(line, parts, of, ways) for line, parts in zip(placed.lines, cut, strict=True))
    plates = tuple(part for plate in placed.plates for part in _plate_parts(plate, placed.plates, of))
    lanes = tuple(part for lane in placed.lanes for part in _lane_parts(lane, placed, of))
    far = max(column.right + column.dx for column in columns)
    low = max(column.bottom + column.dy + WAY * len(its) for column, its in zip(columns, [*ways, []], strict=True))
    by = low - ends[-1]
    samples = tuple(replace(x, position=replace(x.position, y=x.position.y + by)) for x in placed.samples)
    width = max([far, *(sample.position.x + sample.position.width for sample in samples)]) + EDGE_OF_PAPER
    return replace(
        placed,
        positions=positions,
        lines=lines,
        plates=plates,
        lanes=lanes,
        samples=samples,
        width=width,
        height=placed.height + by,
    )


def _columns(
    placed: Placed, ends: Sequence[float], cut: Sequence[Sequence[Line]]
) -> tuple[list[Column], list[list[float]]]:
    """The columns with their positions, and where arrows lead from each into the next, from the right."""
    columns: list[Column] = []
    ways: list[list[float]] = []
    at = None
    for top, bottom in pairwise(ends):
        left, right = _sides(placed, top, bottom)
        for parts in cut:
            for part in parts:
                if (
                    top - 0.01 <= min(y for _, y in part.points(1))
                    and max(y for _, y in part.points(1)) <= bottom + 0.01
                ):
                    left = min(left, *(x for x, _ in part.points(2)))
                    right = max(right, *(x for x, _ in part.points(2)))
        entering = ways[-1] if ways else []
        at = min(left, EDGE_OF_PAPER) if at is None else at + APART + WAY * len(entering)
        opened = _continued(placed.plates, top) * FRAME_HEADING
        opened += sum(lane.top < top < lane.bottom for lane in placed.lanes) * HEADING
        down = opened + (WAY * (len(entering) + 1) if entering else 0.0)
        first = top if down else _first(placed, top)
        columns.append(Column(top, bottom, left, right, at - left, ends[0] + down - first, ends[0] + opened))
        at += right - left
        if bottom != ends[-1]:
            ways.append(sorted({_x_at(parts, bottom) for parts in cut if _meets(parts, bottom)}, reverse=True))
    return columns, ways


def _continued(plates: Sequence[Plate], y: float) -> int:
    """How many frames around each other a break goes through."""
    return len({plate.depth for plate in plates if plate.top < y < plate.bottom})


def _first(placed: Placed, top: float) -> float:
    """Where what is below this height begins."""
    tops = [position.y - position.height / 2 for position in placed.positions]
    tops += [frame.top for frame in placed.plates] + [frame.top for frame in placed.lanes]
    return min(y for y in tops if y >= top)


def _sides(placed: Placed, top: float, bottom: float) -> tuple[float, float]:
    """How far to the left and to the right what is between two heights reaches."""
    ends = [(position.x, position.width / 2) for position in placed.positions if top <= position.y <= bottom]
    plates = [plate for plate in placed.plates if plate.top < bottom and plate.bottom > top]
    ends += [((plate.left + plate.right) / 2, (plate.right - plate.left) / 2) for plate in plates]
    for line, arrow in zip(placed.lines, placed.scene.arrows, strict=True):
        ends += [(x, 0.0) for x, y in line.points(4) if top <= y <= bottom]
        if line.label and top <= line.label[1] <= bottom:
            ends.append((line.label[0], label_width(arrow.label) / 2))
    left, right = min(x - half for x, half in ends), max(x + half for x, half in ends)
    lanes = [lane for lane in placed.lanes if lane.top < bottom and lane.bottom > top]
    if not lanes:
        return left, right
    for lane in lanes:
        width = text_width(lane.band.title + (CONTINUED if lane.top < top else "")) * BAND
        at = left if lane.top < top else title_of(lane, placed, left)
        right = max(right, at + width, *(lane.beside[0] + text_width(words) * TITLE for words in lane.band.beside))
    return left - PAD, right + PAD


def title_of(lane: Lane, placed: Placed, left: float) -> float:
    """Where the title of a band whose column begins here can start so that no arrow runs through it."""
    labels = [arrow.label for arrow in placed.scene.arrows]
    return free(placed.lines, labels, left, text_width(lane.band.title) * BAND, lane.top)


class _Columns:
    """Where everything goes."""

    def __init__(self, columns: Sequence[Column], breaks: Sequence[float]) -> None:
        self.columns, self.breaks = columns, breaks

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
        dx, dy = of.columns[number].dx, of.columns[number].dy
        frame, title, top = plate.frame, (plate.title[0] + dx, plate.title[1] + dy), top + dy
        left, right, bottom = plate.left + dx, plate.right + dx, bottom + dy
        if turn:
            frame = replace(frame, id=f"{frame.id}.{turn}", title=frame.title + CONTINUED)
            inner = _continued([x for x in plates if x.depth > plate.depth], of.columns[number].top)
            top = of.columns[number].entry - FRAME_HEADING * (inner + 1)
            title = left + FRAME_PAD, top + FRAME_HEADING - 4.5
        yield replace(plate, frame=frame, left=left, top=top, right=right, bottom=bottom, title=title)


def _lane_parts(lane: Lane, placed: Placed, of: _Columns) -> Iterator[Lane]:
    """The parts of a band, one a column that it reaches into, each as wide as the column."""
    for turn, (number, top, bottom) in enumerate(of.parts(lane.top, lane.bottom)):
        column = of.columns[number]
        left, right, top, bottom = (
            column.left + column.dx,
            column.right + column.dx,
            top + column.dy,
            bottom + column.dy,
        )
        at, band = left + PAD, lane.band
        if not turn:
            at = title_of(lane, placed, column.left + PAD) + column.dx
        else:
            band = replace(band, title=band.title + CONTINUED)
            top = column.entry - HEADING
        yield Lane(band, left, top, right, bottom, (at, top + 15), turn, of.point(lane.beside, number))


# ------------------------------------------------------------------ arrows


def _cut(line: Line, breaks: Sequence[float]) -> list[Line]:
    """The parts of an arrow from break to break, from its start on."""
    parts: list[Line] = []
    start, strokes, at = line.start, [], line.start
    for stroke in line.strokes:
        rest: Stroke | None = stroke
        while rest is not None:
            low, high = sorted((at[1], rest[-1][1]))
            between = [y for y in breaks if low < y < high]
            if not between:
                strokes.append(rest)
                at, rest = rest[-1], None
                continue
            y = between[0] if at[1] < rest[-1][1] else between[-1]
            first, rest = _split(at, rest, y)
            strokes.append(first)
            at = first[-1]
            parts.append(Line(start, tuple(strokes)))
            start, strokes = at, []
    parts.append(Line(start, tuple(strokes)))
    return parts


def _split(start: Point, stroke: Stroke, y: float) -> tuple[Stroke, Stroke]:
    """A stroke up to this height, and the rest of it."""
    end = stroke[-1]
    if len(stroke) == 1:
        part = (y - start[1]) / (end[1] - start[1])
        return ((start[0] + (end[0] - start[0]) * part, y),), stroke
    low, high = 0.0, 1.0
    for _ in range(40):
        t = (low + high) / 2
        beyond = _bezier(start, stroke, t)[1] > y
        low, high = (low, t) if beyond == (end[1] > start[1]) else (t, high)
    a, b, c = _between(start, stroke[0], t), _between(stroke[0], stroke[1], t), _between(stroke[1], end, t)
    ab, bc = _between(a, b, t), _between(b, c, t)
    middle = _between(ab, bc, t)[0], y
    return (a, ab, middle), (bc, c, end)


def _bezier(start: Point, stroke: Stroke, t: float) -> Point:
    a, b, c = _between(start, stroke[0], t), _between(stroke[0], stroke[1], t), _between(stroke[1], stroke[2], t)
    return _between(_between(a, b, t), _between(b, c, t), t)


def _between(a: Point, b: Point, t: float) -> Point:
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def _meets(parts: Sequence[Line], y: float) -> bool:
    return any(part.start[1] == y for part in parts[1:])


def _x_at(parts: Sequence[Line], y: float) -> float:
    return next(round(part.start[0], 1) for part in parts[1:] if part.start[1] == y)


def _joined(line: Line, parts: Sequence[Line], of: _Columns, ways: Sequence[Sequence[float]]) -> Line:
    """An arrow in one again: its parts where they go, and from each column up into the next."""
    label = line.label and of.point(line.label)
    start, strokes = None, []
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        middle = (part.start[1] + part.strokes[-1][-1][1]) / 2
        column = of.at(middle)
        start = start or of.point(part.start, column)
        strokes += [tuple(of.point(point, column) for point in stroke) for stroke in part.strokes]
        if after is not None:
            down = after.strokes[-1][-1][1] > after.start[1]
            from_, to = of.point(after.start, column), of.point(after.start, column + (1 if down else -1))
            left = column if down else column - 1
            strokes += _around(from_, to, ways[left].index(round(after.start[0], 1)), of, left, down)
    assert start is not None
    return Line(start, tuple(strokes), label)


def _around(from_: Point, to: Point, rank: int, of: _Columns, left: int, down: bool) -> list[Stroke]:
    """From the lower end of the column `left` up to the upper end of the next, or back."""
    column = of.columns[left]
    bottom = column.bottom + column.dy + WAY * (rank + 1)
    aside = column.right + column.dx + APART / 2 + WAY * rank
    top = of.columns[left + 1].entry + WAY * rank
    lower, upper = (from_, to) if down else (to, from_)
    knots = [lower, (lower[0], bottom), (aside, bottom), (aside, top), (upper[0], top), upper]
    return list(_rounded(knots if down else knots[::-1]))


def _rounded(knots: Sequence[Point]) -> Iterator[Stroke]:
    """A line through these points with round corners, from the first of them."""
    for before, at, after in zip(knots, knots[1:], knots[2:], strict=False):
        yield (_near(at, before),)
        yield (_toward(at, before), _toward(at, after), _near(at, after))
    yield (knots[-1],)


def _near(at: Point, other: Point) -> Point:
    """The point from which a corner is round."""
    dx, dy = other[0] - at[0], other[1] - at[1]
    length = abs(dx) + abs(dy)
    part = min(CORNER, length / 2) / length if length else 0.0
    return at[0] + dx * part, at[1] + dy * part


def _toward(at: Point, other: Point) -> Point:
    """The control point of a round corner."""
    near = _near(at, other)
    return at[0] + (near[0] - at[0]) * 0.45, at[1] + (near[1] - at[1]) * 0.45
