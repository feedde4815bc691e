"""Folds what two graphs have in common, a box for all that hangs together; what differs stays, with its neighbours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from autograph_cli.export.ranks import Edge, groups, in_turn
from autograph_cli.export.scene.modules import without_empty
from autograph_cli.export.scene.records import Box, Scene, joined
from autograph_cli.export.style import Style


def unchanged(scene: Scene, different: Collection[Style]) -> dict[str, Box]:
    """The box for each that is folded: connected ones of one order and module, none on both sides of a difference."""
    place = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(place[arrow.tail], place[arrow.head]) for arrow in scene.arrows]
    apart = {number for number, box in enumerate(scene.boxes) if box.style in different}
    drawn = zip(edges, scene.arrows, strict=True)
    ends = [edge for edge, arrow in drawn if arrow.dashed or not apart.isdisjoint(edge)]
    near = apart.union(*ends)
    return _in_groups(scene.boxes, edges, near)


def _in_groups(boxes: Sequence[Box], edges: Sequence[Edge], near: Collection[int]) -> dict[str, Box]:
    def home(number: int) -> tuple[int, str]:
        return boxes[number].band, boxes[number].frame

    level = _levels([home(number) for number in range(len(boxes))], edges, near)
    alike = [
        (tail, head)
        for tail, head in edges
        if tail not in near and head not in near and level[tail] == level[head] and home(tail) == home(head)
    ]
    group = groups(len(boxes), alike)
    sizes = Counter(group)
    return {
        box.id: Box(
            f"u{first}",
            "folded",
            f"{sizes[first]:,} unchanged" if sizes[first] > 1 else "unchanged",
            tooltip=box.title if sizes[first] == 1 else "",
            band=box.band,
            frame=box.frame,
        )
        for number, (box, first) in enumerate(zip(boxes, group, strict=True))
        if number not in near
    }


def _levels(homes: Sequence[tuple[int, str]], edges: Sequence[Edge], near: Collection[int]) -> list[int]:
    """For each box a number that rises along the arrows, by one after what is `near` and into another order or module.

    A leaf belongs to where it is first used.
    """
    following: dict[int, list[int]] = defaultdict(list)
    for tail, head in edges:
        following[tail].append(head)

    def rise(tail: int, head: int) -> bool:
        return tail in near or homes[tail] != homes[head]

    level = [0] * len(homes)
    order = in_turn(len(homes), edges, int)
    for number in order:
        for head in following[number]:
            level[head] = max(level[head], level[number] + rise(number, head))
    for number in reversed(order):
        heads = following[number]
        if heads and number not in near:
            level[number] = min(level[head] - rise(number, head) for head in heads)
    return level


def folded(scene: Scene, into: Mapping[str, Box]) -> Scene:
    """The scene with one box for all that go into it."""
    drawn = {box.id: box for box in (into.get(box.id, box) for box in scene.boxes)}
    arrows = joined(scene, {key: box.id for key, box in into.items()})
    legend = [entry for entry in scene.legend if entry[0] in {box.style for box in drawn.values()}]
    return without_empty(
        replace(scene, boxes=tuple(drawn.values()), arrows=arrows, legend=(*legend, ("folded", "unchanged")))
    )
