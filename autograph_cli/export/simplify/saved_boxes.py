"""Saved tensors in a scene whose loops are rolled: those that all turns save alike are one box."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from autograph_cli.export.scene.records import Arrow, Box, Scene, left


def gathered(scene: Scene) -> Scene:
    """The scene with one box for all that the same boxes keep under the same names, and of the same type."""
    groups: dict[tuple[object, ...], list[Box]] = {}
    keepers = _keepers(scene.arrows)
    for box in scene.boxes:
        if box.style == "saved":
            groups.setdefault((keepers[box.id], box.subtitle, box.lines, box.band), []).append(box)
    several = {its[0].id: its for its in groups.values() if len(its) > 1}
    if not several:
        return scene
    gone = {box.id for its in several.values() for box in its[1:]}
    boxes = (_one_of(several[box.id]) if box.id in several else box for box in scene.boxes if box.id not in gone)
    return left(scene, boxes)


def _keepers(arrows: Iterable[Arrow]) -> dict[str, frozenset[tuple[str, str]]]:
    keepers: dict[str, set[tuple[str, str]]] = {}
    for arrow in arrows:
        if arrow.keeps:
            keepers.setdefault(arrow.head, set()).add((arrow.tail, arrow.label))
    return {key: frozenset(its) for key, its in keepers.items()}


def _one_of(boxes: list[Box]) -> Box:
    times = f"× {len(boxes):,}"
    names = ", ".join(box.title.removeprefix("saved ") for box in boxes)
    first = boxes[0]
    return replace(first, subtitle=f"{times} · {first.subtitle}", tooltip=f"{first.tooltip}\n{times}: {names}")
