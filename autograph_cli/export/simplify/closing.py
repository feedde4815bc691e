"""Frames closed to one box each, which tells what is in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from autograph_cli.export.scene.modules import is_foreign, leaf_names, leaves_words, shown_by
from autograph_cli.export.scene.records import Arrow, Box, Frame, Scene, paths_of, shapes_of, standing_for
from autograph_cli.export.simplify.rolling import still_true
from autograph_cli.export.style import RESULTS
from autograph_cli.graph import Graph

TOLD = 8
"""Inputs and outputs that the tooltip of a closed frame lists."""
LEAVES = 40
"""Leaves that it names."""
SHOWN = 2
"""Shapes that it shows of either."""


def close_below(scene: Scene, graph: Graph, depth: int) -> Scene:
    """The scene with frames open down to this depth: at 0 every outermost module is one box."""
    return _closed(scene, graph, depth + 1)


def close_to(scene: Scene, graph: Graph, limit: int, outermost: int = 1) -> Scene:
    """The scene with its deepest frames closed, a depth after the other, until `limit` boxes are left.

    Frames further out than `outermost` stay open. A note tells what was closed.
    """
    deep = max(depths(scene).values(), default=0)
    while deep >= outermost and len(scene.boxes) > limit:
        scene = _closed(scene, graph, deep)
        deep -= 1
    return scene


def closed_at_first(scene: Scene, depth: int | None, limit: int | None) -> list[str] | None:
    """The frames to close that only those down to a depth are open, and no more than `limit` boxes are seen.

    None if closing all but the outermost frames is not enough.
    """
    deep = depths(scene)
    path = paths_of(scene)
    lowest = max(deep.values(), default=0) if depth is None else depth
    while True:
        hidden = [box.frame for box in scene.boxes if deep.get(box.frame, 0) > lowest]
        top = {path[frame][lowest] for frame in hidden}
        seen = len(scene.boxes) - len(hidden) + len(top)
        if limit is None or seen <= limit:
            return [frame for frame in deep if deep[frame] > lowest]
        if lowest <= 1 or not deep:
            return None
        lowest = min(lowest, max(deep.values(), default=0)) - 1


def told_closed(scene: Scene, graph: Graph) -> dict[str, Box]:
    """For each frame, the box that stands for it when it is closed."""
    boxes = {}
    counts = _operations(graph)
    for depth in range(1, max(depths(scene).values(), default=0) + 1):
        boxes.update({box.id: box for box in _closed(scene, graph, depth, counts).boxes if box.style == "module"})
    return boxes


def depths(scene: Scene) -> dict[str, int]:
    """Return how deep each frame is, the outermost at 1."""
    return {frame: len(path) for frame, path in paths_of(scene).items() if frame}


Counts = dict[int, Counter[int]]
"""For each call, the operations of each order in it."""


def _operations(graph: Graph) -> Counts:
    counts: Counts = {}
    for node in graph:
        if node.computes and node.call is not None:
            counts.setdefault(node.call, Counter())[node.order] += 1
    for call in reversed(graph.calls):  # those within come after what they are in
        if call.parent is not None and call.id in counts:
            counts.setdefault(call.parent, Counter()).update(counts[call.id])
    return counts


def _closed(scene: Scene, graph: Graph, depth: int, counts: Counts | None = None) -> Scene:
    """The scene with all frames of this depth closed."""
    deep = depths(scene)
    which = [frame.id for frame in scene.frames if deep[frame.id] == depth]
    return closed(scene, graph, which, f" below depth {depth - 1}", counts)


def closed(scene: Scene, graph: Graph, which: Collection[str], words: str = "", counts: Counts | None = None) -> Scene:
    """The scene with each of these frames as one box; the note that tells how many ends in these words."""
    frames = {frame.id: frame for frame in scene.frames}
    chosen, top = set(which), dict[str, str]()
    for frame in scene.frames:
        around = top.get(frame.parent, "") or (frame.id if frame.id in chosen else "")
        if around:
            top[frame.id] = around
    if not top:
        return scene
    scene = _without_strangers(scene, graph, {frame: frames[its] for frame, its in top.items()})
    into = {box.id: top[box.frame] for box in scene.boxes if box.frame in top}
    arrows = tuple(_joined(scene, into))
    closing = _Closing(scene, graph, arrows, _operations(graph) if counts is None else counts)
    members: dict[str, list[str]] = {}
    for key, its in into.items():
        members.setdefault(its, []).append(key)
    boxes, met = [], set()
    for box in scene.boxes:
        home = into.get(box.id)
        if home is None:
            boxes.append(box)
        elif home not in met:
            met.add(home)
            boxes.append(closing.box(frames[home], members[home]))
    notes = [note for note in scene.notes if not note.startswith("closed:")]
    styles = {box.style for box in boxes}
    legend = [entry for entry in scene.legend if entry[0] in styles and entry[0] != "module"]
    scene = replace(
        scene,
        boxes=tuple(boxes),
        arrows=arrows,
        frames=tuple(frame for frame in scene.frames if frame.id not in top),
        notes=(*notes, _note(boxes, words)),
        legend=(*legend, ("module", "closed module")),
    )
    return replace(scene, notes=still_true(scene))


def _without_strangers(scene: Scene, graph: Graph, closed: dict[str, Frame]) -> Scene:
    """The scene with tensors from outside of all modules beside the closed frames that they are used in, each once."""
    into: dict[str, str] = {}
    first: dict[tuple[str, str, str], str] = {}
    boxes: dict[str, Box] = {}
    for box in scene.boxes:
        if box.frame in closed and is_foreign(box, graph, scene.data):
            same = into[box.id] = first.setdefault((closed[box.frame].id, box.title, box.tooltip), box.id)
            if same != box.id:
                boxes[same] = standing_for(boxes[same], [box])
                continue
            box = replace(box, frame=closed[box.frame].parent)
        boxes[box.id] = box
    arrows = tuple(
        replace(arrow, tail=into.get(arrow.tail, arrow.tail), head=into.get(arrow.head, arrow.head))
        for arrow in scene.arrows
    )
    return replace(scene, boxes=tuple(boxes.values()), arrows=arrows)


def _note(boxes: Iterable[Box], words: str) -> str:
    closed = len({re.match(r"m\d+|", box.id)[0] for box in boxes if box.style == "module"})  # type: ignore[index]
    return f"closed: {closed:,} module{'s' * (closed > 1)}{words}"


def _joined(scene: Scene, into: dict[str, str]) -> Iterator[Arrow]:
    """The arrows between what is left; of those that lead the same tensor to the same box, one."""
    met = set()
    for arrow in scene.arrows:
        tail, head = into.get(arrow.tail, arrow.tail), into.get(arrow.head, arrow.head)
        if (tail, head) == (arrow.tail, arrow.head):
            yield arrow
        elif tail != head:
            what = arrow.tensors or (arrow.tail if scene.data else arrow.head)
            key = (what, tail, head, arrow.label, arrow.dashed, arrow.back)
            if key not in met:
                met.add(key)
                yield replace(arrow, tail=tail, head=head)


class _Closing:
    def __init__(self, scene: Scene, graph: Graph, arrows: Collection[Arrow], counts: Counts) -> None:
        self.graph, self.counts, self.data, self.unit = graph, counts, scene.data, scene.unit
        self.leading: dict[str, list[Arrow]] = {}
        self.leaving: dict[str, list[Arrow]] = {}
        for arrow in (arrow for arrow in arrows if not arrow.keeps):
            self.leading.setdefault(arrow.head, []).append(arrow)
            self.leaving.setdefault(arrow.tail, []).append(arrow)
        self.drawn = {box.id: box for box in scene.boxes}
        self.parts = Counter((frame.call, frame.band) for frame in scene.frames)

    def box(self, frame: Frame, members: list[str]) -> Box:
        """The box that stands for a frame."""
        led, left = self.leading.get(frame.id, []), self.leaving.get(frame.id, [])
        ways = f"{_shapes(led)} → {_shapes(left)}".strip()
        size = " · ".join(filter(None, (self._size(frame), self._nodes(frame, members))))
        lines = tuple(line for line in (ways, size) if line)
        results = [self.drawn[key].title for key in members if self.drawn[key].style in RESULTS]
        tooltip = [frame.tooltip, *self._told("in", led), *self._told("out", left)]
        tooltip += [f"in it: {', '.join(results)}"] if results else []
        boxes = [self.drawn[key] for key in members]
        leaves = leaf_names(boxes, self.graph, self.data)
        tooltip.append(leaves_words(leaves, LEAVES))
        return Box(
            frame.id,
            "module",
            frame.title,
            lines=lines,
            tooltip="\n".join(line for line in tooltip if line),
            band=frame.band,
            frame=frame.parent,
            amount=sum(told) if (told := [x for key in members if (x := self.drawn[key].amount) is not None]) else None,
            others=tuple([key for box in boxes for key in (box.id, *box.others)]),
            spare=bool(ways),
        )

    def _size(self, frame: Frame) -> str:
        parameters = 0 if frame.call is None else self.graph.calls[frame.call].parameters
        times = f"{frame.times:,} × " if frame.times > 1 and frame.equal else ""
        return f"{times}{parameters:,} parameters" if parameters else ""

    def _nodes(self, frame: Frame, members: list[str]) -> str:
        """Return how many nodes there are of each order, in all of the module; of a part of it, in that."""
        if frame.call is None or self.parts[frame.call, frame.band] > 1:
            boxes = [self.drawn[key] for key in members]
            keys = (key for box in boxes for key in (box.id, *box.others))
            shown = [shown_by(key, self.graph, self.data) for key in keys]
            count = len({node.id for node in shown if node is not None and node.computes})
            return f"{count:,} {self.unit}{'s' * (count != 1)}"
        counts = self.counts.get(frame.call, Counter())
        if set(counts) <= {0}:
            return f"{counts[0]:,} {self.unit}{'s' * (counts[0] != 1)}"
        return ", ".join(f"{count:,} of order {order}" for order, count in sorted(counts.items()))

    def _told(self, word: str, arrows: list[Arrow]) -> Iterator[str]:
        told = list(dict.fromkeys(arrow.tooltip for arrow in arrows if arrow.tooltip))
        yield from (f"{word}: {words}" for words in told[:TOLD])
        if len(told) > TOLD:
            yield f"{word}: {len(told) - TOLD:,} more"


def _shapes(arrows: list[Arrow]) -> str:
    """The shapes of what arrows carry; what comes from turn to turn is what came at first."""
    first = {arrow.label for arrow in arrows if not arrow.back}
    counts = shapes_of(arrow for arrow in arrows if not (arrow.back and arrow.label in first))
    mixed = counts.pop("", 0)
    words = [label if count == 1 else f"{count:,} × {label}" for label, count in counts.items()]
    words += [f"{mixed:,} tensors"] if mixed else []
    return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN:,} more" if len(words) > SHOWN else "")
