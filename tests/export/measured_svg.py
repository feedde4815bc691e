"""Measures of a picture: sizes of its text, its shape, and overlaps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from msgspec import Struct

from autograph_cli.export.style import STYLES, text_width

NARROW = 0.72
"""The width of letters as drawn, as a part of the width that the layout leaves them."""
ON = 1.5
"""Points by which two things must lie on each other to be seen to."""
STEPS = 8
"""Straight pieces that a curve is measured as."""
_NAMED = re.compile(r"([MLC])([^MLC]*)")
_SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[float, float]


class Rect(Struct, frozen=True):
    """A rectangle, and what it is."""

    left: float
    top: float
    right: float
    bottom: float
    words: str = ""

    def on(self, other: Rect) -> bool:
        """Return whether two of them lie on each other."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > ON and down > ON


class Svg:
    """A picture, taken apart: its boxes, its labels with the words in them, its arrows."""

    def __init__(self, svg: str) -> None:
        root = ET.fromstring(svg)
        self.width, self.height = map(float, root.attrib["viewBox"].split()[2:])
        self.sizes = {float(element.attrib["font-size"]) for element in root.iter() if "font-size" in element.attrib}
        self.arrows: list[list[Point]] = []
        self.boxes: list[Rect] = []
        self.labels: list[Rect] = []
        self.words = [text.text or "" for text in root.iter(f"{_SVG}text")]
        for group in root.iter(f"{_SVG}g"):
            kind, size = group.attrib.get("class", ""), float(group.attrib.get("font-size", 12))
            if kind == "arrow":
                self.arrows += [_points(path.attrib["d"]) for path in group.findall(f"{_SVG}path")]
            elif kind in STYLES and group.attrib.get("id"):
                self.boxes += _shape(group, kind)
            elif not kind and group.attrib.get("fill") == "#555555" and size == 9:
                self.labels += [_words(text, size) for text in group.findall(f"{_SVG}text")]

    def text(self, wide: float) -> float:
        """The height of the smallest text where the picture is shown so wide."""
        return min(self.sizes) * min(1.0, wide / self.width)

    def covered(self) -> list[tuple[str, str]]:
        """The boxes that lie on boxes, and the labels that lie on labels or boxes."""
        found = [(a.words, b.words) for a, b in combinations(self.boxes, 2) if a.on(b)]
        found += [(a.words, b.words) for a, b in combinations(set(self.labels), 2) if a.on(b)]
        return found + [(a.words, b.words) for a in set(self.labels) for b in self.boxes if a.on(b)]

    def crossings(self) -> int:
        """How many pairs of arrows cross, apart from where they begin or end together."""
        pieces = [list(pairwise(points)) for points in self.arrows]
        return sum(_cross(a, b) for a, b in combinations(pieces, 2))


def _points(path: str) -> list[Point]:
    points: list[Point] = []
    for command, numbers in _NAMED.findall(path):
        values = [float(value) for value in re.findall(r"-?[\d.]+", numbers)]
        ends = list(zip(values[::2], values[1::2], strict=True))
        if command != "C":
            points += ends
            continue
        for at in range(0, len(ends), 3):
            points += _curve(points[-1], *ends[at : at + 3])
    return points


def _curve(a: Point, b: Point, c: Point, d: Point) -> Iterator[Point]:
    for step in range(1, STEPS + 1):
        t = step / STEPS
        u = 1 - t
        weights = u**3, 3 * u * u * t, 3 * u * t * t, t**3
        yield tuple(sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))  # type: ignore[misc]


def _shape(group: ET.Element, style: str) -> Iterator[Rect]:
    """The box of a group; the frame of an open module is none."""
    fills = {element.attrib.get("fill") for element in group}
    if style == "module" and STYLES["module"]["fillcolor"] not in fills:
        return
    words = " ".join(text.text or "" for text in group.findall(f"{_SVG}text"))
    for element in group:
        get = {key: float(value) for key, value in element.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
        if element.tag == f"{_SVG}rect" and get["height"] > 12:
            yield Rect(get["x"], get["y"], get["x"] + get["width"], get["y"] + get["height"], words)
        elif element.tag == f"{_SVG}ellipse":
            yield Rect(
                get["cx"] - get["rx"], get["cy"] - get["ry"], get["cx"] + get["rx"], get["cy"] + get["ry"], words
            )
        elif element.tag == f"{_SVG}polygon":
            xs, ys = zip(*(map(float, pair.split(",")) for pair in element.attrib["points"].split()), strict=True)
            yield Rect(min(xs), min(ys), max(xs), max(ys), words)


def _words(text: ET.Element, size: float) -> Rect:
    x, y, words = float(text.attrib["x"]), float(text.attrib["y"]), text.text or ""
    half = text_width(words) * size * NARROW / 2
    return Rect(x - half, y - size * 0.8, x + half, y, words)


def _cross(one: Sequence[tuple[Point, Point]], other: Sequence[tuple[Point, Point]]) -> bool:
    ends = {one[0][0], one[-1][1]} & {other[0][0], other[-1][1]} if one and other else set()
    return not ends and any(_meet(a, b) for a in one for b in other)


def _meet(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    (a, b), (c, d) = one, other
    if max(a[0], b[0]) < min(c[0], d[0]) or max(c[0], d[0]) < min(a[0], b[0]):
        return False
    if max(a[1], b[1]) < min(c[1], d[1]) or max(c[1], d[1]) < min(a[1], b[1]):
        return False
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
