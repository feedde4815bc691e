"""Orders side by side: each band laid out by itself, from the left to the right in the order of derivatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from msgspec.structs import replace

from autograph_cli.export.layout.arranging import HEADING, PAD
from autograph_cli.export.layout.direction import RIGHT
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.paper import moved_line, moved_plate, on_paper
from autograph_cli.export.layout.placed import Line, Placed, Plate, Rectangle
from autograph_cli.export.scene.labels import short
from autograph_cli.export.scene.records import Band, Box, Scene
from autograph_cli.export.style import BAND, EDGE_OF_PAPER, OPERATIONS, SUBTITLE, TITLE, text_width

APART = 10.0
"""Points between two bands."""
NARROW = 170.0
"""Points that a line below a title may take before it is broken."""
LONGEST = 30
"""Letters of a title."""
_BETWEEN = re.compile(r"(?<=.) (?=[·→] )|(?<=,) (?![^\[]*\])")


def side_by_side(scene: Scene) -> Placed:
    """Lay out a scene no arrow of which leads from band to band, the lowest order on the left."""
    bands = [_short(band) for band in scene.bands]
    parts = [_alone(scene, band) for band in bands]
    extents = [_extent(part) for part in parts]
    widths = [max(right - left, _title(band)) + 2 * PAD for (left, _, right), band in zip(extents, bands, strict=True)]
    starts = list(accumulate((width + APART for width in widths), initial=EDGE_OF_PAPER))
    positions: dict[str, Rectangle] = {}
    lines: dict[int, Line] = {}
    plates: dict[str, Plate] = {}
    for part, (left, top, right), start, width in zip(parts, extents, starts, widths, strict=False):
        by = start + (width - right + left) / 2 - left, HEADING + PAD / 2 - top
        for box, spot in zip(part.scene.boxes, part.positions, strict=True):
            positions[box.id] = replace(spot, x=spot.x + by[0], y=spot.y + by[1])
        for arrow, line in zip(part.scene.arrows, part.lines, strict=True):
            lines[id(arrow)] = moved_line(line, by)
        plates |= {plate.frame.id: moved_plate(plate, by) for plate in part.plates}
    bounds = [(start, start + width) for start, width in zip(starts, widths, strict=False)]
    scene = replace(scene, bands=tuple(bands))
    return on_paper(
        scene,
        tuple([positions[box.id] for box in scene.boxes]),
        tuple([lines[id(arrow)] for arrow in scene.arrows]),
        bounds if scene.data else bounds[::-1],
        tuple([plates[frame.id] for frame in scene.frames if frame.id in plates]),
        RIGHT,
    )


def narrowed(scene: Scene) -> Scene:
    """The scene with boxes that are less wide: the lines below their titles are broken, long titles are shortened."""
    return replace(scene, boxes=tuple(map(_narrow, scene.boxes)))


def _narrow(box: Box) -> Box:
    if box.left:
        return box
    rows = [row for line in box.below for row in _broken(line)]
    title = short(box.title, LONGEST) if box.style in OPERATIONS else box.title
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


def _short(band: Band) -> Band:
    """The band with the derivatives in its title left out, which would make it too wide."""
    return replace(band, title=" · ".join(band.title.split(" · ")[:2]))


def _title(band: Band) -> float:
    return max(text_width(band.title) * BAND, *(text_width(line) * TITLE for line in band.beside), 0.0)


def _alone(scene: Scene, band: Band) -> Placed:
    """One band as a picture of its own, without anything around it."""
    boxes = tuple([box for box in scene.boxes if box.band == band.number])
    here = {box.id for box in boxes}
    arrows = tuple([arrow for arrow in scene.arrows if arrow.tail in here])
    frames = tuple([frame for frame in scene.frames if frame.band == band.number])
    return lay_out(replace(scene, title="", boxes=boxes, arrows=arrows, frames=frames, bands=(), legend=(), notes=()))


def _extent(part: Placed) -> tuple[float, float, float]:
    """Where a picture begins on the left and at the top, and where it ends on the right."""
    points = [point for line in part.lines for point in line.points()]
    lefts = [*(spot.x - spot.width / 2 for spot in part.positions), *(plate.left for plate in part.plates)]
    rights = [*(spot.x + spot.width / 2 for spot in part.positions), *(plate.right for plate in part.plates)]
    tops = [*(spot.y - spot.height / 2 for spot in part.positions), *(plate.top for plate in part.plates)]
    xs = [x for x, _ in points]
    return min([*lefts, *xs]), min([*tops, *(y for _, y in points)]), max([*rights, *xs])
