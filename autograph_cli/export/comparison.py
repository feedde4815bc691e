"""Pictures of what differs between two graphs: both in one, what is alike folded; and both side by side."""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from autograph_cli.export.compared_scenes import DIFFERENT, laid_out, sides_of
from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.dot import to_dot
from autograph_cli.export.formats.programs import png
from autograph_cli.export.formats.svg import FONTS, to_svg
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.options import READABLE
from autograph_cli.export.pipeline import LARGEST
from autograph_cli.export.ranks import groups, in_turn
from autograph_cli.export.scene.building import band_title
from autograph_cli.export.scene.labels import short
from autograph_cli.export.scene.records import LEGEND, Arrow, Band, Box, Scene
from autograph_cli.export.style import INK, TITLE, Style
from autograph_cli.graph import Edge, GraphDiff, Node
from autograph_cli.graph.diff import Change, shown_type
from autograph_cli.graph.divergence import Divergence
from autograph_cli.graph.names import visible
from autograph_cli.graph.parting_front import front

SMALL_GRAPH = 24
"""The most nodes of a graph in which nothing is folded."""
Side = Literal["before", "after"]
SIDE_OF: dict[Style, Side] = {"removed": "before", "added": "after"}
"""The side on which alone a box is seen."""
BETWEEN = 24.0
"""Points between pictures beside each other."""
_WORDS: dict[Style, str] = {**LEGEND, **{style: style for style in DIFFERENT}, "folded": "unchanged"}

_PARTED: dict[Style, str] = {
    "mark": "they part here",
    "changed": "other numbers",
    "added": "not in the other run",
    "removed": "not in the other run",
}
"""The meaning of the marks where two runs part."""

FORMATS: dict[str, Callable[[Scene], bytes]] = {
    "svg": lambda scene: to_svg(lay_out(scene)).encode(),
    "png": lambda scene: png(lay_out(scene)),
    "dot": lambda scene: to_dot(scene).encode(),
}


def render_diff(diff: GraphDiff, format: str = "svg", *, title: str = "") -> bytes:
    """Both graphs in one picture: what was added, removed and changed, with its neighbours; the rest is folded.

    Raises `ExportError` if nothing differs, or too much for a picture.
    """
    if format not in FORMATS:
        raise ExportError(f"There is no format {format!r} for a diff; known ones: {', '.join(FORMATS)}.")
    if not diff:
        raise ExportError("There is nothing to draw: the graphs are the same.")
    return FORMATS[format](_drawable(union_scene(diff, title)))


def union_scene(diff: GraphDiff, title: str) -> Scene:
    """Draw what differs, with its neighbours, and fold the rest."""
    return _Union(diff).scene(visible(title))


def both_scenes(diff: GraphDiff, first: tuple[Iterable[int], Iterable[int]] = ((), ())) -> tuple[Scene, Scene]:
    """The graph before and the one after, what differs marked, and what is `first` in either above all; where either is
    big, the rest is folded alike."""
    marks = None
    if any(first):
        old: dict[int, Style] = {change.old: "changed" for change in diff.changed}
        new: dict[int, Style] = {change.new: "changed" for change in diff.changed}
        for its, here, begin in ((old, diff.removed, first[0]), (new, diff.added, first[1])):
            its |= dict.fromkeys(here, "removed" if its is old else "added") | dict.fromkeys(begin, "mark")
        marks = old, new
    scenes = sides_of(diff, marks)
    if max(len(scene.boxes) for scene in scenes) <= READABLE:
        return scenes
    union = _Union(diff)
    union.style |= {diff.pairs[one]: "mark" for one in first[0] if one in diff.pairs}
    return _drawable(union.scene("", "before")), _drawable(union.scene("", "after"))


def _drawable(scene: Scene) -> Scene:
    if len(scene.boxes) > LARGEST:
        raise ExportError(
            f"{len(scene.boxes):,} nodes are too many for a picture (the limit is {LARGEST:,}): choose text or json."
        )
    return scene


def side_by_side(diffs: Sequence[GraphDiff], titles: tuple[str, str] = ("before", "after")) -> bytes:
    """The graphs before and after beside each other as one SVG, what differs marked; a row for each pair of pictures,
    which steps that are alike share."""
    if not any(diffs):
        raise ExportError("There is nothing to draw: the graphs are the same.")
    pairs = {(_seen(one), _seen(other)): (one, other) for one, other in map(both_scenes, reversed(diffs))}
    return _rows([*pairs.values()][::-1], titles)


def _seen(scene: Scene) -> frozenset[tuple[Any, int]]:
    """Return the words of the boxes and arrows of a picture, with how often each is there."""
    words = {box.id: (box.style, box.title, box.subtitle, box.lines) for box in scene.boxes}
    arrows = [(words[arrow.tail], words[arrow.head], arrow.label) for arrow in scene.arrows]
    return frozenset(Counter[Any]([*words.values(), *arrows]).items())


