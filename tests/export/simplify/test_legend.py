"""A legend explains what is in the picture, and nothing else."""

from __future__ import annotations

from autograph_cli.export.scene.records import Arrow, Box, Scene
from autograph_cli.export.simplify.legend import with_true_legend
from autograph_cli.export.style import Style

LEGEND: tuple[tuple[Style, str], ...] = (("operation", "operation"), ("leaf", "leaf, requires grad"))
NOTES = (
    "• a leaf",
    "◦ an input, no gradient",
    "∂ f: from the backward of f",
    "folded: 4 operations in 2 lines of the script",
    "folded: 9 operations in 3 boxes",
)


def test_what_is_not_drawn_is_not_explained() -> None:
    box = Box("n0", "operation", "add", lines=("• weight [3]",))
    scene = with_true_legend(Scene("", (box,), (), legend=LEGEND, notes=NOTES[:4]))
    assert scene.legend == LEGEND[:1]
    assert scene.notes == (NOTES[0], NOTES[3])


def test_one_note_tells_of_all_that_was_folded() -> None:
    boxes = Box("n0", "operation", "a", many=5), Box("n1", "operation", "b", many=7), Box("n2", "operation", "c")
    scene = with_true_legend(Scene("", boxes, (Arrow("n0", "n1"),), notes=NOTES[3:]))
    assert scene.notes == ("folded: 12 operations in 2 boxes",)


def test_tensors_of_an_arrow_are_not_told_to_be_of_turns_where_no_loop_is_drawn() -> None:
    turns, tensors = "× k at an arrow: from k turns", "× k at an arrow: k tensors"
    boxes, arrows = (Box("m0", "module", "dec: Dec"), Box("m1", "module", "r: GRU")), (Arrow("m0", "m1", "× 35"),)
    assert with_true_legend(Scene("", boxes, arrows, notes=(turns, tensors))).notes == (tensors,)
    looped = (Box("n0", "operation", "mul", subtitle="× 3"), boxes[1])
    assert turns in with_true_legend(Scene("", looped, (Arrow("n0", "m1", "× 3"),), notes=(turns,))).notes
