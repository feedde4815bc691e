"""A scene made smaller a little at a time, by what costs its reader the least first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Box, Scene
from autograph_cli.export.simplify.closing import closed, depths
from autograph_cli.export.simplify.folding import fold
from autograph_cli.export.simplify.gradients import with_borders, with_results
from autograph_cli.export.simplify.partition import by_statement
from autograph_cli.export.simplify.repeats import fold_repeats
from autograph_cli.graph import Graph

MANY, LEFT = 40, 0.85
"""Boxes from which on chains are folded several at a time, and the part of the boxes that is then left each time."""
LITTLE = 0.8
"""The part of the boxes that is left where a few chains are folded, before all lines of the script are."""
FEWEST = 6
LEAP = 0.85
"""The part of the boxes below which what lies between is tried too, before so many are folded at once."""


def smaller(scene: Scene, graph: Graph) -> Iterator[Scene]:
    """Yield the scene with fewer and fewer boxes: equal modules in a row as one, results written on what made them,
    frames around a single box as a line on it, modules closed from the inside out, those of one class at a time, a few
    chains folded, or lines of the script and chains, or all chains, and the outermost modules closed."""
    small = with_results(with_borders(split(fold_repeats(scene, graph))))
    yield small
    small = without_lone_frames(small)
    yield small
    small = yield from _closing(small, graph, 2)
    folded = yield from _folding(small, LITTLE)
    lines = by_statement(small, graph)
    bands = sorted({box.band for box in small.boxes})
    partly = [by_statement(folded, graph, band) for band in bands[:0:-1]]
    yield from _between(lines, [*partly, *_folding(folded, 0.0)])
    small = lines
    yield small
    small = yield from _folding(small, 0.5)
    yield from _folding(folded, 0.0)
    small = yield from _closing(small, graph, 1)
    yield from _folding(small, 0.0)


def without_lone_frames(scene: Scene) -> Scene:
    """The scene with the title of each frame that holds one operation and nothing else as a line on that."""
    inside: dict[str, list[Box]] = {}
    for box in scene.boxes:
        inside.setdefault(box.frame, []).append(box)
    around = {frame.parent for frame in scene.frames}
    lone = {
        frame.id: frame
        for frame in scene.frames
        if frame.id not in around and not frame.bare and len(inside.get(frame.id, ())) == 1
    }
    if not lone:
        return scene

    def box_of(box: Box) -> Box:
        frame = lone.get(box.frame)
        if frame is None:
            return box
        words = f"{frame.title} · {box.subtitle}" if box.subtitle else frame.title
        return replace(box, subtitle=words, tooltip=f"{box.tooltip}\n{frame.tooltip}", frame=frame.parent)

    frames = tuple(frame for frame in scene.frames if frame.id not in lone)
    return replace(scene, boxes=tuple(map(box_of, scene.boxes)), frames=frames)


def _closing(scene: Scene, graph: Graph, outermost: int) -> Generator[Scene, None, Scene]:
    """Yield the scene with the deepest frames closed, those of one class that hold the most together, again and
    again, down to frames `outermost`; returns the last one."""
    while True:
        deep = depths(scene)
        deepest = max(deep.values(), default=0)
        if deepest < outermost:
            return scene
        many = Counter(box.frame for box in scene.boxes)
        held: Counter[str] = Counter()
        for frame in scene.frames:
            if deep[frame.id] == deepest:
                held[_class(graph, frame.call)] += many[frame.id]
        ((cls, _),) = held.most_common(1)
        chosen = [its.id for its in scene.frames if deep[its.id] == deepest and _class(graph, its.call) == cls]
        small = with_results(closed(scene, graph, list(_with_lone(scene, chosen))))
        if len(small.boxes) < LEAP * len(scene.boxes):
            yield from _between(small, _partly_closed(scene, graph, chosen))
        scene = small
        yield scene


def _with_lone(scene: Scene, chosen: Iterable[str]) -> Iterator[str]:
    """Yield each of these frames, or of those around it that hold nothing else the outermost but one."""
    parent = {frame.id: frame.parent for frame in scene.frames}
    held = Counter([*parent.values(), *(box.frame for box in scene.boxes)])
    for frame in chosen:
        while parent[frame] and held[parent[frame]] == 1 and parent[parent[frame]]:
            frame = parent[frame]
        yield frame


def _between(small: Scene, scenes: Iterable[Scene]) -> Iterator[Scene]:
    """Yield those of some scenes that are larger than one, the largest first."""
    larger = [scene for scene in scenes if len(scene.boxes) > len(small.boxes)]
    yield from sorted(larger, key=lambda scene: -len(scene.boxes))


def _partly_closed(scene: Scene, graph: Graph, chosen: Sequence[str]) -> Iterator[Scene]:
    """Yield the scene with a few chains folded, with its lines as boxes, then with more chains folded; and so with all
    of these frames closed but those of the first call, and with those of higher orders."""
    known = {frame.id: frame for frame in scene.frames}
    closable = [[frame for frame in chosen if known[frame].call != known[chosen[0]].call]]
    bands = sorted({known[frame].band for frame in chosen})
    closable += [[frame for frame in chosen if known[frame].band >= band] for band in bands[:0:-1]]
    parts = [list(_with_lone(scene, some)) for some in closable if some]
    for part in (scene, *(with_results(closed(scene, graph, some)) for some in parts)):
        yield part
        yield from _folding(part, LITTLE)
        lines = by_statement(part, graph)
        yield lines
        yield from _folding(lines, 0.0)


def _class(graph: Graph, call: int | None) -> str:
    return "" if call is None else graph.calls[call].cls


def _folding(scene: Scene, least: float) -> Generator[Scene, None, Scene]:
    """Yield the scene with more and more of it folded, until so small a part of it is left; returns the last one."""
    limit = len(scene.boxes)
    lowest, folded = max(FEWEST, limit * least), scene
    while limit > lowest and len(folded.boxes) <= limit:
        limit = int(limit * LEFT) if limit > MANY else limit - 2
        folded = fold(scene, limit)
        yield folded
    return folded
