"""Arrows that lead side by side from or to a closed module, drawn as one that lists what they carry."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from autograph_cli.export.scene.records import Arrow, Scene, carried, shapes_of

FEWEST = 3
"""Arrows between the same two boxes that are drawn as one; two are, if they have different shapes."""
LISTED = 2
"""Shapes that the one lists, with the number of each; of more, it tells the number of all."""
NOTE = "k × [shape] at an arrow: k tensors"


def bundled(scene: Scene) -> Scene:
    """The scene with one arrow for all of a kind between a closed module and another box; its tooltip has them all."""
    closed = {box.id for box in scene.boxes if box.style == "module"}
    if not closed:
        return scene
    bundles: dict[tuple[str, str, bool, bool, bool], list[Arrow]] = {}
    for arrow in scene.arrows:
        if arrow.tail in closed or arrow.head in closed:
            key = arrow.tail, arrow.head, arrow.dashed, arrow.back, arrow.keeps
            bundles.setdefault(key, []).append(arrow)
    ones = {id(arrow): its for its in bundles.values() if len(its) >= FEWEST or _beside(its) for arrow in its}
    if not ones:
        return scene
    arrows = []
    for arrow in scene.arrows:
        its = ones.get(id(arrow), [arrow])
        if arrow is its[0]:
            arrows.append(arrow if len(its) == 1 else _one(its))
    return replace(scene, arrows=tuple(arrows), notes=(*scene.notes, NOTE))


def _beside(arrows: Sequence[Arrow]) -> bool:
    """Return whether these are two whose shapes would stand on each other."""
    labels = {arrow.label for arrow in arrows}
    return len(arrows) == len(labels) == 2 and "" not in labels


def _one(arrows: Sequence[Arrow]) -> Arrow:
    """The arrow that stands for all of these."""
    tensors, counts = carried(arrows), shapes_of(arrows)
    words = [f"{count:,} × {shape}" if count > 1 else shape for shape, count in counts.items()]
    label = f"{len(tensors):,} tensors" if len(words) > LISTED or "" in counts else ", ".join(words)
    told = dict.fromkeys(arrow.tooltip for arrow in arrows if arrow.tooltip)
    return replace(arrows[0], label=label, tooltip="\n".join(told), tensors=tuple(tensors))
