"""The layered layout: nothing is on anything else, and nothing is outside the paper."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from autograph_cli.export.layout.arranging import FRAME_TITLE
from autograph_cli.export.layout.direction import DOWN, RIGHT, Direction
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.layout.placed import Line, Placed, Rectangle, phases
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Arrow, Band, Box, Frame, Scene
from autograph_cli.export.style import EDGE, SLANT, box_size, label_width, text_width
from autograph_cli.graph import Trace, backward, double_backward, forward

VIEWS = {"forward": forward, "backward": backward, "double": lambda graph: double_backward(graph, None, 4)}


def inside(spot: Rectangle, x: float, y: float, by: float = 0.5) -> bool:
    if spot.round:
        return ((x - spot.x) / (spot.width / 2 - by)) ** 2 + ((y - spot.y) / (spot.height / 2 - by)) ** 2 < 1
    return abs(x - spot.x) < spot.width / 2 - by and abs(y - spot.y) < spot.height / 2 - by


def crosses(box: Box, spot: Rectangle, x: float, y: float) -> bool:
    if box.style != "input":
        return inside(spot, x, y)
    lean = SLANT * (0.5 - (y - spot.y + spot.height / 2) / spot.height)
    return inside(replace(spot, x=spot.x + lean, width=spot.width - SLANT), x, y)


def check_frames(placed: Placed) -> None:
    """Assert that frames hold what is theirs and nothing else, and that nothing runs through their titles."""
    scene = placed.scene
    known = {frame.id: frame for frame in scene.frames}
    homes = {box.id: set(around(box.frame, known)) for box in scene.boxes}
    assert [plate.frame for plate in placed.plates] == list(scene.frames)
    for plate in placed.plates:
        width = text_width(plate.frame.title) * FRAME_TITLE
        title = (plate.title[0], plate.title[1] - 9, plate.title[0] + width, plate.title[1] + 3)
        assert plate.left < title[0] and title[2] < plate.right, "a title is cut off"
        for box, spot in zip(scene.boxes, placed.positions, strict=True):
            sides = (
                spot.x - spot.width / 2,
                spot.y - spot.height / 2,
                spot.x + spot.width / 2,
                spot.y + spot.height / 2,
            )
            within = (
                plate.left < sides[0] and plate.top < sides[1] and sides[2] < plate.right and sides[3] < plate.bottom
            )
            beside = plate.right < sides[0] or sides[2] < plate.left or plate.bottom < sides[1] or sides[3] < plate.top
            assert within if plate.frame.id in homes[box.id] else beside
            assert not overlap(sides, title), "a box lies on a title"
        for other in placed.plates:
            if plate.frame.id in around(other.frame.parent, known):
                assert plate.left < other.left and other.right < plate.right
                assert title[3] < other.top and other.bottom < plate.bottom
        for arrow, line in zip(scene.arrows, placed.lines, strict=True):
            theirs = plate.frame.id in homes[arrow.tail] | homes[arrow.head]
            for x, y in line.points():
                inner = plate.left + 0.5 < x < plate.right - 0.5 and plate.top + 0.5 < y < plate.bottom - 0.5
                assert theirs or not inner, "an arrow crosses a frame that it has nothing to do with"
                assert not (title[0] < x < title[2] and title[1] < y < title[3]), "an arrow crosses a title"


def around(frame: str, known: dict[str, Frame]) -> list[str]:
    return [frame, *around(known[frame].parent, known)] if frame else []


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def check(placed: Placed) -> None:
    """Assert what every picture keeps."""
    scene = placed.scene
    check_frames(placed)
    count = len(scene.boxes)
    for a, b in itertools.combinations(placed.positions, 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, "boxes lie on each other"
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    written = {(arrow.tail, arrow.label) for arrow, line in zip(scene.arrows, placed.lines, strict=True) if line.label}
    for arrow, line in zip(scene.arrows, placed.lines, strict=True):
        for x, y in line.points():
            assert not any(map(crosses, scene.boxes, placed.positions, (x,) * count, (y,) * count)), (
                "an arrow crosses a box"
            )
            assert 0 <= x <= placed.width and 0 <= y <= placed.height
        for key, (x, y) in ((arrow.tail, line.start), (arrow.head, line.strokes[-1][-1])):
            assert inside(placed.positions[index[key]], x, y, by=-1.0), "an arrow ends beside its box"
        assert not line.label or arrow.label
        assert line.label or not arrow.label or (arrow.tail, arrow.label) in written, "a label is nowhere"
        if line.label:
            (x, y), half = line.label, label_width(arrow.label) / 2
            assert half <= x <= placed.width - half, "a label is cut off"
            for spot in placed.positions:
                assert abs(x - spot.x) >= half + spot.width / 2 - 1 or abs(y - spot.y) >= (EDGE + spot.height) / 2 - 1
    for box, spot in zip(scene.boxes, placed.positions, strict=True):
        assert (spot.width, spot.height) == box_size(
            box.style, box.title, box.subtitle, 10 if box.small else 12, box.lines
        )
        lane = next((lane for lane in placed.lanes if lane.band.number == box.band), None)
        if lane:
            assert lane.top < spot.y - spot.height / 2 and spot.y + spot.height / 2 < lane.bottom
            assert lane.left <= spot.x - spot.width / 2 and spot.x + spot.width / 2 <= lane.right
    for sample in placed.samples:
        width = text_width(sample.words) * EDGE
        assert sample.position.x + (width / 2 if sample.style else width) <= placed.width, "the legend is cut off"


@pytest.mark.parametrize("way", [DOWN, RIGHT])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_lies_on_anything_else_in_real_graphs(traces: dict[str, Trace], view: str, way: Direction) -> None:
    for trace in traces.values():
        graph = VIEWS[view](trace.steps[0].graph)
        check(lay_out(build(graph, trace.script, data=view == "forward"), way))


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Graphs of any wiring, in up to three bands, with edges over many rows, twice, and up into a higher band."""
    count = draw(st.integers(1, 14))
    several = draw(st.booleans())
    bands = [draw(st.integers(0, 2)) * several for _ in range(count)]
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=24))
    boxes = tuple(
        Box(
            f"n{i}",
            draw(st.sampled_from(("leaf", "input", "operation", "result"))),
            "name" * draw(st.integers(1, 4)),
            "under" * draw(st.integers(0, 1)),
            band=band,
        )
        for i, band in enumerate(bands)
    )
    arrows = tuple(
        Arrow(f"n{a}", f"n{b}", "[12, 34]" * draw(st.integers(0, 1)), bands[a] != bands[b])
        for a, b in pairs
        if a < b or bands[a] != bands[b]
    )
    used = sorted(set(bands))
    drawn = tuple(Band(number, f"order {number}") for number in used) if len(used) > 1 else ()
    return Scene("title", boxes, arrows, drawn, (("leaf", "leaf"),), ("a note", "and one more"), draw(st.booleans()))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(scenes())
