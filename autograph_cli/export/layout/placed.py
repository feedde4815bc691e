"""A scene with positions: all that a writer of pictures needs. Points of 1/72 inch, y grows downwards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise, product

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.scene.records import Arrow, Band, Box, Frame, Scene
from autograph_cli.export.style import (
    BAR,
    LEADING,
    PAPER,
    SLANT,
    SMALL,
    SUBTITLE,
    TITLE,
    Style,
    band_look,
    is_bars,
    line_width,
    shaded,
)

HEAD, _TIP = 8.0, 3.2
"""The length of an arrow's head, and half its width."""
BOW = 46.0
"""The distance that the curve of a thin line reaches to the side."""
BOWS = (BOW / 4, BOW, 1.5 * BOW, 2 * BOW, 4 * BOW)
"""The same where it has to keep clear of boxes."""
FEW_LINKS = 24
"""Links up to which each tries to reach out differently far at its ends."""
Side = tuple[int, int]
"""A side of a box, as the way from its middle: across and down."""
SIDES: tuple[Side, ...] = ((1, 0), (-1, 0), (0, -1), (0, 1))
SPACE = SUBTITLE * 0.42
"""The width of a space that sets code in."""
_HEIGHTS = " ▁▂▃▄▅▆▇█"
"""Bars from the lowest to the highest, in eighths of a line."""

Point = tuple[float, float]
Stroke = tuple[Point, ...]
"""A piece of a line: straight to one point, or by two control points to a third along a cubic curve."""


class Rectangle(Struct, frozen=True):
    """The middle and the size of a box; `round` ones are ellipses."""

    x: float
    y: float
    width: float
    height: float
    round: bool = False

    def turned(self) -> Rectangle:
        """The same with across and down exchanged, as all that has such a method."""
        return Rectangle(self.y, self.x, self.height, self.width, self.round)


