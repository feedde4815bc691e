"""Frames that something outside leads out of and back into, split in parts that can be drawn."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.export.ranks import acyclic
from autograph_cli.export.scene.records import Box, Frame, Scene, paths_of

NOTE = "part: something outside of the module lies between its parts"


def split(scene: Scene) -> Scene:
    """The same scene, with as few parts of frames as it takes that no arrow leads from a frame back into it."""
    if not scene.frames or _leads_on(scene):
        return scene
    splitting = _Splitting(scene)
    splitting.level([box.id for box in scene.boxes], "", "")
    if len(splitting.frames) == len(scene.frames):
        return scene
    boxes = tuple([replace(box, frame=splitting.frame[box.id]) for box in scene.boxes])
    return replace(scene, boxes=boxes, frames=tuple(splitting.titled()), notes=(*scene.notes, NOTE))


def _leads_on(scene: Scene) -> bool:
    """Return whether no arrows lead out of a frame and back into it, so that all can stay as they are."""
    path = paths_of(scene)
    home = {box.id: (path[box.frame], box.band) for box in scene.boxes}
    number = {key: place for place, key in enumerate([*path, *home])}
    edges = set()
    for arrow in scene.arrows:
        a, b = arrow.tail, arrow.head
        (one, band), (other, its) = home[a], home[b]
        if not arrow.back and band == its:
            if one is not other:
                a, b = next((x, y) for x, y in zip((*one, a), (*other, b), strict=False) if x != y)
            edges.add((number[a], number[b]))
    return acyclic(len(number), list(edges))


class _Splitting:
    def __init__(self, scene: Scene) -> None:
        self.known = {frame.id: frame for frame in scene.frames}
        self.rank = {frame.id: number for number, frame in enumerate(scene.frames)}
        self.boxes = {box.id: box for box in scene.boxes}
        self.data = scene.data
        self.ahead: dict[str, list[str]] = {box.id: [] for box in scene.boxes}
        self.behind: dict[str, list[str]] = {box.id: [] for box in scene.boxes}
        for arrow in scene.arrows:
            if not arrow.back and self.boxes[arrow.tail].band == self.boxes[arrow.head].band:
                self.ahead[arrow.tail].append(arrow.head)
                self.behind[arrow.head].append(arrow.tail)
        self.position = {box.id: number for number, box in enumerate(scene.boxes)}
        self.chain = paths_of(scene)
        self.frame = {box.id: box.frame for box in scene.boxes}
        self.frames: list[tuple[str, Frame]] = []
        """The parts, each with the id of what it is a part of."""
        self.made: dict[str, int] = {}

    def level(self, members: Sequence[str], around: str, new: str) -> None:
        """Split the frames directly in `around`, of which a part now is called `new`."""
        depth = len(self.chain[around])
        inner = {}
        for box in members:
            its = self.chain[self.boxes[box].frame]
            inner[box] = its[depth] if len(its) > depth else ""
            if not inner[box]:
                self.frame[box] = new
        parts: dict[str, list[list[str]]] = {}
        for frame, part in _Runs(self, members, inner).parts():
            parts.setdefault(frame, []).append(part)
        for frame in sorted(parts, key=self.rank.__getitem__):
            for part in parts[frame]:
                number = self.made[frame] = self.made.get(frame, 0) + 1
                key = frame if number == 1 else f"{frame}p{number}"
                self.frames.append((frame, replace(self.known[frame], id=key, parent=new)))
                self.level(sorted(part, key=self.position.__getitem__), frame, key)

    def titled(self) -> Iterator[Frame]:
        """The parts, numbered."""
        met: Counter[str] = Counter()
        for frame, part in self.frames:
            met[frame] += 1
            several = self.made[frame]
            words = f" (part {met[frame]} of {several})" if several > 1 else ""
            yield replace(part, title=f"{part.title}{words}")


class _Runs:
    """An order of some boxes along their arrows in which each frame has as few runs as possible."""

    def __init__(self, scene: _Splitting, members: Iterable[str], inner: dict[str, str]) -> None:
        self.scene, self.inner = scene, inner
        self.members = list(members)
        here = set(self.members)
        self.loose = {box for box in self.members if inner[box] and self._is_loose(scene.boxes[box], here)}
        walked = [box for box in self.members if box not in self.loose]
        self.left = dict.fromkeys(walked, 0)
        self.outside: dict[str, int] = {}
        self.todo: dict[str, dict[str, None]] = {}
        for box in walked:
            frame = inner[box]
            if frame:
                self.todo.setdefault(frame, {})[box] = None
                self.outside.setdefault(frame, 0)
        for box in walked:
            for head in scene.ahead[box]:
                if head in self.left:
                    self.left[head] += 1
                    if inner[head] and inner[head] != inner[box]:
                        self.outside[inner[head]] += 1
        self.free = [scene.position[box] for box in walked if not inner[box] and not self.left[box]]
        heapq.heapify(self.free)
        self.names = {scene.position[box]: box for box in self.members}
        self.part: dict[str, tuple[str, int]] = {}
        self.found: list[tuple[str, list[str]]] = []

    def _is_loose(self, box: Box, here: set[str]) -> bool:
        """Return whether this is a leaf or an input, which goes where it is used."""
        if box.style not in ("leaf", "input"):
            return False
        near = self.scene.ahead[box.id] if self.scene.data else self.scene.behind[box.id]
        far = self.scene.behind[box.id] if self.scene.data else self.scene.ahead[box.id]
        return not any(other in here for other in far) and any(other in here for other in near)

    def parts(self) -> list[tuple[str, list[str]]]:
        """Each frame's runs, in order."""
        ready = [frame for frame, count in self.outside.items() if not count]
        while self.free or self.todo:
            if self.free:
                self._done(self.names[heapq.heappop(self.free)], ready)
            elif ready:
                frame = ready.pop()
                if frame in self.todo:
                    self._run(frame, list(self.todo.pop(frame)), ready)
            else:
                frame = max(self.todo, key=self._possible)
                self._run(frame, self._closure(frame), ready)
        for box in self.loose:
            self._settle(box)
        return self.found

    def _possible(self, frame: str) -> int:
        return sum(not self.left[box] for box in self.todo[frame])

    def _closure(self, frame: str) -> list[str]:
        """Return the boxes of a frame that can come now, as nothing outside has to come before."""
        left: dict[str, int] = {}
        ready = [box for box in self.todo[frame] if not self.left[box]]
        for box in ready:  # grows while it is walked
            for head in self.scene.ahead[box]:
                if head in self.todo[frame]:
                    left[head] = left.get(head, self.left[head]) - 1
                    if not left[head]:
                        ready.append(head)
        for box in ready:
            del self.todo[frame][box]
        if not self.todo[frame]:
            del self.todo[frame]
        return ready

    def _run(self, frame: str, boxes: list[str], ready: list[str]) -> None:
        for box in boxes:
            self.part[box] = frame, len(self.found)
        self.found.append((frame, boxes))
        for box in boxes:
            self._done(box, ready)

    def _done(self, box: str, ready: list[str]) -> None:
        for head in self.scene.ahead[box]:
            if head not in self.left:
                continue
            self.left[head] -= 1
            frame = self.inner[head]
            if not frame:
                if not self.left[head]:
                    heapq.heappush(self.free, self.scene.position[head])
            elif frame != self.inner[box]:
                self.outside[frame] -= 1
                if not self.outside[frame] and frame in self.todo:
                    ready.append(frame)

    def _settle(self, box: str) -> None:
        """Put a leaf to the first that takes it, or of gradients, to the last that sends it one."""
        frame = self.inner[box]
        near = self.scene.ahead[box] if self.scene.data else self.scene.behind[box]
        positions = [self.part[other][1] for other in near if other in self.part and self.part[other][0] == frame]
        if positions:
            self.found[min(positions) if self.scene.data else max(positions)][1].append(box)
        else:
            self.found.append((frame, [box]))