def test_nothing_lies_on_anything_else_in_any_graph(scene: Scene) -> None:
    for way in (DOWN, RIGHT):
        check(lay_out(scene, way))
        assert lay_out(scene, way) == lay_out(scene, way)


@st.composite
def framed_scenes(draw: st.DrawFn) -> Scene:
    """The same, with boxes in frames that are in each other in any way."""
    scene = draw(scenes())
    count = draw(st.integers(1, 5))
    parents = [draw(st.integers(-1, number - 1)) for number in range(count)]
    wanted = [draw(st.integers(-1, count - 1)) for _ in scene.boxes]
    used = sorted(
        {(number, box.band) for box, home in zip(scene.boxes, wanted, strict=True) for number in up(home, parents)}
    )
    frames = tuple(
        Frame(
            f"m{number}_{band}",
            "conv: Conv2d" * draw(st.integers(1, 2)),
            f"m{parents[number]}_{band}" if parents[number] >= 0 else "",
            band,
        )
        for number, band in used
    )
    boxes = tuple(
        replace(box, frame=f"m{home}_{box.band}" if home >= 0 else "")
        for box, home in zip(scene.boxes, wanted, strict=True)
    )
    backs = draw(st.lists(st.integers(0, max(0, len(scene.arrows) - 1)), max_size=2)) if not scene.bands else []
    turned = tuple(
        replace(arrow, tail=arrow.head, head=arrow.tail, back=True)
        for number, arrow in enumerate(scene.arrows)
        if number in backs
    )
    return split(replace(scene, boxes=boxes, frames=frames, arrows=(*scene.arrows, *turned)))