class Line(Struct, frozen=True):
    """The way of an arrow, to the very tip of its head, and the middle of its label."""

    start: Point
    strokes: tuple[Stroke, ...]
    label: Point | None = None

    def turned(self) -> Line:
        strokes = tuple([tuple([(y, x) for x, y in stroke]) for stroke in self.strokes])
        return Line(self.start[::-1], strokes, self.label and self.label[::-1])

    def points(self, steps: int = 8) -> list[Point]:
        """Points along the way, `steps` on each curve."""
        at, found = self.start, [self.start]
        for stroke in self.strokes:
            if len(stroke) == 3:
                (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (at, *stroke)
                found += [
                    (a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3)
                    for a, b, c, d in _parts(steps)
                ]
            at = stroke[-1]
            found.append(at)
        return found


@cache
def _parts(steps: int) -> list[tuple[float, float, float, float]]:
    """The parts that the ends and handles of a curve have in the points on it."""
    ways = [step / steps for step in range(1, steps)]
    return [((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3) for t in ways]


class Lane(Struct, frozen=True):
    """The rectangle of a band, and where its title starts."""

    band: Band
    left: float
    top: float
    right: float
    bottom: float
    title: Point
    part: int = 0
    """The number of this part of the band, in a picture of several columns."""
    beside: Point = (0.0, 0.0)
    """The point at which the first of the lines beside it starts."""

    def turned(self) -> Lane:
        ends = self.top, self.left, self.bottom, self.right
        return Lane(self.band, *ends, self.title[::-1], self.part, self.beside[::-1])


class Plate(Struct, frozen=True):
    """The rectangle of a frame, where its title starts, and how many frames are around it."""

    frame: Frame
    left: float
    top: float
    right: float
    bottom: float
    title: Point
    depth: int = 0

    def turned(self) -> Plate:
        return Plate(self.frame, self.top, self.left, self.bottom, self.right, self.title[::-1], self.depth)


class Sample(Struct, frozen=True):
    """One entry of the legend; without a style it is a note, and its position starts at its left."""

    style: Style | None
    words: str
    position: Rectangle


class Placed(Struct, frozen=True):
    """A scene, and a position for each of its boxes, arrows and bands, in the same order."""

    scene: Scene
    positions: tuple[Rectangle, ...]
    lines: tuple[Line, ...]
    lanes: tuple[Lane, ...]
    samples: tuple[Sample, ...]
    width: float
    height: float
    title: Point = (0.0, 0.0)
    plates: tuple[Plate, ...] = ()
    """The rectangles of the frames of the scene, the outer ones first."""
    back: int = 0
    """The number of letters that lead from one column or row into another."""

    def turned(self) -> Placed:
        """The same graph; title and legend, which are not part of it, stay as they are."""
        return replace(
            self,
            positions=tuple(each.turned() for each in self.positions),
            lines=tuple(each.turned() for each in self.lines),
            lanes=tuple(each.turned() for each in self.lanes),
            plates=tuple(each.turned() for each in self.plates),
        )


def head(line: Line) -> tuple[Point, Point, Point]:
    """The corners of the arrow's head, its tip first; lines end straight, along the page or across it."""
    (x, y), before = line.strokes[-1][-1], (line.start, *(stroke[-1] for stroke in line.strokes))[-2]
    if abs(before[0] - x) > abs(before[1] - y):
        back = x - HEAD if before[0] <= x else x + HEAD
        return (x, y), (back, y - _TIP), (back, y + _TIP)
    back = y - HEAD if before[1] <= y else y + HEAD
    return (x, y), (x - _TIP, back), (x + _TIP, back)


def outline(style: Style, position: Rectangle) -> tuple[Point, ...]:
    """The corners of a box that has four."""
    left, right = position.x - position.width / 2, position.x + position.width / 2
    top, bottom = position.y - position.height / 2, position.y + position.height / 2
    lean = SLANT if style == "input" else 0.0
    return (left + lean, top), (right, top), (right - lean, bottom), (left, bottom)


def written(box: Box, position: Rectangle) -> Iterator[tuple[str, Point, float]]:
    """The lines of text on a box, each with its font size and the middle of its base line, or the start of one of code.

    Rows of bars are left out. The title is the first, and is never code.
    """
    below, size = box.below, SMALL if box.small else TITLE
    if not below:
        yield box.title, (position.x, position.y + size * 0.35), size
        return
    up = LEADING * (len(below) - 1) / 2
    yield box.title, (position.x, position.y - 1.0 - up), size
    for number, line in enumerate(below):
        words, x = line, position.x
        if box.left:
            words = line.lstrip()
            x += (len(line) - len(words)) * SPACE - max(map(line_width, below)) / 2
        if not is_bars(line):
            yield words, (x, position.y + SUBTITLE * 1.15 - up + LEADING * number), SUBTITLE


def bars(box: Box, position: Rectangle) -> Iterator[Rectangle]:
    """The bars that are drawn on a box."""
    below = box.below
    up = LEADING * (len(below) - 1) / 2
    for number, line in enumerate(below):
        if is_bars(line):
            base = position.y + SUBTITLE * 1.3 - up + LEADING * number
            yield from bars_of(line, (position.x - len(line) * BAR / 2, base), BAR, SUBTITLE)


def bars_of(line: str, corner: Point, width: float, height: float) -> Iterator[Rectangle]:
    """A row of bars from its lower left corner, each so wide and at most so high."""
    left, base = corner
    for column, character in enumerate(line):
        high = height * _HEIGHTS.index(character) / 8
        if high:
            yield Rectangle(left + width * (column + 0.5), base - high / 2, width - 0.8, high)


def links(placed: Placed) -> Iterator[tuple[tuple[str, str], Point, Stroke]]:
    """The thin lines between derivatives and what they differentiate: from the side of a box to that of another.

    A line that would run behind boxes goes by the sides where it runs behind the fewest.
    """
    index = {box.id: number for number, box in enumerate(placed.scene.boxes)}
    bows = [(bow, bow) for bow in BOWS]
    if len(placed.scene.links) <= FEW_LINKS:
        bows += [each for each in product(BOWS, BOWS) if each not in bows]
    for tail, head in placed.scene.links:
        if tail in index and head in index:
            a, b = placed.positions[index[tail]], placed.positions[index[head]]
            side = 1 if b.x >= a.x else -1
            apart = abs(b.x - a.x) > (a.width + b.width) / 2
            way = _bow(placed, a, b, (side, 0), (-side if apart else side, 0), (BOW, BOW))
            near = list(_near(placed.positions, a, b))
            if _hidden(near, *way):
                others = (_bow(placed, a, b, *ends, each) for each, ends in product(bows, product(SIDES, SIDES)))
                way = _least_hidden(near, way, others)
            yield (tail, head), *way


def _near(boxes: Iterable[Rectangle], a: Rectangle, b: Rectangle) -> Iterator[Rectangle]:
    """The boxes that a curve between two of them may run behind, however far it reaches out."""
    out = max(BOW, *BOWS)
    (left, right), (top, bottom) = (
        (min(each[0] for each in ends) - out, max(each[1] for each in ends) + out)
        for ends in (
            [(box.x - box.width / 2, box.x + box.width / 2) for box in (a, b)],
            [(box.y - box.height / 2, box.y + box.height / 2) for box in (a, b)],
        )
    )
    for box in boxes:
        if (
            abs(2 * box.x - left - right) < box.width + right - left
            and abs(2 * box.y - top - bottom) < box.height + bottom - top
        ):
            yield box


def _least_hidden(
    boxes: Sequence[Rectangle], way: tuple[Point, Stroke], others: Iterable[tuple[Point, Stroke]]
) -> tuple[Point, Stroke]:
    """The first of these curves that no box hides, or the one that is hidden least."""
    least = _hidden(boxes, *way)
    for other in others:
        hidden = _hidden(boxes, *other)
        if hidden < least:
            way, least = other, hidden
        if not least:
            break
    return way


def _bow(
    placed: Placed, a: Rectangle, b: Rectangle, leaving: Side, coming: Side, bows: tuple[float, float]
) -> tuple[Point, Stroke]:
    """A curve that leaves one box and comes to the other at these sides, and reaches so far out there."""
    (start, first), (end, second) = (
        (
            (box.x + across * box.width / 2, box.y + down * box.height / 2),
            (_within(box.x + across * (box.width / 2 + bow), placed), box.y + down * (box.height / 2 + bow)),
        )
        for box, (across, down), bow in zip((a, b), (leaving, coming), bows, strict=True)
    )
    return start, (first, second, end)


def _hidden(boxes: Iterable[Rectangle], start: Point, curve: Stroke) -> int:
    """Return how many points of a curve lie behind boxes."""
    points = Line(start, (curve,)).points(24)[1:-1]
    (left, right), (top, bottom) = ((min(each), max(each)) for each in zip(*points, strict=True))
    near = [
        box
        for box in boxes
        if abs(2 * box.x - left - right) < box.width + right - left
        and abs(2 * box.y - top - bottom) < box.height + bottom - top
    ]
    return sum(abs(x - box.x) < box.width / 2 and abs(y - box.y) < box.height / 2 for x, y in points for box in near)


def _within(x: float, placed: Placed) -> float:
    return min(max(x, 4.0), placed.width - 4.0)


def dashes(arrow: Arrow) -> str:
    """The lengths of an arrow's dashes and gaps; empty for a solid one."""
    return "1.5 3" if arrow.back else "2 2" if arrow.keeps and not arrow.wrong else "5 3" if arrow.dashed else ""


def phases(placed: Placed) -> list[float]:
    """Return where in its dashes each arrow starts: those that end as one line are dashed as one, and so look
    dashed."""
    kinds = list(map(dashes, placed.scene.arrows))
    ends = [line.strokes[-1][-1] for line in placed.lines]
    many = Counter(zip(kinds, ends, strict=True))
    return [
        -_length(line) % math.fsum(map(float, dash.split())) if dash and many[dash, end] > 1 else 0.0
        for dash, end, line in zip(kinds, ends, placed.lines, strict=True)
    ]


def _length(line: Line) -> float:
    """The length of the way, up to the head of the arrow."""
    return math.fsum(math.dist(a, b) for a, b in pairwise(line.points(32))) - HEAD


def _within_lane(point: Point, lane: Lane) -> bool:
    return lane.left < point[0] < lane.right and lane.top < point[1] < lane.bottom


def fill_of(lane: Lane) -> str:
    """The ground of a band."""
    return band_look(lane.band.order)[0]


class Ground:
    """The colours of the paper under the labels of a placed scene."""

    STRIP = 200.0
    """The height of the strips in which frames are looked for."""

    def __init__(self, placed: Placed) -> None:
        self.lanes = placed.lanes
        self.strips: dict[int, list[Plate]] = {}
        for plate in placed.plates:
            for strip in range(int(plate.top // self.STRIP), int(plate.bottom // self.STRIP) + 1):
                self.strips.setdefault(strip, []).append(plate)

    def at(self, point: Point) -> str:
        """The colour under this point."""
        x, y = point
        paper = next((fill_of(lane) for lane in self.lanes if _within_lane(point, lane)), PAPER)
        near = self.strips.get(int(y // self.STRIP), ())
        depths = [plate.depth for plate in near if plate.left < x < plate.right and plate.top < y < plate.bottom]
        return shaded(paper, 1 + max(depths)) if depths else paper


def plate_fill(placed: Placed, plate: Plate) -> str:
    """The ground of a frame: a little darker than what is around it."""
    inside = (plate.left + plate.right) / 2, plate.top
    lane = next((lane for lane in placed.lanes if _within_lane(inside, lane)), None)
    return shaded(PAPER if lane is None else fill_of(lane), plate.depth + 1)
