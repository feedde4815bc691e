"""Arrows from order to order become letters at both of their ends."""

from __future__ import annotations

from autograph_cli.export.scene.records import Arrow, Band, Box, Scene
from autograph_cli.export.simplify.ports import INTO, NOTE, lettered, with_ports

BOXES = (
    Box("n0", "operation", "TanhBackward0"),
    Box("n1", "operation", "MulBackward0"),
    Box("n2", "derivative", "mul", "MulBackward1", band=2),
    Box("n3", "derivative", "add", band=2),
)
BANDS = Band(0, "order 0"), Band(2, "order 1")
INSIDE = Arrow("n2", "n3"), Arrow("n0", "n1")
BETWEEN = Arrow("n2", "n0", "[3]", dashed=True, tooltip="gradient of y"), Arrow("n2", "n1", dashed=True)
SCENE = Scene("", BOXES, (*INSIDE, *BETWEEN), BANDS, notes=("[shape], float32", INTO))


def test_a_letter_stands_at_both_ends() -> None:
    scene = with_ports(SCENE)
    assert [box.title for box in scene.boxes] == ["TanhBackward0 (A)", "MulBackward0 (B)", "mul", "add"]
    assert scene.boxes[2].below == ("MulBackward1", "→ A B")
    assert "A [3] gradient of y" in scene.boxes[2].tooltip
    assert scene.arrows == INSIDE
    assert NOTE in scene.notes and INTO not in scene.notes


def test_where_data_flows_the_letter_is_of_the_box_that_it_comes_from() -> None:
    turned = tuple([Arrow(arrow.head, arrow.tail) for arrow in (*INSIDE, *BETWEEN)])
    scene = with_ports(Scene("", BOXES, turned, BANDS, data=True))
    assert scene.boxes[2].below[-1] == "from A B"
    assert scene.boxes[0].title == "TanhBackward0 (A)"


def test_what_stays_in_its_order_stays_as_it_is() -> None:
    scene = Scene("", BOXES, INSIDE, BANDS)
    assert with_ports(scene) is scene


def test_each_arrow_is_at_its_letter_however_many_there_are() -> None:
    below = tuple([Box(f"n{number}", "operation", "mul") for number in range(60)])
    above = Box("n60", "derivative", "sum", band=2)
    arrows = tuple([Arrow("n60", box.id) for box in below])
    *ends, start = with_ports(Scene("", (*below, above), arrows, BANDS)).boxes
    written = " ".join(start.below).replace("→", "").split()
    assert written == [box.title.removeprefix("mul (").removesuffix(")") for box in ends]
    assert written == [lettered(number) for number in range(60)]
