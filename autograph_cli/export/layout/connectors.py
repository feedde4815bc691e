"""Arrows from one column of a picture into another: each ends at a letter, and goes on from the same letter there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from autograph_cli.export.layout.coordinates import packed
from autograph_cli.export.layout.direction import Direction
from autograph_cli.export.layout.placed import HEAD, Line, Placed, Point, Rectangle, Stroke
from autograph_cli.export.scene.records import Arrow, Box
from autograph_cli.export.simplify.ports import lettered
from autograph_cli.export.style import SMALL, box_size

ABOVE, BELOW = 0, 1
"""The ends of a column at which letters stand."""
APART, STUB = 4.0, HEAD + 4.0
"""Points between two letters, and of the arrow between a column and a letter."""
BEND, MOST_BEND, STRAIGHT = 10.0, 30.0, 0.3
"""Points of an arrow more, at least and at most, where it leads aside; and how far aside is straight."""
GOES_ON = "goes on at the same letter"
NOWHERE = -1
"""The band of a letter, which stands in none."""


class Stop(NamedTuple):
    """The point where arrows leave or enter a column: which of its ends, and how far across."""

    column: int
    end: int
    x: float
    leaves: bool


class Moves(Protocol):
    """Moves points to their columns."""

    def point(self, point: Point, column: int | None = None) -> Point: ...


class Letters:
    """The arrows of a picture as they are cut at its breaks, and the letters there."""

    def __init__(self, placed: Placed, breaks: Sequence[float], way: Direction) -> None:
        self.placed, self.breaks, self.way = placed, breaks, way
        self.cut = [_cut(line, breaks) for line in placed.lines]
        self.stops = [self._stops(parts) if len(parts) > 1 else None for parts in self.cut]
        self.letter = self._lettered()
        self.boxes = {stop: self._box(number, stop) for number, stop in enumerate(sorted(self.letter))}
        self.ends: dict[tuple[int, int], list[Stop]] = {}
        for stop in self.boxes:
            self.ends.setdefault((stop.column, stop.end), []).append(stop)
        self.x = {stop: x for its in self.ends.values() for stop, x in self._spread(its)}

    def room(self, column: int, end: int) -> float:
        """Return how much the letters at an end of a column take."""
        its = self.ends.get((column, end), ())
        return max((STUB + self._bend(stop) + self._size(stop)[1] for stop in its), default=0.0)

    def sides(self, column: int, end: int, least: tuple[float, float]) -> tuple[float, float]:
        """Return how far to the left and to the right the letters at an end of a column reach, or what is more."""
        left, right = least
        for stop in self.ends.get((column, end), ()):
            half = self._size(stop)[0] / 2
            left, right = min(left, self.x[stop] - half), max(right, self.x[stop] + half)
        return left, right

    def _spread(self, its: Sequence[Stop]) -> Iterator[tuple[Stop, float]]:
        """Yield where the letters at an end of a column stand across: side by side, near to their arrows."""
        halves = [self._size(stop)[0] / 2 for stop in its]
        steps = list(accumulate((a + b + APART for a, b in pairwise(halves)), initial=0.0))
        yield from zip(its, packed([stop.x for stop in its], [1.0] * len(its), steps), strict=True)

    def _bend(self, stop: Stop) -> float:
        """Return how far along an arrow leads aside to a letter, the same at all of an end of a column."""
        its = self.ends[stop.column, stop.end]
        far = max(abs(self.x[each] - each.x) for each in its)
        return min(MOST_BEND, BEND + far / 8) if far > STRAIGHT else 0.0

    def _at(self, y: float) -> int:
        return bisect_right(self.breaks, y)

    def _column(self, part: Line) -> int:
        """Return in which column a part of an arrow is."""
        return self._at((part.start[1] + part.strokes[-1][-1][1]) / 2)

    def _stops(self, parts: Sequence[Line]) -> tuple[Stop, Stop]:
        """Return where a cut arrow leaves its first column, and comes into its last one."""
        tail, head = self._column(parts[0]), self._column(parts[-1])
        down = tail < head
        (x, _), (x1, _) = parts[0].strokes[-1][-1], parts[-1].start
        return Stop(tail, int(down), round(x, 1), True), Stop(head, int(not down), round(x1, 1), False)

    def _lettered(self) -> Mapping[Stop, str]:
        """The letter of each stop: the same for all that arrows join."""
        group: dict[Stop, int] = {}
        for number, ends in enumerate(self.stops):
            for stop in ends or ():
                old, new = group.setdefault(stop, number), number
                if old != new:
                    group = {each: new if its == old else its for each, its in group.items()}
        names: dict[int, str] = {}
        for stop in sorted(group, key=lambda stop: (stop.column, not stop.leaves, stop.x)):
            names.setdefault(group[stop], lettered(len(names)))
        return {stop: names[its] for stop, its in group.items()}

    def _box(self, number: int, stop: Stop) -> Box:
        """The box of a letter; it has the label of an arrow that loses its own."""
        scene, letter = self.placed.scene, self.letter[stop]
        its = [arrow for arrow, ends in enumerate(self.stops) if ends and stop in ends]
        label = ""
        if stop.leaves and all(map(self._loses_label, its)):
            label = scene.arrows[its[0]].label
        titles = {box.id: box.title for box in scene.boxes}
        far = [scene.arrows[arrow].head if stop.leaves else scene.arrows[arrow].tail for arrow in its]
        words = ("goes on to " if stop.leaves else "comes from ") + ", ".join(dict.fromkeys(titles[key] for key in far))
        return Box(f"port_{number}", "port", f"{letter} {label}".rstrip(), tooltip=words, band=NOWHERE, small=True)

    def _loses_label(self, number: int) -> bool:
        """Return whether the label of a cut arrow stands between its first and its last column."""
        ends, label = self.stops[number], self.placed.lines[number].label
        return bool(ends and label and self._at(label[1]) not in (ends[0].column, ends[1].column))

    def _size(self, stop: Stop) -> tuple[float, float]:
        return self.way.turned(*box_size("port", self.boxes[stop].title, size=SMALL))

    def drawn(self, moved: Placed, of: Moves) -> Placed:
        """The picture whose boxes are in columns, with the arrows there and their letters."""
        spots = {stop: self._spot(stop, of) for stop in self.boxes}
        arrows: list[tuple[Arrow, Line]] = []
        more: dict[tuple[str, Stop], tuple[Arrow, Line]] = {}
        for number, (arrow, parts, ends) in enumerate(zip(moved.scene.arrows, self.cut, self.stops, strict=True)):
            label = self.placed.lines[number].label
            if ends is None:
                arrows.append((arrow, _moved(parts[0], label, self._column(parts[0]), of)))
                continue
            for end, stop, part in ((arrow.tail, ends[0], parts[0]), (arrow.head, ends[1], parts[-1])):
                key = self.boxes[stop].id
                here = label if label and self._at(label[1]) == stop.column else None
                its = replace(arrow, head=key) if stop.leaves else replace(arrow, tail=key)
                its, line = its if here else replace(its, label=""), _moved(part, here, stop.column, of)
                if (end, stop) not in more or here:
                    more[end, stop] = its, _led(line, spots[stop], leaves=stop.leaves)
        arrows += more.values()
        boxes = (*moved.scene.boxes, *self.boxes.values())
        legend = (*moved.scene.legend, *([("port", GOES_ON)] if self.boxes else []))
        scene = replace(moved.scene, boxes=boxes, arrows=tuple([arrow for arrow, _ in arrows]), legend=legend)
        positions = (*moved.positions, *(spots[stop] for stop in self.boxes))
        lines = tuple([line for _, line in arrows])
        return replace(moved, scene=scene, positions=positions, lines=lines, back=len(set(self.letter.values())))

    def _spot(self, stop: Stop, of: Moves) -> Rectangle:
        """Return where a letter stands."""
        y = self.breaks[stop.column - (stop.end == ABOVE)]
        x, border = of.point((self.x[stop], y), stop.column)
        away = STUB + self._bend(stop) + self._size(stop)[1] / 2
        return Rectangle(x, border + (away if stop.end == BELOW else -away), *self._size(stop))


def _moved(part: Line, label: Point | None, column: int, of: Moves) -> Line:
    strokes = tuple([tuple([of.point(point, column) for point in stroke]) for stroke in part.strokes])
    return Line(of.point(part.start, column), strokes, label and of.point(label, column))


def _led(line: Line, spot: Rectangle, *, leaves: bool) -> Line:
    """The line on to a letter, or from it on."""
    x, y = line.strokes[-1][-1] if leaves else line.start
    down = 1.0 if spot.y > y else -1.0
    end = spot.x, spot.y - down * spot.height / 2
    turn = spot.x, end[1] - down * HEAD
    middle = (y + turn[1]) / 2
    aside = abs(spot.x - x) > STRAIGHT
    if leaves:
        curve: tuple[Stroke, ...] = (((x, middle), (spot.x, middle), turn),) if aside else ()
        return replace(line, strokes=(*line.strokes, *curve, (end,)))
    curve = ((turn,), ((spot.x, middle), (x, middle), (x, y))) if aside else (((x, y),),)
    return replace(line, start=end, strokes=(*curve, *line.strokes))


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
