"""The surroundings of a graph on paper: bands, a title above, a legend below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from msgspec.structs import replace

from autograph_cli.export.layout.arranging import HEADING, PAD
from autograph_cli.export.layout.direction import Direction
from autograph_cli.export.layout.placed import Lane, Line, Placed, Plate, Point, Rectangle, Sample
from autograph_cli.export.scene.records import Band, Scene
from autograph_cli.export.style import BAND, BESIDE, EDGE, EDGE_OF_PAPER, TITLE, box_size, label_width, text_width

_Area = TypeVar("_Area", Lane, Plate)
LEGEND_WIDTH = 300.0
"""Points that a row of the legend may take, if the graph is narrower."""


def moved_line(line: Line, by: Point) -> Line:
    def moved(point: Point) -> Point:
        return point[0] + by[0], point[1] + by[1]

    strokes = tuple([tuple([moved(point) for point in stroke]) for stroke in line.strokes])
    return Line(moved(line.start), strokes, line.label and moved(line.label))


def moved_spot(spot: Rectangle, by: Point) -> Rectangle:
    return replace(spot, x=spot.x + by[0], y=spot.y + by[1])


def moved_area(area: _Area, by: Point) -> _Area:
    dx, dy = by
    left, top, right, bottom = area.left + dx, area.top + dy, area.right + dx, area.bottom + dy
    title = area.title[0] + dx, area.title[1] + dy
    return replace(area, left=left, top=top, right=right, bottom=bottom, title=title)


def _moved_lane(lane: Lane, by: Point) -> Lane:
    return replace(moved_area(lane, by), beside=(lane.beside[0] + by[0], lane.beside[1] + by[1]))


def on_paper(
    scene: Scene,
    positions: tuple[Rectangle, ...],
    lines: tuple[Line, ...],
    bounds: Sequence[tuple[float, float]],
    plates: tuple[Plate, ...],
    way: Direction,
    lanes: tuple[Lane, ...] = (),
) -> Placed:
    """Add what stands around the graph: bands, a title above, a legend below; a narrow graph stands amid these. Bands
    are made of their `bounds`, if they are not given as `lanes`."""
    scene = roomy(bounds, scene) if bounds and not way.right else scene
    graph, bottom = _heights(positions, lines, plates)
    right = _right(scene, positions, lines, plates)
    if lanes:
        bottom, right = (max(ends) for ends in zip(*((lane.bottom, lane.right) for lane in lanes), strict=True))
    elif bounds and way.right:
        beside = bottom + PAD + BESIDE * 0.75
        bottom += PAD + BESIDE * max(len(band.beside) for band in scene.bands)
        right = max(to for _, to in bounds)
    elif bounds:
        bottom, right = bounds[-1][1], right + PAD
    end = bottom
    samples, bottom, far = legend(scene, bottom + 12, right)
    top = 0.0 if bounds or lanes else graph
    by = max(0.0, far - right) / 2, EDGE_OF_PAPER + (TITLE * 2.2 if scene.title else 0.0) - top
    positions = tuple(moved_spot(spot, by) for spot in positions)
    lines = tuple(moved_line(line, by) for line in lines)
    plates = tuple(moved_area(plate, by) for plate in plates)
    if lanes:
        lanes = tuple(_moved_lane(lane, by) for lane in lanes)
    elif bounds and way.right:
        lanes = tuple(
            Lane(
                band,
                *(left + by[0], by[1], to + by[0], end + by[1]),
                (left + by[0] + PAD, by[1] + 15),
                beside=(left + by[0] + PAD, beside + by[1]),
            )
            for band, (left, to) in zip(scene.stacked, bounds, strict=True)
        )
    else:
        rows = [(top + by[1], end + by[1]) for top, end in bounds]
        lanes = _lanes(scene, lines, rows, right + by[0], max(right, far))
    samples = tuple(
        replace(sample, position=replace(sample.position, y=sample.position.y + by[1])) for sample in samples
    )
    right = max(right, far, *(lane.right for lane in lanes), EDGE_OF_PAPER + text_width(scene.title) * TITLE)
    size = right + EDGE_OF_PAPER, bottom + EDGE_OF_PAPER + by[1]
    return Placed(scene, positions, lines, lanes, samples, *size, (EDGE_OF_PAPER, EDGE_OF_PAPER + TITLE * 0.8), plates)


def _heights(positions: Sequence[Rectangle], lines: Sequence[Line], plates: Sequence[Plate]) -> tuple[float, float]:
    """Return the heights at which the graph starts and ends."""
    ends = [y for spot in positions for y in (spot.y - spot.height / 2, spot.y + spot.height / 2)]
    ends += [y for plate in plates for y in (plate.top, plate.bottom)]
    ends += [y for line in lines for stroke in line.strokes for _, y in stroke]
    return min(ends), max(ends)


def _right(scene: Scene, positions: Sequence[Rectangle], lines: Sequence[Line], plates: Sequence[Plate]) -> float:
    """Return how far to the right the graph reaches."""
    right = max([*(spot.x + spot.width / 2 for spot in positions), *(plate.right for plate in plates)])
    for line, arrow in zip(lines, scene.arrows, strict=True):
        right = max(right, line.start[0], *(point[0] for stroke in line.strokes for point in stroke))
        if line.label:
            right = max(right, line.label[0] + label_width(arrow.label) / 2)
    return right


def _lanes(
    scene: Scene, lines: Sequence[Line], bounds: Sequence[tuple[float, float]], graph: float, right: float
) -> tuple[Lane, ...]:
    """The bands, from the highest to the lowest, wide enough for what is written in them; the graph ends at `graph`."""
    labels = [arrow.label for arrow in scene.arrows]
    titles = []
    for band, (top, _) in zip(scene.stacked, bounds, strict=True):
        width = text_width(band.title) * BAND
        titles.append(free(lines, labels, EDGE_OF_PAPER + PAD, width, top))
        right, graph = max(right, titles[-1] + width + PAD), max(graph, titles[-1] + width)
    texts = [line for band in scene.bands for line in band.beside]
    beside = graph + 2 * PAD
    right = max(right, *(beside + text_width(line) * TITLE + PAD for line in texts)) if texts else right
    return tuple(
        Lane(
            band, EDGE_OF_PAPER, top, right, bottom, (title, top + 15), beside=(beside, _first_line(band, top, bottom))
        )
        for band, (top, bottom), title in zip(scene.stacked, bounds, titles, strict=True)
    )


def _first_line(band: Band, top: float, bottom: float) -> float:
    """Return where the lines beside a band begin, so that they stand in its middle."""
    return (top + bottom - BESIDE * len(band.beside)) / 2 + BESIDE * 0.75


def roomy(bounds: Sequence[tuple[float, float]], scene: Scene) -> Scene:
    """The scene with as many lines beside each band as it is high."""
    bands = [
        replace(band, beside=_fitting(band.beside, int((bottom - top) // BESIDE)))
        for band, (top, bottom) in zip(scene.stacked, bounds, strict=True)
    ]
    return replace(scene, bands=tuple(bands if scene.data else reversed(bands)))


def _fitting(lines: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The last ones, which are the results, with a line for those before them."""
    if len(lines) <= most:
        return lines
    return (f"… {len(lines) - most + 1} before these", *lines[len(lines) - most + 1 :])


