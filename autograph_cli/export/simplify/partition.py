"""A scene that nothing else makes small enough, cut across into pieces of many rows, one box each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from autograph_cli.export.ranks import rows_of
from autograph_cli.export.scene.labels import short
from autograph_cli.export.scene.modules import LONGEST_TITLE, shown_by
from autograph_cli.export.scene.records import Arrow, Box, Scene, carried, one_label, standing_for
from autograph_cli.export.style import OPERATIONS, RESULTS
from autograph_cli.graph import Graph

SLACK = 2
"""A scene of up to so many times the limit is left as it is, for pieces tell much less."""
PARTS = 40
"""Boxes that all operations are put into, if the limit allows for so many."""
KEPT = 0.25
"""The part of the limit that results, and then leaves and inputs, may take to stay boxes of their own."""
NAMED = 3
"""Operations that a piece names, the most frequent ones."""


def cut_across(scene: Scene, graph: Graph, limit: int) -> Scene:
    """The scene with all that is in the same rows in one box, if it has far more than `limit` boxes.

    Arrows keep their direction, for each leads from one row to a later one. A note tells what was folded.
    """
    if len(scene.boxes) <= SLACK * limit:
        return scene
    alone = _kept(scene, limit)
    part = _partition(scene, alone, max(1, min(PARTS, limit - len(alone))))
    members: dict[str, list[Box]] = {}
    for box in scene.boxes:
        if box.id in part:
            members.setdefault(part[box.id], []).append(box)
    boxes = [box for box in scene.boxes if box.id in alone]
    boxes += [_piece(key, its, graph, scene.data) for key, its in members.items()]
    many = sum(_operations(its) for its in members.values())
    note = f"folded: {many:,} operations in {len(members):,} boxes, by the rows that they would stand in"
    arrows = _joined(scene, part)
    return replace(
        scene,
        boxes=tuple(replace(box, frame="") for box in boxes),
        arrows=arrows,
        frames=(),
        notes=(*scene.notes, note, "× k at an arrow: k tensors"),
    )


def _kept(scene: Scene, limit: int) -> set[str]:
    """Boxes that stay: results, leaves and inputs, as far as they are few."""
    alone: set[str] = set()
    for styles in (RESULTS, ("leaf", "input")):
        ids = {box.id for box in scene.boxes if box.style in styles and not box.small}
        if len(alone) + len(ids) <= KEPT * limit:
            alone |= ids
    return alone


def _partition(scene: Scene, alone: set[str], many: int) -> dict[str, str]:
    """For each box that is folded the first one of its piece; a piece is some rows of one band."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows if not arrow.back]
    row = rows_of(len(index), edges, [box.band for box in scene.boxes], root_below=scene.data)
    order = sorted((number for number, box in enumerate(scene.boxes) if box.id not in alone), key=row.__getitem__)
    size = -(-len(order) // many)
    owner: dict[str, str] = {}
    first, count = "", 0
    for before, number in zip([None, *order], order, strict=False):
        box = scene.boxes[number]
        parted = before is None or row[before] != row[number]
        if before is None or (parted and (count >= size or scene.boxes[before].band != box.band)):
            first, count = box.id, 0
        owner[box.id] = first
        count += 1
    return owner


def _operations(members: Sequence[Box]) -> int:
    return sum(box.style == "folded" or box.style in OPERATIONS for box in members)


def _piece(key: str, members: Sequence[Box], graph: Graph, data: bool) -> Box:
    """One box for all of these."""
    (first,) = (box for box in members if box.id == key)
    whole = standing_for(replace(first, others=first.others), [box for box in members if box is not first])
    styles = Counter(box.style for box in members if box.style in (*OPERATIONS, "folded", "module"))
    counts = _counts(whole, members, graph, data)
    if not styles:
        return replace(whole, title=" and ".join(counts), subtitle="", lines=(), tooltip="", small=False)
    names = Counter(box.title for box in members if box.style in styles)
    shown = ", ".join(name for name, _ in names.most_common(NAMED)) + ("…" if len(names) > NAMED else "")
    told = ", ".join(f"{count:,} {name}" for name, count in names.most_common())
    tooltip = "\n".join(filter(None, (f"{counts[0]}: {told}", ", ".join(counts[1:]))))
    style, band = styles.most_common(1)[0][0], members[0].band
    return Box(key, style, short(shown, LONGEST_TITLE), counts[0], (), tooltip, band, others=whole.others)


def _counts(whole: Box, members: Sequence[Box], graph: Graph, data: bool) -> list[str]:
    """Return how many operations, modules, leaves and inputs, and results a piece has: each tensor counts once."""
    drawn = {box.id: box for box in members if box.style in ("leaf", "input")}
    given = {shown_by(key, graph, data) for box in drawn.values() for key in (box.id, *box.others)}
    counts = [(_operations(members), "operation"), (sum(box.style == "module" for box in members), "module")]
    counts += [(len(given), "leaves and inputs"), (sum(box.style in RESULTS for box in members), "result")]
    words = [f"{many:,} {word}{'s' * (many > 1 and word[-1] != 's')}" for many, word in counts if many]
    return words or [f"{len(members):,} marks"]


def _joined(scene: Scene, part: dict[str, str]) -> tuple[Arrow, ...]:
    """The arrows between what is left, those between the same boxes as one, with their number."""
    results = {box.id for box in scene.boxes if box.style in RESULTS}
    maker = {arrow.head: arrow.tail for arrow in scene.arrows if arrow.head in results}
    merged: dict[tuple[str, str, bool, bool], list[Arrow]] = {}
    for arrow in scene.arrows:
        # What a result is used for comes from what made it: the piece around would lead to it and back.
        start = maker.get(arrow.tail, arrow.tail)
        tail, head = part.get(start, start), part.get(arrow.head, arrow.head)
        if tail == head:
            continue
        key = tail, head, arrow.back, arrow.keeps
        merged.setdefault(key, []).append(arrow)
    return tuple(_merged(ends, its) for ends, its in merged.items())


def _merged(ends: tuple[str, str, bool, bool], arrows: Sequence[Arrow]) -> Arrow:
    """One arrow for all of these, with the number of tensors, and what is said of all of them."""
    tensors = carried(arrows)
    plain = set(map(one_label, arrows))
    label = plain.pop() if len(plain) == 1 else ""
    many = f"{label} × {len(tensors):,}".lstrip() if len(tensors) > 1 else label
    return replace(arrows[0], tail=ends[0], head=ends[1], label=many, tensors=tuple(tensors))
