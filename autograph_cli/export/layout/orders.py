"""Orders side by side: each band laid out by itself, from the left to the right in the order of derivatives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.layout.arranging import HEADING, PAD
from autograph_cli.export.layout.direction import RIGHT
from autograph_cli.export.layout.layered import lay_out, least_width
from autograph_cli.export.layout.paper import moved_area, moved_line, moved_spot, on_paper
from autograph_cli.export.layout.placed import HEAD, Lane, Line, Placed, Point, Rectangle, Stroke
from autograph_cli.export.scene.labels import clipped
from autograph_cli.export.scene.records import Band, Box, Frame, Scene, left
from autograph_cli.export.style import BAND, BESIDE, EDGE_OF_PAPER, OPERATIONS, SUBTITLE, label_width, text_width

APART, INSIDE = 6.0, 6.0
"""Points between two bands, and at the sides of each."""
AROUND = HEADING + 1.5 * PAD
"""Points above and below what is in a band."""
BELOW = 60.0
"""Points that the legend takes, about."""
NARROW = 156.0
"""Points that a line below a title may take before it is broken."""
LONGEST = 28
"""Letters of a title."""
NEAR = 2.5 * HEAD
"""The height between the tip of a head and the middle of a label that is moved away from it."""
_BETWEEN = re.compile(r"(?<=.) (?=[·→] )|(?<=,) (?=[^\d\s])(?![^\[]*\])")


def side_by_side(
    scene: Scene,
    across: Iterable[tuple[str, str]] = (),
    over: Callable[[float, float], float] = max,
    *,
    quick: bool = False,
) -> Placed:
    """Lay out a scene no arrow of which leads from band to band, the lowest order on the left; in several rows, like
    text, where that is less `over` the size of a page. Boxes that an arrow `across` bands would join stand at about one
    height."""
    columns = [_column(scene, band, quick=quick) for band in scene.bands]
    near = _neighbours(across)
    done: list[tuple[Placed, Lane]] = []
    start = 0.0
    for row in _rows([column.width for column in columns], [column.high for column in columns], over):
        done += _row([columns[number] for number in row], start, near)
        start = done[-1][1].bottom + APART
    parts, lanes = [part for part, _ in done], [lane for _, lane in done]
    positions, lines = spots_of(*parts), ways_of(*parts)
    plates = {plate.frame.id: plate for part in parts for plate in part.plates}
    return on_paper(
        replace(scene, bands=tuple([column.band for column in columns])),
        tuple([positions[box.id] for box in scene.boxes]),
        tuple([lines[id(arrow)] for arrow in scene.arrows]),
        (),
        tuple([plates[frame.id] for frame in scene.frames if frame.id in plates]),
        RIGHT,
        tuple(lanes if scene.data else reversed(lanes)),
    )


class _Column(Struct, frozen=True):
    """One band: its picture and the ends of that, its band with a title for which there is room, and its size."""

    part: Placed
    ends: tuple[float, float, float, float]
    band: Band
    width: float
    high: float


def _column(scene: Scene, band: Band, *, quick: bool) -> _Column:
    boxes = [box for box in scene.boxes if box.band == band.number]
    frames = [frame for frame in scene.frames if frame.band == band.number]
    part = part_of(scene, boxes, frames, up=_turns(band), quick=quick)
    start, top, end, bottom = ends = extent(part)
    band = _short(band, end - start)
    width = max(end - start + 2 * INSIDE, least_width(band))
    return _Column(part, ends, band, width, bottom - top + BESIDE * len(band.beside))


def _row(row: Sequence[_Column], start: float, near: Mapping[str, list[str]]) -> Iterator[tuple[Placed, Lane]]:
    """Yield the picture and the rectangle of each band of a row that starts so far down."""
    beside = max(len(column.band.beside) for column in row)
    high = max(column.ends[3] - column.ends[1] for column in row)
    end = start + AROUND + high + BESIDE * beside
    here: dict[str, float] = {}
    at = EDGE_OF_PAPER
    for column in row:
        part, (first, top, last, bottom) = column.part, column.ends
        own = {key: spot.y - top for key, spot in spots_of(part).items()}
        down = _beside(own, here, near, high - (bottom - top), low=_turns(column.band))
        here |= {key: y + down for key, y in own.items()}
        by = at + (column.width - last + first) / 2 - first, start + HEADING + PAD / 2 - top + down
        corner = at + PAD, end - BESIDE * (beside - 0.75)
        lane = Lane(column.band, at, start, at + column.width, end, (at + PAD, start + 15), beside=corner)
        yield moved(part, by), lane
        at += column.width + APART


def spots_of(*parts: Placed) -> dict[str, Rectangle]:
    """Return where each box of some pictures stands, by its id."""
    return {box.id: spot for part in parts for box, spot in zip(part.scene.boxes, part.positions, strict=True)}


def ways_of(*parts: Placed) -> dict[int, Line]:
    """The way of each arrow of some pictures, by the `id` of the arrow."""
    return {id(arrow): line for part in parts for arrow, line in zip(part.scene.arrows, part.lines, strict=True)}


def moved(part: Placed, by: Point) -> Placed:
    """The picture with boxes, arrows and frames so much further on."""
    return replace(
        part,
        positions=tuple([moved_spot(spot, by) for spot in part.positions]),
        lines=tuple([moved_line(line, by) for line in part.lines]),
        plates=tuple([moved_area(plate, by) for plate in part.plates]),
    )


def _rows(widths: Sequence[float], highs: Sequence[float], over: Callable[[float, float], float]) -> list[list[int]]:
    """The bands in the rows that are the least over the size of a page, and few of these."""
    best: tuple[float, int, list[list[int]]] = (math.inf, 0, [])
    for limit in sorted({sum(widths[a:b]) for a in range(len(widths)) for b in range(a + 1, len(widths) + 1)}):
        rows: list[list[int]] = []
        filled = math.inf
        for number, width in enumerate(widths):
            if filled + width > limit + 0.5:
                rows.append([])
                filled = 0.0
            rows[-1].append(number)
            filled += width
        wide = max(sum(widths[number] + APART for number in row) for row in rows) - APART + 2 * EDGE_OF_PAPER
        high = sum(max(highs[number] for number in row) + AROUND + APART for row in rows) + BELOW
        best = min(best, (over(wide, high), len(rows), rows))
    return best[2]


def _neighbours(across: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return what the arrows from band to band join to each box."""
    near: dict[str, list[str]] = {}
    for tail, head in across:
        near.setdefault(tail, []).append(head)
        near.setdefault(head, []).append(tail)
    return near


