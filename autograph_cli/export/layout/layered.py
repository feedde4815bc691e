"""A layered layout in near-linear time: rows, an order in each row, positions, and ways that cross no box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec.structs import replace

from autograph_cli.export.layout.arranging import (
    FRAME_HEADING,
    FRAME_PAD,
    HEADING,
    PAD,
    Arranged,
    Shape,
    arrange,
    order,
    order_again,
)
from autograph_cli.export.layout.compound import Level, Plan
from autograph_cli.export.layout.direction import DOWN, Direction
from autograph_cli.export.layout.paper import moved_line, on_paper
from autograph_cli.export.layout.placed import Line, Placed, Plate, Point, Rectangle
from autograph_cli.export.layout.routes import joined
from autograph_cli.export.layout.sliding import near, slid
from autograph_cli.export.scene.records import Band, Box, Frame, Scene
from autograph_cli.export.style import BAND, EDGE_OF_PAPER, SLANT, SMALL, TITLE, box_size, text_width

TRIED = 60
"""Boxes up to which several plans are tried where wires cross: as many as a picture has that fits a page."""
SHORTEST = 3
"""Boxes from which on a chain is laid out as one tall box, so that it stands beside frames and not below them."""
MOST = 400
"""Boxes of a scene up to which chains are held together: it is laid out twice."""
LOWER = 0.9
"""The part of its height below which a picture must get for its chains to be held together."""


def lay_out(scene: Scene, way: Direction = DOWN, *, quick: bool = False) -> Placed:
    """Lay the scene out; the same scene gives the same positions, on every machine.

    With `quick`, one of thousands, with some more crossings.
    """
    return Layouts(scene, quick=quick).to(way)


class Layouts:
    """A scene laid out in one direction and in the other, with the same order in its rows."""

    def __init__(self, scene: Scene, *, quick: bool = False) -> None:
        self.scene = scene
        self.plan, self.crossed = _planned(scene, quick=quick)
        self.together: tuple[Plan, int] | None = None
        """The plan with chains held together."""
        if not quick and (its := gathered(scene)) is not scene:
            self.together = _planned(its, quick=self.crossed > 0)
        self.placed: dict[Direction, Placed] = {}

    def to(self, way: Direction) -> Placed:
        """Return the picture that runs this way."""
        if way not in self.placed:
            plain = _laid_out(self.scene, self.plan, way)
            self.placed[way] = plain
            if self.together is not None and self.together[1] <= self.crossed:
                other = _laid_out(self.scene, self.together[0], way)
                lower = other.width < plain.width * LOWER if way.right else other.height < plain.height * LOWER
                self.placed[way] = other if lower else plain
        return self.placed[way]


def _laid_out(drawn: Scene, plan: Plan, way: Direction) -> Placed:
    """Lay out the picture `drawn` by a plan of it, or of one with more frames, that are bare."""
    scene = plan.scene
    arranged = _arranged(scene, plan, way)
    corners = _corners(scene, plan, arranged, way)
    lines = tuple(_line(plan, arranged, corners, number) for number in range(len(scene.arrows)))
    positions = tuple(_position(plan, arranged, corners, number) for number in range(len(scene.boxes)))
    plates = tuple(_plates(drawn, plan, arranged, corners))
    if way.right:
        positions, lines, plates = _turned(scene, plan, positions, lines, plates)
    else:
        positions, lines = slid(drawn, positions, lines, plates)
        positions, lines, plates = near(drawn, positions, lines, plates)
    return on_paper(drawn, positions, lines, _bounds(arranged, way), plates, way)


def _planned(scene: Scene, *, quick: bool) -> tuple[Plan, int]:
    """The plan with the fewest wires that cross, and how many do."""
    best: tuple[Plan, int] | None = None
    sides = (scene.data,) if scene.bands else (scene.data, not scene.data)
    for shared, root_below in product((True, False), sides):
        plan = Plan(scene, quick=quick, shared=shared, root_below=root_below)
        crossed = order(plan)
        if best is None or crossed < best[1]:
            best = plan, crossed
        if not crossed or quick or len(scene.boxes) > TRIED:
            break
    assert best is not None
    return best[0], order_again(*best)


def _arranged(scene: Scene, plan: Plan, way: Direction) -> dict[int, Arranged]:
    """Arrange each level, the innermost first: the inside of each frame, and at -1 the whole picture."""
    shapes = [Shape(*way.turned(*size_of(box)), box.style == "leaf") for box in scene.boxes]
    least = {band.number: least_width(band) for band in scene.bands} if way.right else {}
    arranged: dict[int, Arranged] = {}
    for level in reversed(plan.levels):
        frame = scene.frames[level.frame] if level.frame >= 0 else None
        its = _shapes(level, shapes, arranged)
        arranged[level.frame] = arrange(level, its, plan.bands(level), frame, scene.data, way, least)
    return arranged


def _turned(
    scene: Scene, plan: Plan, positions: Sequence[Rectangle], lines: Sequence[Line], plates: Sequence[Plate]
) -> tuple[tuple[Rectangle, ...], tuple[Line, ...], tuple[Plate, ...]]:
    """Turn a picture that was laid out downwards, so that it runs to the right."""
    positions = tuple(its.turned() for its in positions)
    ways = (_to_slant(scene, plan.ends[number], positions, line.turned()) for number, line in enumerate(lines))
    return positions, tuple(ways), tuple(map(_turned_plate, plates))


def _bounds(arranged: Mapping[int, Arranged], way: Direction) -> tuple[tuple[float, float], ...]:
    """Return where each band of the whole picture begins and ends."""
    bounds = arranged[-1].bounds
    return tuple((start + EDGE_OF_PAPER, end + EDGE_OF_PAPER) for start, end in bounds) if way.right else bounds


def least_width(band: Band) -> float:
    """The least width of a band that stands beside others."""
    return max(text_width(band.title) * BAND, *(text_width(line) * TITLE for line in band.beside), 0.0) + 2 * PAD


def _turned_plate(plate: Plate) -> Plate:
    left, top = plate.top, plate.left
    title = left + FRAME_PAD, top + FRAME_HEADING - 4.5
    return Plate(plate.frame, left, top, plate.bottom, plate.right, title, plate.depth)


def _to_slant(scene: Scene, ends: tuple[int, int], positions: Sequence[Rectangle], line: Line) -> Line:
    """The line from and to the leaning sides of inputs."""
    start, end = line.start, line.strokes[-1][-1]
    if scene.boxes[ends[0]].style == "input":
        start = _on_slant(start, positions[ends[0]])
    if scene.boxes[ends[1]].style == "input":
        end = _on_slant(end, positions[ends[1]])
    return replace(line, start=start, strokes=(*line.strokes[:-1], (*line.strokes[-1][:-1], end)))


def _on_slant(point: Point, spot: Rectangle) -> Point:
    """Return where the side of a parallelogram is that a point at the side of the box around it stands for."""
    x, y = point
    lean = SLANT * (y - spot.y + spot.height / 2) / spot.height
    return (x - lean if x > spot.x else x + SLANT - lean), y


def size_of(box: Box) -> tuple[float, float]:
    """Width and height of a box."""
    return box_size(box.style, box.title, box.subtitle, SMALL if box.small else TITLE, box.lines)


def _shapes(level: Level, shapes: Sequence[Shape], arranged: Mapping[int, Arranged]) -> list[Shape]:
    """The shape of each item: that of a box, that of a frame with all that is in it, or of a port none."""
    items = [
        shapes[box] if box >= 0 else Shape(arranged[frame].right - arranged[frame].left, arranged[frame].height)
        for box, frame in zip(level.boxes, level.frames, strict=True)
    ]
    return items + [Shape(0.0, 0.0)] * len(level.ports)


def _corners(scene: Scene, plan: Plan, arranged: Mapping[int, Arranged], way: Direction) -> dict[int, Point]:
    """The left upper corner of each frame, and of the whole picture."""
    down = EDGE_OF_PAPER + (PAD if scene.bands else 0.0), 0.0
    corners = {-1: (HEADING + PAD / 2 if scene.bands else 0.0, EDGE_OF_PAPER) if way.right else down}
    for number in range(len(scene.frames)):
        around = plan.parent[number]
        (x, y), spot = corners[around], arranged[around].positions[plan.item_of_frame[number]]
        corners[number] = x + spot.x - spot.width / 2, y + spot.y - spot.height / 2
    return corners


def _position(plan: Plan, arranged: Mapping[int, Arranged], corners: Mapping[int, Point], number: int) -> Rectangle:
    frame = plan.inside[number][-1] if plan.inside[number] else -1
    (x, y), spot = corners[frame], arranged[frame].positions[plan.item_of_box[number]]
    return Rectangle(x + spot.x, y + spot.y, spot.width, spot.height, spot.round)


def _line(plan: Plan, arranged: Mapping[int, Arranged], corners: Mapping[int, Point], number: int) -> Line:
    """The way of an arrow: its wires, one after the other."""
    wires = [moved_line(arranged[frame].lines[position], corners[frame]) for frame, position in plan.routes[number]]
    label = next((wire.label for wire in wires if wire.label), None)
    strokes = [stroke for wire in wires for stroke in wire.strokes]
    return wires[0] if len(wires) == 1 else Line(wires[0].start, joined(wires[0].start, strokes), label)


def _plates(
    scene: Scene, plan: Plan, arranged: Mapping[int, Arranged], corners: Mapping[int, Point]
) -> Iterator[Plate]:
    for number, frame in enumerate(scene.frames):
        (x, y), its = corners[number], arranged[number]
        title = x + its.title, y + FRAME_HEADING - 4.5
        yield Plate(frame, x, y, x + its.right - its.left, y + its.height, title, len(plan.chains[number]) - 1)


def gathered(scene: Scene) -> Scene:
    """The scene with each chain that has a frame beside it in a bare frame of its own; as it is if there is none."""
    if not scene.frames or len(scene.boxes) > MOST:
        return scene
    beside = {(frame.parent, frame.band) for frame in scene.frames}
    frames, of = list(scene.frames), {}
    for chain in _chains(scene):
        first = scene.boxes[chain[0]]
        if len(chain) >= SHORTEST and (first.frame, first.band) in beside:
            frames.append(Frame(f"chain {first.id}", "", first.frame, first.band, bare=True))
            of.update(dict.fromkeys(chain, frames[-1].id))
    if not of:
        return scene
    boxes = tuple(replace(box, frame=of.get(number, box.frame)) for number, box in enumerate(scene.boxes))
    return replace(scene, boxes=boxes, frames=tuple(frames))


def _chains(scene: Scene) -> Iterator[list[int]]:
    """Boxes of one frame and band, by their numbers, of which each has one arrow at most on either side."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    ends = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]
    out, into = Counter(tail for tail, _ in ends), Counter(head for _, head in ends)
    backed = {end for arrow, its in zip(scene.arrows, ends, strict=True) if arrow.back or arrow.keeps for end in its}
    alone = {
        number for number in range(len(scene.boxes)) if out[number] < 2 and into[number] < 2 and number not in backed
    }
    after = {
        tail: head
        for tail, head in ends
        if tail in alone and head in alone and _home(scene, tail) == _home(scene, head)
    }
    for start in sorted(alone - set(after.values())):
        chain = [start]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        yield chain


def _home(scene: Scene, number: int) -> tuple[str, int]:
    return scene.boxes[number].frame, scene.boxes[number].band
