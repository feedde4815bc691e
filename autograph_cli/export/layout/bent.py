"""A picture bent like a U: the first half leads down on the left, the second up on the right, and what skips from the
one into the other, as in a U-Net, is an arrow straight across."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from autograph_cli.export.layout.columns import CONTINUED
from autograph_cli.export.layout.direction import DOWN
from autograph_cli.export.layout.orders import extent, moved, part_of, spots_of, ways_of
from autograph_cli.export.layout.paper import on_paper
from autograph_cli.export.layout.placed import HEAD, Line, Placed, Plate, Rectangle
from autograph_cli.export.ranks import in_turn
from autograph_cli.export.scene.records import Arrow, Scene, paths_of
from autograph_cli.export.style import EDGE, SLANT, label_width

FEWEST = 3
"""Arrows across a U, at least: two that skip, and the one at its bottom."""
MOST = 120
"""Boxes up to which a U is looked for."""
ROOM = 16.0
"""Points that an arrow across takes on each side of its label."""
Spots = Mapping[str, Rectangle]


def bent(scene: Scene, *, quick: bool = False) -> Placed | None:
    """Lay out a scene without bands as a U; None where no arrows skip from half to half, each within the next, or where
    one would run through a box."""
    first, across = _first_half(scene)
    if not first:
        return None
    left, right = (_half(scene, first, second=second, quick=quick) for second in (False, True))
    here, own = spots_of(left), spots_of(right)
    (_, top, end, bottom), (start, its_top, _, its_bottom) = extent(left), extent(right)
    apart = sorted(here[arrow.tail].y - own[arrow.head].y for arrow in across)[len(across) // 2]
    least, most = sorted((top - its_top, bottom - its_bottom))
    wide = max(label_width(arrow.label) for arrow in across)
    right = moved(right, (end + 2 * ROOM + wide + HEAD - start, min(max(apart, least), most)))
    spots = spots_of(left, right)
    bridges = {id(arrow): _across(scene, arrow, spots, end + ROOM, wide) for arrow in across}
    if not all(_is_free(line, spots) for line in bridges.values()) or not _apart(bridges.values()):
        return None
    lines = ways_of(left, right) | bridges
    positions = tuple([spots[box.id] for box in scene.boxes])
    ways = tuple([lines[id(arrow)] for arrow in scene.arrows])
    before = {plate.frame.id for plate in left.plates}
    plates = [_second_part(plate) if plate.frame.id in before else plate for plate in right.plates]
    return on_paper(scene, positions, ways, (), (*left.plates, *plates), DOWN)


def along(scene: Scene) -> Iterator[tuple[str, list[str]]]:
    """Yield the boxes, each after all that lead to it, with those that do; arrows into a next turn apart."""
    place = {box.id: number for number, box in enumerate(scene.boxes)}
    into: dict[str, list[str]] = {key: [] for key in place}
    for arrow in scene.arrows:
        if not arrow.back:
            into[arrow.head].append(arrow.tail)
    edges = ((place[tail], place[head]) for head, tails in into.items() for tail in tails)
    for number in in_turn(len(place), edges, int):
        yield scene.boxes[number].id, into[scene.boxes[number].id]


def _first_half(scene: Scene) -> tuple[set[str], Sequence[Arrow]]:
    """Return the boxes before the bottom of a U, and the arrows that lead across it, the uppermost first: the most that
    there are, through few frames, between halves of about one size."""
    if scene.bands or scene.links or len(scene.boxes) > MOST or any(arrow.back for arrow in scene.arrows):
        return set(), ()
    before: dict[str, set[str]] = {}
    deep: dict[str, int] = {}
    for key, tails in along(scene):
        before[key] = {key}.union(*(before[tail] for tail in tails))
        deep[key] = 1 + max((deep[tail] for tail in tails), default=0)
    found: dict[tuple[int, int, int], tuple[set[str], Sequence[Arrow]]] = {}
    for bottom, first in before.items():
        across = [arrow for arrow in scene.arrows if arrow.tail in first and arrow.head not in first]
        across.sort(key=lambda arrow: deep[arrow.tail])
        nested = all(deep[a.tail] < deep[b.tail] and deep[a.head] > deep[b.head] for a, b in pairwise(across))
        if nested and len(across) >= FEWEST and across[-1].tail == bottom:
            broken = len(_around(scene, first) & _around(scene, deep.keys() - first))
            found.setdefault((-len(across), broken, abs(2 * len(first) - len(deep))), (first, across))
    return found[min(found)] if found else (set(), ())


def _around(scene: Scene, boxes: Collection[str]) -> set[str]:
    """The frames around some boxes."""
    path = paths_of(scene)
    return {frame for box in scene.boxes if box.id in boxes for frame in path[box.frame]}


def _half(scene: Scene, first: set[str], *, second: bool, quick: bool) -> Placed:
    """One half as a picture of its own; frames that are in both go on in the second."""
    boxes = [box for box in scene.boxes if (box.id in first) != second]
    its, before = _around(scene, [box.id for box in boxes]), _around(scene, first) if second else set[str]()
    frames = (
        replace(frame, title=frame.title + CONTINUED * (frame.id in before))
        for frame in scene.frames
        if frame.id in its
    )
    return part_of(scene, boxes, frames, up=second, quick=quick)


def _second_part(plate: Plate) -> Plate:
    """A part of a frame with an id of its own, since formats draw what has one id once."""
    return replace(plate, frame=replace(plate.frame, id=f"{plate.frame.id}.1"))


def _across(scene: Scene, arrow: Arrow, spots: Spots, start: float, wide: float) -> Line:
    """The arrow from the side of a box to that of one in the other half, with so `wide` a label from `start` on."""
    lean = {box.id: SLANT / 2 for box in scene.boxes if box.style == "input"}
    tail, head = spots[arrow.tail], spots[arrow.head]
    begin = tail.x + tail.width / 2 - lean.get(arrow.tail, 0.0), tail.y
    end = head.x - head.width / 2 + lean.get(arrow.head, 0.0), head.y
    straight, middle, bend = start + wide, start + wide + ROOM / 2, start + wide + ROOM
    curve = (middle, tail.y), (middle, head.y), (bend, head.y)
    return Line(begin, (((straight, tail.y),), curve, (end,)), (start + wide / 2, tail.y) if arrow.label else None)


def _is_free(line: Line, spots: Spots) -> bool:
    """Return whether an arrow across runs through no box on its way out of a half and into the other."""
    (x0, y0), (x3, y3) = line.start, line.strokes[-1][-1]
    x1, x2 = line.strokes[0][0][0], line.strokes[1][-1][0]
    return not any(
        2 * abs(spot.y - y) < spot.height and low < spot.x < high
        for spot in spots.values()
        for y, low, high in ((y0, x0, x1), (y3, x2, x3))
    )


def _apart(lines: Iterable[Line]) -> bool:
    """Return whether the labels of arrows across have room above each other."""
    return all(b.start[1] - a.start[1] > EDGE for a, b in pairwise(lines))
