"""The scenes of two graphs that are compared: each as its script was written, what is alike under one id."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.export.layout.layered import lay_out, size_of
from autograph_cli.export.layout.placed import Placed
from autograph_cli.export.scene.building import build, differentiated_in
from autograph_cli.export.scene.labels import short
from autograph_cli.export.scene.modules import framed, without_empty
from autograph_cli.export.scene.parameters import with_state
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import DETACH, Arrow, Box, Frame, Scene, paths_of
from autograph_cli.export.simplify.closing import closed
from autograph_cli.export.simplify.legend import with_true_legend
from autograph_cli.export.simplify.ports import INTO
from autograph_cli.export.simplify.said_once import said_once
from autograph_cli.export.simplify.unchanged import folded, unchanged
from autograph_cli.export.style import Style
from autograph_cli.graph import Graph, GraphDiff, Node
from autograph_cli.graph.compared import constants
from autograph_cli.graph.diff import Aspect
from autograph_cli.graph.reader_level import as_written
from autograph_cli.graph.renumbered import renumbered

OPEN = 24
"""The most boxes of a picture in which modules stay open that are alike on both sides."""
DIFFERENT: tuple[Style, ...] = ("added", "removed", "changed")
FOUND: tuple[Style, ...] = (*DIFFERENT, "mark")
GONE = "dashed: no longer"
SHAPE = "[shape]"
"""The beginning of the note on labels of arrows."""
_OWN = frozenset[Aspect](("kind", "operation", "type", "gradients"))
"""The aspects of a node of its own: what it is given may be another only because that has moved."""
_ID, _PATH = re.compile(r"^([ntr])(\d+)"), re.compile(r"^[\w.]+: ")
_TYPE = re.compile(r"^\S+: (\w+\[[\d, ]*\])$", re.MULTILINE)
_Key = TypeVar("_Key", int, str)
Marks = tuple[Mapping[int, Style], Mapping[int, Style]]
"""The look of the nodes of either graph that differ."""


class Side(Struct, frozen=True):
    """One of both graphs, as it is drawn."""

    graph: Graph
    """The nodes that are drawn, each as a box."""
    scene: Scene
    parts: Mapping[int, int]
    """The node that each node of the compared graph is a part of."""


def sides_of(diff: GraphDiff, marks: Marks | None = None) -> tuple[Scene, Scene]:
    """The scenes before and after, in which a box, or a frame, that both have has the same id; `marks` tell what looks
    different, unless it is found."""
    sides = _side(diff.old), _side(diff.new)
    pairs = _in_turn(_pairs(diff, sides), sides)
    frames = _nested(_likes(_around(pairs, sides)), sides)
    homes = [{box.id: box.frame for box in side.scene.boxes} for side in sides]
    ids = {f"n{one}": f"n{other}" for one, other in pairs.items()}
    moved = {key for key, like in ids.items() if frames.get(homes[0].get(key, ""), "") != homes[1].get(like, "")}
    pairs = {one: other for one, other in pairs.items() if f"n{one}" not in moved}
    looks = _found(diff, sides, pairs) if marks is None else _given(marks, sides)
    told = [_told(side, look) for side, look in zip(sides, looks, strict=True)]
    big = max(len(side.scene.boxes) for side in sides) > OPEN
    alike = {one: other for one, other in frames.items() if big and one not in told[0] and other not in told[1]}
    shown = _alike_closed(sides[0], alike.keys(), looks[0]), _alike_closed(sides[1], alike.values(), looks[1])
    first = len(sides[1].graph)
    new = {f"n{number}": pairs.get(number, first + number) for number in range(len(sides[0].graph))}
    return _renamed(shown[0], {**new, **_results(sides, pairs)}, frames), shown[1]


def _results(sides: tuple[Side, Side], pairs: Mapping[int, int]) -> dict[str, int]:
    """The number of each result of the old side on the new one."""
    old, new = (side.graph.roots for side in sides)
    likes = {(root.node, root.nr): number for number, root in enumerate(new)}
    return {
        f"r{number}": likes.get((pairs.get(root.node, -1), root.nr), len(new) + number)
        for number, root in enumerate(old)
    }


def laid_out(old: Scene, new: Scene, titles: tuple[str, str] = ("", "")) -> tuple[Placed, Placed]:
    """Both scenes in one layout, under their titles: what has the same id is at the same place."""
    title = max(titles, key=len)
    placed = lay_out(split(_united(old, replace(new, title=title), _roomy)))
    one, other = [
        _of_side(placed, replace(scene, title=title)) for scene, title in zip((old, new), titles, strict=True)
    ]
    return one, replace(other, samples=())


def in_one(old: Scene, new: Scene, title: str = "") -> Scene:
    """Both scenes as one, with what it was of what changed; what is alike in a big one is folded."""
    scene = _as_one(old, replace(new, title=title))
    if any(arrow.dashed and not arrow.label.startswith(DETACH) for arrow in scene.arrows):
        scene = replace(scene, notes=(*scene.notes, GONE))
    if len(scene.boxes) > OPEN:
        scene = folded(scene, unchanged(scene, FOUND))
    return said_once(with_true_legend(split(scene)))


def folded_alike(old: Scene, new: Scene) -> tuple[Scene, Scene]:
    """Both scenes with the same folded: what is alike in both."""
    into = unchanged(_as_one(old, new), FOUND)
    return folded(old, into), folded(new, into)


def _as_one(old: Scene, new: Scene) -> Scene:
    """All of both, in which what is dashed is gone, or detached."""
    old, new = [
        replace(
            scene,
            arrows=tuple([replace(arrow, dashed=arrow.label.startswith(DETACH)) for arrow in scene.arrows]),
            notes=tuple([note for note in scene.notes if note != INTO]),
        )
        for scene in (old, new)
    ]
    return _united(old, new, _with_was)


def _united(old: Scene, new: Scene, both: Callable[[Box, Box], Box]) -> Scene:
    """All that either scene has, once; `both` makes a box of an old one and a new one."""
    wide = {box.id: box for box in old.boxes}
    wide |= {box.id: both(wide.get(box.id, box), box) for box in new.boxes}
    home = {box.id: box.frame for box in (*old.boxes, *new.boxes)}
    boxes = tuple([replace(box, frame=home[key]) for key, box in wide.items()])
    frames = {frame.id: frame for frame in new.frames}
    frames |= {frame.id: frame for frame in old.frames if frame.id not in frames}
    ways, others = _by_ends(new), _by_ends(old)
    gone = {ends: [replace(arrow, dashed=True) for arrow in its] for ends, its in others.items() if ends not in ways}
    most = [max(its, others.get(ends, []), key=len) for ends, its in (others | ways | gone).items()]
    arrows = tuple([arrow for its in most for arrow in its])
    bands = tuple({band.number: band for band in (*old.bands, *new.bands)}.values())
    legend = tuple(dict((*old.legend, *new.legend)).items())
    its = [f"before: {note}" if note.startswith(SHAPE) and note not in new.notes else note for note in old.notes]
    notes = tuple(dict.fromkeys((*new.notes, *its)))
    return replace(
        new, boxes=boxes, arrows=arrows, bands=bands, frames=tuple(frames.values()), legend=legend, notes=notes
    )


def _by_ends(scene: Scene) -> dict[tuple[str, str], list[Arrow]]:
    found: dict[tuple[str, str], list[Arrow]] = defaultdict(list)
    for arrow in scene.arrows:
        found[arrow.tail, arrow.head].append(arrow)
    return found


def _with_was(one: Box, other: Box) -> Box:
    """A box as it is, and what is no longer as it was."""
    now = {*other.below, *_types(other)}
    was = [one.title] if one.title != other.title else [each for each in (*one.below, *_types(one)) if each not in now]
    if other.style != "changed" or not was:
        return other
    return replace(other, subtitle=short(f"was {', '.join(was)}"), lines=other.below)


def _types(box: Box) -> list[str]:
    """The types of the tensors of a box, as its tooltip tells them."""
    return _TYPE.findall(box.tooltip)


def _roomy(one: Box, other: Box) -> Box:
    """A box with room for either of two, by the lines of the higher one and the wider title."""
    high, low = (one, other) if size_of(one)[1] >= size_of(other)[1] else (other, one)
    return replace(high, title=max(high.title, low.title, key=len), style=one.style)


def _side(graph: Graph) -> Side:
    data = any(node.args for node in graph)
    if not data or any(node.order for node in graph):
        scene = build(graph, "", data=data, tags=False)
        return Side(graph, framed(scene, graph), {node.id: node.id for node in graph})
    level = as_written(graph)
    began = differentiated_in(graph)
    scene = build(level.graph, "", data=True, tags=False, differentiated=began, written=level.several, apart=True)
    scene = without_empty(with_state(framed(scene, level.graph, level.calls), level.graph))
    return Side(level.graph, scene, level.places)


def _likes(votes: Iterable[tuple[_Key, _Key]]) -> dict[_Key, _Key]:
    """Pair what most often speaks for each other."""
    counts = Counter(votes)
    ranked = sorted(counts, key=lambda pair: counts[pair])
    best, back = dict(ranked), {other: one for one, other in ranked}
    return {one: other for one, other in best.items() if back[other] == one}


def _pairs(diff: GraphDiff, sides: tuple[Side, Side]) -> dict[int, int]:
    """Pair the nodes that are drawn: in modules by path and words, where both have as many; else by most of their
    parts."""
    old, new = sides
    before = renumbered(diff.old, diff.new)
    placed = _by_place(old.graph, str), _by_place(new.graph, before)
    found: dict[int, int] = {}
    for place, ones in placed[0].items():
        others = placed[1].get(place, [])
        found |= zip(ones, others, strict=True) if len(ones) == len(others) else ()
    met = set(found.values())
    both = {(a, b): (old.parts[a], new.parts[b]) for a, b in diff.pairs.items() if a in old.parts and b in new.parts}
    free = [(a, b) for a, b in both.values() if a not in found and b not in met]
    return found | _likes([(a, b) for a, b in free if _kind(old.graph[a]) == _kind(new.graph[b])])


def _kind(node: Node) -> tuple[bool, bool]:
    """Return whether a node computes, and as a module."""
    return node.computes, _PATH.match(node.op) is not None


def _by_place(graph: Graph, named: Callable[[str], str]) -> dict[tuple[str, str], list[int]]:
    """The nodes that compute, by the module that they ran in and their words."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for node in graph:
        path = "" if node.call is None else named(graph.calls[node.call].path)
        if node.computes and path:
            found[path, _PATH.sub("", node.op)].append(node.id)
    return found


