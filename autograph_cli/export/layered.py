"""A layered layout in near-linear time: rows, an order in each row, places, and ways that cross no box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograph_cli.export.coordinates import across
from autograph_cli.export.ordering import Web, weave
from autograph_cli.export.placed import HEAD, Lane, Line, Place, Placed, Point, Sample
from autograph_cli.export.ranks import rows_of
from autograph_cli.export.routes import Row, label_width, routes
from autograph_cli.export.scene import Box, Scene
from autograph_cli.export.style import BAND, EDGE, SMALL, TITLE, box_size, text_width

RISE = 34.0
"""The least height between two rows."""
SLOPE, HIGHEST = 0.07, 70.0
"""How much higher it gets for each point that an edge leads aside, and by how much at most."""
PAD, BETWEEN, HEADING = 12.0, 14.0, 22.0
"""Inside a band, between two bands, and the height of a band's title."""
EDGE_OF_PAPER = 14.0
LEGEND_WIDTH = 300.0
"""Points that a row of the legend may take, if the graph is narrower."""


def place(scene: Scene) -> Placed:
    """Lay the scene out; the same scene gives the same places, on every machine."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]
    count = len(scene.boxes)
    band = [box.band for box in scene.boxes] if scene.bands else [0] * count
    onward = [edge for edge, arrow in zip(edges, scene.arrows, strict=True) if not arrow.back]
    web = weave(count, edges, rows_of(count, onward, band, root_below=scene.data))
    sizes = [size_of(box) for box in scene.boxes]
    widths = _widths(scene, web, sizes)
    x = across(web, widths, count, root_below=scene.data)
    rows, bounds = _rows(web, x, sizes, band)
    left = min(middle - max(width / 2, 4.0) for middle, width in zip(x, widths, strict=True))
    shift = EDGE_OF_PAPER + (PAD if scene.bands else 0) - left
    x = [value + shift for value in x]
    places = tuple(
        Place(x[number], (rows[row].top + rows[row].bottom) / 2, *sizes[number], scene.boxes[number].style == "leaf")
        for number, row in enumerate(web.row[:count])
    )
    lines = routes(scene, web, x, rows, places)
    return _on_paper(scene, places, tuple(lines), bounds)


def size_of(box: Box) -> tuple[float, float]:
    """Width and height of a box."""
    return box_size(box.style, box.title, box.subtitle, SMALL if box.small else TITLE, box.lines)


def _widths(scene: Scene, web: Web, sizes: Sequence[tuple[float, float]]) -> list[float]:
    """The room of each point: that of its box, or on a long edge none, but for the one that has the label."""
    widths = [width for width, _ in sizes] + [0.0] * (len(web.row) - len(sizes))
    for arrow, chain in zip(scene.arrows, web.chains, strict=True):
        if len(chain) > 2:
            widths[chain[len(chain) // 2]] = label_width(arrow.label)
    return widths


def _rows(
    web: Web, x: Sequence[float], sizes: Sequence[tuple[float, float]], band: Sequence[int]
) -> tuple[list[Row], list[tuple[float, float]]]:
    """Where each row lies, and from where to where each band reaches."""
    heights = [max((sizes[point][1] for point in points if point < len(sizes)), default=0.0) for points in web.rows]
    aside = [0.0] * len(web.rows)
    for chain in web.chains:
        for upper, lower in pairwise(chain):
            aside[web.row[upper]] = max(aside[web.row[upper]], abs(x[upper] - x[lower]))
    of_row = [next((band[point] for point in points if point < len(sizes)), None) for points in web.rows]
    several = len(set(band)) > 1
    y, rows, bounds = 0.0, [], []
    start = y
    if several:
        y += HEADING + 4
    for number, height in enumerate(heights):
        curves_end = y - HEAD
        if number:
            extra = min(HIGHEST, SLOPE * aside[number - 1])
            if of_row[number] != of_row[number - 1]:
                bounds.append((start, y + PAD))
                start = y + PAD + BETWEEN + extra
                curves_end = start
                y = start + HEADING + HEAD
            else:
                y += RISE + extra
                curves_end = y - HEAD
        rows.append(Row(y, y + height, curves_end))
        y += height
    bounds.append((start, y + PAD))
    return rows, bounds if several else []


def _on_paper(
    scene: Scene, places: tuple[Place, ...], lines: tuple[Line, ...], bounds: Sequence[tuple[float, float]]
) -> Placed:
    """Add what stands around the graph: bands, a title above, a legend below."""
    right = max(spot.x + spot.width / 2 for spot in places)
    for line, arrow in zip(lines, scene.arrows, strict=True):
        right = max(right, line.start[0], *(point[0] for stroke in line.strokes for point in stroke))
        if line.label:
            right = max(right, line.label[0] + label_width(arrow.label) / 2)
    right += PAD if bounds else 0.0
    for band in scene.bands:
        right = max(right, EDGE_OF_PAPER + text_width(band.title) * BAND + 2 * PAD)
    labels = [arrow.label for arrow in scene.arrows]
    lanes = []
    for band, (top, bottom) in zip(reversed(scene.bands), bounds, strict=True):
        title = _free(lines, labels, EDGE_OF_PAPER + PAD, text_width(band.title) * BAND, top, right)
        lanes.append(Lane(band, EDGE_OF_PAPER, top, right, bottom, (title, top + 15)))
    bottom = bounds[-1][1] if bounds else max(spot.y + spot.height / 2 for spot in places)
    samples, bottom, far = _legend(scene, bottom + 12, max(right, EDGE_OF_PAPER + LEGEND_WIDTH))
    title_height = TITLE * 2.2 if scene.title else 0.0
    width = max(right, far, EDGE_OF_PAPER + text_width(scene.title) * TITLE) + EDGE_OF_PAPER
    down = EDGE_OF_PAPER + title_height
    return _lowered(
        Placed(scene, places, lines, tuple(lanes), samples, width, bottom + EDGE_OF_PAPER + down,
               (EDGE_OF_PAPER, EDGE_OF_PAPER + TITLE * 0.8)), down,
    )  # fmt: skip


def _free(lines: Sequence[Line], labels: Sequence[str], left: float, width: float, top: float, right: float) -> float:
    """Where a band's title can start so that no arrow runs through it."""
    crossing = sorted(x for line, label in zip(lines, labels, strict=True) for x in _met(line, label, top))
    at = left
    for x in crossing:
        if at - 4 < x < at + width + 4:
            at = x + 6
    return at if at + width < right else left


