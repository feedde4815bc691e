"""Arrows of closed modules that lead side by side become one."""

from __future__ import annotations

from autograph_cli.export.scene.records import Arrow, Box, Scene
from autograph_cli.export.simplify.bundling import NOTE, bundled

BOXES = (Box("m0", "module", "encoder"), Box("m1", "module", "decoder"), Box("n0", "operation", "add"))


def arrows(tail: str, head: str, *labels: str) -> tuple[Arrow, ...]:
    return tuple(Arrow(tail, head, label, tooltip=f"{number}: {label}") for number, label in enumerate(labels))


def test_many_arrows_between_two_closed_modules_are_one_that_lists_what_they_carry() -> None:
    scene = bundled(Scene("", BOXES, arrows("m0", "m1", "[5, 8]", "[3]", "[5, 8]")))
    (arrow,) = scene.arrows
    assert (arrow.label, arrow.tooltip) == ("2 × [5, 8], [3]", "0: [5, 8]\n1: [3]\n2: [5, 8]")
    assert scene.notes == (NOTE,)


def test_of_more_shapes_than_can_be_listed_their_number_is_told() -> None:
    (arrow,) = bundled(Scene("", BOXES, arrows("m0", "n0", "[1]", "[2]", "", "[4]"))).arrows
    assert arrow.label == "4 tensors"


def test_single_numbers_are_counted_too() -> None:
    (arrow,) = bundled(Scene("", BOXES, arrows("n0", "m1", "", "", "[4]"))).arrows
    assert arrow.label == "2 × [], [4]"


def test_no_shape_is_told_of_tensors_that_one_arrow_carries_without_it() -> None:
    several = Arrow("m0", "m1", "× 12", tensors=tuple((node, 0) for node in range(12)))
    (arrow,) = bundled(Scene("", BOXES, (several, *arrows("m0", "m1", "[13, 24]", "[4]")))).arrows
    assert arrow.label == "14 tensors"


def test_two_of_different_shapes_are_one_for_their_labels_would_meet() -> None:
    (arrow,) = bundled(Scene("", BOXES, arrows("m0", "m1", "[16, 1]", "[1, 16]"))).arrows
    assert arrow.label == "[16, 1], [1, 16]"


def test_two_arrows_and_those_between_open_boxes_stay_as_they_are() -> None:
    many = (*arrows("m0", "m1", "[1]", "[1]"), *arrows("n0", "n0", "[1]", "[1]", "[1]"))
    scene = Scene("", BOXES, many)
    assert bundled(scene) is scene


def test_arrows_of_another_kind_keep_to_themselves() -> None:
    kept = Arrow("m0", "m1", "self", keeps=True)
    scene = bundled(Scene("", BOXES, (kept, *arrows("m0", "m1", "[1]", "[1]", "[1]"))))
    assert [arrow.label for arrow in scene.arrows] == ["self", "3 × [1]"]
