"""Equal modules in a row, such as the twelve layers of a transformer, drawn once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.export.scene.records import Arrow, Scene, together
from autograph_cli.graph import Graph, ModuleCall
from autograph_cli.graph.nesting import Nesting

FEWEST = 3
"""Equal modules that are worth being shown as one."""
NOTE = "× n: n equal modules, one after the other"
_CALL = re.compile(r" \(call \d+\)$")

Way = tuple[str, int, object, str, bool]
"""An arrow of a module: in or out, the position in it, the other end, its label, whether it is dashed."""


def fold_repeats(scene: Scene, graph: Graph) -> Scene:
    """The scene with rows of equal modules as one: of one class, with the same boxes, wired to the next in one way."""
    if not scene.frames:
        return scene
    row = _Rows(scene, graph)
    for calls in row.found():
        scene = row.folded(scene, calls)
    return replace(scene, notes=(*scene.notes, NOTE)) if row.gone else scene


class _Rows:
    def __init__(self, scene: Scene, graph: Graph) -> None:
        self.graph = graph
        self.nesting = Nesting(graph)
        self.frames = {frame.id: frame for frame in scene.frames}
        self.members: dict[int, list[str]] = {}
        self.seat: dict[str, list[tuple[int, int]]] = {}
        """For each box the calls that it is in, from the inside out, and its position in each."""
        self.boxes = {box.id: box for box in scene.boxes}
        for box in scene.boxes:
            its = []
            for call in self.nesting.around(self.frames[box.frame].call if box.frame else None):
                members = self.members.setdefault(call, [])
                its.append((call, len(members)))
                members.append(box.id)
            self.seat[box.id] = its
        self.arrows: dict[str, list[Arrow]] = {box.id: [] for box in scene.boxes}
        for arrow in scene.arrows:
            self.arrows[arrow.tail].append(arrow)
            self.arrows[arrow.head].append(arrow)
        self.gone: dict[str, str] = {}
        """Boxes that are no longer drawn, and those in their places."""

    def found(self) -> Iterator[list[ModuleCall]]:
        """The rows of equal modules, those further out first; what is in a folded one is not looked at."""
        siblings: dict[int | None, list[ModuleCall]] = {}
        for call in self.graph.calls:
            if call.id in self.members:
                siblings.setdefault(call.parent, []).append(call)
        waiting: list[int | None] = [None]
        while waiting:
            calls = siblings.get(waiting.pop(0), [])
            rows = list(self._rows(calls))
            yield from rows
            hidden = {call.id for row in rows for call in row[1:]}
            waiting += [call.id for call in calls if call.id not in hidden]

    def _rows(self, calls: Sequence[ModuleCall]) -> Iterator[list[ModuleCall]]:
        start = 0
        kinds = [self._kind(call) for call in calls] if len(calls) >= FEWEST else []
        while start + FEWEST <= len(calls):
            end = start + 1
            while end < len(calls) and kinds[end] == kinds[start]:
                end += 1
            while end - start >= FEWEST and not self._in_a_row(calls[start:end]):
                end -= 1
            if end - start >= FEWEST:
                yield list(calls[start:end])
                start = end
            else:
                start += 1

    def _kind(self, call: ModuleCall) -> tuple[object, ...]:
        """Return a key that two calls share if they look alike."""
        inside = []
        for key in self.members[call.id]:
            box = self.boxes[key]
            path = [_CALL.sub("", self.frames[box.frame].title)]
            deep = [number for number, _ in self.seat[key]].index(call.id)
            title = "" if box.style == "saved" else box.title
            inside.append((box.style, title, box.band, deep, path if deep else ""))
        ways = [
            (position, self._position(arrow.head, call.id), arrow.label, arrow.dashed, arrow.back)
            for position, key in enumerate(self.members[call.id])
            for arrow in self.arrows[key]
            if arrow.tail == key
        ]
        return call.cls, call.parameters, inside, sorted(way for way in ways if way[1] is not None)

    def _position(self, box: str, call: int) -> int | None:
        return next((position for number, position in self.seat[box] if number == call), None)

    def _in_a_row(self, calls: Sequence[ModuleCall]) -> bool:
        """Return whether each is wired to the next as the one before it is, and to all else in one way."""
        rank = {call.id: number for number, call in enumerate(calls)}
        ways = [Counter(self._ways(call, number, rank)) for number, call in enumerate(calls)]
        middle = ways[1]
        if any(its != middle for its in ways[1:-1]) or any(_far(way) for way in middle):
            return False
        if not any(_step(way) == -1 for way in middle) or not any(_step(way) == 1 for way in middle):
            return False
        return _ends(ways[0], middle, -1) and _ends(ways[-1], middle, 1)

    def _ways(self, call: ModuleCall, number: int, rank: dict[int, int]) -> Iterator[Way]:
        for position, key in enumerate(self.members[call.id]):
            for arrow in self.arrows[key]:
                other, word = (arrow.head, "out") if arrow.tail == key else (arrow.tail, "in")
                seat = next(((rank[its], at) for its, at in self.seat[other] if its in rank), None)
                if seat is None:
                    yield word, position, other, arrow.label, arrow.dashed
                elif seat[0] != number:
                    yield word, position, (seat[0] - number, seat[1]), arrow.label, arrow.dashed

    def folded(self, scene: Scene, calls: Sequence[ModuleCall]) -> Scene:
        """The scene with the first of these calls instead of all."""
        first, rank = calls[0].id, {call.id: number for number, call in enumerate(calls)}
        members = self.members[first]
        into = {key: members[position] for call in calls[1:] for position, key in enumerate(self.members[call.id])}
        self.gone |= into
        frames = tuple(
            replace(frame, title=_title(frame.title, calls), times=len(calls), equal=True)
            if frame.call == first
            else frame
            for frame in scene.frames
            if not any(rank.get(call) for call in self.nesting.around(frame.call))
        )
        arrows = tuple(self._left(scene, rank, into))
        return replace(scene, boxes=together(scene, into), arrows=arrows, frames=frames)

    def _left(self, scene: Scene, rank: dict[int, int], into: dict[str, str]) -> Iterator[Arrow]:
        """The arrows of the first, and what leads from or to the last, as if it were the first."""
        last = len(rank) - 1
        uses = Counter((into.get(arrow.tail, arrow.tail), into.get(arrow.head, arrow.head)) for arrow in scene.arrows)
        moved = []
        met = set()
        for arrow in scene.arrows:
            a, b = (self._seat(key, rank) for key in (arrow.tail, arrow.head))
            if (a or 0) == (b or 0) == 0:
                met.add((arrow.tail, arrow.head, arrow.label, arrow.dashed))
                partly = a != b and uses[arrow.tail, arrow.head] <= last
                yield replace(arrow, partly=True) if partly else arrow
            elif None in (a, b) and last in (a, b):
                tail, head = into.get(arrow.tail, arrow.tail), into.get(arrow.head, arrow.head)
                moved.append(replace(arrow, tail=tail, head=head))
        for arrow in moved:
            key = (arrow.tail, arrow.head, arrow.label, arrow.dashed)
            if key not in met:
                met.add(key)
                yield arrow

    def _seat(self, box: str, rank: dict[int, int]) -> int | None:
        """Return which module of a row a box is in."""
        return next((rank[call] for call, _ in self.seat[box] if call in rank), None)


def _step(way: Way) -> int:
    """Return how many modules further the other end is; 0 outside."""
    return way[2][0] if isinstance(way[2], tuple) else 0


def _far(way: Way) -> bool:
    return abs(_step(way)) > 1


def _ends(its: Counter[Way], middle: Counter[Way], side: int) -> bool:
    """Return whether the first (-1) or the last (1) of a row differs from the others only on that side."""
    shared = Counter({way: count for way, count in middle.items() if _step(way) != side})
    if shared - its:
        return False
    rest, wanted = its - shared, middle - shared
    return all(not _step(way) for way in rest) and _without_other(rest) == _without_other(wanted)


def _without_other(ways: Counter[Way]) -> set[tuple[object, ...]]:
    return {(word, position, dashed) for word, position, _, _, dashed in ways}


def _title(title: str, calls: Sequence[ModuleCall]) -> str:
    """`layers.0–11: Block × 12`."""
    path, colon, cls = title.partition(": ")
    around, dot, begin = path.rpartition(".")
    end = calls[-1].path.rpartition(".")[2]
    return f"{around}{dot}{begin}–{end}{colon}{cls} × {len(calls):,}"
