"""Folding keeps count: what is not drawn is said, and what is drawn stays joined."""

from __future__ import annotations

from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.records import Arrow, Box, Scene
from autograph_cli.export.simplify.folding import fold
from autograph_cli.graph import Trace, double_backward


def chain(*titles: str, leaf_at: tuple[int, ...] = ()) -> Scene:
    boxes = [Box(f"n{i}", "operation", title, tooltip=f"%{i} {title}") for i, title in enumerate(titles)]
    arrows = [Arrow(f"n{i}", f"n{i + 1}", "[3]") for i in range(len(titles) - 1)]
    for i in leaf_at:
        boxes.append(Box(f"t{i}", "leaf", "w", small=True))
        arrows.append(Arrow(f"t{i}", f"n{i}", "[3]"))
    return Scene("", tuple(boxes), tuple(arrows), data=True)


def test_a_scene_within_the_limit_stays_as_it_is() -> None:
    scene = chain("mul", "sin", "exp")
    assert fold(scene, 3) is scene


def test_a_chain_becomes_one_box_that_says_what_is_in_it() -> None:
    (box,) = fold(chain("mul", "sin", "mul", "exp"), 1).boxes
    assert (box.title, box.subtitle) == ("mul → … → exp", "4 operations")
    assert box.tooltip.splitlines() == ["4 operations: 2 mul, 1 sin, 1 exp", "%0 mul", "%1 sin", "%2 mul", "%3 exp"]


def test_a_note_tells_how_much_is_folded() -> None:
    assert fold(chain("mul", "sin", "mul", "exp", leaf_at=(0, 2)), 1).notes == ("folded: 4 operations in 1 box",)


def test_a_leaf_that_a_chain_uses_again_and_again_is_drawn_once() -> None:
    scene = fold(chain("mul", "sin", "mul", "exp", leaf_at=(0, 2)), 1)
    assert [box.title for box in scene.boxes] == ["mul → … → exp", "w"]
    assert [(arrow.tail, arrow.head) for arrow in scene.arrows] == [("t0", "n0")]


def test_what_branches_stays_open() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "mul") for i in range(4))
    arrows = (Arrow("n0", "n1"), Arrow("n0", "n2"), Arrow("n1", "n3"), Arrow("n2", "n3"))
    assert fold(Scene("", boxes, arrows), 1).boxes == boxes


def test_a_result_is_not_folded() -> None:
    boxes = (Box("n0", "operation", "mul"), Box("r0", "result", "y"), Box("n1", "operation", "sin"))
    scene = Scene("", boxes, (Arrow("n0", "r0"), Arrow("r0", "n1")), data=True)
    assert fold(scene, 1).boxes == boxes


def test_the_longest_chains_are_folded_first_and_no_more_than_it_takes() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "mul") for i in range(5))
    scene = Scene("", boxes, (Arrow("n0", "n1"), Arrow("n2", "n3"), Arrow("n3", "n4")))
    assert [box.id for box in fold(scene, 3).boxes] == ["n0", "n1", "n2"]
    assert [box.id for box in fold(scene, 2).boxes] == ["n0", "n2"]


def test_chains_that_are_alike_are_folded_alike() -> None:
    titles = ("mul", "sin", "exp", "neg") * 2
    boxes = tuple(Box(f"n{i}", "operation", title) for i, title in enumerate(titles))
    arrows = tuple(Arrow(f"n{i}", f"n{i + 1}") for i in range(7) if i != 3)
    for limit in range(2, 8):
        left = [box.title for box in fold(Scene("", boxes, arrows), limit).boxes]
        assert left[: len(left) // 2] == left[len(left) // 2 :] and limit - 1 <= len(left) <= limit


def test_arrows_lead_between_boxes_that_are_drawn(traces: dict[str, Trace]) -> None:
    graph = double_backward(traces["higher_order"].steps[0].graph, None, 4)
    scene = fold(build(graph, "", data=False), 1)
    drawn = {box.id for box in scene.boxes}
    assert all(arrow.tail in drawn and arrow.head in drawn for arrow in scene.arrows)
    assert len(drawn) < len(build(graph, "", data=False).boxes)
    assert {box.band for box in scene.boxes} == {band.number for band in scene.bands}


def test_a_chain_of_closed_modules_is_folded_too() -> None:
    boxes = tuple(Box(f"m{i}", "module", f"{i}: Linear", lines=("[3] → [3]",)) for i in range(4))
    scene = fold(Scene("", boxes, tuple(Arrow(f"m{i}", f"m{i + 1}") for i in range(3))), 1)
    assert [(box.style, box.title, box.below) for box in scene.boxes] == [
        ("module", "0: Linear → … → 3: Linear", ("4 modules",))
    ]
    assert scene.notes == ("folded: 4 modules in 1 box",)


def test_what_stands_in_two_frames_is_not_folded_together() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "mul", frame=f"m{i // 2}") for i in range(4))
    scene = fold(Scene("", boxes, tuple(Arrow(f"n{i}", f"n{i + 1}") for i in range(3))), 1)
    assert [(box.frame, box.subtitle) for box in scene.boxes] == [("m0", "2 operations"), ("m1", "2 operations")]


def test_what_autograd_recorded_is_not_folded_into_what_it_did_not() -> None:
    styles = ("untracked", "untracked", "operation", "operation")
    boxes = tuple(Box(f"n{i}", style, "mul") for i, style in enumerate(styles))
    scene = fold(Scene("", boxes, tuple(Arrow(f"n{i}", f"n{i + 1}") for i in range(3))), 1)
    assert [(box.style, box.subtitle) for box in scene.boxes] == [
        ("untracked", "2 operations"),
        ("operation", "2 operations"),
    ]
