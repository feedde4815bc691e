"""A scene of any size as a tree of small ones: modules, and rows of boxes, that are opened one at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.layout.layered import lay_out, size_of
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.ranks import Edge, in_turn
from autograph_cli.export.scene.labels import short
from autograph_cli.export.scene.modules import leaf_names, leaves_words
from autograph_cli.export.scene.records import Arrow, Box, Scene, merged, paths_of
from autograph_cli.export.style import Style, is_bars, is_code
from autograph_cli.graph import Graph

MOST = 100
"""Boxes of one level, those that say where arrows come from or go to left aside."""
ROW = 25
"""Boxes of a level that are put into one, at least, where there are too many."""
FEW = 8
"""A level of no more boxes than that, with one module in each of its bands, begins with these open."""
STUBS = 6
"""Boxes on either side of a level that say where arrows come from or go to."""
NAMED = 3
COMPUTED = ("operation", "derivative", "untracked")
RUN = "run"
"""The unit of an outline, whose boxes tell what they stand for."""


class Fold(Struct, frozen=True):
    """One level: what is seen when a box is opened; the first is what is seen before any is."""

    key: str
    """The box that it is the inside of; empty for the first."""
    parent: str
    """The level that this box is in."""
    placed: Placed
    members: tuple[str, ...]
    """All boxes of the whole scene that are inside, at whatever depth."""
    stubs: dict[str, str]
    """For each box that stands for others outside, the first of these."""
    shape: int = -1
    """Levels of one number differ in ids and words alone."""


@dataclass(slots=True)
class _Item:
    """An item of a level: one box that stands for its members, or, without a key, the only member itself."""

    members: list[int]
    depth: int
    key: str = ""
    frame: str = ""
    title: str = ""


def levels(scene: Scene, graph: Graph) -> list[Fold]:
    """All levels, each after the one that it is opened in."""
    return list(_Tree(scene, graph).folds())


class _Tree:
    def __init__(self, scene: Scene, graph: Graph) -> None:
        self.scene, self.graph, self.boxes = scene, graph, scene.boxes
        self.index = {box.id: number for number, box in enumerate(scene.boxes)}
        self.frames = {frame.id: frame for frame in scene.frames}
        paths = paths_of(scene)
        self.path = [paths[box.frame] for box in scene.boxes]
        self.ends = [(self.index[arrow.tail], self.index[arrow.head]) for arrow in scene.arrows]
        self.made = 0
        self.shapes: dict[Hashable, tuple[Placed, int]] = {}

    def folds(self) -> Iterator[Fold]:
        whole = _Item(list(range(len(self.boxes))), 0)
        waiting = [("", whole, list(range(len(self.ends))))]
        for parent, item, arrows in waiting:  # grows while it is walked
            items = self._items(item, arrows)
            owner = {member: place for place, its in enumerate(items) for member in its.members}
            near = [(arrow, owner.get(self.ends[arrow][0]), owner.get(self.ends[arrow][1])) for arrow in arrows]
            scene, stubs = self._level(item, items, near)
            placed, shape = self._laid_out(scene) if item.key else (lay_out(scene), -1)
            yield Fold(item.key, parent, placed, tuple(self.boxes[n].id for n in item.members), stubs, shape)
            inner: dict[int, list[int]] = {place: [] for place, its in enumerate(items) if its.key}
            for arrow, tail, head in near:
                if tail in inner:
                    inner[tail].append(arrow)
                if head in inner and head != tail:
                    inner[head].append(arrow)
            waiting += [(item.key, items[place], its) for place, its in inner.items()]

    def _laid_out(self, scene: Scene) -> tuple[Placed, int]:
        """The level with positions, which it has in common with all levels of its shape."""
        shape = _shape(scene)
        if shape not in self.shapes:
            self.shapes[shape] = lay_out(scene, quick=True), len(self.shapes)
        placed, number = self.shapes[shape]
        return replace(placed, scene=scene), number

    def _items(self, item: _Item, arrows: Sequence[int]) -> list[_Item]:
        """Return the items of a level, no more than `MOST`, in an order in which arrows lead on."""
        depth = item.depth
        while True:
            groups: dict[str, list[int]] = {}
            for member in item.members:
                path = self.path[member]
                groups.setdefault(path[depth] if len(path) > depth else f"\0{member}", []).append(member)
            several = [self.boxes[its[0]].band for its in groups.values() if len(its) > 1]
            if not several or len(set(several)) < len(several) or len(groups) > FEW:
                break
            depth += 1
        items = [
            _Item(its, depth + 1, self._key(), frame) if len(its) > 1 else _Item(its, depth)
            for frame, its in groups.items()
        ]
        items = self._sorted(items, arrows)
        if len(items) <= MOST:
            return items
        size = max(ROW, -(-len(items) // (MOST // 2)))
        rows: list[list[_Item]] = []
        for its in items:
            band = self.boxes[its.members[0]].band
            if not rows or len(rows[-1]) >= size or self.boxes[rows[-1][0].members[0]].band != band:
                rows.append([])
            rows[-1].append(its)
        return [row[0] if len(row) == 1 else self._row(row, depth) for row in rows]

    def _row(self, row: Sequence[_Item], depth: int) -> _Item:
        modules = [self.frames[its.frame].title for its in row if its.frame]
        if self.scene.unit == RUN:
            its = [box for item in row for member in item.members if (box := self.boxes[member]).style in COMPUTED]
            modules = [re.split(r": | \{", box.title)[0] for box in its]
            modules[:1] = [name.partition("–")[0] for name in modules[:1]]
        title = " – ".join(dict.fromkeys((modules[0], modules[-1]))) if len(modules) > 1 else ""
        return _Item([member for its in row for member in its.members], depth, self._key(), title=title)

    def _key(self) -> str:
        self.made += 1
        return f"g{self.made}"

    def _sorted(self, items: list[_Item], arrows: Sequence[int]) -> list[_Item]:
        """The items after those that lead to them; leaves and inputs right before what they lead to."""
        if len(items) == 1:
            return items
        owner = {member: place for place, its in enumerate(items) for member in its.members}
        edges: set[Edge] = set()
        for arrow in arrows:
            tail, head = map(owner.get, self.ends[arrow])
            if tail is not None and head is not None and tail != head and not self.scene.arrows[arrow].back:
                edges.add((tail, head))
        at = [min(its.members) for its in items]
        first = [self.boxes[its.members[0]] for its in items]
        ahead: dict[int, list[int]] = {}
        for tail, head in edges:
            ahead.setdefault(tail, []).append(head)
        for place, box in enumerate(first):
            if box.style in ("leaf", "input") and place in ahead:
                at[place] = min(at[head] for head in ahead[place])
        sign = 1 if self.scene.data else -1
        order = in_turn(len(items), edges, lambda place: (-first[place].band, sign * at[place]))
        rest = sorted(set(range(len(items))) - set(order))  # modules that lead to one another
        return [items[place] for place in (*order, *rest)]

    def _level(
        self, around: _Item, items: Sequence[_Item], near: Sequence[tuple[int, int | None, int | None]]
    ) -> tuple[Scene, dict[str, str]]:
        """The scene of a level, of its arrows with the items at their ends, and the stubs in it."""
        boxes = [self._box(its) for its in items]
        stubs: dict[str, str] = {}
        stub_boxes: dict[tuple[bool, int], Box] = {}
        many = {False: 0, True: 0}
        joined: dict[tuple[str, str, bool], list[Arrow]] = {}
        for number, a, b in near:
            if a is not None and a == b:
                continue
            arrow, (tail, head) = self.scene.arrows[number], self.ends[number]
            one = boxes[a].id if a is not None else self._stub(around, tail, False, stub_boxes, many, stubs)
            other = boxes[b].id if b is not None else self._stub(around, head, True, stub_boxes, many, stubs)
            back = arrow.back or (a is not None and b is not None and a > b)
            joined.setdefault((one, other, back), []).append(arrow)
        drawn = tuple(_merged(ends, its) for ends, its in joined.items())
        seen = {box.id: box for box in (*boxes, *stub_boxes.values())}
        if around.key:
            inner = tuple([replace(box, band=0, frame="") if box.band or box.frame else box for box in seen.values()])
            return Scene("", inner, drawn, data=self.scene.data), stubs
        styles = {box.style for box in boxes}
        legend = [entry for entry in self.scene.legend if entry[0] in styles]
        closed: dict[Style, str] = {"module": "closed module", "folded": "closed row"}
        legend += [(style, words) for style, words in closed.items() if style in styles]
        top = tuple([replace(box, frame="") for box in seen.values()])
        return replace(self.scene, boxes=top, arrows=drawn, frames=(), links=(), legend=tuple(legend)), stubs

    def _stub(
        self,
        around: _Item,
        outside: int,
        after: bool,
        stub_boxes: dict[tuple[bool, int], Box],
        many: dict[bool, int],
        stubs: dict[str, str],
    ) -> str:
        """The box of a level that stands for one outside; after the first few, one for all others."""
        stub = stub_boxes.get((after, outside))
        if stub is None:
            many[after] += 1
            several = many[after] > STUBS
            key = f"{around.key}_{'out' if after else 'in'}{'' if several else outside}"
            box = self.boxes[outside]
            title = "…" if several else f"{'→ ' if after else ''}{box.title}{'' if after else ' →'}"
            stub = Box(key, "cut", title, tooltip="and others" if several else box.tooltip, small=True)
            stub_boxes[after, outside] = stub
            stubs.setdefault(key, box.id)
        return stub.id

    def _box(self, item: _Item) -> Box:
        if not item.key:
            return self.boxes[item.members[0]]
        its = [self.boxes[member] for member in item.members]
        nodes = [box for box in its if box.style in COMPUTED]
        leaves = leaf_names(its, self.graph, self.scene.data)
        names = Counter(box.title for box in nodes)
        count = f"{len(nodes):,} {self.scene.unit}{'s' * (len(nodes) != 1)}" if nodes else ""
        told = f"{count}: " if nodes else ""
        most = ", ".join(name for name, _ in names.most_common(NAMED)) + ("…" if len(names) > NAMED else "")
        has = leaves_words(leaves, NAMED)
        tooltip = [
            told + ", ".join(f"{many:,} {name}" for name, many in names.most_common(40)),
            leaves_words(leaves, 40),
        ]
        frame = self.frames.get(item.frame)
        most = most or "leaves and inputs"
        style: Style = "module" if frame else "folded"
        title, lines = (
            (frame.title, (told + most, has))
            if frame
            else (item.title or most, (told + most if item.title and self.scene.unit != RUN else count, has))
        )
        if frame:
            tooltip.insert(0, frame.tooltip)
        shown = tuple(short(line) for line in lines if line)
        return Box(item.key, style, short(title), "", shown, "\n".join(line for line in tooltip if line), its[0].band)


def _shape(scene: Scene) -> Hashable:
    """All that decides how a level without bands and frames is drawn, except for words that take the same place."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    below = [box.below for box in scene.boxes]
    boxes = [
        (box.style, size_of(box), box.small, box.amount, its if is_code(its) or any(map(is_bars, its)) else len(its))
        for box, its in zip(scene.boxes, below, strict=True)
    ]
    arrows = [
        (index[arrow.tail], index[arrow.head], arrow.label, arrow.dashed, arrow.back, arrow.keeps, arrow.wrong)
        for arrow in scene.arrows
    ]
    return scene.data, tuple(boxes), tuple(arrows)


def _merged(ends: tuple[str, str, bool], arrows: Sequence[Arrow]) -> Arrow:
    tail, head, back = ends
    one = arrows[0] if len(arrows) == 1 else merged(tail, head, arrows)
    return replace(one, tail=tail, head=head, back=back)
