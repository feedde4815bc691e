"""Modules as frames: what stands in which, under which title, and open or closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.export import render
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Box, Scene
from autograph_cli.export.simplify.closing import close_below, close_to
from autograph_cli.export.simplify.repeats import fold_repeats
from autograph_cli.export.simplify.rolling import roll
from autograph_cli.graph import Graph
from autograph_cli.graph.views import forward
from autograph_cli.record.run.runner import Target, record
from tests.export.layout.test_layered import check
from tests.export.nets import Net, layers, linear


def scene_of(graph: Graph, *, data: bool = True) -> Scene:
    return framed(build(graph, "", data=data), graph)


def homes(scene: Scene) -> dict[str, str]:
    titles = {frame.id: frame.title for frame in scene.frames} | {"": ""}
    return {box.title: titles[box.frame] for box in scene.boxes}


def titles(scene: Scene) -> list[tuple[str, str]]:
    known = {frame.id: frame.title for frame in scene.frames} | {"": ""}
    return [(frame.title, known[frame.parent]) for frame in scene.frames]


def named(scene: Scene, title: str) -> Box:
    return next(box for box in scene.boxes if box.title == title)


def test_a_graph_without_modules_has_no_frames() -> None:
    net = Net()
    graph = net.graph(net.op("sin", net.leaf("x")))
    assert scene_of(graph).frames == ()


def test_modules_are_nested_frames_with_path_and_class() -> None:
    assert titles(scene_of(layers(2))) == [
        ("model: Model", ""),
        ("blocks.0: Block", "model: Model"),
        ("fc: Linear", "blocks.0: Block"),
        ("blocks.1: Block", "model: Model"),
        ("fc: Linear", "blocks.1: Block"),
    ]


def test_parameters_stand_in_their_module_under_a_short_name_and_the_users_own_stands_outside() -> None:
    scene = scene_of(layers(1))
    assert homes(scene) == {
        "x": "",
        "weight": "fc: Linear",
        "mul": "fc: Linear",
        "add": "blocks.0: Block",
        "sum": "",
        "y0": "",
    }
    assert "model.blocks.0.fc.weight" in named(scene, "weight").tooltip


def test_a_result_stands_outside_of_the_module_that_returned_it() -> None:
    net = Net()
    y = linear(net, "fc", net.leaf("x"))
    assert homes(scene_of(net.graph(y)))["y0"] == ""


def test_a_result_that_its_module_goes_on_with_stands_in_it() -> None:
    net = Net()
    call = net.call("fc", "Layer")
    y = net.op("mul", net.leaf("x"), call=call)
    assert homes(scene_of(net.graph(y, net.op("tanh", y, call=call))))["y0"] == "fc: Layer"


def test_each_call_of_a_reused_module_has_a_frame_with_its_own_weight() -> None:
    net = Net()
    x = net.leaf("x")
    weight = net.leaf("cell.weight", "cell")
    for turn in (1, 2):
        x = net.op("mul", x, weight, call=net.call("cell", "Cell", turn=turn, turns=2))
    scene = scene_of(net.graph(x))
    assert [title for title, _ in titles(scene)] == ["cell: Cell (call 1)", "cell: Cell (call 2)"]
    assert [(box.title, box.frame) for box in scene.boxes if box.small] == [("weight", "m0"), ("weight", "m1")]


def test_a_module_without_a_variable_goes_by_its_class() -> None:
    net = Net()
    graph = net.graph(linear(net, "Linear", net.leaf("x")))
    assert titles(scene_of(graph)) == [("Linear", "")]


def test_a_derivative_stands_in_the_module_in_its_own_band() -> None:
    net = Net()
    x = net.leaf("x")
    call = net.call("act", "Tanh")
    y = net.op("tanh", x, call=call)
    net.op("tanh_backward", x, call=call, of=y)
    scene = scene_of(net.graph(y), data=False)
    assert [(frame.id, frame.title, frame.band) for frame in scene.frames] == [
        ("m0", "act: Tanh", 0),
        ("m0_2", "act: Tanh", 2),
    ]
    assert {(box.band, box.frame) for box in scene.boxes if box.style == "derivative"} == {(2, "m0_2")}


def test_a_rolled_module_tells_how_often_it_ran() -> None:
    net = Net()
    x = net.leaf("x")
    weight = net.leaf("cell.weight", "cell")
    for turn in range(1, 6):
        x = net.op("mul", x, weight, call=net.call("cell", "Cell", turn=turn, turns=5))
    graph = net.graph(x)
    scene = framed(roll(build(graph, "", data=True), graph), graph)
    assert [title for title, _ in titles(scene)] == ["cell: Cell × 5"]


# ---------------------------------------------------------------- parts


def test_a_module_that_is_left_and_entered_again_is_drawn_in_parts() -> None:
    net = Net()
    call = net.call("outer", "Outer")
    x = net.op("sin", net.leaf("x"), call=call)
    y = net.op("exp", x)
    z = net.op("add", x, y, call=call)
    scene = split(scene_of(net.graph(z)))
    assert titles(scene) == [("outer: Outer (part 1 of 2)", ""), ("outer: Outer (part 2 of 2)", "")]
    assert homes(scene)["sin"] == "outer: Outer (part 1 of 2)" and homes(scene)["add"] == "outer: Outer (part 2 of 2)"
    assert scene.notes[-1].startswith("part: ")


def test_a_module_that_is_entered_once_is_not_split() -> None:
    scene = scene_of(layers(3))
    assert split(scene) is scene


def test_two_modules_that_feed_each_other_are_split_once() -> None:
    net = Net()
    a, b = net.call("a", "A"), net.call("b", "B")
    x = net.leaf("x")
    first = net.op("sin", x, call=a)
    net.op("add", net.op("exp", first, call=b), first, call=a)
    other = net.op("cos", x, call=b)
    net.op("mul", other, call=a)
    scene = split(scene_of(net.graph()))
    assert sum("part" in title for title, _ in titles(scene)) == 2


# ---------------------------------------------------------------- closed


def test_modules_below_the_depth_are_closed_and_tell_what_is_in_them() -> None:
    graph = layers(2)
    scene = close_below(split(scene_of(graph)), graph, 1)
    box = named(scene, "blocks.0: Block")
    assert (box.style, box.frame) == ("module", "m0")
    assert box.below == ("[3] → [3]", "3 parameters · 2 nodes")
    assert "model.blocks.0: Block" in box.tooltip and "in: x: float32[3]" in box.tooltip
    assert [frame.title for frame in scene.frames] == ["model: Model"]
    assert scene.notes[-1] == "closed: 2 modules below depth 1" and ("module", "closed module") in scene.legend


def test_at_depth_0_every_outermost_module_is_one_box() -> None:
    graph = layers(2)
    scene = close_below(split(scene_of(graph)), graph, 0)
    assert [box.title for box in scene.boxes] == ["x", "model: Model", "sum", "y0"]


def test_a_depth_that_nothing_reaches_changes_nothing() -> None:
    graph = layers(2)
    scene = scene_of(graph)
    assert close_below(scene, graph, 3) is scene


def test_a_closed_module_tells_its_nodes_of_each_order() -> None:
    net = Net()
    x = net.leaf("x")
    call = net.call("act", "Tanh")
    y = net.op("tanh", x, call=call)
    net.op("tanh_backward", x, call=call, of=y)
    graph = net.graph(y)
    scene = close_below(scene_of(graph, data=False), graph, 0)
    lines = [box.below[-1] for box in scene.boxes if box.style == "module"]
    assert lines == ["1 of order 0, 1 of order 1"] * 2


def test_what_comes_from_outside_stays_visible_when_a_module_is_closed() -> None:
    net = Net()
    x = net.leaf("x")
    y = x
    for number in range(6):  # so far apart that x is drawn at each use
        y = net.op("add", linear(net, f"fc{number}", y), x, call=number)
    graph = net.graph(y)
    scene = close_below(split(scene_of(graph)), graph, 0)
    small = [box for box in scene.boxes if box.title == "x"]
    assert len(small) == 6 and not any(box.frame for box in small)


def test_the_deepest_modules_are_closed_first_and_only_as_many_depths_as_it_takes() -> None:
    graph = layers(4)
    scene = split(scene_of(graph))
    once = close_to(scene, graph, len(scene.boxes) - 1)
    assert {box.title for box in once.boxes if box.style == "module"} == {"fc: Linear"}
    assert {box.title for box in close_to(scene, graph, 8).boxes if box.style == "module"} == {
        f"blocks.{number}: Block" for number in range(4)
    }
    assert {box.title for box in close_to(scene, graph, 1).boxes if box.style == "module"} == {"model: Model"}


# ---------------------------------------------------------------- equal modules


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("data", [True, False])
def test_equal_modules_in_a_row_are_drawn_once(skip: bool, data: bool) -> None:
    graph = layers(12, skip=skip)
    scene = fold_repeats(scene_of(graph, data=data), graph)
    assert [title for title, _ in titles(scene)] == ["model: Model", "blocks.0–11: Block × 12", "fc: Linear"]
    assert sum(box.title.lower().startswith("mul") for box in scene.boxes) == 1
    assert scene.notes[-1] == "× n: n equal modules, one after the other"
    ends = {box.id for box in scene.boxes}
    assert all(arrow.tail in ends and arrow.head in ends for arrow in scene.arrows)
    pairs = {(named_by(scene, arrow.tail), named_by(scene, arrow.head)) for arrow in scene.arrows}
    last = ("add" if skip else "tanh", "sum")
    assert (last if data else (f"{last[1].title()}Backward0", f"{last[0].title()}Backward0")) in pairs


def named_by(scene: Scene, key: str) -> str:
    return next(box.title for box in scene.boxes if box.id == key)


def test_closed_equal_modules_tell_that_their_parameters_are_their_own() -> None:
    graph = layers(12)
    scene = close_below(split(fold_repeats(scene_of(graph), graph)), graph, 1)
    assert named(scene, "blocks.0–11: Block × 12").below[1] == "12 × 3 parameters · 2 nodes"


def test_two_equal_modules_are_drawn_both() -> None:
    graph = layers(2)
    scene = scene_of(graph)
    assert fold_repeats(scene, graph) is scene


def test_modules_with_other_things_inside_are_drawn_by_themselves() -> None:
    net = Net()
    x = net.leaf("x")
    for number in range(6):
        call = net.call(f"layers.{number}", "Layer")
        x = net.op("sin" if number == 2 else "cos", x, call=call)
    graph = net.graph(x)
    found = [title for title, _ in titles(fold_repeats(scene_of(graph), graph))]
    assert found == ["layers.0: Layer", "layers.1: Layer", "layers.2: Layer", "layers.3–5: Layer × 3"]


def test_modules_that_are_wired_to_others_than_the_next_are_drawn_by_themselves() -> None:
    net = Net()
    x = before = net.leaf("x")
    for number in range(6):
        call = net.call(f"layers.{number}", "Layer")
        x, before = net.op("add", x, before, call=call), x
    graph = net.graph(x)
    scene = scene_of(graph)
    assert fold_repeats(scene, graph) is scene


# ---------------------------------------------------------------- formats


def test_frames_are_clusters_in_dot_and_subgraphs_in_mermaid() -> None:
    graph = layers(1)
    dot = render(graph, format="dot").decode()
    assert dot.index("cluster_m0") < dot.index("cluster_m1") < dot.index("cluster_m2")
    mermaid = render(graph, format="mermaid").decode()
    assert 'subgraph m1["blocks.0: Block"]' in mermaid and mermaid.count("\n  end") + mermaid.count("    end") >= 3


def test_every_format_draws_modules_open_and_closed() -> None:
    graph = layers(3)
    for depth in (None, 0, 1):
        for kind in ("svg", "pdf", "html", "dot", "mermaid"):
            assert render(graph, format=kind, depth=depth) == render(graph, format=kind, depth=depth)
        assert b"model: Model" in render(graph, format="svg", depth=depth)


def test_a_big_picture_of_equal_layers_is_folded() -> None:
    svg = render(layers(40), format="svg", max_nodes=50).decode()
    assert "blocks.0–39: Block × 40" in svg and "one of n turns of a loop" in svg
    svg = render(layers(40), format="svg", max_nodes=50, roll=False).decode()
    assert "blocks.0–39: Block × 40" in svg and "equal modules" in svg


@pytest.mark.parametrize("depth", [None, 0, 1, 2])
@pytest.mark.parametrize("data", [True, False])
def test_nothing_lies_on_anything_else_in_pictures_of_modules(data: bool, depth: int | None) -> None:
    for graph in (layers(4), layers(12), layers(5, skip=False)):
        for scene in (scene_of(graph, data=data), fold_repeats(scene_of(graph, data=data), graph)):
            parts = split(scene)
            check(lay_out(parts if depth is None else close_below(parts, graph, depth)))


def test_modules_called_in_a_comprehension_are_modules_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "heads.py").write_text(
        "import torch\nheads = [torch.nn.Linear(4, 2) for _ in range(5)]\nx = torch.ones(3, 4)\n"
        "outs = [head(x) for head in heads]\nsum(out.pow(2).sum() for out in outs).backward()\n"
    )
    graph = record(Target.of(str(tmp_path / "heads.py")))[1].steps[-1].graph
    frames = [frame.title for frame in scene_of(forward(graph)).frames]
    assert frames == [f"heads[{number}]: Linear" for number in range(5)]