def up(frame: int, parents: list[int]) -> list[int]:
    return [frame, *up(parents[frame], parents)] if frame >= 0 else []


@settings(max_examples=120, deadline=None, derandomize=True)
@given(framed_scenes())
def test_nothing_lies_on_anything_else_in_any_graph_with_modules(scene: Scene) -> None:
    for way in (DOWN, RIGHT):
        check(lay_out(scene, way))
        assert lay_out(scene, way) == lay_out(scene, way)


def test_a_chain_is_a_straight_line() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "mul" * (1 + i % 3)) for i in range(9))
    placed = lay_out(Scene("", boxes, tuple(Arrow(f"n{i}", f"n{i + 1}") for i in range(8))))
    assert len({round(spot.x, 3) for spot in placed.positions}) == 1
    assert all(len(line.strokes) == 1 for line in placed.lines)


def test_two_separate_graphs_stand_side_by_side() -> None:
    boxes = tuple(Box(f"n{i}", "operation", "mul") for i in range(6))
    arrows = (Arrow("n0", "n1"), Arrow("n1", "n2"), Arrow("n3", "n4"), Arrow("n4", "n5"))
    placed = lay_out(Scene("", boxes, arrows))
    assert {round(spot.x - placed.positions[0].x, 3) for spot in placed.positions[3:]} == {
        round(placed.positions[0].width + 20, 3)
    }


def test_what_has_two_inputs_stands_in_the_middle_of_them() -> None:
    boxes = (Box("n0", "leaf", "x"), Box("n1", "leaf", "y"), Box("n2", "operation", "add"))
    one, two, both = lay_out(Scene("", boxes, (Arrow("n0", "n2"), Arrow("n1", "n2")), data=True)).positions
    assert both.x == pytest.approx((one.x + two.x) / 2)


def test_an_unused_side_branch_hangs_near_its_user() -> None:
    boxes = (*(Box(f"n{i}", "operation", "mul") for i in range(7)), Box("b", "leaf", "b"))
    arrows = (*(Arrow(f"n{i}", f"n{i + 1}") for i in range(6)), Arrow("n0", "b"))
    placed = lay_out(Scene("", boxes, arrows))
    assert placed.positions[7].y == pytest.approx(placed.positions[1].y)


def test_a_recurrence_runs_straight_down_with_its_weights_beside_it() -> None:
    boxes, arrows = [Box("n0", "operation", "tanh")], []
    for turn in range(1, 40):
        boxes += [Box(f"n{turn}", "operation", "tanh"), Box(f"m{turn}", "operation", "mm")]
        boxes += [Box(f"{tag}{turn}", "leaf", tag, small=True) for tag in ("x", "u", "b")]
        arrows += [Arrow(f"n{turn - 1}", f"n{turn}"), Arrow(f"m{turn}", f"n{turn}"), Arrow(f"b{turn}", f"n{turn}")]
        arrows += [Arrow(f"x{turn}", f"m{turn}"), Arrow(f"u{turn}", f"m{turn}")]
    placed = lay_out(Scene("", tuple(boxes), tuple(arrows), data=True))
    check(placed)
    at = {box.id: spot.x for box, spot in zip(boxes, placed.positions, strict=True)}
    main = [at[f"n{turn}"] for turn in range(12, 40)]
    assert max(main) - min(main) < 1
    assert all(abs(at[f"m{turn}"] - at[f"n{turn}"]) < 150 for turn in range(12, 40))


