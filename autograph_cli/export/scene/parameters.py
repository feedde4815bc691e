"""Parameters written on the operations that use them, instead of a box of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from autograph_cli.export.scene.modules import shown_by
from autograph_cli.export.scene.records import Arrow, Box, Scene, left, standing_for
from autograph_cli.export.style import OPERATIONS, is_bars, parted
from autograph_cli.graph import Graph

MANY = 20
"""Operations from which on parameters are written on them, unless told."""
CIRCLES = 10
"""The greatest number in a circle that all formats have."""
MARK, FIXED = "• ", "◦ "
_KINDS = {MARK: ("leaf", "leaves"), FIXED: ("input", "inputs")}
_NUMBER = re.compile(r"([①-⑩]|\(\d{2,}\))(?= \[|$)")


def inline(scene: Scene, which: Collection[str] | None = None, *, beside: bool = False) -> Scene:
    """The scene with each leaf that a single arrow joins to an operation written on that operation, unless this stands
    for others that do not use it; or with those `which` are told, inputs among them. With `beside` only where something
    that was computed or given leads there as well."""
    leaves = {box.id for box in scene.boxes if (box.style == "leaf" if which is None else box.id in which)}
    near = [arrow for arrow in scene.arrows if arrow.tail in leaves or arrow.head in leaves] if leaves else []
    ends = {end for arrow in near for end in (arrow.tail, arrow.head)}
    boxes = {box.id: box for box in scene.boxes if box.id in ends}
    degree = Counter(end for arrow in near for end in (arrow.tail, arrow.head))
    fed = {arrow.head for arrow in scene.arrows if arrow.tail not in leaves} if beside else boxes
    moved: dict[str, list[tuple[Box, Arrow]]] = {}
    gone: set[str] = set()
    for arrow in near:
        leaf, user = (arrow.tail, arrow.head) if arrow.tail in leaves else (arrow.head, arrow.tail)
        alone = degree[leaf] == 1 and not arrow.keeps and not arrow.partly
        if alone and user in fed and boxes[user].style in OPERATIONS and boxes[leaf].band == boxes[user].band:
            moved.setdefault(user, []).append((boxes[leaf], arrow))
            gone.add(leaf)
    if not moved:
        return scene
    drawn = (_with(box, moved[box.id]) if box.id in moved else box for box in scene.boxes if box.id not in gone)
    inputs = any(leaf.style == "input" for its in moved.values() for leaf, _ in its)
    notes = (f"{MARK}a leaf", *([f"{FIXED}an input, no gradient"] if inputs else []))
    return replace(left(scene, drawn), notes=tuple(dict.fromkeys((*notes, *scene.notes))))


def with_state(scene: Scene, graph: Graph) -> Scene:
    """The scene with the parameters and buffers of modules on what uses them, numbered where they are used again."""
    shown = {box.id: shown_by(box.id, graph, scene.data) for box in scene.boxes if box.style in ("leaf", "input")}
    state = {key: node.id for key, node in shown.items() if node is not None and node.module and node.call is None}
    uses = Counter(state.values())
    numbers = {node: place for place, node in enumerate([node for node, many in uses.items() if many > 1], 1)}
    boxes = [
        _numbered(box, circled(numbers[state[box.id]])) if state.get(box.id) in numbers else box for box in scene.boxes
    ]
    return inline(replace(scene, boxes=tuple(boxes)), state)


def _numbered(box: Box, number: str) -> Box:
    lines = tuple([line if is_bars(line) else f"{number} {line}" for line in box.lines])
    return replace(box, title=f"{box.title} {number}", lines=lines)


def circled(number: int) -> str:
    """The number in a circle.

    >>> circled(1), circled(21)
    ('①', '(21)')
    """
    return chr(ord("①") + number - 1) if number <= CIRCLES else f"({number})"


def chips_of(boxes: Iterable[Box]) -> str:
    """Return how many leaves and inputs are written on these boxes, each counted once, and those used elsewhere."""
    chips: dict[str | int, str] = {}
    for place, line in enumerate(line for box in boxes for line in box.lines if line.startswith((MARK, FIXED))):
        number = _NUMBER.search(line)
        chips.setdefault(number[1] if number else place, line[: len(MARK)])
    counts = Counter(chips.values())
    words = [f"{mark}{count} {_KINDS[mark][count > 1]}" for mark, count in counts.items()]
    return " ".join([*words, *(key for key in chips if isinstance(key, str))])


def inline_if_many(scene: Scene, *, beside: bool = False) -> Scene:
    """The same for all leaves where there are so many operations that boxes for parameters would hide them."""
    operations = (box for box in scene.boxes if box.style in OPERATIONS)
    return scene if next(islice(operations, MANY - 1, None), None) is None else inline(scene, beside=beside)


def _with(box: Box, leaves: list[tuple[Box, Arrow]]) -> Box:
    """An operation with these leaves written on it."""
    lines = [_line(leaf.title, arrow.with_numbers, FIXED if leaf.style == "input" else MARK) for leaf, arrow in leaves]
    facts = [line for leaf, _ in leaves for line in leaf.lines]
    tooltip = "\n".join([box.tooltip, *[leaf.tooltip for leaf, _ in leaves]])
    return standing_for(replace(box, lines=(*box.lines, *lines, *facts), tooltip=tooltip), [leaf for leaf, _ in leaves])


@lru_cache(1 << 10)
def _line(leaf: str, label: str, mark: str) -> str:
    return f"{mark}{leaf} {parted(label)[0]}".rstrip()