def _beside(
    own: Mapping[str, float], here: Mapping[str, float], near: Mapping[str, list[str]], room: float, *, low: bool
) -> float:
    """Return how far down a band stands in its row, so that its boxes are beside those that they are joined to."""
    apart = sorted(here[other] - y for key, y in own.items() for other in near.get(key, ()) if other in here)
    middle = len(apart) // 2
    return min(room, max(0.0, (apart[middle] + apart[~middle]) / 2)) if apart else room * low


def narrowed(scene: Scene) -> Scene:
    """The scene with boxes that are less wide: the lines below their titles are broken, long titles are shortened."""
    return replace(scene, boxes=tuple(map(_narrow, scene.boxes)))


def _narrow(box: Box) -> Box:
    if box.left:
        return box
    rows = [row for line in box.below for row in _broken(line)]
    title = clipped(box.title, LONGEST) if box.style in OPERATIONS else box.title
    return replace(box, title=title, subtitle=rows[0] if rows else "", lines=tuple(rows[1:]))


def _broken(line: str) -> Iterator[str]:
    """Break a line at the dots and commas between its parts, or where an arrow stands in it."""
    if text_width(line) * SUBTITLE <= NARROW:
        yield line
        return
    row = ""
    for part in _BETWEEN.split(line):
        if row and text_width(f"{row} {part}") * SUBTITLE > NARROW:
            yield row
            part, row = part.removeprefix("· "), ""
        row = f"{row} {part}".lstrip()
    yield row


def _turns(band: Band) -> bool:
    """Return whether the arrows of a band lead upwards: those of every other order, whose derivatives then stand beside
    what they differentiate."""
    return band.order % 2 == 1


def _short(band: Band, room: float) -> Band:
    """The band without the derivatives in its title, if there is no room for these."""
    words = band.title if text_width(band.title) * BAND <= room else " · ".join(band.title.split(" · ")[:2])
    return replace(band, title=words)


def part_of(scene: Scene, boxes: Iterable[Box], frames: Iterable[Frame], *, up: bool, quick: bool) -> Placed:
    """Lay out some boxes of a scene, and frames around them, as a picture of its own, without anything beside it; with
    `up`, so that its arrows lead up."""
    bare = replace(left(scene, boxes), title="", frames=tuple(frames), bands=(), legend=(), notes=())
    if not up:
        return lay_out(bare, quick=quick)
    turned = tuple([replace(arrow, tail=arrow.head, head=arrow.tail) for arrow in bare.arrows])
    placed = lay_out(replace(bare, arrows=turned), quick=quick)
    return replace(placed, scene=bare, lines=tuple(map(_turned, placed.lines)))


def _turned(line: Line) -> Line:
    """The line from its end to its start; it ends straight, so that a head can stand there."""
    points = [line.start, *(point for stroke in line.strokes for point in stroke)][::-1]
    strokes: list[Stroke] = []
    at = 1
    for stroke in line.strokes[::-1]:
        strokes.append(tuple(points[at : at + len(stroke)]))
        at += len(stroke)
    if len(strokes[-1]) == 3:
        one, (x, y), (end, low) = strokes[-1]
        away = HEAD if y > low else -HEAD
        strokes[-1:] = [(one, (x, y + away), (end, low + away)), ((end, low),)]
    label = line.label
    if label and 0 < label[1] - points[-1][1] < NEAR:
        label = label[0], label[1] + HEAD
    return Line(points[0], tuple(strokes), label)


def extent(part: Placed) -> tuple[float, float, float, float]:
    """Return the ends of a picture: left, top, right, bottom."""
    points = [point for line in part.lines for point in line.points()]
    spots = [(spot.x - spot.width / 2, spot.y - spot.height / 2) for spot in part.positions]
    spots += [(spot.x + spot.width / 2, spot.y + spot.height / 2) for spot in part.positions]
    spots += [end for plate in part.plates for end in ((plate.left, plate.top), (plate.right, plate.bottom))]
    for arrow, line in zip(part.scene.arrows, part.lines, strict=True):
        if line.label:
            half = label_width(arrow.label) / 2
            spots += [(line.label[0] - half, line.label[1]), (line.label[0] + half, line.label[1])]
    xs, ys = zip(*points, *spots, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
