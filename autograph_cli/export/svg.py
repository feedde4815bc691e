"""A placed scene as SVG: no script, no style sheet, nothing from outside; details are tooltips."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import replace

from autograph_cli.export.arranging import FRAME_TITLE
from autograph_cli.export.placed import (
    Ground,
    Lane,
    Line,
    Place,
    Placed,
    Plate,
    Point,
    Sample,
    bars,
    dashes,
    fill_of,
    head,
    links,
    outline,
    phases,
    plate_fill,
    written,
)
from autograph_cli.export.routes import label_width
from autograph_cli.export.scene import Arrow, Box, Scene
from autograph_cli.export.style import (
    BAND,
    BANDS,
    EDGE,
    FRAME_LINE,
    INK,
    LINE,
    LINK,
    PALE_INK,
    STYLES,
    TITLE,
    Style,
    text_width,
)

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif"


def to_svg(placed: Placed, *, page: bool = False) -> str:
    """Write the picture; ids are those of the scene (`n3`, `e0`, `band_2`), numbers have two decimals.

    For a page it has no tooltips, and what the page moves is in groups: each label and heading, and the legend.
    """
    if page:
        plates = tuple(replace(plate, frame=replace(plate.frame, tooltip="")) for plate in placed.plates)
        placed = replace(placed, scene=_without_tooltips(placed.scene), plates=plates)
    width, height = _number(placed.width), _number(placed.height)
    scene = placed.scene
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt" '
        f'viewBox="0 0 {width} {height}" font-family="{FONTS}" font-size="{TITLE}" text-anchor="middle">\n'
        f"<title>{_text(scene.title or 'autograph')}</title>\n"
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
    ]
    if scene.title:
        parts.append(_words(scene.title, placed.title, TITLE, INK, anchor="start"))
    parts += map(_lane, placed.lanes)
    parts += [_plate(placed, plate) for plate in placed.plates]
    parts += [
        f'<path class="link" d="M{_point(start)}C{" ".join(map(_point, curve))}" fill="none" stroke="{LINK}" '
        f'stroke-width="0.6"/>\n'
        for _, start, curve in links(placed)
    ]
    parts.append(f'<g fill="none" stroke="{LINE}">\n')
    under = Ground(placed)
    arrows = list(enumerate(zip(scene.arrows, placed.lines, strict=True)))
    starts = phases(placed)
    parts += [_arrow(f"e{number}", arrow, line, starts[number]) for number, (arrow, line) in arrows]
    parts.append("</g>\n")
    parts.append(f'<g font-size="{EDGE}" fill="{PALE_INK}">\n')
    parts += [
        _group("label", _label(arrow.label, line.label, under.at(line.label)), page)
        for _, (arrow, line) in arrows
        if arrow.label and line.label
    ]
    parts.append("</g>\n")
    parts += [_group("heading", _heading(lane), page) for lane in placed.lanes]
    parts += map(_box, scene.boxes, placed.places)
    parts.append(_group("legend", "".join(map(_sample, placed.samples)), page))
    return "".join([*parts, "</svg>\n"])


def _group(name: str, inner: str, wanted: bool) -> str:
    return f'<g class="{name}">{inner}</g>\n' if wanted else inner


def _without_tooltips(scene: Scene) -> Scene:
    boxes = tuple(replace(box, tooltip="") for box in scene.boxes)
    return replace(scene, boxes=boxes, arrows=tuple(replace(arrow, tooltip="") for arrow in scene.arrows))


def path(line: Line, end: Point | None = None) -> str:
    """The way of a line in SVG's words; `end` instead of its last point."""
    strokes = [*line.strokes[:-1], (*line.strokes[-1][:-1], end)] if end else line.strokes
    words = [f"M{_point(line.start)}"]
    words += [("C" if len(stroke) == 3 else "L") + " ".join(map(_point, stroke)) for stroke in strokes]
    return "".join(words)


def _arrow(key: str, arrow: Arrow, line: Line, phase: float) -> str:
    tip, *back = head(line)
    dash = f' stroke-dasharray="{dashes(arrow)}"' if dashes(arrow) else ""
    dash += f' stroke-dashoffset="{_number(phase)}"' if phase else ""
    points = " ".join(map(_point, (tip, *back)))
    neck = tip[0], back[0][1]
    return (
        f'<g id="{key}" class="arrow">{_tooltip(arrow.tooltip)}<path d="{path(line, neck)}"{dash}/>'
        f'<polygon points="{points}" fill="{LINE}" stroke="none"/></g>\n'
    )


