"""Repeated words left out, shapes along a chain and marks of the same line; and chips side by side."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from autograph_cli.export.scene.parameters import FIXED, MARK
from autograph_cli.export.scene.records import NUMBER, Arrow, Box, Scene, left
from autograph_cli.export.style import TITLE, line_width, text_width

BEFORE = "no shape: as before"
LINE = ", line "
"""The words between a fault and its line, in a mark."""
SINGLE = "scalar"
"""The label at the first single number of a chain."""
ROOM = 190.0
"""Points that chips side by side may take, or as many as the title below which they stand."""


def said_once(scene: Scene) -> Scene:
    """The scene with each shape and each mark where it is news, and with the numbers that go along arrows."""
    if any(arrow.numbered[1] for arrow in scene.arrows):
        scene = replace(scene, arrows=tuple([_labelled(arrow, arrow.with_numbers) for arrow in scene.arrows]))
    boxes = tuple([_in_rows(box) if len(box.lines) > 1 else box for box in scene.boxes])
    return _shapes(_marks(replace(scene, boxes=boxes)))


def _in_rows(box: Box) -> Box:
    """The box with its chips side by side, as many as there is room for."""
    room, rows = max(ROOM, text_width(box.title) * TITLE), list[str]()
    for line in box.lines:
        row = f"{rows[-1]} {line}" if rows else line
        if line.startswith((MARK, FIXED)) and row.startswith((MARK, FIXED)) and line_width(row) <= room:
            rows[-1:] = [row]
        else:
            rows.append(line)
    return box if len(rows) == len(box.lines) else replace(box, lines=tuple(rows))


def _labelled(arrow: Arrow, label: str) -> Arrow:
    """The arrow with this label, which most of a big scene's have."""
    return arrow if arrow.label == label else replace(arrow, label=label)


def _marks(scene: Scene) -> Scene:
    """The scene with the first of several marks that say the same of a line, and their number."""
    titles = Counter(box.title for box in scene.boxes if box.style == "mark" and LINE in box.title)
    if max(titles.values(), default=0) < 2:
        return scene
    boxes: dict[str, Box] = {}
    for box in scene.boxes:
        many = titles[box.title] if box.style == "mark" else 0
        one = replace(box, title=f"{box.title} × {many:,}") if many > 1 else box
        boxes.setdefault(box.title if many > 1 else box.id, one)
    return left(scene, boxes.values())


def _shapes(scene: Scene) -> Scene:
    """The scene with shapes only at arrows from boxes that change them, and from those where a chain begins."""
    given: dict[str, str | None] = {}
    for arrow in scene.arrows:
        if not (arrow.keeps or arrow.wrong):  # of data or of a gradient
            label, head = arrow.label, arrow.head
            if given.setdefault(head, label) != label:
                given[head] = None  # of several shapes
    if {""}.issuperset(given.values()):
        return scene
    arrows: list[Arrow] = []
    before = False
    for arrow in scene.arrows:
        if not (arrow.keeps or arrow.wrong):
            label = arrow.label
            if given.get(arrow.tail) == label:
                before = True
                arrow = replace(arrow, label="") if label else arrow
            elif not label:
                arrow = replace(arrow, label=SINGLE)
        arrows.append(arrow)
    notes = [BEFORE] if before else []
    place = scene.notes.index(NUMBER) if NUMBER in scene.notes else min(1, len(scene.notes))
    others = [note for note in scene.notes if note != NUMBER]
    return replace(scene, arrows=tuple(arrows), notes=(*others[:place], *notes, *others[place:]))
