"""The levels of a picture with frames: what stands directly in each frame, and the wires that arrows are made of.

An arrow that leads into a frame or out of it passes ports on the frame's border, and is one wire on each level.
Arrows that come from the same box share their wires up to where they part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from autograph_cli.export.layout.ordering import Web
from autograph_cli.export.ranks import Edge, acyclic, rows_of, side_by_side
from autograph_cli.export.scene.records import Scene, paths_of

BOTTOM, TOP = 0, 1
"""Sides of a frame."""
ROW = 24.0
"""About the height of a box, and of what is between two rows."""

Key = tuple[object, ...]


@dataclass(slots=True)
class Port:
    """The point where one or more arrows pass the border of a frame."""

    frame: int
    side: int
    item: int = -1
    """Its number among the items inside of the frame."""
    x: float = 0.0
    """From the left end of the frame, once that has been laid out."""
    beside: bool = False
    """True for a wire into another order or to a saved tensor: the main way stands straight without it."""


@dataclass(slots=True)
class Wire:
    """A part of an arrow on one level, between two items; on frames, at a port."""

    tail: int
    head: int
    label: str = ""
    back: bool = False
    tail_port: Port | None = None
    head_port: Port | None = None


@dataclass(slots=True)
class Level:
    """The items directly in a frame, or in none: boxes and frames, by their numbers, and the frame's own ports."""

    frame: int
    """-1 for the whole picture."""
    boxes: list[int] = field(default_factory=list)
    """For each item the box that it is, or -1."""
    frames: list[int] = field(default_factory=list)
    """For each item the frame that it is, or -1."""
    ports: list[Port] = field(default_factory=list)
    """The last items."""
    wires: list[Wire] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    web: Web | None = None

    @property
    def count(self) -> int:
        """Return how many items there are without the ports."""
        return len(self.boxes)