def _in_turn(pairs: Mapping[int, int], sides: tuple[Side, Side]) -> dict[int, int]:
    """The pairs without what stands elsewhere in the turn: that is drawn twice, where it was and where it is."""
    ends: list[int] = []
    last: list[tuple[int, int]] = []
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for pair in sorted(pairs.items()):
        if not sides[0].graph[pair[0]].args:
            continue
        at = bisect_left(ends, pair[1])
        before[pair] = last[at - 1] if at else None
        ends[at:], last[at:] = [pair[1], *ends[at + 1 :]], [pair, *last[at + 1 :]]
    kept = {one: other for one, other in pairs.items() if not sides[0].graph[one].args}
    link = last[-1] if last else None
    while link is not None:
        kept[link[0]] = link[1]
        link = before[link]
    return kept


def _around(pairs: Mapping[int, int], sides: tuple[Side, Side]) -> Iterable[tuple[str, str]]:
    """The frames, as deep as each other, around the boxes of each pair."""
    homes = [{box.id: box.frame for box in side.scene.boxes} for side in sides]
    paths = [paths_of(side.scene) for side in sides]
    for one, other in pairs.items():
        around = [
            path[home.get(f"n{number}", "")] for path, home, number in zip(paths, homes, (one, other), strict=True)
        ]
        yield from zip(*around, strict=False)