def test_dashed_arrows_that_end_as_one_are_dashed_as_one() -> None:
    scene = Scene("", (), (Arrow("a", "c", dashed=True), Arrow("b", "c", dashed=True), Arrow("b", "d", dashed=True)))
    ways = ((0.0, 0.0), 100.0), ((0.0, 7.0), 100.0), ((9.0, 0.0), 90.0)
    lines = tuple(Line(start, (((start[0], bottom),),)) for start, bottom in ways)
    first, second, alone = phases(Placed(scene, (), lines, (), (), 10.0, 100.0))
    assert (first + 92) % 8 == (second + 85) % 8 == 0  # the dash of 5 and its gap of 3 begin anew where the head begins
    assert alone == 0


def test_what_is_used_once_lies_near_its_use_beside_a_tall_frame() -> None:
    boxes = [Box(f"n{i}", "operation", f"op {i}", band=0, frame="m0" if i < 4 else "") for i in range(4)]
    boxes += [Box("n4", "input", "target", band=0), Box("n5", "operation", "loss", band=0)]
    arrows = [Arrow(f"n{i}", f"n{i + 1}") for i in range(3)] + [Arrow("n3", "n5"), Arrow("n4", "n5")]
    scene = Scene("", tuple(boxes), tuple(arrows), data=True, frames=(Frame("m0", "net: Net"),))
    spots = dict(zip([box.id for box in boxes], lay_out(scene).positions, strict=True))
    assert spots["n3"].y < spots["n4"].y < spots["n5"].y


@pytest.mark.parametrize("data", [True, False])
def test_a_chain_with_skip_connections_stands_straight(data: bool) -> None:
    boxes = tuple(Box(f"n{number}", "operation", f"a box {number}") for number in range(13))
    pairs = [*itertools.pairwise(range(13)), *((start, start + 4) for start in (0, 4, 8))]
    arrows = tuple(Arrow(f"n{a}", f"n{b}", "[128, 64]") for a, b in pairs)
    across = [spot.x for spot in lay_out(Scene("", boxes, arrows, data=data)).positions]
    assert max(across) - min(across) < 0.1


def test_labels_of_arrows_that_run_together_lie_on_no_other_arrow() -> None:
    boxes = (*(Box(f"n{number}", "leaf", f"a weight {number}") for number in range(7)), Box("n7", "operation", "layer"))
    arrows = tuple(Arrow(f"n{number}", "n7", "[256, 16]") for number in range(7))
    placed = lay_out(Scene("", boxes, arrows, data=True))
    half = label_width("[256, 16]") / 2
    for own, line in enumerate(placed.lines):
        assert line.label
        x, y = line.label
        for other, another in enumerate(placed.lines):
            met = [
                point for point in another.points(64) if abs(point[0] - x) < half and abs(point[1] - y) < EDGE / 2 - 1
            ]
            assert own == other or not met


def test_of_arrows_side_by_side_from_one_box_one_has_the_label_of_both() -> None:
    words = "[0.7269, -0.1362, 4.911e-05]"
    boxes = (Box("n0", "operation", "tanh_backward"), *(Box(f"n{i}", "operation", "mul") for i in (1, 2)))
    for label, written in ((words, 1), ("[3]", 2)):
        placed = lay_out(Scene("", boxes, (Arrow("n0", "n1", label), Arrow("n0", "n2", label)), data=True))
        assert sum(line.label is not None for line in placed.lines) == written


