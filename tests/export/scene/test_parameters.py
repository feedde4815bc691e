"""Parameters on the operations that use them: which leaves, what is said of them, and from when on."""

from __future__ import annotations

import pytest

from autograph_cli.export import render
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.parameters import MANY, inline, inline_if_many
from autograph_cli.export.scene.records import Scene
from autograph_cli.graph import Graph
from tests.export.nets import Net, linear


def layers(count: int) -> Graph:
    net = Net()
    x = net.leaf("x")
    for number in range(count):
        x = linear(net, f"layer{number}", x)
    return net.graph(x)


def scene_of(graph: Graph, data: bool) -> Scene:
    return build(graph, "a.py", data=data)


@pytest.mark.parametrize("data", [True, False])
def test_a_leaf_with_one_use_is_written_on_the_operation(data: bool) -> None:
    scene = inline(scene_of(layers(2), data))
    assert not [box for box in scene.boxes if box.style == "leaf"]
    lines = [box.lines for box in scene.boxes if box.style == "operation"]
    assert lines == [("• x [3]", "• layer0.weight [3]"), ("• layer1.weight [3]",)]
    known = {box.id for box in scene.boxes}
    assert all({arrow.tail, arrow.head} <= known for arrow in scene.arrows)


def test_a_leaf_with_several_uses_keeps_its_box() -> None:
    net = Net()
    w = net.leaf("w")
    scene = inline(scene_of(net.graph(net.op("add", net.op("sin", w), net.op("cos", w))), data=True))
    assert [box.title for box in scene.boxes if box.style == "leaf"] == ["w"]


@pytest.mark.parametrize(("count", "inlined"), [(MANY - 1, False), (MANY, True)])
def test_many_operations_have_their_parameters_on_them(count: int, inlined: bool) -> None:
    scene = scene_of(layers(count), data=True)
    assert (inline_if_many(scene) != scene) == inlined


@pytest.mark.parametrize(("parameters", "shown"), [("inline", True), ("boxes", False), (None, False)])
def test_the_option_says_how_parameters_are_drawn(parameters: str | None, shown: bool) -> None:
    picture = render(layers(3), "forward", "svg", parameters=parameters, level="aten").decode()
    assert ("• layer1.weight" in picture or "• weight" in picture) == shown
