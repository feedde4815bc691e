"""Modules as frames around the boxes of a scene."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile

from msgspec.structs import replace

from autograph_cli.export.scene.labels import short
from autograph_cli.export.scene.records import DETACH, Box, Frame, Scene, edges_of, paths_of
from autograph_cli.export.style import OPERATIONS, RESULTS
from autograph_cli.graph import Graph, ModuleCall, Node
from autograph_cli.graph.names import shown_name, visible
from autograph_cli.graph.nesting import Nesting

LONGEST_TITLE = 40
_TURNS = re.compile(r"(?:↻ )?× ([\d,]+)")
_PLACE, _RUN = re.compile(r"\d+", re.ASCII), re.compile(r"(\d+)…(\d+)", re.ASCII)
_KEY = re.compile(r"([ntr])(\d+)(?:_(\d+))?")


def framed(scene: Scene, graph: Graph, single: Collection[int] = ()) -> Scene:
    """The scene of this graph with a frame for each call of a module, in each band in which something of it is drawn.

    Calls that are a `single` box have none. Boxes that a frame holds have shorter names: `weight` in the frame of
    `model.conv1`.
    """
    if not graph.calls:
        return scene
    framing = _Framing(scene, graph, single)
    return replace(scene, boxes=tuple(map(framing.box, scene.boxes)), frames=tuple(framing.frames()))


def without_empty(scene: Scene) -> Scene:
    """Drop the frames in which no box is left."""
    path = paths_of(scene)
    used = {frame for around in {box.frame for box in scene.boxes} for frame in path[around]}
    if len(used) == len(scene.frames):
        return scene
    return replace(scene, frames=tuple(frame for frame in scene.frames if frame.id in used))


def frame_id(call: int, band: int) -> str:
    """The id of the frame of a call in a band."""
    return f"m{call}_{band}" if band else f"m{call}"


class _Framing:
    def __init__(self, scene: Scene, graph: Graph, single: Collection[int]) -> None:
        self.scene, self.graph, self.single = scene, graph, single
        self.nesting = Nesting(graph)
        self.home = self._homes()
        homes = {(self.home[box.id], box.band) for box in scene.boxes}
        self.seen = {(call, band) for home, band in homes for call in self.nesting.around(home) if call not in single}
        self.alike: dict[tuple[int, int], dict[int, None]] = {}
        """For each call and band the calls that it is drawn for."""
        self.times = self._times()
        self.turn = _turns(graph)

    def box(self, box: Box) -> Box:
        call = self.home[box.id]
        if call is None:
            return box
        title = self._short(box, call) if box.style in ("leaf", "input", *RESULTS) else box.title
        drawn = next((outer for outer in self.nesting.around(call) if outer not in self.single), None)
        return replace(box, title=title, frame="" if drawn is None else frame_id(drawn, box.band))

    def _short(self, box: Box, call: int) -> str:
        """A name without what the frames around it say: the path of their modules, by whichever variable."""
        shown = shown_by(box.id, self.graph, self.scene.data)
        own = shown is not None and shown.module == self.graph.calls[call].path and shown.call is None
        for path in map(self._path, self.nesting.around(call)):
            if (rest := _after(path, box.title)) is not None:
                return short(rest if "…" in rest else f"{_many(box.title)}{rest}")
        return f"{_many(box.title)}{box.title.rpartition('.')[2]}" if own else box.title

    def frames(self) -> Iterator[Frame]:
        for call, band in sorted(self.seen):
            record = self.graph.calls[call]
            parent = "" if record.parent is None else frame_id(record.parent, band)
            times = self.times.get((call, band), 1)
            around = 1 if record.parent is None else self.times.get((record.parent, band), 1)
            paths = list(dict.fromkeys(self._path_within(its) for its in self.alike.get((call, band), (call,))))
            whole = {self.graph.calls[its].path for its in self.alike.get((call, band), ())}
            equal, several = times > 1 and len(whole) > 1, times if times != around else 1
            title = titled(in_a_row(paths), record.cls, several, self.turn.get(call, 0))
            yield Frame(frame_id(call, band), title, parent, band, tooltip_of(record), call, times, equal)

    def _path_within(self, call: int) -> str:
        """The path of the module of a call, from the module that it ran in."""
        record = self.graph.calls[call]
        around = "" if record.parent is None else f"{self.graph.calls[record.parent].path}."
        return record.path.removeprefix(around)

    def _homes(self) -> dict[str, int | None]:
        """The call that each box stands in; a result outside of the module that made it, if it is not used there."""
        nodes, data = self.graph.nodes, self.scene.data
        users: dict[int, list[int]] = {}
        for node in nodes:
            for edge in edges_of(self.graph, node, data):
                if edge is not None:
                    users.setdefault(edge.node, []).append(node.id)
        home: dict[str, int | None] = {}
        for box in self.scene.boxes:
            kind, number = _key(box.id)
            if kind == "t":
                home[box.id] = nodes[number].call
            elif kind == "n":
                home[box.id] = self.nesting.home(nodes[number], users.get(number, ()))
        home |= self._homes_of_results(home)
        return home | self._homes_of_kept(home)

    def _homes_of_kept(self, home: dict[str, int | None]) -> dict[str, int | None]:
        """Put each saved tensor into the innermost call that holds all nodes that save it."""
        keepers: dict[str, list[int | None]] = {}
        for arrow in self.scene.arrows:
            if arrow.keeps:
                keepers.setdefault(arrow.head, []).append(home[arrow.tail])
        return {box: self.nesting.common(calls) for box, calls in keepers.items()}

    def _homes_of_results(self, home: dict[str, int | None]) -> dict[str, int | None]:
        """Put into a module all that bears its name, such as the gradient of its weight."""
        pills = {box.id: box for box in self.scene.boxes if box.id[0] == "r" and _key(box.id)[0] == "r"}
        makers: dict[str, int | None] = {}
        used: dict[str, list[int | None]] = {pill: [] for pill in pills}
        for arrow in self.scene.arrows:
            if arrow.keeps:
                continue
            pill, node = (arrow.head, arrow.tail) if arrow.head in pills else (arrow.tail, arrow.head)
            if pill in pills and (arrow.head == pill) == self.scene.data:
                makers[pill] = home[node]
            elif pill in pills:
                used[pill].append(home[node])
        homes = {}
        for pill, box in pills.items():
            calls = self.nesting.around(makers.get(pill))
            named = (call for call in calls if box.title.startswith(f"{self._path(call)}."))
            inside = self._outside(makers.get(pill), used[pill]) if self.scene.data else None
            homes[pill] = next(named, inside) if inside is None else inside
        return homes

    def _path(self, call: int) -> str:
        return visible(self.graph.calls[call].path)

    def _outside(self, made_in: int | None, used_in: list[int | None]) -> int | None:
        top = list(self.nesting.around(made_in))[-1:]
        near = [call for call in used_in if list(self.nesting.around(call))[-1:] == top]
        return self.nesting.common([made_in, *near]) if top and near else None

    def _times(self) -> dict[tuple[int, int], int]:
        """The number of turns of each call that a rolled loop draws once."""
        turns: dict[tuple[int, int], set[int]] = {}
        for box in self.scene.boxes:
            shown = shown_by(box.id, self.graph, self.scene.data)
            if box.style not in OPERATIONS or shown is None or not shown.computes:
                continue
            match = _TURNS.match(box.subtitle)
            many = int(match[1].replace(",", "")) if match else 1
            for call in self.nesting.around(self.home[box.id]):
                turns.setdefault((call, box.band), set()).add(many)
            self._add_alike(box)
        times: dict[tuple[int, int], int] = {}
        for seat, its in turns.items():
            most, calls = max(its), len(self.alike.get(seat, ()))
            if 1 < most <= calls and (len(its) == 1 or most == calls):  # the last turn may lack some
                times[seat] = most
        return times

    def _add_alike(self, box: Box) -> None:
        """Note the calls of the other turns of a loop for which those around this box are drawn."""
        mine = list(self.nesting.around(self.home[box.id]))[::-1]
        for key in box.others if mine else ():
            node = shown_by(key, self.graph, self.scene.data)
            its = [] if node is None else list(self.nesting.around(node.call))[::-1]
            for one, other in zip(mine, its, strict=False):
                self.alike.setdefault((one, box.band), {one: None})[other] = None


def _after(path: str, name: str) -> str | None:
    """Return the part of a name that follows the path of a module, which may stand for each of a list:
    `layers.0…5.weight`."""
    steps, mine = path.split("."), name.split(".")
    within = len(mine) > len(steps) and all(
        step == its or ("…" in its and _PLACE.sub("0", step) == _PLACE.sub("0", _RUN.sub("0", its)))
        for step, its in zip(steps, mine, strict=False)
    )
    return ".".join(mine[len(steps) :]) if within else None


def _many(name: str) -> str:
    """`3 × ` for a name that stands for three: `layers.0…2.weight`."""
    ends = _RUN.search(name)
    return "" if ends is None else f"{int(ends[2]) - int(ends[1]) + 1:,} × "


def in_a_row(paths: Sequence[str]) -> str:
    """One path for those of equal modules of a list.

    >>> in_a_row(["net.layers.0.fc", "net.layers.1.fc", "net.layers.2.fc"])
    'net.layers.0–2.fc'
    """
    steps = zip(*(path.split(".") for path in paths), strict=False)
    return ".".join(step[0] if len(set(step)) == 1 else f"{step[0]}–{step[-1]}" for step in steps)


def _turns(graph: Graph) -> dict[int, int]:
    """The turn of each call whose module is called several times within the call around it."""
    several = Counter((call.path, call.parent) for call in graph.calls)
    met: Counter[tuple[str, int | None]] = Counter()
    turn_of = {}
    for call in graph.calls:
        met[call.path, call.parent] += 1
        if several[call.path, call.parent] > 1:
            turn_of[call.id] = met[call.path, call.parent]
    return turn_of


def _key(box: str) -> tuple[str, int]:
    """The id of a box: a node (`n`), one use of a leaf (`t`) by a node, or a result (`r`), and its number."""
    match = _KEY.fullmatch(box)
    return (match[1], int(match[2])) if match else ("", 0)


def shown_by(box: str, graph: Graph, data: bool) -> Node | None:
    """The node that the box of this id shows, if only for one of its users."""
    match = _KEY.fullmatch(box)
    if not match or match[1] == "r":
        return None
    node = graph.nodes[int(match[2])]
    if match[1] == "t":
        edge = edges_of(graph, node, data)[int(match[3])]
        if edge is None:
            return None
        node = graph.nodes[edge.node]
        while node.op == DETACH and node.args:  # drawn as an arrow
            node = graph.nodes[node.args[0].node]
    return node


def leaf_names(boxes: Iterable[Box], graph: Graph, data: bool) -> list[str]:
    """The names of the leaves among these boxes."""
    names: dict[int, str] = {}
    for key in (key for box in boxes for key in (box.id, *box.others)):
        node = shown_by(key, graph, data)
        if node is not None and node.kind == "leaf":
            names[node.id] = next((shown_name(name) for name in node.outputs[0].names), f"%{node.id}")
    return list(names.values())


def leaves_words(names: Sequence[str], most: int) -> str:
    """Return how many leaves there are, and the names of the first, without the modules that hold all of them."""
    if not names:
        return ""
    first, last = (name.split(".")[:-1] for name in (min(names), max(names)))
    alike = sum(len(step) + 1 for step, _ in takewhile(lambda two: two[0] == two[1], zip(first, last, strict=False)))
    listed = ", ".join(name[alike:] for name in names[:most]) + ("…" if len(names) > most else "")
    return f"{len(names):,} lea{'f' if len(names) == 1 else 'ves'}: {listed}"


def is_foreign(box: Box, graph: Graph, data: bool) -> bool:
    """Return whether a box is one use of a tensor that comes from outside of all modules."""
    shown = shown_by(box.id, graph, data) if box.id.startswith("t") else None
    return shown is not None and shown.call is None and not shown.module


def titled(path: str, cls: str, times: int = 1, turn: int = 0) -> str:
    """`conv1: Conv2d`, of several times or of a later call; the path leads from the module that it ran in."""
    title = short(path if path == cls else f"{path}: {cls}", LONGEST_TITLE)
    if times > 1:
        return f"{title} × {times:,}"
    return f"{title} (call {turn})" if turn else title


def tooltip_of(call: ModuleCall) -> str:
    """All that is known of a call."""
    lines = [f"{visible(call.path)}: {visible(call.cls)}"]
    if call.turns > 1:
        lines.append(f"call {call.turn} of {call.turns}")
    if call.parameters:
        lines.append(f"{call.parameters:,} parameters")
    return "\n".join(lines)
