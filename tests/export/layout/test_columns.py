"""Long pictures stand in columns or rows: nothing is on anything else, and every arrow is still in one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from autograph_cli.export.layout.columns import TALL, WIDEST, in_columns
from autograph_cli.export.layout.direction import DOWN, RIGHT, Direction
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Line, Placed, Point
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Arrow, Band, Box, Frame, Scene
from autograph_cli.export.style import EDGE, label_width


def chain(
    count: int,
    band: Callable[[int], int] = lambda number: 0,
    frame: Callable[[int], str] = lambda number: "",
    word: str = "step",
) -> Scene:
    boxes = tuple(Box(f"n{i}", "operation", f"{word} {i}", band=band(i), frame=frame(i)) for i in range(count))
    arrows = tuple(Arrow(f"n{i}", f"n{i + 1}", "[3, 4]") for i in range(count - 1))
    used = sorted({box.band for box in boxes})
    bands = tuple(Band(number, f"order {number // 2}") for number in used) if len(used) > 1 else ()
    frames = tuple(Frame(name, name) for name in dict.fromkeys(box.frame for box in boxes) if name)
    return Scene("a.py", boxes, arrows, bands, (("operation", "operation"),), ("a note",), data=True, frames=frames)


WIDE = "a step with a long name that makes a picture wide"


BOTH = pytest.mark.parametrize("way", [DOWN, RIGHT], ids=["columns", "rows"])


def columns_of(placed: Placed, way: Direction = DOWN) -> int:
    """Return how often the main way goes back to where it began."""
    spots = [spot for box, spot in zip(placed.scene.boxes, placed.positions, strict=True) if box.style != "port"]
    along = [spot.x if way.right else spot.y for spot in spots]
    return 1 + sum(b < a - 100 for a, b in itertools.pairwise(along))


def broken(scene: Scene, way: Direction = DOWN) -> Placed:
    return in_columns(lay_out(scene, way), way)


def distance(point: Point) -> Callable[[Point, Point], float]:
    """Return how far the point is from a straight piece of a line."""

    def of(a: Point, b: Point) -> float:
        length = math.dist(a, b) or 1.0
        along = ((point[0] - a[0]) * (b[0] - a[0]) + (point[1] - a[1]) * (b[1] - a[1])) / length**2
        t = min(max(along, 0.0), 1.0)
        return math.dist(point, (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))

    return of


def corners(line: Line) -> list[Point]:
    return [line.start, *(stroke[-1] for stroke in line.strokes)]


def check(placed: Placed, way: Direction = DOWN) -> None:
    """Assert what every picture keeps, broken or not."""
    for a, b in itertools.combinations(placed.positions, 2):
        assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
    index = {box.id: number for number, box in enumerate(placed.scene.boxes)}
    for arrow, line in zip(placed.scene.arrows, placed.lines, strict=True):
        for x, y in line.points():
            assert 0 <= x <= placed.width and 0 <= y <= placed.height, "an arrow leaves the paper"
            for spot in placed.positions:
                inner = abs(x - spot.x) < spot.width / 2 - 0.5 and abs(y - spot.y) < spot.height / 2 - 0.5
                assert not inner, "an arrow crosses a box"
        for key, (x, y) in ((arrow.tail, line.start), (arrow.head, line.strokes[-1][-1])):
            spot = placed.positions[index[key]]
            if way.right:
                (x, y), spot = (y, x), spot.turned()
            assert abs(x - spot.x) <= spot.width / 2 and abs(abs(y - spot.y) - spot.height / 2) < 0.1
        if line.label:
            (x, y), half = line.label, label_width(arrow.label) / 2
            assert half <= x <= placed.width - half
            assert min(itertools.starmap(distance((x, y)), itertools.pairwise(line.points()))) < 12, (
                "a label lies apart"
            )
            assert not any(
                abs(x - s.x) < half + s.width / 2 - 1 and abs(y - s.y) < (EDGE + s.height) / 2 - 1
                for s in placed.positions
            )
    for areas in (placed.plates, placed.lanes):
        for a, b in itertools.combinations(areas, 2):
            beside = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
            nested = a.left <= b.left and b.right <= a.right and a.top <= b.top and b.bottom <= a.bottom
            assert beside or nested
    for box, spot in zip(placed.scene.boxes, placed.positions, strict=True):
        for areas, name in ((placed.lanes, box.band), (placed.plates, box.frame)):
            mine = [
                x for x in areas if name in (getattr(x, "band", x), getattr(getattr(x, "band", None), "number", None))
            ]
            mine += [x for x in placed.plates if areas is placed.plates and name and x.frame.id.split(".")[0] == name]
            held = any(
                x.left <= spot.x - spot.width / 2
                and spot.x + spot.width / 2 <= x.right
                and x.top < spot.y - spot.height / 2
                and spot.y + spot.height / 2 < x.bottom
                for x in mine
            )
            assert held or not mine, "a box stands outside of its band or frame"


def test_a_picture_that_fits_stays_as_it_is() -> None:
    placed = lay_out(chain(3))
    assert in_columns(placed) is placed


def test_a_long_chain_is_broken_until_it_fits() -> None:
    placed = broken(chain(40))
    check(placed)
    assert columns_of(placed) >= 3
    assert placed.height < TALL * placed.width + 150


def test_a_long_chain_to_the_right_is_broken_into_rows_as_wide_as_a_page() -> None:
    placed = broken(chain(60), RIGHT)
    check(placed, RIGHT)
    assert columns_of(placed, RIGHT) >= 4
    assert WIDEST / 2 < placed.width <= WIDEST
    for line in placed.lines:
        (x0, y0), (x1, y1) = line.start, line.strokes[-1][-1]
        assert x1 > x0 or y1 > y0, "the next row is not below"


def test_a_frame_is_no_higher_in_a_row_than_what_it_holds_there() -> None:
    scene = chain(60, frame=lambda number: "model")
    many = tuple(Box(f"w{i}", "leaf", "weight", frame="model") for i in range(5))
    arrows = tuple(Arrow(box.id, "n55") for box in many)
    placed = broken(replace(scene, boxes=scene.boxes + many, arrows=scene.arrows + arrows), RIGHT)
    check(placed, RIGHT)
    heights = [plate.bottom - plate.top for plate in placed.plates]
    assert len(heights) > 3 and heights[0] < heights[-1] / 2


@BOTH
def test_an_arrow_into_another_column_ends_at_a_letter_and_goes_on_from_it_there(way: Direction) -> None:
    scene = chain(40, word=WIDE)
    placed = broken(replace(scene, arrows=(*scene.arrows, Arrow("n1", "n38", "[5]"), Arrow("n1", "n37", "[5]"))), way)
    check(placed, way)
    arrows, letters = placed.scene.arrows, {box.id: box for box in placed.scene.boxes if box.style == "port"}
    for tail, head in (("n1", "n38"), ("n1", "n37")):
        begins = [letters[arrow.head] for arrow in arrows if arrow.tail == tail and arrow.head in letters]
        ends = [letters[arrow.tail] for arrow in arrows if arrow.head == head and arrow.tail in letters]
        assert {box.title.split()[0] for box in begins} & {box.title.split()[0] for box in ends}
    assert sum("[5]" in words for words in (*(box.title for box in letters.values()), *(its.label for its in arrows)))
    assert any(f"{WIDE} 38" in box.tooltip for box in letters.values())


def test_bands_are_broken_between_each_other_where_that_is_even() -> None:
    placed = broken(chain(24, band=lambda number: 2 * (number < 12), word=WIDE))
    check(placed)
    assert [lane.part for lane in placed.lanes] == [0, 0]
    assert placed.lanes[0].right < placed.lanes[1].left


@BOTH
@pytest.mark.parametrize("kind", ["band", "frame"])
def test_a_part_of_a_band_or_a_frame_says_that_it_goes_on(kind: str, way: Direction) -> None:
    scene = (
        chain(30, band=lambda n: 2 * (n < 29)) if kind == "band" else chain(30, frame=lambda n: "model" * (0 < n < 29))
    )
    placed = broken(split(scene), way)
    check(placed, way)
    titles = [lane.band.title for lane in placed.lanes] + [plate.frame.title for plate in placed.plates]
    assert any(title.endswith(" (continued)") for title in titles)
    ids = [plate.frame.id for plate in placed.plates]
    assert len(set(ids)) == len(ids)


@st.composite
def tall_scenes(draw: st.DrawFn) -> Scene:
    """A long chain with branches, skips of any length, frames and bands."""
    count = draw(st.integers(20, 40))
    border = draw(st.integers(0, count))
    framed = draw(st.booleans())
    scene = chain(
        count,
        band=(lambda n: 2 * (n < border)) if 0 < border < count and not framed else lambda n: 0,
        frame=(lambda n: "model" * (2 < n < count - 2)) if framed else lambda n: "",
    )
    skips = draw(st.lists(st.tuples(st.integers(0, count - 2), st.integers(1, 12)), max_size=6))
    more = tuple(Arrow(f"n{a}", f"n{min(a + by, count - 1)}", "[2]") for a, by in skips)
    sides = draw(st.lists(st.integers(0, count - 1), max_size=5))
    boxes = tuple(
        Box(f"s{number}", "operation", "weight", band=scene.boxes[at].band, frame=scene.boxes[at].frame)
        for number, at in enumerate(sides)
    )
    arrows = tuple(Arrow(f"s{number}", f"n{at}", "[4]") for number, at in enumerate(sides))
    return Scene(
        scene.title,
        scene.boxes + boxes,
        scene.arrows + more + arrows,
        scene.bands,
        scene.legend,
        scene.notes,
        data=True,
        frames=scene.frames,
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tall_scenes(), st.sampled_from([DOWN, RIGHT]))
def test_nothing_lies_on_anything_else_in_any_long_picture(scene: Scene, way: Direction) -> None:
    check(broken(split(scene), way), way)
