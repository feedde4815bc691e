"""A picture runs down the page or to the right, in every format that has a direction."""

from __future__ import annotations

import re

import pytest

from autograph_cli.export import ExportError, render
from autograph_cli.export.layout.columns import WIDEST, misfit
from autograph_cli.export.layout.direction import RIGHT
from autograph_cli.export.layout.fitting import fitted, runs_right
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Placed, Rectangle
from autograph_cli.export.scene.records import Arrow, Band, Box, Frame, Scene
from autograph_cli.graph import Trace


def star(leaves: int) -> Scene:
    """A sum of so many leaves, which is wide where it runs down."""
    boxes = (*(Box(f"n{i}", "leaf", f"layer.{i}.weight") for i in range(leaves)), Box("s", "operation", "stack"))
    return Scene("a.py", boxes, tuple(Arrow(f"n{i}", "s", "[64, 64]") for i in range(leaves)), data=True)


def chain(count: int) -> Scene:
    boxes = tuple(Box(f"n{i}", "operation", "step") for i in range(count))
    return Scene("a.py", boxes, tuple(Arrow(f"n{i}", f"n{i + 1}", "[3]") for i in range(count - 1)), data=True)


def runs(placed: Placed) -> str:
    """Return which way the arrows of a picture lead."""
    x, y = (
        sum(line.strokes[-1][-1][axis] - line.start[axis] for line in placed.lines) / len(placed.lines)
        for axis in (0, 1)
    )
    return "right" if x > y else "down"


@pytest.mark.parametrize("direction", ["down", "right"])
def test_a_picture_runs_as_it_is_told(direction: str) -> None:
    for scene in (star(3), chain(4)):
        assert runs(fitted(scene, direction, columns=True)) == direction
        assert runs_right(scene, direction) == (direction == "right")


def test_unless_told_a_picture_runs_as_it_fits_a_page() -> None:
    assert runs(fitted(chain(4), "auto", columns=True)) == "down"
    assert runs(fitted(star(3), "auto", columns=True)) == "down"
    wide = fitted(star(24), "auto", columns=True)
    assert runs(wide) == "right"
    assert wide.width < WIDEST < fitted(star(24), "down", columns=True).width
    assert misfit(wide) < misfit(fitted(star(24), "down", columns=True))
    assert [runs_right(scene, "auto") for scene in (chain(4), star(24))] == [False, True]


def test_a_long_chain_runs_down_in_columns() -> None:
    placed = fitted(chain(40), "auto", columns=True)
    assert placed.width < WIDEST
    assert 0.5 < placed.height / placed.width < 1.3  # six columns, with no arrows between them


def test_bands_stand_side_by_side_with_their_titles_above_and_their_formulas_below() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "step", band=2 * (i < 2)) for i in range(4))
    bands = (Band(0, "order 0 · forward", ("y = x",)), Band(2, "order 1 · backward", ("a formula that is long " * 3,)))
    arrows = tuple(Arrow(f"n{i}", f"n{i + 1}") for i in range(3))
    placed = lay_out(Scene("", boxes, arrows, bands), RIGHT)
    first, second = placed.lanes
    assert first.right < second.left
    assert (first.top, first.bottom) == (second.top, second.bottom)
    for lane in placed.lanes:
        held = [its for box, its in zip(boxes, placed.positions, strict=True) if box.band == lane.band.number]
        assert all(lane.title[1] < its.y - its.height / 2 for its in held)
        assert all(its.y + its.height / 2 < lane.beside[1] - 9 and lane.beside[1] < lane.bottom for its in held)
        assert lane.left < lane.title[0] == lane.beside[0] < lane.right
    assert first.right - first.left > 350


def test_the_title_of_a_module_stands_above_what_is_in_it() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "step", frame="m") for i in range(2))
    frame = Frame("m", "model: a module with quite a long name, longer than it is wide")
    placed = lay_out(Scene("", boxes, (Arrow("n0", "n1"),), frames=(frame,)), RIGHT)
    (plate,) = placed.plates
    assert plate.right - plate.left > 300
    assert all(plate.title[1] < its.y - its.height / 2 for its in placed.positions)


def test_an_arrow_leaves_the_leaning_side_of_an_input() -> None:
    scene = Scene("", (Box("x", "input", "x"), Box("n", "operation", "exp")), (Arrow("x", "n"),), data=True)
    placed = lay_out(scene, RIGHT)
    spot: Rectangle = placed.positions[0]
    assert placed.lines[0].start[0] == pytest.approx(spot.x + spot.width / 2 - 4.5)


@pytest.mark.parametrize("format", ["svg", "png", "pdf", "dot", "mermaid"])
def test_every_format_has_the_direction(traces: dict[str, Trace], format: str) -> None:
    step = traces["logits_loss"].steps[0]
    down, right = (render(step, "forward", format, direction=direction) for direction in ("down", "right"))
    assert down != right
    if format == "svg":
        sizes = [[float(side) for side in re.findall(rb'(?:width|height)="([\d.]+)pt"', its)] for its in (down, right)]
        assert sizes[0][0] < sizes[0][1] and sizes[1][0] > sizes[1][1]
    elif format == "dot":
        assert b"rankdir=TB" in down and b"rankdir=LR" in right
    elif format == "mermaid":
        assert b"flowchart TD" in down and b"flowchart LR" in right


def test_another_layout_program_is_told_the_direction(traces: dict[str, Trace]) -> None:
    step = traces["logits_loss"].steps[0]
    for direction in ("down", "right"):
        picture = render(step, "forward", layout="graphviz-pure", direction=direction)
        width, height = map(float, re.findall(rb'(?:width|height)="([\d.]+)pt"', picture)[:2])
        assert (width > height) == (direction == "right")


def test_an_unknown_direction_is_refused(traces: dict[str, Trace]) -> None:
    with pytest.raises(ExportError, match="no direction 'up'; known ones: auto, down, right"):
        render(traces["logits_loss"].steps[0], direction="up")
