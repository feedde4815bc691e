"""Orders side by side: the lowest on the left, each with all of its boxes, and nothing on anything else."""

from __future__ import annotations

from itertools import combinations

import pytest

from autograph_cli.export.layout.orders import NARROW, narrowed, side_by_side
from autograph_cli.export.scene.records import Arrow, Band, Box, Frame, Scene
from autograph_cli.export.style import SUBTITLE, text_width


def scene(*, data: bool = False) -> Scene:
    boxes = [
        Box(f"n{order}{number}", "operation", f"operation {number}", band=2 * order, frame=f"m{order}" * (number > 1))
        for order in (0, 1, 2)
        for number in range(5)
    ]
    arrows = [Arrow(f"n{order}{number}", f"n{order}{number + 1}", "[3]") for order in (0, 1, 2) for number in range(4)]
    frames = tuple([Frame(f"m{order}", "model", band=2 * order) for order in (0, 1, 2)])
    bands = tuple([Band(2 * order, f"order {order} · forward · dy/dx") for order in (0, 1, 2)])
    return Scene("title", tuple(boxes), tuple(arrows), bands, frames=frames, data=data)


@pytest.mark.parametrize("data", [False, True])
def test_each_order_stands_to_the_right_of_the_one_below(data: bool) -> None:
    placed = side_by_side(scene(data=data))
    lanes = sorted(placed.lanes, key=lambda lane: lane.band.number)
    assert [lane.left for lane in lanes] == sorted(lane.left for lane in lanes)
    assert all(one.right < other.left for one, other in combinations(lanes, 2))
    lane_of = {lane.band.number: lane for lane in lanes}
    for box, spot in zip(placed.scene.boxes, placed.positions, strict=True):
        lane = lane_of[box.band]
        assert lane.left <= spot.x - spot.width / 2 and spot.x + spot.width / 2 <= lane.right
        assert lane.top <= spot.y - spot.height / 2 and spot.y + spot.height / 2 <= lane.bottom
    at = {box.id: spot for box, spot in zip(placed.scene.boxes, placed.positions, strict=True)}
    for arrow, line in zip(placed.scene.arrows, placed.lines, strict=True):
        tail, head = at[arrow.tail], at[arrow.head]
        (x, y), up = line.strokes[-1][-1], arrow.tail.startswith("n1")
        assert abs(line.start[0] - tail.x) <= tail.width / 2 and abs(x - head.x) <= head.width / 2
        assert (tail.y > head.y) == up, "the arrows of order 1 lead up, so that it stands beside what it differentiates"
        assert abs(y - (head.y + head.height / 2 * (1 if up else -1))) < 1
    assert len(placed.plates) == 3


def test_orders_stand_in_rows_where_these_fit_a_page_better() -> None:
    page = sorted(lane.right for lane in side_by_side(scene()).lanes)[1] + 20
    lanes = side_by_side(scene(), over=lambda wide, high: max(1.0, wide / page, high / 2_000)).lanes
    rows = sorted({lane.top for lane in lanes})
    assert len(rows) == 2
    for one, other in combinations(lanes, 2):
        beside = one.right < other.left or other.right < one.left
        assert beside if one.top == other.top else one.bottom < other.top or other.bottom < one.top


def test_a_derivative_stands_at_the_height_of_what_it_differentiates() -> None:
    boxes = [Box(f"n{number}", "operation", "mul") for number in range(7)] + [Box("n7", "derivative", "mul", band=2)]
    arrows = [Arrow(f"n{number}", f"n{number + 1}") for number in range(6)]
    bands = Band(0, "order 0"), Band(2, "order 1")
    for number in range(7):
        placed = side_by_side(Scene("", tuple(boxes), tuple(arrows), bands), [("n7", f"n{number}")])
        at = {box.id: spot.y for box, spot in zip(placed.scene.boxes, placed.positions, strict=True)}
        assert abs(at["n7"] - at[f"n{number}"]) < 1


def test_lines_are_broken_and_say_the_same() -> None:
    words = "decoder.layers.3.norm: LayerNorm · NativeLayerNormBackwardBackward0 · ∂ native_layer_norm"
    (box,) = narrowed(Scene("", (Box("n0", "derivative", "native_layer_norm_backward", words),), ())).boxes
    assert " · ".join(box.below) == words
    assert all(text_width(line) * SUBTITLE <= NARROW for line in box.below if " · " in line)