def free(lines: Sequence[Line], labels: Sequence[str], left: float, width: float, top: float) -> float:
    """Return where a band's title can start so that no arrow runs through it."""
    crossing = sorted(x for line, label in zip(lines, labels, strict=True) for x in _met(line, label, top))
    at = left
    for x in crossing:
        if at - 4 < x < at + width + 4:
            at = x + 6
    return at


def _met(line: Line, label: str, top: float) -> Iterator[float]:
    """Yield where a line, or the ends of its label, are at the height of a band's title."""
    bottom = top + HEADING
    for (x, upper), (_, lower) in pairwise((line.start, *(stroke[-1] for stroke in line.strokes))):
        if min(upper, lower) <= bottom and max(upper, lower) >= top:
            yield x
    if line.label and top <= line.label[1] <= bottom:
        half = label_width(label) / 2
        yield from (line.label[0] - half, line.label[0], line.label[0] + half)


def legend(scene: Scene, top: float, right: float) -> tuple[tuple[Sample, ...], float, float]:
    """Samples of what is in the scene, and notes, in rows; also the lower end, and the right one."""
    right = max(right, EDGE_OF_PAPER + LEGEND_WIDTH)
    x, y, far, height = EDGE_OF_PAPER, top, EDGE_OF_PAPER, 20.0
    samples = []
    for style, words in scene.legend:
        width, tall = box_size(style, words, size=EDGE)
        if x > EDGE_OF_PAPER and x + width > right:
            x, y = EDGE_OF_PAPER, y + height + 4
        samples.append(Sample(style, words, Rectangle(x + width / 2, y + height / 2, width, tall, style == "leaf")))
        x += width + 8
        far = max(far, x)
    step = height
    for words in _lines_of(scene.notes, right - EDGE_OF_PAPER):
        width = text_width(words) * EDGE
        if x > EDGE_OF_PAPER and x + width > right:
            step, x, y = EDGE * 1.5, EDGE_OF_PAPER, y + step
        samples.append(Sample(None, words, Rectangle(x, y + height / 2, width, height)))
        far, x = max(far, x + width + 8), right
    return tuple(samples), y + height if samples else top - 12, far - 8


def _lines_of(notes: Sequence[str], width: float) -> list[str]:
    """The notes in as few lines of this width as they fit in."""
    lines: list[str] = []
    for note in notes:
        if lines and text_width(f"{lines[-1]} · {note}") * EDGE <= width:
            lines[-1] += f" · {note}"
        else:
            lines.append(note)
    return lines
