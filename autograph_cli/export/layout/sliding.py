"""Boxes whose arrows lead straight down slide down to where these end, as far as nothing is in the way; frames move to
what their arrows come from, or lead to.

A box stands amid its row, and beside a tall frame a row is tall: without this a chain of a few boxes is drawn out over
the length of all that is beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from autograph_cli.export.layout.paper import moved_area, moved_line, moved_spot
from autograph_cli.export.layout.placed import HEAD, Line, Plate, Point, Rectangle
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.style import EDGE, label_width

MOST = 400
"""Boxes up to which this is done: each is held against all that is drawn."""
LEAST = 30.0
"""The way down that is worth it."""
BARE, LABELLED = 22.0, 36.0
"""The height that is left to an arrow without a label, and with one."""
ROOM = 12.0
"""The space kept free below a box and beside it."""

Area = tuple[float, float, float, float]
"""From left to right, from top to bottom."""


def slid(
    scene: Scene, positions: Sequence[Rectangle], lines: Sequence[Line], plates: Sequence[Plate]
) -> tuple[tuple[Rectangle, ...], tuple[Line, ...]]:
    """The boxes and the arrows of a picture that runs down, with as much of both together as can be."""
    places, ways = list(positions), list(lines)
    if len(places) > MOST:
        return tuple(places), tuple(ways)
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    out: dict[int, list[int]] = {}
    into: dict[int, list[int]] = {}
    for number, arrow in enumerate(scene.arrows):
        out.setdefault(index[arrow.tail], []).append(number)
        into.setdefault(index[arrow.head], []).append(number)
    for box in sorted(out, key=lambda box: (-places[box].y, box)):
        labels = [scene.arrows[number].label for number in out[box]]
        heads = [scene.boxes[index[scene.arrows[number].head]] for number in out[box]]
        own = [ways[number] for number in out[box]]
        home = scene.boxes[box].band, scene.boxes[box].frame
        if any((head.band, head.frame) != home for head in heads) or not all(map(_is_plumb, own)):
            continue
        ends = [way.strokes[-1][-1][1] - (LABELLED if label else BARE) for way, label in zip(own, labels, strict=True)]
        place = places[box]
        half = max([place.width, *map(label_width, labels)]) / 2
        area = place.x - half, place.x + half, place.y + place.height / 2, min(ends)
        if area[3] - area[2] < LEAST:
            continue
        apart = [n for n in range(len(ways)) if n not in out[box] and n not in into.get(box, ())]
        others = drawn([ways[n] for n in apart], [scene.arrows[n].label for n in apart])
        around = (area_of(other) for number, other in enumerate(places) if number != box)
        walls = (area_ for plate in plates for area_ in _walls(plate, place))
        down = _free(area, (*around, *walls, *others)) - area[2]
        if down >= LEAST:
            places[box] = moved_spot(place, (0.0, down))
            for number in out[box]:
                ways[number] = _shorter(ways[number], down)
            for number in into.get(box, ()):
                ways[number] = _longer(ways[number], down)
    return tuple(places), tuple(ways)


def _is_plumb(line: Line) -> bool:
    """Return whether an arrow leads straight down."""
    points = [line.start, *(point for stroke in line.strokes for point in stroke)]
    return all(abs(x - line.start[0]) < 0.1 for x, _ in points) and points[-1][1] > line.start[1]


def area_of(place: Rectangle) -> Area:
    """Return the area of a box."""
    across, down = place.width / 2, place.height / 2
    return place.x - across, place.x + across, place.y - down, place.y + down


def _walls(plate: Plate, place: Rectangle) -> Iterator[Area]:
    """Yield the areas of a frame that a box must not touch: all of it from outside, its lower border from inside."""
    if _holds(plate, place):
        yield plate.left, plate.right, plate.bottom, plate.bottom
    else:
        yield plate.left, plate.right, plate.top, plate.bottom


def drawn(lines: Iterable[Line], labels: Iterable[str]) -> Iterator[Area]:
    """The pieces of arrows, and their labels."""
    for line, label in zip(lines, labels, strict=True):
        for (x, y), (x2, y2) in pairwise(line.points()):
            yield min(x, x2), max(x, x2), min(y, y2), max(y, y2)
        if line.label:
            half, (x, y) = label_width(label) / 2, line.label
            yield x - half, x + half, y - EDGE / 2, y + EDGE / 2


def _free(area: Area, others: Iterable[Area]) -> float:
    """Return how far down an area is free, without what is above it."""
    left, right, top, bottom = area
    for x, x2, y, y2 in others:
        if x < right + ROOM and x2 > left - ROOM and y2 >= top and y - ROOM < bottom:
            bottom = y - ROOM
    return bottom


def _shorter(line: Line, down: float) -> Line:
    """A straight arrow that begins so much lower."""
    x, y = line.start[0], line.start[1] + down
    end = line.strokes[-1][-1]
    return Line((x, y), ((end,),), line.label and (line.label[0], (y + end[1] - HEAD) / 2))


def _longer(line: Line, down: float) -> Line:
    """An arrow that ends so much lower."""
    before: Point = line.strokes[-2][-1] if len(line.strokes) > 1 else line.start
    last, (x, y) = line.strokes[-1], line.strokes[-1][-1]
    end = ((x, y + down),)
    straight = len(last) == 1 and abs(before[0] - x) < 0.1
    return replace(line, strokes=(*line.strokes[:-1], end) if straight else (*line.strokes, end))


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
        """Return how much shorter the outer part of an arrow can get, if it is straight."""
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
                self.ways[n] = moved_line(self.ways[n], (0.0, by))
        for box in inside:
            self.places[box] = moved_spot(self.places[box], (0.0, by))
        within = [n for n, its in enumerate(self.plates) if plate.left <= its.left and its.right <= plate.right]
        for n in within:
            its = self.plates[n]
            if plate.top <= its.top and its.bottom <= plate.bottom:
                self.plates[n] = moved_area(its, (0.0, by))


def _holds(plate: Plate, place: Rectangle) -> bool:
    return plate.left < place.x < plate.right and plate.top < place.y < plate.bottom


def _drawn_in(line: Line, plate: Plate, by: float, up: bool) -> Line:
    """An arrow into a frame that moves up, or out of one that moves down; its outer part, which is straight, stays."""
    lower, end = moved_line(line, (0.0, by)), line.strokes[-1][-1]
    border = (plate.top if up else plate.bottom) + by
    outside = line.label and (line.label[1] < plate.top if up else line.label[1] > plate.bottom)
    if up:
        label = (line.label[0], (line.start[1] + border) / 2) if line.label and outside else lower.label
        return Line(line.start, lower.strokes, label)
    label = (line.label[0], (border + end[1] - HEAD) / 2) if line.label and outside else lower.label
    return Line(lower.start, (*lower.strokes[:-1], (end,)), label)