def _nested(likes: Mapping[str, str], sides: tuple[Side, Side]) -> dict[str, str]:
    """The pairs of frames that stand in frames that are a pair, too."""
    parent = {frame.id: frame.parent for frame in sides[1].scene.frames}
    found = {"": ""}
    for frame in sides[0].scene.frames:
        like = likes.get(frame.id)
        if like is not None and found.get(frame.parent) == parent[like]:
            found[frame.id] = like
    return {one: other for one, other in found.items() if one}


def _found(diff: GraphDiff, sides: tuple[Side, Side], pairs: Mapping[int, int]) -> Marks:
    """Say what was removed, added and changed of what is drawn."""
    likes = {other: one for one, other in pairs.items()}
    texts = [{box.id: (_PATH.sub("", box.title), box.lines) for box in side.scene.boxes} for side in sides]
    other_facts = {change.new for change in diff.changed if not change.follows and _OWN & set(change.aspects)}
    own = {sides[1].parts.get(number) for number in other_facts}
    made = [_contents(side, graph) for side, graph in zip(sides, (diff.old, diff.new), strict=True)]

    def differs(one: int, other: int) -> bool:
        given = [[edge.node for edge in side.graph[at].args] for side, at in zip(sides, (one, other), strict=True)]
        known = all(at in pairs for at in given[0]) and all(at in likes for at in given[1])
        moved = known and {pairs[at] for at in given[0]} != set(given[1])
        written = texts[0].get(f"n{one}") != texts[1].get(f"n{other}") or made[0][one] != made[1][other]
        return written or moved or (other in own and len(made[1][other]) == 1)

    changed = {one: other for one, other in pairs.items() if differs(one, other)}
    looks: Marks = dict.fromkeys(changed, "changed"), dict.fromkeys(changed.values(), "changed")
    olds, news = (range(len(side.graph)) for side in sides)
    gone, new = [one for one in olds if one not in pairs], [one for one in news if one not in likes]
    return {**looks[0], **dict.fromkeys(gone, "removed")}, {**looks[1], **dict.fromkeys(new, "added")}


