"""The look of pictures: shape, colour and line for each kind, told apart in grey as well; and the sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

Style = Literal[
    "input",
    "leaf",
    "operation",
    "untracked",
    "derivative",
    "root",
    "result",
    "cut",
    "saved",
    "module",
    "folded",
    "added",
    "removed",
    "changed",
    "mark",
    "port",
]

OPERATIONS: frozenset[Style] = frozenset(("operation", "untracked", "derivative"))
"""The styles of what was computed."""
RESULTS: frozenset[Style] = frozenset(("root", "result"))
"""The styles of what the script has of it: what was differentiated, and the rest."""
FONT = "Helvetica"
INK, PALE_INK, LINE, LINK, WRONG = "#222222", "#555555", "#666666", "#B05A9A", "#C62828"
TITLE, SUBTITLE, SMALL, EDGE, BAND = 12, 9, 10, 9, 11
"""Font sizes in points."""
BESIDE = 17.0
"""From one line of text beside a band to the next."""
EDGE_OF_PAPER = 14.0
"""The white around a picture."""
LEADING = SUBTITLE * 1.2
"""From one line below a title to the next."""
BARS = frozenset(" ▁▂▃▄▅▆▇█")
BAR = 4.5
"""The width of a bar."""
USUAL_WIDTH = 0.85
"""The width of a line in the usual font, as a part of that in the widest."""
SPARK_BAR = 3.5
"""The same at an arrow."""

# Fills differ in lightness; border colours are from a palette made for colour-blind eyes.
STYLES: dict[Style, dict[str, str]] = {
    "input": {"shape": "polygon", "sides": "4", "style": "filled", "fillcolor": "#F4F4F4", "color": "#777777"},
    "leaf": {"shape": "ellipse", "style": "filled", "fillcolor": "#C7E0F4", "color": "#0072B2"},
    "operation": {"shape": "box", "style": "filled", "fillcolor": "#FFFFFF", "color": "#444444"},
    "untracked": {"shape": "box", "style": "filled", "fillcolor": "#F7F7F7", "color": "#BBBBBB"},
    "derivative": {"shape": "box", "style": "filled", "fillcolor": "#FCEFC9", "color": "#A87400"},
    "cut": {"shape": "box", "style": "filled,dashed", "fillcolor": "#FFFFFF", "color": "#999999"},
    "saved": {"shape": "box", "style": "filled,rounded", "fillcolor": "#E3F1E6", "color": "#5E8C6A"},
    "root": {"shape": "box", "style": "filled,rounded", "fillcolor": "#F3C6A5", "color": "#D55E00", "penwidth": "2"},
    "result": {"shape": "box", "style": "filled,rounded", "fillcolor": "#FDF1E7", "color": "#D55E00"},
    "added": {"shape": "box", "style": "filled", "fillcolor": "#CDEBC5", "color": "#007A3D", "penwidth": "2"},
    "removed": {"shape": "box", "style": "filled,dashed", "fillcolor": "#F9D5D3", "color": "#B2182B", "penwidth": "2"},
    "changed": {"shape": "box", "style": "filled", "fillcolor": "#FFF2A8", "color": "#8A6D00", "penwidth": "2"},
    "mark": {"shape": "box", "style": "filled,rounded", "fillcolor": "#FDE8E6", "color": WRONG, "penwidth": "2"},
    "module": {"shape": "box", "style": "filled,rounded", "fillcolor": "#E4E6EB", "color": "#5B6270", "penwidth": "2"},
    "folded": {"shape": "box", "style": "filled,rounded", "fillcolor": "#EEEEEE", "color": "#BBBBBB"},
    "port": {"shape": "box", "style": "filled,rounded", "fillcolor": "#FFFFFF", "color": LINE},
}
BANDS = (
    ("#F7F9FC", "#CBD5E3"),
    ("#EBF0F7", "#B7C5D9"),
    ("#DFE7F2", "#A4B6CF"),
    ("#D3DEED", "#91A7C5"),
    ("#C7D5E8", "#7E98BB"),
)
"""Fill and border of the bands of orders 0, 1, 2, 3, and of all above: the higher, the darker."""

PAPER, FRAME_LINE = "#FFFFFF", "#A9ADB5"
"""The ground of a picture, and the border of a frame."""
SHADE = (1.0, 0.965, 0.93, 0.95, 0.91)
"""The lightness of a ground within so many frames, the last two in turn."""

SLANT = 9.0
"""The slant of a parallelogram, in points."""

_WIDTHS = (("ijl.,:;|!'", 0.32), ("()[]{}frt/\\- ", 0.42), ("mMW@%w", 0.98), ("_=+*#<>~0123456789", 0.66))


class _Widths(dict[str, float]):
    """The width of each character, those met for the first time added."""

    def __missing__(self, character: str) -> float:
        width = self[character] = 1.05 if ord(character) >= 0x1100 else 0.7 if character.isupper() else 0.62
        return width


_width = _Widths({character: width for characters, width in _WIDTHS for character in characters}).__getitem__


def band_look(order: int) -> tuple[str, str]:
    """Return the fill and the border of a band."""
    return BANDS[min(order, len(BANDS) - 1)]


def text_width(text: str) -> float:
    """The width of a line in units of its font size, for the widest of the usual fonts without serifs."""
    return math.fsum(map(_width, text))


def label_width(label: str) -> float:
    """The points that an arrow's label takes."""
    words, spark = parted(label)
    return text_width(words) * EDGE + (len(spark) * SPARK_BAR + 4 if spark else 0.0)