def parted_side_by_side(found: Divergence, titles: tuple[str, str]) -> bytes:
    """The graphs of the step in which two runs part, beside each other as one SVG: where they part is marked, and what
    has other numbers."""
    aligned = found.aligned
    if aligned is None:
        raise ExportError("There is nothing to draw: the graphs do not part.")
    marks = front(found)
    first = tuple([number for number, mark in each.items() if mark == "first"] for each in marks)
    others = [one for one, mark in marks[0].items() if mark != "alone" and one in aligned.pairs]
    if len(others) > READABLE:  # the neighbours of what is first
        others = [one for one in others if one in first[0]]
    removed, added = (tuple([node.id for node in graph if node.id not in likes]) for graph, likes in aligned.sides)
    changed = tuple([Change(one, aligned.pairs[one], ()) for one in others])
    diff = GraphDiff(aligned.old, aligned.new, aligned.pairs, removed, added, changed, (), (), (), {}, frozenset())
    scenes = both_scenes(diff, (first[0], first[1]))
    one, other = [replace(scene, legend=_parted_legend(scene)) for scene in scenes]
    return _rows([(one, other)], titles)


def _parted_legend(scene: Scene) -> tuple[tuple[Style, str], ...]:
    told: list[tuple[Style, str]] = [
        (style, _PARTED.get(style, words)) for style, words in scene.legend if style != "mark"
    ]
    if any(box.style == "mark" for box in scene.boxes):
        told.append(("mark", _PARTED["mark"]))
    return tuple(told)


def _rows(rows: Sequence[tuple[Scene, Scene]], titles: tuple[str, str]) -> bytes:
    """Scenes beside each other, with a title for each side; a row below the other."""
    parts, y, widest = [], 0.0, 0.0
    for row, scenes in enumerate(rows):
        x = below = 0.0
        for side, placed in enumerate(laid_out(*scenes, (visible(titles[0]), visible(titles[1])))):
            picture = to_svg(placed).partition("\n")[2].replace(' id="', f' id="{"ab"[side]}{row}-')
            # Inner pictures are sized in the units of the frame.
            size = f'<svg x="{x:.2f}" y="{y:.2f}" width="{placed.width:.2f}" height="{placed.height:.2f}" viewBox='
            parts.append(re.sub(r"<svg .*?viewBox=", size, picture, count=1))
            x, below = x + placed.width + BETWEEN, max(below, placed.height)
        y, widest = y + below + BETWEEN, max(widest, x)
    width, height = f"{widest - BETWEEN:.2f}", f"{y - BETWEEN:.2f}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt"'
    frame = f'{head} viewBox="0 0 {width} {height}" font-family="{FONTS}" font-size="{TITLE}" fill="{INK}">\n'
    paper = f'<rect width="{width}" height="{height}" fill="white"/>\n'
    title = f"<title>{html.escape(visible(' → '.join(titles)))}</title>\n"
    return "".join([frame, title, paper, *parts, "</svg>\n"]).encode()


