"""A scene as DOT."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from autograph_cli.export.layout.paper import LEGEND_WIDTH
from autograph_cli.export.scene.records import Band, Box, Frame, Scene
from autograph_cli.export.style import (
    EDGE,
    FONT,
    FRAME_LINE,
    INK,
    LINE,
    LINK,
    PALE_INK,
    PAPER,
    SMALL,
    SUBTITLE,
    TITLE,
    WRONG,
    Style,
    band_look,
    is_code,
    node_attributes,
    shaded,
    text_width,
)
from autograph_cli.graph.extras import extra

if TYPE_CHECKING:
    import graphviz

_PLAIN = re.compile(r"[\w .,:#@*+=%\[\]-]*", re.ASCII)


def digraph(name: str | None = None) -> graphviz.Digraph:
    """An empty graph; raises `GraphError` without the package graphviz, which only these formats need."""
    graph: graphviz.Digraph = extra("graphviz", "The drawing of DOT and PNG", "graphviz").Digraph(name)
    return graph


def to_dot(scene: Scene, *, tooltips: bool = True, right: bool = False) -> str:
    """Write the scene as DOT, for a layout program to place; it runs down, or to the `right`."""
    return "".join(dot_lines(scene, tooltips=tooltips, right=right))


def dot_lines(scene: Scene, *, tooltips: bool = True, right: bool = False) -> Iterator[str]:
    """The same line by line: those of a large scene are as much as all its boxes and arrows."""
    dot = _begun(scene, right)
    inside = _Inside(scene, tooltips)
    for band in scene.bands:
        part = _band(band)
        part.body += inside.lines("", band.number)
        dot.subgraph(part)
    _stack(dot, scene)
    *above, end = dot
    yield from above
    if not scene.bands:
        yield from inside.lines("", None)
    banded = bool(scene.bands)
    plain = _line_look("", False, False, banded, False, False)
    for number, arrow in enumerate(scene.arrows):
        label, look = arrow.label, plain
        if label or arrow.dashed or arrow.back or arrow.keeps or arrow.wrong:
            look = _line_look(label, arrow.back, arrow.dashed, banded, arrow.keeps, arrow.wrong)
        tooltip = f' tooltip="{escaped(arrow.tooltip)}"' if tooltips else ""
        yield f'\t{arrow.tail} -> {arrow.head} [id="e{number}"{look}{tooltip}]\n'
    drawn = {box.id for box in scene.boxes} if scene.links else set()
    thin = {"dir": "none", "color": LINK, "penwidth": "0.6", "constraint": "false"}
    yield from [statement(f"{tail} -> {head}", thin) for tail, head in scene.links if {tail, head} <= drawn]
    yield end


def _begun(scene: Scene, right: bool) -> graphviz.Digraph:
    """The graph with its title and what is the same of all in it."""
    dot = digraph("autograph")
    dot.attr(
        "graph",
        rankdir="LR" if right else "TB",
        bgcolor="white",
        fontname=FONT,
        fontsize="11",
        nodesep="0.28",
        ranksep="0.34",
        pad="0.15",
        newrank="true",
    )
    dot.attr("node", fontname=FONT, fontsize=f"{TITLE}", fontcolor=INK)
    dot.attr("edge", fontname=FONT, fontsize=f"{EDGE}", fontcolor=PALE_INK, color=LINE, arrowsize="0.65")
    if scene.title:
        dot.attr("graph", label=label_of(scene.title), labelloc="t", labeljust="l")
    return dot


@lru_cache(1 << 12)
def _line_look(label: str, back: bool, dashed: bool, banded: bool, keeps: bool, wrong: bool) -> str:
    """Return how an arrow looks, each attribute with a space before it."""
    attributes = {"label": label_of(f" {label} ")} if label else {}
    if back:
        attributes |= {"style": "dotted", "constraint": "false"}
    elif wrong:
        attributes["color"] = WRONG
    elif keeps:
        attributes["style"] = "dotted"
    elif dashed:
        attributes["style"] = "dashed"
    elif banded:
        attributes["weight"] = "4"
    return "".join(f" {word}" for word in _listed(attributes))


def _band(band: Band) -> graphviz.Digraph:
    fill, line = band_look(band.order)
    part = digraph(f"cluster_{band.number}")
    part.attr(
        label=label_of(band.title, *band.beside),
        labeljust="l",
        style="filled,rounded",
        fillcolor=fill,
        color=line,
        fontcolor=PALE_INK,
        margin="10",
    )
    return part


class _Inside:
    """Writes what stands in a frame, or in none: boxes, and frames as clusters."""

    def __init__(self, scene: Scene, tooltips: bool) -> None:
        self.tooltips = tooltips
        self.boxes: dict[tuple[str, int | None], list[Box]] = {}
        self.frames: dict[tuple[str, int | None], list[Frame]] = {}
        if not (scene.frames or scene.bands):
            self.boxes["", None] = list(scene.boxes)
            return
        for box in scene.boxes:
            self.boxes.setdefault((box.frame, box.band if scene.bands else None), []).append(box)
        for frame in scene.frames:
            self.frames.setdefault((frame.parent, frame.band if scene.bands else None), []).append(frame)

    def lines(self, around: str, band: int | None, depth: int = 1) -> Iterator[str]:
        """Write all that stands in the frame `around`, of this band, and the frames in it."""
        for box in self.boxes.get((around, band), ()):
            yield box_line(box, self.tooltips)
        for frame in self.frames.get((around, band), ()):
            look = {"label": label_of(frame.title), "labeljust": "l", "style": "filled,rounded", "color": FRAME_LINE}
            look |= {"fillcolor": shaded(PAPER, depth), "fontcolor": PALE_INK, "fontsize": "10", "margin": "8"}
            if self.tooltips:
                look["tooltip"] = escaped(frame.tooltip)
            yield f"\tsubgraph cluster_{frame.id} {{\n"
            yield statement("graph", look)
            yield from self.lines(frame.id, band, depth + 1)
            yield "\t}\n"


def _stack(dot: graphviz.Digraph, scene: Scene) -> None:
    """Between two bands a point that is not drawn, below all of the upper and above all of the lower one."""
    if not scene.bands:
        return
    of = {box.id: box.band for box in scene.boxes}
    inner = [arrow for arrow in scene.arrows if of[arrow.tail] == of[arrow.head]]
    led, leading = {arrow.head for arrow in inner}, {arrow.tail for arrow in inner}
    for lower, upper in zip(scene.bands, scene.bands[1:], strict=False):
        point = f"between_{lower.number}_{upper.number}"
        dot.node(point, style="invis", shape="point", width="0", height="0")
        for box in scene.boxes:
            if box.band == upper.number and box.id not in leading:
                dot.edge(box.id, point, style="invis", weight="0")
            elif box.band == lower.number and box.id not in led:
                dot.edge(point, box.id, style="invis", weight="0")


def box_line(box: Box, tooltips: bool, pos: str = "") -> str:
    """The line of a box; `pos` is the middle of one that has a position already."""
    label, look = _box_look(box.style, box.title, box.subtitle, box.lines, SMALL if box.small else TITLE)
    tooltip = f' tooltip="{escaped(box.tooltip)}"' if tooltips else ""
    where = f' pos="{pos}"' if pos else ""
    where += f' fillcolor="{box.fill}"' if box.fill else ""
    return f'\t{box.id} [{label} id="{box.id}"{look}{tooltip}{where}]\n'


@lru_cache(1 << 12)
def _box_look(style: Style, title: str, subtitle: str, lines: tuple[str, ...], size: float) -> tuple[str, str]:
    """The label of a box, and its other attributes, each with a space before it."""
    below = [line for line in (subtitle, *lines) if line]
    (label,) = _listed({"label": label_of(title, *below)})
    return label, "".join(f" {word}" for word in _listed(node_attributes(style, title, subtitle, size, lines)))


def legend_nodes(scene: Scene, left: float, bottom: float, right: float) -> str:
    """Samples of what is in the scene, in rows below this box, as lines of DOT with their positions."""
    legend = digraph()
    x, y = left, bottom - 26
    samples = [(f"legend_{style}", words, node_attributes(style, words, size=EDGE)) for style, words in scene.legend]
    if scene.notes:
        notes = "   ".join(scene.notes)
        inches = text_width(notes) * EDGE / 72 + 0.1
        shape = {"shape": "plaintext", "width": f"{inches:.3f}", "height": "0.24", "fixedsize": "true"}
        samples.append(("legend_notes", notes, shape | {"fontcolor": PALE_INK, "fontsize": f"{EDGE}"}))
    for key, words, attributes in samples:
        width = float(attributes["width"]) * 72
        if x > left and x + width > max(right, left + LEGEND_WIDTH):
            x, y = left, y - 24
        legend.node(key, label=label_of(words), id=key, pos=f"{x + width / 2:.2f},{y:.2f}", **attributes)
        x += width + 8
    return "".join(legend.body)


def statement(subject: str, attributes: dict[str, str]) -> str:
    """One line of DOT; values are labels in HTML or free of quotes, which is ten times as fast as quoting each."""
    return f"\t{subject} [{' '.join(_listed(attributes))}]\n"


def _listed(attributes: dict[str, str]) -> list[str]:
    return [
        f"{key}={value}" if key == "label" and value[:1] == "<" else f'{key}="{value}"'
        for key, value in attributes.items()
    ]


def escaped(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("\n", "\\n") if "\n" in text else text


def label_of(title: str, *below: str) -> str:
    """The value of a label attribute."""
    if not below and _PLAIN.fullmatch(title):
        return title
    text = html.escape(title, quote=True) if title.strip() else "&#160;"
    left = is_code(below)
    for number, line in enumerate(below):
        words = html.escape(line, quote=True).replace("  ", "&#160; ")
        end = '<BR ALIGN="LEFT"/>' if left and number else "<BR/>"
        text += f'{end}<FONT POINT-SIZE="{SUBTITLE}" COLOR="{PALE_INK}">{words}</FONT>'
    text += '<BR ALIGN="LEFT"/>' if left else ""
    return f"<{text}>"
