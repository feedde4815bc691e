"""Boxes whose arrows lead straight down slide down to where these end, as far as nothing is in the way.

A box stands amid its row, and beside a tall frame a row is tall: without this a chain of a few boxes is drawn out over
the length of all that is beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

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
        others = [
            line for number, line in enumerate(ways) if number not in out[box] and number not in into.get(box, ())
        ]
        texts = [scene.arrows[n].label for n in range(len(ways)) if n not in out[box] and n not in into.get(box, ())]
        around = (area_of(other) for number, other in enumerate(places) if number != box)
        walls = (area_ for plate in plates for area_ in _walls(plate, place))
        down = _free(area, (*around, *walls, *drawn(others, texts))) - area[2]
        if down >= LEAST:
            places[box] = replace(place, y=place.y + down)
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
    return (
        place.x - place.width / 2,
        place.x + place.width / 2,
        place.y - place.height / 2,
        place.y + place.height / 2,
    )


def _walls(plate: Plate, place: Rectangle) -> Iterator[Area]:
    """Yield the areas of a frame that a box must not touch: all of it from outside, its lower border from inside."""
    if plate.left < place.x < plate.right and plate.top < place.y < plate.bottom:
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