class _Union:
    """The nodes of the new graph under their numbers, those that were removed under numbers after these."""

    def __init__(self, diff: GraphDiff) -> None:
        self.diff = diff
        self.first = len(diff.new)
        removed = {old: self.first + position for position, old in enumerate(diff.removed)}
        self.position = {**diff.pairs, **removed}
        self.nodes: list[Node] = [*diff.new, *(diff.old[old] for old in diff.removed)]
        self.style: dict[int, Style] = {change.new: "changed" for change in diff.changed}
        self.style |= dict.fromkeys(diff.added, "added")
        self.style |= dict.fromkeys(removed.values(), "removed")
        self.was = {change.new: diff.old[change.old] for change in diff.changed}
        self.edges = self._edges()
        """(from, to) by number, and whether the edge is gone."""

    def _edges(self) -> dict[tuple[int, int], bool]:
        is_old = {(edge.node, node.id): False for node in self.diff.new for edge in _given(node)}
        for node in self.diff.old:
            to = self.position[node.id]
            if to in self.style:
                for edge in _given(node):
                    is_old.setdefault((self.position[edge.node], to), True)
        return is_old

    def _edges_of(self, side: Side) -> dict[tuple[int, int], bool]:
        """The edges of one graph, under the numbers of both."""
        if side == "after":
            return {(edge.node, node.id): False for node in self.diff.new for edge in _given(node)}
        return {
            (self.position[edge.node], self.position[node.id]): False for node in self.diff.old for edge in _given(node)
        }

    def scene(self, title: str, side: Side | None = None) -> Scene:
        """The picture of both graphs, or of one side: what is folded is the same in all of them."""
        groups = self._groups()
        hidden = {style for style, shown in SIDE_OF.items() if side not in (None, shown)}
        boxes, keys = [], {}
        folded: Counter[tuple[int, int]] = Counter(groups.values())
        for number in range(len(self.nodes)):
            if self.style.get(number) in hidden:
                continue
            group = groups.get(number)
            if group is None:
                keys[number] = f"n{number}"
                boxes.append(self._box(number, side))
                continue
            keys[number] = f"f{group[0]}_{group[1]}"
            if folded[group]:
                boxes.append(self._folded(keys[number], folded.pop(group), self.nodes[number].order))
        pairs: dict[tuple[str, str], bool] = {}
        for (tail, head), gone in (self.edges if side is None else self._edges_of(side)).items():
            pair = keys[tail], keys[head]
            if pair[0] != pair[1]:
                pairs[pair] = gone and pairs.get(pair, True)
        bands = sorted({box.band for box in boxes})
        styles = {box.style for box in boxes}
        arrows = tuple(Arrow(tail, head, dashed=gone) for (tail, head), gone in pairs.items())
        lanes = tuple(Band(band, band_title(band)) for band in bands) if len(bands) > 1 else ()
        return Scene(
            title,
            tuple(boxes),
            arrows,
            lanes,
            tuple((style, _WORDS[style]) for style in _WORDS if style in styles),
            ("dashed: no longer",) if any(pairs.values()) else (),
            data=True,
        )

    def _box(self, number: int, side: Side | None) -> Box:
        node = self.was.get(number, self.nodes[number]) if side == "before" else self.nodes[number]
        own: Style = "derivative" if node.kind == "operation" and node.order else node.kind
        names = [name for output in node.outputs for name in output.names]
        title = (node.op or node.name) if node.is_operation else (names[0] if names else node.kind)
        lines = list(self._changes(number)) if number in self.was and side is None else []
        subtitle = "; ".join(lines) or (", ".join(dict.fromkeys(names)) if node.is_operation else "")
        return Box(
            f"n{number}",
            self.style.get(number, own),
            short(title),
            short(subtitle),
            (),
            self._tooltip(node),
            2 * node.order,
        )

    def _changes(self, number: int) -> Iterator[str]:
        old, new, parts = self.was[number], self.nodes[number], self.diff.parts
        if (old.op or old.name) != (new.op or new.name):
            yield f"was {visible(old.op or old.name)}"
        types = [", ".join(shown_type(output.type, parts) for output in node.outputs) for node in (old, new)]
        if types[0] != types[1]:
            yield f"{types[0]} -> {types[1]}"

    def _tooltip(self, node: Node) -> str:
        lines = [node.name, *(str(output.type) for output in node.outputs)]
        if node.source:
            lines.append(f"{node.source.file}:{node.source.line}  {node.source.text.strip()}")
        return "\n".join(visible(line) for line in lines)

    def _folded(self, key: str, count: int, order: int) -> Box:
        return Box(key, "folded", f"{count} unchanged" if count > 1 else "unchanged", band=2 * order)

    def _groups(self) -> dict[int, tuple[int, int]]:
        """The group of each node that is folded: connected nodes of one order, none on both sides of a difference."""
        if len(self.nodes) <= SMALL_GRAPH:
            return {}
        near = set(self.style)
        for tail, head in self.edges:
            near |= {tail, head} if tail in self.style or head in self.style else set()
        level = self._levels(near)
        alike = [
            (tail, head)
            for tail, head in self.edges
            if tail not in near and head not in near and level[tail] == level[head]
            if self.nodes[tail].order == self.nodes[head].order
        ]
        first = enumerate(groups(len(self.nodes), alike))
        return {number: (its, level[number]) for number, its in first if number not in near}

    def _levels(self, near: set[int]) -> list[int]:
        """For each node a number that rises along the edges, by one after what is `near` and into another order."""
        following: dict[int, list[int]] = defaultdict(list)
        for tail, head in self.edges:
            following[tail].append(head)
        level = [0] * len(self.nodes)
        order = in_turn(len(self.nodes), self.edges, int)
        for number in order:
            for head in following[number]:
                level[head] = max(level[head], level[number] + self._crosses(number, head, near))
        for number in reversed(order):  # a leaf belongs to where it is first used
            heads = following[number]
            if heads and number not in near:
                level[number] = min(level[head] - self._crosses(number, head, near) for head in heads)
        return level

    def _crosses(self, tail: int, head: int, near: set[int]) -> bool:
        return tail in near or self.nodes[tail].order != self.nodes[head].order


def _given(node: Node) -> list[Edge]:
    return list(node.args) or [edge for edge in node.next if edge is not None]