def _met(line: Line, label: str, top: float) -> Iterator[float]:
    """Where a line, or the ends of its label, are at the height of a band's title."""
    bottom = top + HEADING
    for (x, upper), (_, lower) in pairwise((line.start, *(stroke[-1] for stroke in line.strokes))):
        if min(upper, lower) <= bottom and max(upper, lower) >= top:
            yield x
    if line.label and top <= line.label[1] <= bottom:
        half = label_width(label) / 2
        yield from (line.label[0] - half, line.label[0], line.label[0] + half)


def _legend(scene: Scene, top: float, right: float) -> tuple[tuple[Sample, ...], float, float]:
    """Samples of what is in the scene, and notes, in rows; also the lower end, and the right one."""
    x, y, far, height = EDGE_OF_PAPER, top, EDGE_OF_PAPER, 20.0
    samples = []
    for style, words in scene.legend:
        width, tall = box_size(style, words, size=EDGE)
        if x > EDGE_OF_PAPER and x + width > right:
            x, y = EDGE_OF_PAPER, y + height + 4
        samples.append(Sample(style, words, Place(x + width / 2, y + height / 2, width, tall, style == "leaf")))
        x += width + 8
        far = max(far, x)
    step = height
    for words in _lines_of(scene.notes, right - EDGE_OF_PAPER):
        width = text_width(words) * EDGE
        if x > EDGE_OF_PAPER and x + width > right:
            step, x, y = EDGE * 1.5, EDGE_OF_PAPER, y + step
        samples.append(Sample(None, words, Place(x, y + height / 2, width, height)))
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


def _lowered(placed: Placed, by: float) -> Placed:
    """The same, but the title, this much further down."""

    def down(point: Point) -> Point:
        return point[0], point[1] + by

    return Placed(
        placed.scene,
        tuple(Place(p.x, p.y + by, p.width, p.height, p.round) for p in placed.places),
        tuple(
            Line(down(line.start), tuple(tuple(map(down, stroke)) for stroke in line.strokes),
                 line.label and down(line.label))
            for line in placed.lines
        ),
        tuple(
            Lane(lane.band, lane.left, lane.top + by, lane.right, lane.bottom + by, down(lane.title))
            for lane in placed.lanes
        ),
        tuple(
            Sample(s.style, s.words, Place(s.place.x, s.place.y + by, s.place.width, s.place.height, s.place.round))
            for s in placed.samples
        ),
        placed.width, placed.height, placed.title,
    )  # fmt: skip
