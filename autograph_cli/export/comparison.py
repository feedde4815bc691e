"""Pictures of what differs between two graphs: both in one, what is alike folded; and both side by side."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from autograph_cli.export.compared_scenes import folded_alike, in_one, laid_out, sides_of
from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.dot import to_dot
from autograph_cli.export.formats.programs import png
from autograph_cli.export.formats.svg import FONTS, to_svg
from autograph_cli.export.layout.fitting import fitted
from autograph_cli.export.options import READABLE
from autograph_cli.export.pipeline import LARGEST
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.style import INK, TITLE, Style
from autograph_cli.graph import GraphDiff
from autograph_cli.graph.diff import Change
from autograph_cli.graph.divergence import Divergence
from autograph_cli.graph.names import visible
from autograph_cli.graph.parting_front import front

BETWEEN = 24.0
"""Points between pictures beside each other."""
_PARTED: dict[Style, str] = {
    "mark": "they part here",
    "changed": "other numbers",
    "added": "not in the other run",
    "removed": "not in the other run",
}
"""The meaning of the marks where two runs part."""

FORMATS: dict[str, Callable[[Scene], bytes]] = {
    "svg": lambda scene: to_svg(fitted(scene, "auto", columns=True)).encode(),
    "png": lambda scene: png(fitted(scene, "auto", columns=True)),
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
    return in_one(*sides_of(diff), visible(title))


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
    one, other = folded_alike(*scenes)
    return _drawable(one), _drawable(other)


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
