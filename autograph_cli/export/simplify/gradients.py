"""Results that hang on one box, such as the gradients of the weights of a module, written on that box."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from autograph_cli.export.scene.labels import LONGEST_LABEL, short
from autograph_cli.export.scene.records import Box, Scene, joined, left, standing_for, together
from autograph_cli.export.simplify.rolling import names_of, turns_of
from autograph_cli.export.style import OPERATIONS

DIVIDED = "/d"
"""The sign between what was differentiated and what it was differentiated by."""
MADE = "= "
NOTE = f"{MADE}a result"
LISTED = 40
"""Names that a tooltip lists."""


def with_results(scene: Scene, *, used: bool = False) -> Scene:
    """The scene with each result that one arrow joins to a box, but what was differentiated, written on that box; with
    `used`, only where others take what that box made, too: a box at the end of a way shows its result below it."""
    results = {box.id: box for box in scene.boxes if box.style == "result"}
    ends: dict[str, list[str]] = {}
    for arrow in scene.arrows:
        for mine, other in ((arrow.tail, arrow.head), (arrow.head, arrow.tail)):
            if mine in results:
                ends.setdefault(mine, []).append("" if arrow.keeps or arrow.wrong else other)
    boxes = {box.id: box for box in scene.boxes if box.style == "module" or box.style in OPERATIONS}
    going = {arrow.tail for arrow in scene.arrows if arrow.head not in results}
    on: dict[str, list[Box]] = {}
    for key, its in ends.items():
        alone = len(its) == 1 and its[0] in boxes and boxes[its[0]].band == results[key].band
        if alone and (not used or its[0] in going):
            on.setdefault(its[0], []).append(results[key])
    if not on:
        return scene
    gone = {box.id for its in on.values() for box in its}
    scene = left(scene, [_with(box, on[box.id]) if box.id in on else box for box in scene.boxes if box.id not in gone])
    return replace(scene, notes=tuple(dict.fromkeys((NOTE, *scene.notes))))


def with_borders(scene: Scene) -> Scene:
    """The scene with the gradients that one call gave, and that are left out from there, as one box."""
    alike: dict[tuple[str, str, str], list[Box]] = {}
    for box in scene.boxes:
        if box.style == "cut" and DIVIDED in box.title:
            alike.setdefault((box.title.partition(DIVIDED)[0], box.frame, _turns(box)), []).append(box)
    several = {its[0].id: its for its in alike.values() if len(its) > 1}
    into = {box.id: key for key, its in several.items() for box in its[1:]}
    if not into:
        return scene
    drawn = {key: _one_of(its) for key, its in several.items()}
    return replace(scene, boxes=together(scene, into, drawn), arrows=joined(scene, into))


def _one_of(boxes: Sequence[Box]) -> Box:
    title = f"{short(boxes[0].title)} and {len(boxes) - 1} more"
    listed = "\n".join(each.tooltip for each in boxes)
    return replace(boxes[0], title=title, subtitle=_turns(boxes[0]), tooltip=listed)


def _turns(box: Box) -> str:
    return turns_of([replace(box, style="operation")])


def _with(box: Box, results: Sequence[Box]) -> Box:
    """The box with these results on it, in one line with those that are there."""
    names = [result.title for result in results]
    many = len(names) + sum(len(result.others) for result in results)
    told = short(names[0]) if many == 1 else names_of(names)
    if many > len(names) or len(told) > LONGEST_LABEL:
        told = f"{many:,} {_kind(names)}"
    listed = ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")
    box = replace(box, lines=(*box.lines, f"{MADE}{told}"), tooltip=f"{box.tooltip}\nresults: {listed}")
    return standing_for(box, results)


def _kind(names: Sequence[str]) -> str:
    return "gradients" if all(name.endswith(".grad") for name in names) else "results"
