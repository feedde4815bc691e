"""Frames move to what their arrows come from, or lead to: beside what is tall these are long without need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.export.layout.placed import HEAD, Line, Plate, Rectangle
from autograph_cli.export.layout.sliding import BARE, LABELLED, LEAST, MOST, ROOM, Area, area_of, drawn
from autograph_cli.export.scene.records import Scene


def near(
    scene: Scene, positions: Sequence[Rectangle], lines: Sequence[Line], plates: Sequence[Plate]
) -> tuple[tuple[Rectangle, ...], tuple[Line, ...], tuple[Plate, ...]]:
    """The picture with each outermost frame moved up if its arrows all come straight from above, or else down."""
    picture = _Picture(scene, positions, lines, plates)
    if len(positions) <= MOST:
        for number, plate in enumerate(plates):
            if plate.depth == 0:
                picture.moved(number)
    return tuple(picture.places), tuple(picture.ways), tuple(picture.plates)


class _Picture:
    def __init__(
        self, scene: Scene, positions: Sequence[Rectangle], lines: Sequence[Line], plates: Sequence[Plate]
    ) -> None:
        self.scene, self.places, self.ways, self.plates = scene, list(positions), list(lines), list(plates)
        index = {box.id: number for number, box in enumerate(scene.boxes)}
        self.ends = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]

    def moved(self, number: int) -> None:
        """Move one frame with all that is in it, if that is worth it."""
        plate = self.plates[number]
        inside = {box for box, place in enumerate(self.places) if _holds(plate, place)}
        crossing = [n for n, (tail, head) in enumerate(self.ends) if (tail in inside) != (head in inside)]
        heads = {self.ends[n][1] in inside for n in crossing}
        bands = {self.scene.boxes[end].band for n in crossing for end in self.ends[n]}
        if len(heads) != 1 or len(bands) != 1:
            return
        up = heads == {True}
        rooms = [self._straight(n, plate, up) for n in crossing]
        by = min(rooms)
        if by < LEAST:
            return
        far = min(by, self._free(plate, by, up, inside, set(crossing)))
        if far >= LEAST:
            self._move(plate, -far if up else far, inside, set(crossing), up)

    def _straight(self, n: int, plate: Plate, up: bool) -> float:
        """By how much the outer part of an arrow can get shorter, if it is straight."""
        line, label = self.ways[n], self.scene.arrows[n].label
        (x, y), end = line.start, line.strokes[-1][-1]
        if up:
            first = line.strokes[0]
            straight = len(first) == 1 and first[0][0] == x and first[0][1] >= plate.top
            return plate.top - y - (LABELLED if label else BARE) if straight else 0.0
        before = line.strokes[-2][-1] if len(line.strokes) > 1 else line.start
        straight = len(line.strokes[-1]) == 1 and before[0] == end[0] and before[1] <= plate.bottom
        return end[1] - plate.bottom - (LABELLED if label else BARE) if straight else 0.0

    def _free(self, plate: Plate, by: float, up: bool, inside: set[int], crossing: set[int]) -> float:
        """Return how far the frame can go until it comes near to something else."""
        for left, right, top, bottom in self._others(inside, crossing):
            if left < plate.right + ROOM and right > plate.left - ROOM:
                if up and top < plate.top and bottom > plate.top - by - ROOM:
                    by = min(by, plate.top - bottom - ROOM)
                if not up and bottom > plate.bottom and top < plate.bottom + by + ROOM:
                    by = min(by, top - plate.bottom - ROOM)
        return by

    def _others(self, inside: set[int], crossing: set[int]) -> Iterator[Area]:
        yield from (area_of(place) for box, place in enumerate(self.places) if box not in inside)
        yield from ((its.left, its.right, its.top, its.bottom) for its in self.plates if its.depth == 0)
        outside = [n for n, its in enumerate(self.ends) if n not in crossing and not inside.intersection(its)]
        yield from drawn([self.ways[n] for n in outside], [self.scene.arrows[n].label for n in outside])

    def _move(self, plate: Plate, by: float, inside: set[int], crossing: set[int], up: bool) -> None:
        for n, (tail, _) in enumerate(self.ends):
            if n in crossing:
                self.ways[n] = _drawn_in(self.ways[n], plate, by, up)
            elif tail in inside:
                self.ways[n] = _lower(self.ways[n], by)
        for box in inside:
            self.places[box] = replace(self.places[box], y=self.places[box].y + by)
        within = [n for n, its in enumerate(self.plates) if plate.left <= its.left and its.right <= plate.right]
        for n in within:
            its = self.plates[n]
            if plate.top <= its.top and its.bottom <= plate.bottom:
                title = its.title[0], its.title[1] + by
                self.plates[n] = replace(its, top=its.top + by, bottom=its.bottom + by, title=title)


def _holds(plate: Plate, place: Rectangle) -> bool:
    return plate.left < place.x < plate.right and plate.top < place.y < plate.bottom


def _lower(line: Line, by: float) -> Line:
    strokes = tuple(tuple((x, y + by) for x, y in stroke) for stroke in line.strokes)
    label = line.label and (line.label[0], line.label[1] + by)
    return Line((line.start[0], line.start[1] + by), strokes, label)


def _drawn_in(line: Line, plate: Plate, by: float, up: bool) -> Line:
    """An arrow into a frame that moves up, or out of one that moves down; its outer part, which is straight, stays."""
    lower, end = _lower(line, by), line.strokes[-1][-1]
    border = (plate.top if up else plate.bottom) + by
    outside = line.label and (line.label[1] < plate.top if up else line.label[1] > plate.bottom)
    if up:
        label = (line.label[0], (line.start[1] + border) / 2) if line.label and outside else lower.label
        return Line(line.start, lower.strokes, label)
    label = (line.label[0], (border + end[1] - HEAD) / 2) if line.label and outside else lower.label
    return Line(lower.start, (*lower.strokes[:-1], (end,)), label)