def _contents(side: Side, graph: Graph) -> dict[int, list[str]]:
    """For each node that is drawn, the operations that it stands for, with what they were told."""
    found: dict[int, list[str]] = defaultdict(list)
    for number, drawn in side.parts.items():
        node = graph[number]
        edges = sum(edge is not None for edge in node.next)
        found[drawn].append(f"{node.kind} {node.op or node.name} {edges} {constants(node) if node.computes else ''}")
    return {drawn: sorted(its) for drawn, its in found.items()}


def _given(marks: Marks, sides: tuple[Side, Side]) -> Marks:
    """The looks that the parts of each drawn node have: the first of a mark, what is changed, and what all have."""
    looks: tuple[dict[int, Style], dict[int, Style]] = {}, {}
    for look, its, side in zip(looks, marks, sides, strict=True):
        members: dict[int, set[Style | None]] = defaultdict(set)
        for number, drawn in side.parts.items():
            members[drawn].add(its.get(number))
        for drawn, styles in members.items():
            known = styles - {None}
            if known:
                alone = next(iter(known)) if len(styles) == 1 else None
                look[drawn] = "mark" if "mark" in known else alone or "changed"
    return looks


def _told(side: Side, looks: Mapping[int, Style]) -> set[str]:
    """The frames around what differs."""
    path, keys = paths_of(side.scene), {f"n{number}" for number in looks}
    return {frame for box in side.scene.boxes if box.id in keys for frame in path[box.frame]}


def _alike_closed(side: Side, alike: Iterable[str], looks: Mapping[int, Style]) -> Scene:
    """The scene with its looks, and these modules closed, which are alike on both sides."""
    styles = {f"n{number}": style for number, style in looks.items()}
    boxes = tuple([replace(box, style=styles.get(box.id, box.style)) for box in side.scene.boxes])
    scene = closed(replace(side.scene, boxes=boxes), side.graph, list(alike))
    present = {box.style for box in scene.boxes}
    legend = [entry for entry in scene.legend if entry[0] in present]
    return replace(scene, legend=(*legend, *((style, style) for style in DIFFERENT if style in present)))


def _renamed(scene: Scene, numbers: Mapping[str, int], frames: Mapping[str, str]) -> Scene:
    """The scene with the ids of the other side."""
    names = {frame.id: frames.get(frame.id, f"{frame.id}_") for frame in scene.frames}
    names |= {box.id: frames.get(box.id, f"{box.id}_") for box in scene.boxes if box.style == "module"}

    def named(key: str) -> str:
        return names.get(key) or _ID.sub(
            lambda match: f"{match[1]}{numbers[match[1].replace('t', 'n') + match[2]]}", key
        )

    def box(one: Box) -> Box:
        return replace(one, id=named(one.id), frame=names.get(one.frame, ""))

    def arrow(one: Arrow) -> Arrow:
        return replace(one, tail=named(one.tail), head=named(one.head))

    def frame(one: Frame) -> Frame:
        return replace(one, id=names[one.id], parent=names.get(one.parent, ""))

    return replace(
        scene,
        boxes=tuple(map(box, scene.boxes)),
        arrows=tuple(map(arrow, scene.arrows)),
        frames=tuple(map(frame, scene.frames)),
    )


def _of_side(placed: Placed, scene: Scene) -> Placed:
    """The part of a layout of both that one side has."""
    mine, own = {box.id: box for box in scene.boxes}, {frame.id: frame.title for frame in scene.frames}
    path, arrows = paths_of(placed.scene), _by_ends(scene)
    spots = {box: spot for box, spot in zip(placed.scene.boxes, placed.positions, strict=True) if box.id in mine}
    seen = {frame for box in spots for frame in path[box.frame]}
    frames = {one.id: replace(one, title=own.get(one.id, one.title)) for one in placed.scene.frames if one.id in seen}
    ways = [(arrow.tail, arrow.head, line) for arrow, line in zip(placed.scene.arrows, placed.lines, strict=True)]
    lines = [(its.pop(0), line) for tail, head, line in ways if (its := arrows.get((tail, head)))]
    boxes = tuple([replace(mine[box.id], frame=box.frame) for box in spots])
    drawn = replace(
        placed.scene,
        title=scene.title,
        boxes=boxes,
        arrows=tuple([arrow for arrow, _ in lines]),
        frames=tuple(frames.values()),
    )
    plates = [replace(each, frame=frames[each.frame.id]) for each in placed.plates if each.frame.id in frames]
    return replace(
        placed,
        scene=drawn,
        positions=tuple(spots.values()),
        lines=tuple([line for _, line in lines]),
        plates=tuple(plates),
    )