def parted(label: str) -> tuple[str, str]:
    """Part a label into its words and the bars that follow them."""
    words, _, spark = label.rpartition(" ")
    return (words, spark) if spark and BARS.issuperset(spark) else (label, "")


def line_width(line: str) -> float:
    """The points that a line below a title takes."""
    return len(line) * BAR if is_bars(line) else text_width(line) * SUBTITLE


def is_bars(line: str) -> bool:
    """Return whether a line is a row of bars, which is drawn, not written."""
    return bool(line) and BARS.issuperset(line)


def is_code(lines: Sequence[str]) -> bool:
    """Return whether lines belong together, some of them set in, so that all start at the left."""
    return any(line[0] == " " and not is_bars(line) for line in lines)


def shaded(colour: str, depth: int) -> str:
    """A ground within so many frames."""
    light = SHADE[depth] if depth < len(SHADE) else SHADE[-2 + (depth - len(SHADE)) % 2]
    return "#" + "".join(f"{round(int(colour[position : position + 2], 16) * light):02X}" for position in (1, 3, 5))


@lru_cache(4096)
def box_size(
    style: Style, title: str, subtitle: str = "", size: float = TITLE, lines: tuple[str, ...] = ()
) -> tuple[float, float]:
    """Width and height in points of a node that its title and all lines below it fit in."""
    below = [line for line in (subtitle, *lines) if line]
    widths = [text_width(title) * size, *map(line_width, below)]
    if is_code(below):
        widths[1:] = [max(widths[1:])] * len(below)
    width, height = max(widths) + size, size * 1.9 + LEADING * len(below)
    if style == "leaf" and len(below) > 1:
        width, height = _round_size(widths, size)
    elif style == "leaf":
        width, height = max(widths) * 1.12 + size * 1.4, height * 1.12
    elif style == "input":
        width += SLANT * 1.5
    return max(width, size * 2.6), height


def _round_size(widths: list[float], size: float) -> tuple[float, float]:
    """Width and height of an ellipse around a title and lines below it that are so wide."""
    inner = size * 1.1 + LEADING * (len(widths) - 1)
    height, top = inner * 1.3, -inner / 2
    width = 0.0
    for number, line in enumerate(widths):
        bottom = top + (LEADING if number else size * 1.1)
        outermost = min(0.96, max(-top, bottom) / (height / 2))
        width, top = max(width, line / math.sqrt(1 - outermost**2)), bottom
    return width + size * 0.8, height


def node_attributes(
    style: Style, title: str, subtitle: str = "", size: float = TITLE, lines: tuple[str, ...] = ()
) -> dict[str, str]:
    """The DOT attributes of such a node; sizes are ours, for no layout program knows the widths of all scripts."""
    width, height = box_size(style, title, subtitle, size, lines)
    attributes = STYLES[style] | {"width": f"{width / 72:.3f}", "height": f"{height / 72:.3f}", "fixedsize": "true"}
    if size != TITLE:
        attributes["fontsize"] = f"{size:g}"
    if style == "input":
        attributes["skew"] = f"{3 * SLANT / width:.3f}"
    return attributes