def _label(words: str, middle: Point, ground: str) -> str:
    """The words, on a ground of the colour around them, so that the line ends there and goes on behind."""
    (x, y), width = middle, label_width(words)
    return (
        f'<rect x="{_number(x - width / 2)}" y="{_number(y - EDGE / 2)}" width="{_number(width)}" height="{EDGE}" '
        f'fill="{ground}"/>'
        f'<text x="{_number(x)}" y="{_number(y + EDGE * 0.35)}">{_text(words)}</text>\n'
    )


def _lane(lane: Lane) -> str:
    fill, line = BANDS[lane.band.order % len(BANDS)]
    size = f'width="{_number(lane.right - lane.left)}" height="{_number(lane.bottom - lane.top)}"'
    return (
        f'<rect id="band_{lane.band.number}" class="band" x="{_number(lane.left)}" y="{_number(lane.top)}" {size} '
        f'rx="8" fill="{fill}" stroke="{line}"/>\n'
    )


def _plate(placed: Placed, plate: Plate) -> str:
    size = f'width="{_number(plate.right - plate.left)}" height="{_number(plate.bottom - plate.top)}"'
    title = _words(plate.frame.title, plate.title, FRAME_TITLE, PALE_INK, anchor="start")
    paint = f'fill="{plate_fill(placed, plate)}" stroke="{FRAME_LINE}"'
    return (
        f'<g id="{plate.frame.id}" class="module">{_tooltip(plate.frame.tooltip)}<rect x="{_number(plate.left)}" '
        f'y="{_number(plate.top)}" {size} rx="6" {paint}/>\n{title}</g>\n'
    )


def _heading(lane: Lane) -> str:
    (x, y), width = lane.title, text_width(lane.band.title) * BAND
    return (
        f'<rect x="{_number(x - 2)}" y="{_number(y - BAND)}" width="{_number(width)}" height="{BAND + 3}" '
        f'fill="{fill_of(lane)}"/>{_words(lane.band.title, lane.title, BAND, PALE_INK, anchor="start")}'
    )


def _box(box: Box, place: Place) -> str:
    lines = "".join(
        _words(words, at, size, PALE_INK if number else INK, anchor="start" if number and box.left else "")
        for number, (words, at, size) in enumerate(written(box, place))
    )
    lines += "".join(map(_bar, bars(box, place)))
    return f'<g id="{box.id}" class="{box.style}">{_tooltip(box.tooltip)}{_shape(box.style, place)}\n{lines}</g>\n'


def _bar(place: Place) -> str:
    (x, y), size = outline("operation", place)[0], f'width="{_number(place.width)}" height="{_number(place.height)}"'
    return f'<rect x="{_number(x)}" y="{_number(y)}" {size} fill="{PALE_INK}"/>\n'


def _shape(style: Style, place: Place) -> str:
    look = STYLES[style]
    paint = f'fill="{look["fillcolor"]}" stroke="{look["color"]}"'
    if "penwidth" in look:
        paint += f' stroke-width="{look["penwidth"]}"'
    if "dashed" in look["style"]:
        paint += ' stroke-dasharray="4,3"'
    if place.round:
        radii = f'rx="{_number(place.width / 2)}" ry="{_number(place.height / 2)}"'
        return f'<ellipse cx="{_number(place.x)}" cy="{_number(place.y)}" {radii} {paint}/>'
    if style == "input":
        return f'<polygon points="{" ".join(map(_point, outline(style, place)))}" {paint}/>'
    corner = ' rx="8"' if "rounded" in look["style"] else ""
    (x, y), size = outline(style, place)[0], f'width="{_number(place.width)}" height="{_number(place.height)}"'
    return f'<rect x="{_number(x)}" y="{_number(y)}" {size}{corner} {paint}/>'


def _sample(sample: Sample) -> str:
    place = sample.place
    if sample.style is None:
        return _words(sample.words, (place.x, place.y + EDGE * 0.35), EDGE, PALE_INK, anchor="start")
    return _shape(sample.style, place) + "\n" + _words(sample.words, (place.x, place.y + EDGE * 0.35), EDGE, INK)


def _words(words: str, at: Point, size: float, ink: str, anchor: str = "") -> str:
    extra = (f' text-anchor="{anchor}"' if anchor else "") + (f' font-size="{size}"' if size != TITLE else "")
    return f'<text x="{_number(at[0])}" y="{_number(at[1])}" fill="{ink}"{extra}>{_text(words)}</text>\n'


def _tooltip(words: str) -> str:
    return f"<title>{_text(words)}</title>" if words else ""


def _text(words: str) -> str:
    return html.escape(words, quote=False)


def _point(point: Iterable[float]) -> str:
    return ",".join(map(_number, point))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"