def test_the_title_of_a_narrow_band_lies_on_no_arrow() -> None:
    boxes = (Box("n0", "derivative", "d", band=2), Box("n1", "operation", "o"))
    bands = (Band(0, "order 0 · forward"), Band(2, "order 1 · backward"))
    placed = lay_out(Scene("", boxes, (Arrow("n0", "n1", dashed=True),), bands))
    lane = next(lane for lane in placed.lanes if not lane.band.number)
    assert (
        placed.lines[0].start[0] < lane.title[0]
        or placed.lines[0].start[0] > lane.title[0] + text_width(lane.band.title) * 11
    )
    assert lane.title[0] + text_width(lane.band.title) * 11 < lane.right


def test_a_chain_in_a_frame_stands_straight_beside_its_arrows_into_another_order() -> None:
    boxes = [Box(f"n{number}", "derivative", "derivative", band=2, frame="m0") for number in range(6)]
    boxes += [Box(f"n{number}", "operation", "operation") for number in range(6, 12)]
    frame = Frame("m0", "model", band=2)
    arrows = [Arrow(f"n{a}", f"n{a + 1}", "[3]") for a in range(11) if a != 5]
    arrows += [Arrow(f"n{5 - a}", f"n{a + 6}", "[128, 64]", dashed=True) for a in range(6)]
    scene = Scene("", tuple(boxes), tuple(arrows), (Band(0, "order 0"), Band(2, "order 1")), frames=(frame,))
    across = [spot.x for spot in lay_out(scene).positions[:4]]
    assert max(across) - min(across) < 1


def test_labels_of_long_arrows_side_by_side_stand_at_several_heights() -> None:
    boxes = [Box(f"n{number}", "operation", f"box {number}") for number in range(8)]
    pairs = [*itertools.pairwise(range(8)), *[(0, 7)] * 6]
    arrows = tuple(Arrow(f"n{a}", f"n{b}", "[128, 64]") for a, b in pairs)
    placed = lay_out(Scene("", tuple(boxes), arrows))
    assert len({line.label[1] for line in placed.lines[7:] if line.label}) > 2


@pytest.mark.parametrize("data", [True, False])
def test_tall_modules_that_may_stand_side_by_side_do(data: bool) -> None:
    boxes = [Box(f"{name}{i}", "operation", "op", frame=name) for name in "mk" for i in range(6)]
    boxes += [Box(f"n{i}", "operation", "op") for i in range(3)]
    arrows = [Arrow(f"{name}{i}", f"{name}{i + 1}") for name in "mk" for i in range(5)]
    arrows += [Arrow("n0", "m0"), Arrow("n0", "n1"), Arrow("n1", "n2"), Arrow("n2", "k0")]
    if data:
        arrows = [replace(arrow, tail=arrow.head, head=arrow.tail) for arrow in arrows]
    frames = (Frame("m", "m: Net"), Frame("k", "k: Net"))
    placed = lay_out(Scene("", tuple(boxes), tuple(arrows), data=data, frames=frames))
    check(placed)
    first, second = placed.plates
    assert first.top < second.bottom and second.top < first.bottom


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("labels", [("[5, 24]", "[5, 24]"), ("[4, 2] × 3", "[4, 2]"), ("× 6", "[4, 2]", "scalar")])
def test_arrows_between_the_same_boxes_have_room_for_their_labels(labels: tuple[str, ...], right: bool) -> None:
    boxes = tuple(Box(key, "module", "cell: LSTMCell × 10", "3,648 parameters", ("15 of order 0",) * 4) for key in "ab")
    arrows = [
        Arrow(*("ba" if number == 1 else "ab"), label, back=number == 1, tensors=((0, number),))
        for number, label in enumerate(labels)
    ]
    placed = lay_out(Scene("", boxes, tuple(arrows)), way=RIGHT if right else DOWN)
    spots = [line.label for line in placed.lines]
    assert all(spots)
    for (one, a), (other, b) in itertools.combinations(zip(labels, spots, strict=True), 2):
        assert a is not None and b is not None
        beside = abs(a[0] - b[0]) >= (label_width(one) + label_width(other)) / 2
        assert beside or abs(a[1] - b[1]) >= EDGE, (a, b)
