"""A picture like a U: the first half down, the second up beside it, and what skips straight across; nothing else bends."""

from __future__ import annotations

from itertools import combinations

import pytest

from autograph_cli.export.layout.bent import bent
from autograph_cli.export.layout.placed import Rectangle
from autograph_cli.export.scene.records import Arrow, Box, Frame, Scene
from tests.export.measured_svg import Rect

CHAIN = [(number, number + 1) for number in range(11)]


def scene(*more: tuple[int, int], style: str = "operation") -> Scene:
    """A chain of twelve boxes, eight of them in a module, with more arrows."""
    boxes = tuple(
        Box(f"n{number}", "input" if not number and style == "input" else "operation", f"conv {number}",
            frame="net" * (2 <= number < 10))
        for number in range(12)
    )  # fmt: skip
    arrows = tuple(Arrow(f"n{tail}", f"n{head}", "[2, 8, 16, 16]") for tail, head in (*CHAIN, *more))
    return Scene("", boxes, arrows, frames=(Frame("net", "net: UNet"),), data=True)


@pytest.mark.parametrize("skips", [[(1, 9), (3, 7)], [(0, 11), (2, 8), (3, 6)]])
def test_skips_within_each_other_make_a_u(skips: list[tuple[int, int]]) -> None:
    placed = bent(scene(*skips, style="input"))
    assert placed is not None
    at = {box.id: spot for box, spot in zip(placed.scene.boxes, placed.positions, strict=True)}
    rects = [Rect(its.x - its.width / 2, its.y - its.height / 2, its.x + its.width / 2, its.y + its.height / 2)
             for its in at.values()]  # fmt: skip
    assert not [1 for one, other in combinations(rects, 2) if one.on(other)]
    for arrow, line in zip(placed.scene.arrows, placed.lines, strict=True):
        tail, head = at[arrow.tail], at[arrow.head]
        (_, y), across = line.strokes[-1][-1], tail.x + tail.width / 2 < head.x - head.width / 2
        if across:
            assert line.start[1] == tail.y and y == head.y, "from side to side"
            assert not [its for its in at.values() if its not in (tail, head) and hides(its, line.start)]
        else:
            assert (tail.y < head.y) == (tail.x < min(spot.x for key, spot in at.items() if key in ("n11", "n10")))
    crossed = {(arrow.tail, arrow.head) for arrow in placed.scene.arrows if at[arrow.head].x - at[arrow.tail].x > 100}
    assert {(f"n{tail}", f"n{head}") for tail, head in skips} < crossed and len(crossed) == len(skips) + 1
    titles = {plate.frame.id: plate.frame.title for plate in placed.plates}
    assert titles == {"net": "net: UNet", "net.1": "net: UNet (continued)"}


def hides(box: Rectangle, point: tuple[float, float]) -> bool:
    return abs(box.x - point[0]) < box.width / 2 and abs(box.y - point[1]) < box.height / 2


@pytest.mark.parametrize(
    "more",
    [
        [],
        [(1, 9)],
        [(1, 3), (4, 6), (7, 9)],
        [(1, 6), (3, 8)],
        [(1, 9), (1, 7), (3, 7)],
        [(1, 9), (3, 9)],
    ],
    ids=["a chain", "one skip", "residual", "over each other", "from one box", "to one box"],
)
def test_other_pictures_are_not_bent(more: list[tuple[int, int]]) -> None:
    assert bent(scene(*more)) is None
