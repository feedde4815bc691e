"""Parameters written on the operations that use them, instead of a box of their own."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from autograph_cli.export.scene.scene import Arrow, Box, Scene, standing_for
from autograph_cli.export.style import OPERATIONS, parted

MANY = 20
"""Operations from which on parameters are written on them, unless told."""
MARK = "• "


def inline(scene: Scene) -> Scene:
    """The scene with each leaf that a single arrow joins to an operation written on that operation, unless this stands
    for others that do not use it."""
    leaves = {box.id for box in scene.boxes if box.style == "leaf"}
    near = [arrow for arrow in scene.arrows if arrow.tail in leaves or arrow.head in leaves] if leaves else []
    ends = {end for arrow in near for end in (arrow.tail, arrow.head)}
    boxes = {box.id: box for box in scene.boxes if box.id in ends}
    degree = Counter(end for arrow in near for end in (arrow.tail, arrow.head))
    moved: dict[str, list[tuple[Box, Arrow]]] = {}
    gone: set[str] = set()
    for arrow in near:
        leaf, user = (arrow.tail, arrow.head) if arrow.tail in leaves else (arrow.head, arrow.tail)
        alone = degree[leaf] == 1 and not arrow.keeps and not arrow.partly
        if alone and boxes[user].style in OPERATIONS and boxes[leaf].band == boxes[user].band:
            moved.setdefault(user, []).append((boxes[leaf], arrow))
            gone.add(leaf)
    if not moved:
        return scene
    kept = tuple([_with(box, moved[box.id]) if box.id in moved else box for box in scene.boxes if box.id not in gone])
    arrows = tuple([arrow for arrow in scene.arrows if arrow.tail not in gone and arrow.head not in gone])
    styles = {box.style for box in kept}
    legend = tuple((style, words) for style, words in scene.legend if style in styles)
    return replace(scene, boxes=kept, arrows=arrows, legend=legend, notes=(f"{MARK}a leaf", *scene.notes))


def inline_if_many(scene: Scene) -> Scene:
    """The same where there are so many operations that boxes for parameters would hide them."""
    operations = (box for box in scene.boxes if box.style in OPERATIONS)
    return scene if next(islice(operations, MANY - 1, None), None) is None else inline(scene)


def _with(box: Box, leaves: list[tuple[Box, Arrow]]) -> Box:
    """An operation with these leaves written on it."""
    lines = [_line(leaf.title, arrow.with_numbers) for leaf, arrow in leaves]
    facts = [line for leaf, _ in leaves for line in leaf.lines]
    tooltip = "\n".join([box.tooltip, *[leaf.tooltip for leaf, _ in leaves]])
    return standing_for(replace(box, lines=(*box.lines, *lines, *facts), tooltip=tooltip), [leaf for leaf, _ in leaves])


@lru_cache(1 << 10)
def _line(leaf: str, label: str) -> str:
    return f"{MARK}{leaf} {parted(label)[0]}".rstrip()