class Plan:
    """The levels of a scene, each after the one that it is in, and the wires of each arrow from its tail on.

    Arrows from one box have `shared` wires up to where they part; boxes stand as near to the side of the root as they
    can, which is below (`root_below`) or above.
    """

    def __init__(self, scene: Scene, *, quick: bool = False, shared: bool = True, root_below: bool = False) -> None:
        self.scene, self.quick, self.shared, self.root_below = scene, quick, shared, root_below
        self.number = {frame.id: number for number, frame in enumerate(scene.frames)}
        self.index = {box.id: number for number, box in enumerate(scene.boxes)}
        self.parent = [self.number[frame.parent] if frame.parent else -1 for frame in scene.frames]
        chains = {key: tuple([self.number[frame] for frame in path]) for key, path in paths_of(scene).items()}
        self.chains = [chains[frame.id] for frame in scene.frames]
        """Each frame after those around it, the outermost first."""
        self.inside = [chains[box.frame] for box in scene.boxes]
        self.band = [box.band for box in scene.boxes] if scene.bands else [0] * len(scene.boxes)
        self.levels = [Level(-1), *(Level(number) for number in range(len(scene.frames)))]
        self.item_of_box: list[int] = []
        self.item_of_frame = [-1] * len(scene.frames)
        self._items()
        self.ends = [(self.index[arrow.tail], self.index[arrow.head]) for arrow in scene.arrows]
        self._rank()
        self.ports: dict[Key, Port] = {}
        self.wires: dict[Key, int] = {}
        self.routes = [self._wired(number) for number in range(len(scene.arrows))]
        """For each arrow the frames of its wires, from its tail on, and their positions there."""
        self._rows_of_ports()

    def level(self, frame: int) -> Level:
        """The level inside of a frame; -1 is the whole picture."""
        return self.levels[frame + 1]

    def bands(self, level: Level) -> list[int]:
        """The band of each item of the whole picture; none if that has no bands, or inside of a frame."""
        if not self.scene.bands or level.frame >= 0:
            return []
        ends = zip(level.boxes, level.frames, strict=True)
        return [self.band[box] if box >= 0 else self.scene.frames[frame].band for box, frame in ends]

    def _items(self) -> None:
        for box, chain in enumerate(self.inside):
            around = -1
            for frame in chain:
                if self.item_of_frame[frame] < 0:
                    self.item_of_frame[frame] = self._add(around, -1, frame)
                around = frame
            self.item_of_box.append(self._add(around, box, -1))

    def _add(self, around: int, box: int, frame: int) -> int:
        level = self.level(around)
        level.boxes.append(box)
        level.frames.append(frame)
        return len(level.boxes) - 1

    # -- rows

    def _meeting(self, tail: int, head: int) -> tuple[int, int, int]:
        """The frame in which two boxes are in different items, and these items."""
        a, b = self.inside[tail], self.inside[head]
        depth = 0
        while depth < len(a) and depth < len(b) and a[depth] == b[depth]:
            depth += 1
        return a[depth - 1] if depth else -1, self._item(tail, depth), self._item(head, depth)

    def _item(self, box: int, depth: int) -> int:
        """The item at this depth that a box is or is in."""
        chain = self.inside[box]
        return self.item_of_frame[chain[depth]] if depth < len(chain) else self.item_of_box[box]

    def _rank(self) -> None:
        """Give every item its row."""
        onward: list[list[Edge]] = [[] for _ in self.levels]
        back: list[list[Edge]] = [[] for _ in self.levels]
        for arrow, (tail, head) in zip(self.scene.arrows, self.ends, strict=True):
            frame, a, b = self._meeting(tail, head)
            (back if arrow.back else onward)[frame + 1].append((a, b))
        tall: dict[int, float] = {}
        for level, edges, turned in zip(reversed(self.levels), reversed(onward), reversed(back), strict=True):
            band = self.bands(level) or [0] * level.count
            level.row = _ranked(level.count, edges, turned, band, self.root_below)
            height = [
                ROW * (1 + len(self.scene.boxes[box].below) / 2) if box >= 0 else tall[frame]
                for box, frame in zip(level.boxes, level.frames, strict=True)
            ]
            if not turned:
                level.row = side_by_side(level.row, height, edges, band, root_below=self.root_below)
            tall[level.frame] = _height(level.row, height)

    def _rows_of_ports(self) -> None:
        """Ports at the top and the bottom get rows of their own."""
        for level in self.levels:
            if any(port.side == TOP for port in level.ports):
                level.row = [row + 1 for row in level.row]
            last = max(level.row, default=-1) + 1
            level.row += [0 if port.side == TOP else last for port in level.ports]

    # -- wires

    def _wired(self, number: int) -> list[tuple[int, int]]:
        """Make the wires of an arrow, as far as they are not there."""
        arrow, (tail, head) = self.scene.arrows[number], self.ends[number]
        frame, a, b = self._meeting(tail, head)
        if not self.inside[tail] and not self.inside[head]:
            self.levels[0].wires.append(Wire(a, b, arrow.label, arrow.back))
            return [(-1, len(self.levels[0].wires) - 1)]
        level = self.level(frame)
        if self.band[tail] != self.band[head]:
            up = (self.band[tail] < self.band[head]) != self.scene.data
        else:
            up = arrow.back and level.row[a] > level.row[b]
        source = tail if self.scene.data else head
        trunk = (source, arrow.label, arrow.dashed, arrow.back, up, -1 if self.shared else number)
        depth = len(self.chains[frame]) if frame >= 0 else 0
        beside = arrow.dashed or arrow.keeps
        out = [self._port(f, TOP if up else BOTTOM, trunk, beside) for f in reversed(self.inside[tail][depth:])]
        into = [self._port(f, BOTTOM if up else TOP, trunk, beside) for f in self.inside[head][depth:]]
        ends = []
        stops = [None, *out, *into, None]
        for position, (one, other) in enumerate(pairwise(stops)):
            within = (
                one.frame if one and position > len(out) else other.frame if other and position < len(out) else frame
            )
            wire = Wire(
                self._end(one, within, tail),
                self._end(other, within, head),
                arrow.label if position == len(out) else "",
                arrow.back,
                one if one and one.frame != within else None,
                other if other and other.frame != within else None,
            )
            parted = (other if self.scene.data else one) is None
            key = (within, wire.tail, wire.head, id(wire.tail_port), id(wire.head_port), number if parted else -1)
            if key not in self.wires:
                self.wires[key] = len(self.level(within).wires)
                self.level(within).wires.append(wire)
            ends.append((within, self.wires[key]))
        return ends

    def _end(self, port: Port | None, within: int, box: int) -> int:
        """The item at which a wire ends: the box itself, a port of the frame that it is in, or a frame."""
        if port is None:
            return self.item_of_box[box]
        return port.item if port.frame == within else self.item_of_frame[port.frame]

    def _port(self, frame: int, side: int, trunk: Key, beside: bool) -> Port:
        key = (frame, side, *trunk)
        if key not in self.ports:
            level = self.level(frame)
            port = self.ports[key] = Port(frame, side, level.count + len(level.ports), beside=beside)
            level.ports.append(port)
        return self.ports[key]


def _height(row: Sequence[int], height: Sequence[float]) -> float:
    """About how high a frame is whose items, of these heights, are in these rows."""
    highest: dict[int, float] = {}
    for level, high in zip(row, height, strict=True):
        highest[level] = max(highest.get(level, 0.0), high)
    return sum(highest.values()) + ROW * len(highest)


def _ranked(count: int, edges: list[Edge], back: list[Edge], band: Sequence[int], root_below: bool) -> list[int]:
    """The rows of the items of a level; arrows back, too, lead from one row to another where that can be."""
    row = rows_of(count, edges, band, root_below=root_below)
    level = [(head, tail) for tail, head in back if row[tail] == row[head]]
    if level and acyclic(count, [*edges, *level]):
        row = rows_of(count, [*edges, *level], band, root_below=root_below)
    return row
