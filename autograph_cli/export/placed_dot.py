"""A placed scene as DOT, for a program that only draws what has places already."""

from __future__ import annotations

import graphviz

from autograph_cli.export.arranging import FRAME_TITLE
from autograph_cli.export.dot import label_of, node_statement, statement
from autograph_cli.export.pdf import helvetica_width
from autograph_cli.export.placed import (
    Ground,
    Line,
    Place,
    Placed,
    Point,
    bars,
    dashes,
    fill_of,
    head,
    links,
    plate_fill,
    written,
)
from autograph_cli.export.scene import Box
from autograph_cli.export.style import (
    BAND,
    BANDS,
    EDGE,
    FONT,
    FRAME_LINE,
    INK,
    LINE,
    LINK,
    PALE_INK,
    SMALL,
    TITLE,
    node_attributes,
)


def placed_dot(placed: Placed) -> str:
    """Write the picture for `neato -n2`, which keeps the places of boxes, arrows and bands."""
    writer = _Writer(placed)
    writer.bands()
    writer.frames()
    writer.graph()
    writer.surroundings()
    return str(writer.dot.source)


class _Writer:
    def __init__(self, placed: Placed) -> None:
        self.placed = placed
        self.dot = graphviz.Digraph("autograph")
        self.dot.attr("graph", bgcolor="white", outputorder="edgesfirst", pad="0.15", splines="true",
                      bb=f"0,0,{placed.width:.2f},{placed.height:.2f}")  # fmt: skip
        self.dot.attr("node", fontname=FONT, fontsize=f"{TITLE}", fontcolor=INK)
        self.dot.attr("edge", color=LINE, arrowsize="0.65")

    def bands(self) -> None:
        for lane in self.placed.lanes:
            corners = f"{self.at((lane.left, lane.bottom))},{self.at((lane.right, lane.top))}"
            part = graphviz.Digraph(f"cluster_{lane.band.number}")
            line = BANDS[lane.band.order % len(BANDS)][1]
            part.attr("graph", bb=corners, style="filled,rounded", fillcolor=fill_of(lane), color=line)
            self.dot.subgraph(part)

    def frames(self) -> None:
        for plate in self.placed.plates:
            corners = f"{self.at((plate.left, plate.bottom))},{self.at((plate.right, plate.top))}"
            part = graphviz.Digraph(f"cluster_{plate.frame.id}")
            fill = plate_fill(self.placed, plate)
            part.attr("graph", bb=corners, style="filled,rounded", fillcolor=fill, color=FRAME_LINE)
            self.dot.subgraph(part)

    def graph(self) -> None:
        placed, under = self.placed, Ground(self.placed)
        for box, place in zip(placed.scene.boxes, placed.places, strict=True):
            middle = self.at((place.x, place.y))
            if len(box.below) < 2:
                node_statement(self.dot, box, False, middle)
            else:
                self.lines(box, place, middle)
        for number, (arrow, line) in enumerate(zip(placed.scene.arrows, placed.lines, strict=True)):
            attributes = {"pos": self.spline(line)}
            if dashes(arrow):
                attributes["style"] = "dotted" if arrow.back else "dashed"
            self.dot.body.append(statement(f"{arrow.tail} -> {arrow.head}", attributes))
            if arrow.label and line.label:
                self.words(f"label_{number}", arrow.label, line.label, EDGE, fill=under.at(line.label))

        for (derivative, of), start, curve in links(placed):
            thin = {"pos": " ".join(map(self.at, (start, *curve))), "dir": "none", "color": LINK, "penwidth": "0.6"}
            self.dot.body.append(statement(f"{derivative} -> {of}", thin))

    def lines(self, box: Box, place: Place, middle: str) -> None:
        """A box whose lines each have a place of their own, as have the bars."""
        size = SMALL if box.small else TITLE
        look = node_attributes(box.style, box.title, box.subtitle, size, box.lines)
        self.dot.body.append(statement(box.id, {"label": "<&#160;>", "id": box.id, "pos": middle} | look))
        for number, (words, (x, y), points) in enumerate(written(box, place)):
            across = x + helvetica_width(words) * points / 2 if number and box.left else x
            ink = PALE_INK if number else INK
            self.words(f"{box.id}_{number}", words, (across, y - points * 0.35), points, ink)
        for number, bar in enumerate(bars(box, place)):
            sides = {"width": f"{bar.width / 72:.4f}", "height": f"{bar.height / 72:.4f}", "fixedsize": "true"}
            look = {"label": "<&#160;>", "shape": "box", "style": "filled", "fillcolor": PALE_INK, "penwidth": "0"}
            look |= sides | {"pos": self.at((bar.x, bar.y)), "fontsize": "1"}
            self.dot.body.append(statement(f"{box.id}_bar{number}", look))

    def surroundings(self) -> None:
        """The titles and the legend."""
        placed = self.placed
        for lane in placed.lanes:
            title = lane.band.title
            self.words(f"band_{lane.band.number}", title, _middle(title, lane.title, BAND), BAND, fill=fill_of(lane))
        for plate in placed.plates:
            key, title = f"title_{plate.frame.id}", plate.frame.title
            fill = plate_fill(placed, plate)
            self.words(key, title, _middle(title, plate.title, FRAME_TITLE), FRAME_TITLE, fill=fill)
        if placed.scene.title:
            title = placed.scene.title
            self.words("title", title, _middle(title, placed.title, TITLE), TITLE, INK)
        for number, sample in enumerate(placed.samples):
            key, place = f"legend_{number}", sample.place
            if sample.style is None:
                self.words(key, sample.words, _middle(sample.words, (place.x, place.y + EDGE * 0.35), EDGE), EDGE)
                continue
            look = node_attributes(sample.style, sample.words, size=EDGE)
            self.dot.node(key, label_of(sample.words), pos=self.at((place.x, place.y)), **look)

    def at(self, point: Point) -> str:
        return f"{point[0]:.2f},{self.placed.height - point[1]:.2f}"

    def words(self, key: str, text: str, middle: Point, size: float, ink: str = PALE_INK, *, fill: str = "") -> None:
        look = {"shape": "box", "color": fill, "fillcolor": fill, "style": "filled"} if fill else {"shape": "plaintext"}
        sides = {"width": f"{helvetica_width(text) * size / 72 + 0.03:.3f}", "height": f"{size * 1.1 / 72:.3f}"}
        look |= sides | {"fixedsize": "true", "margin": "0", "fontsize": f"{size}", "fontcolor": ink}
        self.dot.node(key, label_of(text), pos=self.at(middle), **look)

    def spline(self, line: Line) -> str:
        """The way as Graphviz wants it: cubic curves only, up to where the head begins, and the tip apart."""
        tip, *back = head(line)
        points, here = [self.at(line.start)], line.start
        for number, stroke in enumerate(line.strokes, 1):
            end = (tip[0], back[0][1]) if number == len(line.strokes) else stroke[-1]
            controls = stroke[:2] if len(stroke) == 3 else [
                (here[0] + (end[0] - here[0]) * t, here[1] + (end[1] - here[1]) * t) for t in (1 / 3, 2 / 3)
            ]  # fmt: skip
            points += [*map(self.at, controls), self.at(end)]
            here = end
        return f"e,{self.at(tip)} {' '.join(points)}"


def _middle(text: str, start: Point, size: float) -> Point:
    """The middle of a line of text that starts here."""
    return start[0] + helvetica_width(text) * size / 2, start[1] - size * 0.35
