"""The pieces of a placed picture in the order of drawing; a format only writes them down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.layout.arranging import FRAME_TITLE
from autograph_cli.export.layout.placed import (
    Ground,
    Lane,
    Line,
    Placed,
    Plate,
    Point,
    Rectangle,
    Sample,
    bars,
    bars_of,
    dashes,
    fill_of,
    head,
    links,
    phases,
    plate_fill,
    written,
)
from autograph_cli.export.scene.records import Box
from autograph_cli.export.style import (
    BAND,
    BESIDE,
    EDGE,
    FRAME_LINE,
    INK,
    LINE,
    LINK,
    PALE_INK,
    SPARK_BAR,
    STYLES,
    TITLE,
    USUAL_WIDTH,
    WRONG,
    Style,
    band_look,
    label_width,
    parted,
    text_width,
)

Role = Literal["title", "band", "frame", "link", "arrow", "label", "heading", "formula", "box", "sample"]
"""The kinds of pieces, in the order in which they are drawn."""


class Area(Struct, frozen=True):
    """A filled rectangle, an ellipse if its position is round, or a parallelogram; without `line` it has no border."""

    position: Rectangle
    fill: str
    line: str = ""
    corner: float = 0.0
    """The radius of its corners."""
    thick: str = ""
    """The width of its border, unless 1."""
    dashed: bool = False
    slanted: bool = False


class Text(Struct, frozen=True):
    """A line of text that starts at this point of its base line, or has its middle there."""

    words: str
    at: Point
    size: float
    ink: str
    centred: bool = False

    def middle(self, width: float) -> Point:
        """The middle of the text, if it is so wide in units of its size."""
        across = 0.0 if self.centred else width * self.size / 2
        return self.at[0] + across, self.at[1] - self.size * 0.35


class Way(Struct, frozen=True):
    """A line; an arrow with the corners of its head, its tip first, else a thin one."""

    line: Line
    colour: str
    dash: str = ""
    phase: float = 0.0
    """The offset in its dashes at which it starts."""
    head: tuple[Point, ...] = ()

    @property
    def neck(self) -> Point:
        """Return where the line ends and the head begins."""
        (ax, ay), (bx, by) = self.head[1:]
        return (ax + bx) / 2, (ay + by) / 2


class Primitive(Struct, frozen=True):
    """Pieces that belong together, such as a box and all that is written on it."""

    role: Role
    key: str
    parts: tuple[Area | Text | Way, ...]
    tooltip: str = ""
    style: Style | None = None


def labels(placed: Placed) -> dict[tuple[str, Point], list[int]]:
    """The labels of arrows, each with its place, and the numbers of its arrows: those that begin as one share one."""
    found: dict[tuple[str, Point], list[int]] = {}
    for number, (arrow, line) in enumerate(zip(placed.scene.arrows, placed.lines, strict=True)):
        if arrow.label and line.label:
            found.setdefault((arrow.label, line.label), []).append(number)
    return found


def primitives(placed: Placed) -> Iterator[Primitive]:
    """All pieces of a picture, the lowest first."""
    scene, under = placed.scene, Ground(placed)
    if scene.title:
        yield Primitive("title", "title", (Text(scene.title, placed.title, TITLE, INK),))
    yield from map(_band, placed.lanes)
    for plate in placed.plates:
        yield _frame(plate, plate_fill(placed, plate))
    for (tail, other), start, curve in links(placed):
        yield Primitive("link", f"{tail} -> {other}", (Way(Line(start, (curve,)), LINK),))
    for number, (arrow, line, phase) in enumerate(zip(scene.arrows, placed.lines, phases(placed), strict=True)):
        yield Primitive(
            "arrow",
            f"e{number}",
            (Way(line, WRONG if arrow.wrong else LINE, dashes(arrow), phase, head(line)),),
            arrow.tooltip,
        )
    for (words, middle), (number, *_) in labels(placed).items():
        yield _label(f"label_{number}", words, middle, under.at(middle))
    yield from map(_heading, placed.lanes)
    for lane in placed.lanes:
        yield from _beside(lane)
    yield from map(_box, scene.boxes, placed.positions)
    for number, sample in enumerate(placed.samples):
        yield _sample(f"legend_{number}", sample)


def area_of(style: Style, position: Rectangle) -> Area:
    """The shape of a box."""
    look = STYLES[style]
    corner = 8.0 if "rounded" in look["style"] else 0.0
    thick, dashed = look.get("penwidth", ""), "dashed" in look["style"]
    return Area(position, look["fillcolor"], look["color"], corner, thick, dashed, style == "input")


def _between(left: float, top: float, right: float, bottom: float) -> Rectangle:
    return Rectangle((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


def _band(lane: Lane) -> Primitive:
    position = _between(lane.left, lane.top, lane.right, lane.bottom)
    line = band_look(lane.band.order)[1]
    return Primitive("band", _band_key(lane), (Area(position, fill_of(lane), line, 8.0),))


def _band_key(lane: Lane) -> str:
    return f"band_{lane.band.number}" + (f".{lane.part}" if lane.part else "")


def _beside(lane: Lane) -> Iterator[Primitive]:
    x, y = lane.beside
    for number, line in enumerate(lane.band.beside if lane.part == 0 else ()):
        yield Primitive("formula", f"{_band_key(lane)}_{number}", (Text(line, (x, y + BESIDE * number), TITLE, INK),))


def _heading(lane: Lane) -> Primitive:
    (x, y), width = lane.title, text_width(lane.band.title) * BAND
    ground = Area(Rectangle(x + width / 2 - 2, y - 4, width, BAND + 3), fill_of(lane))
    return Primitive("heading", _band_key(lane), (ground, Text(lane.band.title, lane.title, BAND, PALE_INK)))


def _frame(plate: Plate, fill: str) -> Primitive:
    area = Area(_between(plate.left, plate.top, plate.right, plate.bottom), fill, FRAME_LINE, 6.0)
    title = Text(plate.frame.title, plate.title, FRAME_TITLE, PALE_INK)
    return Primitive("frame", plate.frame.id, (area, title), plate.frame.tooltip)


def _label(key: str, words: str, middle: Point, ground: str) -> Primitive:
    """The words, on a ground of the colour around them, so that the line ends there and goes on behind."""
    (x, y), width = middle, label_width(words)
    words, spark = parted(words)
    wide, written = len(spark) * SPARK_BAR, text_width(words) * EDGE * USUAL_WIDTH
    after = (wide + 4) / 2 if spark else 0.0
    text = Text(words, (x - after, y + EDGE * 0.35), EDGE, PALE_INK, centred=True)
    corner = x - after + written / 2 + 4, y + EDGE * 0.4
    filled = [Area(bar, PALE_INK) for bar in bars_of(spark, corner, SPARK_BAR, EDGE)]
    return Primitive("label", key, (Area(Rectangle(x, y, width, EDGE), ground), text, *filled))


def _box(box: Box, position: Rectangle) -> Primitive:
    texts = [
        Text(words, at, size, PALE_INK if number else INK, centred=not (number and box.left))
        for number, (words, at, size) in enumerate(written(box, position))
    ]
    filled = [Area(bar, PALE_INK) for bar in bars(box, position)]
    area = area_of(box.style, position)
    area = replace(area, fill=box.fill) if box.fill else area
    return Primitive("box", box.id, (area, *texts, *filled), box.tooltip, box.style)


def _sample(key: str, sample: Sample) -> Primitive:
    at = sample.position.x, sample.position.y + EDGE * 0.35
    if sample.style is None:
        return Primitive("sample", key, (Text(sample.words, at, EDGE, PALE_INK),))
    text = Text(sample.words, at, EDGE, INK, centred=True)
    return Primitive("sample", key, (area_of(sample.style, sample.position), text), style=sample.style)
