"""A placed scene as DOT, for a program that only draws what has positions already."""

from __future__ import annotations

from collections.abc import Iterable

from autograph_cli.export.formats.dot import box_line, digraph, escaped, label_of, statement
from autograph_cli.export.formats.drawing import Area, Primitive, Role, Text, Way, primitives
from autograph_cli.export.formats.pdf import helvetica_width
from autograph_cli.export.layout.placed import Placed, Point
from autograph_cli.export.scene.records import Arrow, Box
from autograph_cli.export.style import EDGE, FONT, INK, LINE, PALE_INK, SMALL, TITLE, node_attributes

ROOMY = 1.5
"""Times its width in Helvetica that a text may be wide in the font that is there."""


def placed_dot(placed: Placed) -> str:
    """Write the picture for `neato -n2`, which keeps the positions of boxes, arrows and bands."""
    writer = _Writer(placed)
    writer.write()
    return str(writer.dot.source)


class _Writer:
    """Graphviz draws clusters, then edges, then nodes: all text beside boxes is nodes, the last of all."""

    def __init__(self, placed: Placed) -> None:
        self.placed = placed
        self.of: dict[Role, list[Primitive]] = {}
        for primitive in primitives(placed):
            self.of.setdefault(primitive.role, []).append(primitive)
        self.dot = digraph("autograph")
        self.dot.attr(
            "graph",
            bgcolor="white",
            outputorder="edgesfirst",
            pad="0.15",
            splines="true",
            bb=f"0,0,{placed.width:.2f},{placed.height:.2f}",
        )
        self.dot.attr("node", fontname=FONT, fontsize=f"{TITLE}", fontcolor=INK)
        self.dot.attr("edge", color=LINE, arrowsize="0.65")

    def write(self) -> None:
        """Write all pieces."""
        scene = self.placed.scene
        for primitive in (*self.of.get("band", ()), *self.of.get("frame", ())):
            self.cluster(primitive)
        for box, primitive in zip(scene.boxes, self.of.get("box", ()), strict=True):
            self.box(box, primitive)
        labels = {primitive.key: primitive for primitive in self.of.get("label", ())}
        for number, (arrow, primitive) in enumerate(zip(scene.arrows, self.of.get("arrow", ()), strict=True)):
            self.arrow(arrow, primitive)
            if f"label_{number}" in labels:
                self.on_ground(labels[f"label_{number}"], f"label_{number}")
        for primitive in self.of.get("link", ()):
            self.link(primitive)
        for primitive in self.of.get("heading", ()):
            self.on_ground(primitive, primitive.key)
        for primitive in self.of.get("frame", ()):
            self.on_ground(primitive, f"title_{primitive.key}")
        for role in ("title", "formula", "sample"):
            for primitive in self.of.get(role, ()):
                self.outside(primitive)

    def cluster(self, primitive: Primitive) -> None:
        """A band or a frame."""
        area = primitive.parts[0]
        assert isinstance(area, Area)
        position = area.position
        low = position.x - position.width / 2, position.y + position.height / 2
        high = position.x + position.width / 2, position.y - position.height / 2
        part = digraph(f"cluster_{primitive.key.removeprefix('band_')}")
        corners = f"{self.at(low)},{self.at(high)}"
        part.attr("graph", bb=corners, style="filled,rounded", fillcolor=area.fill, color=area.line)
        self.dot.subgraph(part)

    def box(self, box: Box, primitive: Primitive) -> None:
        """A box; where it has more than two lines, these have positions of their own, as have its bars."""
        area, *inside = primitive.parts
        assert isinstance(area, Area)
        middle = self.at((area.position.x, area.position.y))
        if len(box.below) < 2:
            self.dot.body.append(box_line(box, False, middle))
            return
        size = SMALL if box.small else TITLE
        look = node_attributes(box.style, box.title, box.subtitle, size, box.lines)
        look |= {"fillcolor": box.fill} if box.fill else {}
        self.dot.body.append(statement(box.id, {"label": "<&#160;>", "id": box.id, "pos": middle} | look))
        for number, text in enumerate(part for part in inside if isinstance(part, Text)):
            self.words(f"line_{box.id}_{number}", text)
        self.bars(box.id, inside)

    def bars(self, key: str, inside: Iterable[Area | Text | Way]) -> None:
        """The bars among the parts of something."""
        for number, bar in enumerate(part for part in inside if isinstance(part, Area)):
            position = bar.position
            sides = {
                "width": f"{position.width / 72:.4f}",
                "height": f"{position.height / 72:.4f}",
                "fixedsize": "true",
            }
            look = {"label": "<&#160;>", "shape": "box", "style": "filled", "fillcolor": PALE_INK, "penwidth": "0"}
            look |= sides | {"pos": self.at((position.x, position.y)), "fontsize": "1"}
            self.dot.body.append(statement(f"{key}_bar{number}", look))

    def arrow(self, arrow: Arrow, primitive: Primitive) -> None:
        (way,) = primitive.parts
        assert isinstance(way, Way)
        attributes = {"pos": self.spline(way)}
        if way.colour != LINE:
            attributes["color"] = way.colour
        if way.dash:
            attributes["style"] = "dotted" if arrow.back else "dashed"
        self.dot.body.append(statement(f"{arrow.tail} -> {arrow.head}", attributes))

    def link(self, primitive: Primitive) -> None:
        (way,) = primitive.parts
        assert isinstance(way, Way)
        points = way.line.start, *way.line.strokes[0]
        thin = {"pos": " ".join(map(self.at, points)), "dir": "none", "color": way.colour, "penwidth": "0.6"}
        self.dot.body.append(statement(primitive.key, thin))

    def on_ground(self, primitive: Primitive, key: str) -> None:
        """Text on an area of the colour around it."""
        area, text, *inside = primitive.parts
        assert isinstance(area, Area) and isinstance(text, Text)
        self.words(key, text, area.fill)
        self.bars(key, inside)

    def outside(self, primitive: Primitive) -> None:
        """The title, a line beside a band, or an entry of the legend."""
        *areas, text = primitive.parts
        assert isinstance(text, Text)
        if primitive.style is None:
            self.words(primitive.key, text)
            return
        for area in areas:
            assert isinstance(area, Area)
            look = node_attributes(primitive.style, text.words, size=EDGE)
            self.dot.node(primitive.key, label_of(text.words), pos=self.at((area.position.x, area.position.y)), **look)

    def at(self, point: Point) -> str:
        return f"{point[0]:.2f},{self.placed.height - point[1]:.2f}"

    def words(self, key: str, text: Text, fill: str = "") -> None:
        width = helvetica_width(text.words) * text.size
        ground = (
            {"shape": "box", "color": fill, "fillcolor": fill, "style": "filled"} if fill else {"shape": "plaintext"}
        )
        sides = {"width": f"{width / 72 + 0.03:.3f}", "height": f"{text.size * 1.1 / 72:.3f}"}
        sides |= {"fixedsize": "true", "margin": "0", "fontsize": f"{text.size}", "fontcolor": text.ink}
        label, (x, y) = label_of(text.words), text.middle(width / text.size)
        if not text.centred:  # it begins here, however wide it is drawn
            if fill:
                self.dot.node(f"{key}_ground", "<&#160;>", pos=self.at((x, y)), **ground, **sides)
            label, ground = escaped(text.words) + "\\l", {"shape": "plaintext"}
            sides["width"], x = f"{ROOMY * width / 72:.3f}", text.at[0] + ROOMY * width / 2
        self.dot.node(key, label, pos=self.at((x, y)), **ground, **sides)

    def spline(self, way: Way) -> str:
        """The way as Graphviz wants it: cubic curves only, up to where the head begins, and the tip apart."""
        points, here = [self.at(way.line.start)], way.line.start
        for number, stroke in enumerate(way.line.strokes, 1):
            end = way.neck if number == len(way.line.strokes) else stroke[-1]
            controls = (
                stroke[:2]
                if len(stroke) == 3
                else [(here[0] + (end[0] - here[0]) * t, here[1] + (end[1] - here[1]) * t) for t in (1 / 3, 2 / 3)]
            )
            points += [*map(self.at, controls), self.at(end)]
            here = end
        return f"e,{self.at(way.head[0])} {' '.join(points)}"
