"""Arrows into another order as ports: a letter at the box that they lead to or come from, and at the other end; and
arrows to many places far away, as its name at each of them."""

from __future__ import annotations

from msgspec.structs import replace

from autograph_cli.export.ranks import rows_of
from autograph_cli.export.scene.records import DETACH, Arrow, Box, Scene

IN_A_LINE = 8
"""Letters of one line."""
INTO = "dashed: into another order"
NOTE = "→ A: into another order, to the box with (A)"
NOTE_DATA = "from A: from another order, from the box with (A)"

MANY, NEAR, LONG = 6, 2, 24
"""Uses from which on a box is named at those of them that are so many rows away, if they are this far in all."""
NAMED = "made by the box of this name"


def lettered(number: int) -> str:
    """Return the letter of a port, or the letters.

    >>> lettered(0), lettered(25), lettered(26)
    ('A', 'Z', 'AA')
    """
    letter = chr(ord("A") + number % 26)
    return letter if number < 26 else lettered(number // 26 - 1) + letter


def with_ports(scene: Scene) -> Scene:
    """The scene whose arrows between bands are letters: at the box that a gradient goes on to, or that data comes from,
    and in a line on the other one."""
    band = {box.id: box.band for box in scene.boxes}
    between = [arrow for arrow in scene.arrows if band[arrow.tail] != band[arrow.head]]
    if not between or any(arrow.keeps or arrow.wrong for arrow in between):
        return scene
    place = {box.id: number for number, box in enumerate(scene.boxes)}
    ends = [(arrow.tail, arrow.head) if scene.data else (arrow.head, arrow.tail) for arrow in between]
    sources = sorted({key for key, _ in ends}, key=place.__getitem__)
    letters = {key: lettered(number) for number, key in enumerate(sources)}
    lines: dict[str, dict[str, None]] = {}
    told: dict[str, list[str]] = {}
    for arrow, (source, other) in zip(between, ends, strict=True):
        lines.setdefault(other, {})[letters[source]] = None
        told.setdefault(other, []).append(_words(arrow, letters[source]))
    sign = "from" if scene.data else "→"
    boxes = []
    for box in scene.boxes:
        if box.id in letters:
            box = replace(box, title=f"{box.title} ({letters[box.id]})")
        if box.id in lines:
            its = sorted(lines[box.id], key=lambda letter: (len(letter), letter))
            rows = [f"{sign} {' '.join(its[at : at + IN_A_LINE])}" for at in range(0, len(its), IN_A_LINE)]
            tooltip = "\n".join([box.tooltip, *dict.fromkeys(told[box.id])])
            box = replace(box, lines=(*box.lines, *rows), tooltip=tooltip)
        boxes.append(box)
    arrows = tuple([arrow for arrow in scene.arrows if band[arrow.tail] == band[arrow.head]])
    notes = [note for note in scene.notes if note != INTO]
    notes.insert(min(1, len(notes)), NOTE_DATA if scene.data else NOTE)
    return replace(scene, boxes=tuple(boxes), arrows=arrows, notes=tuple(notes))


def _words(arrow: Arrow, letter: str) -> str:
    """The words on a port: the tensor that it carries."""
    label = f"{DETACH} {arrow.label}" if arrow.label.startswith(DETACH) else arrow.label
    return " ".join(filter(None, (letter, label, arrow.tooltip.partition("\n")[0])))


def with_names(scene: Scene) -> Scene:
    """The scene with the name of a box whose result is used at many places at each of those that are far from it."""
    named = _far(scene) if scene.data and not scene.bands else {}
    if not named:
        return scene
    drawn = {box.id: box for box in scene.boxes}
    boxes, arrows = list(scene.boxes), list[Arrow]()
    for at, arrow in enumerate(scene.arrows):
        if id(arrow) in named:
            frame = drawn[arrow.head].frame
            boxes.append(Box(f"f{at}", "port", named[id(arrow)], tooltip=arrow.tooltip, small=True, frame=frame))
            arrow = replace(arrow, tail=f"f{at}")
        arrows.append(arrow)
    return replace(scene, boxes=tuple(boxes), arrows=tuple(arrows), legend=(*scene.legend, ("port", NAMED)))


def _far(scene: Scene) -> dict[int, str]:
    """For each arrow that leads far away from a box with many, the name of that box."""
    ways = [arrow for arrow in scene.arrows if not (arrow.back or arrow.dashed or arrow.keeps or arrow.wrong)]
    out: dict[str, list[Arrow]] = {}
    for arrow in ways:
        out.setdefault(arrow.tail, []).append(arrow)
    names = {box.id: _name(box) for box in scene.boxes if len(out.get(box.id, ())) >= MANY}
    if not any(names.values()):
        return {}
    number = {box.id: at for at, box in enumerate(scene.boxes)}
    edges = [(number[arrow.tail], number[arrow.head]) for arrow in ways]
    row = rows_of(len(number), edges, [0] * len(number), root_below=True)
    far: dict[int, str] = {}
    for key, name in names.items():
        down = {id(arrow): row[number[arrow.head]] - row[number[key]] for arrow in out[key]}
        if name and sum(down.values()) > LONG:
            far |= {arrow: name for arrow, rows in down.items() if rows > NEAR}
    return far


def _name(box: Box) -> str:
    """The name that a box has in the script, or none."""
    path, colon, _ = box.title.partition(": ")
    name = path if colon else box.subtitle.rpartition(" · ")[2]
    return name if name.replace(".", "_").isidentifier() else ""
