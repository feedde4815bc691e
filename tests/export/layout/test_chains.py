"""A chain stands beside a frame where that makes a picture lower, frames stand near to what their arrows come from."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autograph_cli.export.layout import layered
from autograph_cli.export.layout.direction import DOWN, RIGHT, Direction
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Placed, Rectangle
from autograph_cli.export.ranks import rows_of
from autograph_cli.export.scene.records import Arrow, Box, Frame, Scene
from tests.export.layout.test_layered import check


def towers(label: str) -> Scene:
    """Two ways to one box: through two frames of six boxes each, and through one and a chain of seven; an idle end."""
    before = [Box(f"{way}{i}", "operation", f"op {i}", frame=way) for way in ("m1", "m2") for i in range(6)]
    inside = [Box(f"f{i}", "operation", f"op {i}", frame="m0") for i in range(6)]
    chain = [Box(f"c{i}", "operation", f"a step {i}") for i in range(7)]
    arrows = [*pairwise([box.id for box in inside]), *pairwise([box.id for box in chain])]
    arrows += [*pairwise(f"m1{i}" for i in range(6)), *pairwise(f"m2{i}" for i in range(6))]
    arrows += [("m15", "in"), ("m25", "c0"), ("in", "f0"), ("f5", "end"), ("c6", "end"), ("f5", "idle")]
    boxes = (*inside, *chain, *before, *(Box(name, "operation", name) for name in ("in", "end", "idle")))
    frames = tuple(Frame(name, "0: Net") for name in ("m0", "m1", "m2"))
    return Scene("", boxes, tuple(Arrow(*ends, label) for ends in arrows), data=True, frames=frames)


def spots(placed: Placed) -> dict[str, Rectangle]:
    return {box.id: spot for box, spot in zip(placed.scene.boxes, placed.positions, strict=True)}


@pytest.mark.parametrize("label", ["", "[3, 4]"])
@pytest.mark.parametrize("way", [DOWN, RIGHT], ids=["down", "right"])
def test_a_chain_stands_beside_a_frame(label: str, way: Direction, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = towers(label)
    placed = lay_out(scene, way)
    assert placed.scene.frames == scene.frames and len(placed.plates) == 3
    if way is DOWN:
        check(placed)
        monkeypatch.setattr(layered, "MOST", 3)
        assert placed.height < lay_out(scene).height


def test_a_scene_without_frames_or_with_loops_has_no_chains_held_together() -> None:
    scene = towers("")
    for left in (
        Scene("", scene.boxes[6:13], tuple(Arrow(f"c{i}", f"c{i + 1}") for i in range(6))),
        Scene("", scene.boxes[:6], scene.arrows[:5], frames=scene.frames),
    ):
        assert layered.gathered(left) is left
    back = Scene("", scene.boxes, (*scene.arrows, Arrow("c6", "c0", back=True)), data=True, frames=scene.frames)
    held = {box.id for box in layered.gathered(back).boxes if box.frame.startswith("chain")}
    assert held == {"c1", "c2", "c3", "c4", "c5"}


def two_towers() -> Scene:
    """A root with two ways down: at once into a frame, and by ten boxes that others lead to, into another one."""
    boxes = [Box("root", "operation", "root"), Box("a", "operation", "a"), Box("b", "operation", "b", frame="m0")]
    boxes += [Box(f"c{i}", "operation", f"c {i}") for i in range(10)] + [Box("z", "operation", "z", frame="m1")]
    boxes += [Box(f"d{i}", "result", f"d {i}") for i in range(10)]
    boxes += [Box(f"b{i}", "operation", f"b {i}", frame="m0") for i in range(6)]
    boxes += [Box(f"z{i}", "operation", f"z {i}", frame="m1") for i in range(6)]
    arrows = [("root", "a"), ("a", "b"), ("root", "c0"), ("c9", "z"), *pairwise(f"c{i}" for i in range(10))]
    arrows += [(f"d{i}", f"c{i}") for i in range(10)]
    arrows += [*pairwise(["b", *(f"b{i}" for i in range(6))]), *pairwise(["z", *(f"z{i}" for i in range(6))])]
    frames = Frame("m0", "critic"), Frame("m1", "actor")
    return Scene("", tuple(boxes), tuple(Arrow(*ends, "[3]") for ends in arrows), frames=frames)


def test_a_frame_stands_near_to_where_its_arrow_comes_from() -> None:
    placed = lay_out(two_towers())
    check(placed)
    where, (critic, _) = spots(placed), placed.plates
    assert critic.top - (where["a"].y + where["a"].height / 2) < 60
    assert critic.bottom < where["z"].y
    for name in ("b", *(f"b{i}" for i in range(6))):
        assert critic.top < where[name].y < critic.bottom


def test_boxes_that_hold_each_other_move_together_to_what_they_lead_to() -> None:
    """1 to 3 is what is used late, by 9, and 2 is an end that would hold 1 where it is."""
    edges = [(0, 4), (4, 5), (5, 6), (6, 7), (7, 9), (8, 9), (1, 2), (1, 8), (3, 1)]
    row = rows_of(10, edges, [0] * 10, root_below=True)
    assert row[9] - row[8] == row[8] - row[1] == row[2] - row[1] == row[1] - row[3] == 1
    assert all(row[tail] < row[head] for tail, head in edges)
