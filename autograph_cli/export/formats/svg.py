"""A placed scene as SVG: no script, no style sheet, nothing from outside; details are tooltips."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import get_args

from autograph_cli.export.formats.drawing import Area, Primitive, Role, Text, Way, primitives
from autograph_cli.export.layout.placed import Line, Placed, Point, outline
from autograph_cli.export.style import EDGE, LINE, PALE_INK, TITLE

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif"
_AROUND: dict[Role, str] = {"arrow": f'fill="none" stroke="{LINE}"', "label": f'font-size="{EDGE}" fill="{PALE_INK}"'}
"""The attributes that all pieces of a kind share: they stand once, at the group around them."""


def to_svg(placed: Placed, *, page: bool = False) -> str:
    """Write the picture; ids are those of the scene (`n3`, `e0`, `band_2`), numbers have two decimals.

    For a page it has no tooltips, and what the page moves is in groups: each label and heading, and the legend.
    """
    width, height = _number(placed.width), _number(placed.height)
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt" '
        f'viewBox="0 0 {width} {height}" font-family="{FONTS}" font-size="{TITLE}" text-anchor="middle" '
        'role="graphics-document document">\n'
        f"<title>{_text(placed.scene.title or 'autograph')}</title>\n"
        f"<desc>{_text(_described(placed))}</desc>\n"
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
    ]
    by_role = groupby(primitives(placed), lambda primitive: primitive.role)
    written = {role: "".join([_piece(primitive, page) for primitive in its]) for role, its in by_role}
    for role in get_args(Role):
        inner = written.get(role, "")
        if role in _AROUND:
            inner = f"<g {_AROUND[role]}>\n{inner}</g>\n"
        parts.append(f'<g class="legend">{inner}</g>\n' if page and role == "sample" else inner)
    return "".join([*parts, "</svg>\n"])


def _described(placed: Placed) -> str:
    """Tell in words what is in the picture, and what its signs mean."""
    scene = placed.scene
    kinds = Counter(box.style for box in scene.boxes)
    told = [f"{kinds[style]} × {words}" for style, words in scene.legend if kinds[style]]
    counts = f"{len(scene.boxes)} boxes, {len(scene.arrows)} arrows"
    return ". ".join(filter(None, (counts, ", ".join(told), *(band.title for band in scene.bands), *scene.notes)))


def _piece(primitive: Primitive, page: bool) -> str:
    """A piece, in a group of its own where something is to be found there."""
    if primitive.role == "band":
        return _part(primitive.parts[0], f' id="{primitive.key}" class="band"')
    if primitive.role == "link":
        return _part(primitive.parts[0], ' class="link"')
    inner = "".join(_part(part, bare=primitive.role in _AROUND) for part in primitive.parts)
    if primitive.role in ("label", "heading"):
        inner = inner.replace("/>\n", "/>", 1)
        return f'<g class="{primitive.role}">{inner}</g>\n' if page else inner
    if primitive.role in ("title", "sample"):
        return inner
    tooltip = f"<title>{_text(primitive.tooltip)}</title>" if primitive.tooltip and not page else ""
    role = ' role="graphics-symbol"' if primitive.role == "box" and not page else ""
    kind = {"frame": "module", "arrow": "arrow", "formula": "formula"}.get(primitive.role, primitive.style)
    return f'<g id="{primitive.key}" class="{kind}"{role}>{tooltip}{inner}</g>\n'


def _part(part: Area | Text | Way, said: str = "", *, bare: bool = False) -> str:
    """A part, with these attributes in front of its own; what a group around says of `bare` text is left out."""
    if isinstance(part, Area):
        return f"<{_shape(part, said)}/>\n"
    return _words(part, bare) if isinstance(part, Text) else _way(part, said)


def _shape(area: Area, said: str) -> str:
    position = area.position
    paint = f'fill="{area.fill}"' + (f' stroke="{area.line}"' if area.line else "")
    paint += f' stroke-width="{area.thick}"' if area.thick else ""
    paint += ' stroke-dasharray="4,3"' if area.dashed else ""
    if position.round:
        radii = f'rx="{_number(position.width / 2)}" ry="{_number(position.height / 2)}"'
        return f'ellipse{said} cx="{_number(position.x)}" cy="{_number(position.y)}" {radii} {paint}'
    corners = outline("input" if area.slanted else "operation", position)
    if area.slanted:
        return f'polygon{said} points="{" ".join(map(_point, corners))}" {paint}'
    (x, y), size = corners[0], f'width="{_number(position.width)}" height="{_number(position.height)}"'
    corner = f' rx="{_number(area.corner)}"' if area.corner else ""
    return f'rect{said} x="{_number(x)}" y="{_number(y)}" {size}{corner} {paint}'


def _way(way: Way, said: str) -> str:
    if not way.head:
        return f'<path{said} d="{_path(way.line)}" fill="none" stroke="{way.colour}" stroke-width="0.6"/>\n'
    dash = f' stroke-dasharray="{way.dash}"' if way.dash else ""
    dash += f' stroke-dashoffset="{_number(way.phase)}"' if way.phase else ""
    dash += f' stroke="{way.colour}"' if way.colour != LINE else ""
    points = " ".join(map(_point, way.head))
    return (
        f'<path{said} d="{_path(way.line, way.neck)}"{dash}/>'
        f'<polygon points="{points}" fill="{way.colour}" stroke="none"/>'
    )


def _path(line: Line, end: Point | None = None) -> str:
    """The way of a line in SVG's words; `end` instead of its last point."""
    strokes = [*line.strokes[:-1], (*line.strokes[-1][:-1], end)] if end else line.strokes
    words = [f"M{_point(line.start)}"]
    words += [("C" if len(stroke) == 3 else "L") + " ".join(map(_point, stroke)) for stroke in strokes]
    return "".join(words)


def _words(text: Text, bare: bool) -> str:
    look = f' fill="{text.ink}"' + ("" if text.centred else ' text-anchor="start"')
    look += f' font-size="{text.size}"' if text.size != TITLE else ""
    x, y = text.at
    return f'<text x="{_number(x)}" y="{_number(y)}"{"" if bare else look}>{_text(text.words)}</text>\n'


def _text(words: str) -> str:
    return html.escape(words, quote=False)


def _point(point: Iterable[float]) -> str:
    return ",".join(map(_number, point))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"
