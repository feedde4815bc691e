"""A graph that is too much for a page at once: a tree of levels, of which each is small and all together are everything."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import Counter
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.export.options import Panels
from autograph_cli.export.page.levels import MOST, STUBS, levels
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.parts import split
from autograph_cli.export.scene.records import Scene
from autograph_cli.findings import Finding
from autograph_cli.graph import Graph, Slice, backward, double_backward, forward
from tests.export.nets import Net, layers, linear
from tests.export.pages import data_of, go_to, packs_of, view_of


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def blocks(count: int, each: int) -> Graph:
    """Modules in a row, each of so many operations with a leaf of their own."""
    net = Net()
    x, root = net.leaf("x"), net.call("model", "Model")
    for number in range(count):
        path = f"model.blocks.{number}"
        call = net.call(path, "Block", root)
        for place in range(each):
            x = net.op("add" if place % 3 else "mul", x, net.leaf(f"{path}.w{place}", path), call=call)
    return net.graph(x)


def flat(count: int) -> Graph:
    net = Net()
    x = net.leaf("x")
    for number in range(count):
        x = net.op("sin" if number % 2 else "cos", x)
    return net.graph(x)


def scene_of(graph: Graph, data: bool = True) -> tuple[Scene, Graph]:
    view = forward(graph) if data else backward(graph)
    return split(framed(build(view, "", data=data), view)), view


CASES = {
    "blocks": scene_of(blocks(60, 20)),
    "backward": scene_of(blocks(60, 20), data=False),
    "flat": scene_of(flat(4_000)),
    "one module": scene_of(blocks(1, 700)),
    "layers": scene_of(layers(300)),
}


@pytest.mark.parametrize("name", CASES)
def test_all_boxes_are_in_one_level_each_and_no_level_is_big(name: str) -> None:
    scene, found = CASES[name][0], levels(*CASES[name])
    drawn = [box.id for fold in found for box in fold.placed.scene.boxes]
    folds = {fold.key for fold in found} - {""}
    assert {box.id for box in scene.boxes} <= set(drawn) and len(drawn) == len(set(drawn))
    for fold in found:
        own = [box for box in fold.placed.scene.boxes if box.id not in fold.stubs]
        assert 1 < len(own) <= MOST and len(fold.stubs) <= 2 * (STUBS + 1)
        assert {box.id for box in own if box.id in folds} == {
            its.key for its in found if its.key and its.parent == fold.key
        }


@pytest.mark.parametrize("name", CASES)
def test_arrows_lead_between_what_they_led_between(name: str) -> None:
    scene, found = CASES[name][0], levels(*CASES[name])
    inside = {fold.key: set(fold.members) for fold in found}
    edges = {(arrow.tail, arrow.head) for arrow in scene.arrows}
    told = 0
    for fold in found:
        for arrow in fold.placed.scene.arrows:
            tails, heads = (inside.get(end) or {fold.stubs.get(end, end)} for end in (arrow.tail, arrow.head))
            assert not arrow.back, "no module here leads to one before it"
            told += any((tail, head) in edges for tail in tails for head in heads) or any(
                "…" in b.title for b in fold.placed.scene.boxes
            )
    assert told == sum(len(fold.placed.scene.arrows) for fold in found)


def test_a_closed_box_says_how_many_leaves_are_inside_and_their_names() -> None:
    box = next(
        box for fold in levels(*CASES["blocks"]) for box in fold.placed.scene.boxes if box.title == "blocks.3: Block"
    )
    assert box.lines == ("20 nodes: add, mul", "20 leaves: w0, w1, w2…") and "w19" in box.tooltip


def test_leaves_of_one_name_in_several_modules_are_told_apart() -> None:
    net = Net()
    x, model = net.leaf("x"), net.call("model", "Model")
    for number in range(60):
        block = net.call(f"model.{number}", "Block", model)
        for inner in ("a", "b"):
            x = linear(net, f"model.{number}.{inner}", x, block)
    view = forward(net.graph(x))
    found = levels(split(framed(build(view, "", data=True), view)), view)
    (box,) = [box for fold in found for box in fold.placed.scene.boxes if box.title == "7: Block"]
    assert box.lines[1].endswith("leaves: a.weight, b.weight") and box.lines[1].startswith("2 "), box.lines


def test_a_row_is_called_after_the_modules_in_it() -> None:
    view = forward(layers(150))
    found = levels(split(framed(build(view, "", data=True), view)), view)
    rows = [box.title for box in found[0].placed.scene.boxes if box.style == "folded"]
    assert rows[0].startswith("blocks.0: Block – blocks."), rows


def test_orders_stay_in_their_bands() -> None:
    net = Net()
    x = net.leaf("x")
    made = [x := net.op("sin", x) for _ in range(700)]
    for node in made:
        x = net.op("mul", x, of=node)
    graph = net.graph(x)
    view = double_backward(graph)
    found = levels(split(framed(build(view, "", data=False), view)), view)
    band = {box.id: box.band for box in build(view, "", data=False).boxes}
    assert len(found[0].placed.lanes) == 2
    assert all(len({band[member] for member in fold.members}) == 1 for fold in found[1:])


def test_each_order_begins_with_its_one_module_open() -> None:
    net = Net()
    x, model, made = net.leaf("x"), net.call("model", "Model"), []
    for number in range(12):
        block = net.call(f"model.{number}", "Block", model)
        made += [x := net.op("sin", x, call=block) for _ in range(40)]
    for node in reversed(made):
        x = net.op("mul", x, call=net.nodes[node].call, of=node)
    view = double_backward(net.graph(x))
    first = levels(split(framed(build(view, "", data=False), view)), view)[0].placed.scene.boxes
    assert sorted(Counter(box.band for box in first if box.style == "module").values()) == [12, 12]


def test_the_page_unpacks_to_what_was_packed() -> None:
    page = render(blocks(60, 20), "forward", "html", max_nodes=200, roll=False).decode()
    view = view_of(page)
    covered: list[int] = []
    packs = list(map(unpacked, packs_of(page)))
    shapes = packs[view["shapes"] : view["levels"]]
    for shape in shapes:
        assert shape["svg"].startswith("<svg") and len(shape["arrows"]) == shape["svg"].count('class="arrow"')
        assert all(f'id="b{number}"' in shape["svg"] for number in range(len(shape["at"])))
    last = view["levels"] + math.ceil(len(view["folds"]) / view["together"])
    levels_of = [both for each in packs[view["levels"] : last] for both in zip(*each, strict=True)]
    assert len(levels_of) == len(view["folds"]) > 2 * len(shapes), "levels of one shape are drawn once"
    for (_, number, *_), (level, outside) in zip(view["folds"].values(), levels_of, strict=True):
        assert len(level) == len(shapes[number]["at"])
        covered += [node for key, node, *_ in level if node >= 0 and key not in outside]
    assert set(range(len(blocks(60, 20)))) - set(covered) <= {box.get("node") for box in view["boxes"].values()}
    assert page == render(blocks(60, 20), "forward", "html", max_nodes=200, roll=False).decode()


def test_a_rolled_graph_that_is_small_is_drawn_whole() -> None:
    assert not view_of(render(flat(4_000), "forward", "html", max_nodes=200).decode())["folds"]


def test_folds_open_in_place(browser: Any, tmp_path: Any) -> None:
    (tmp_path / "big.html").write_bytes(render(blocks(60, 20), "forward", "html", max_nodes=200, roll=False))
    opened, said = browser.new_page(viewport={"width": 1300, "height": 850}), []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    go_to(opened, (tmp_path / "big.html").as_uri())
    first = opened.locator(".fold").first
    assert int(opened.get_attribute("#slider", "max")) == opened.locator(".fold").count(), "each is made"
    opened.keyboard.press(".")
    assert opened.text_content("#step").endswith(first.get_attribute("aria-label"))
    first.click()
    opened.get_by_role("tab", name="Backward").click()
    assert opened.locator(".fold.chosen:visible").count() == 1
    opened.keyboard.press("Escape")
    opened.keyboard.press("1")
    height, seen = opened.locator("#picture svg").bounding_box()["height"], opened.locator(".box:visible").count()
    first.dblclick()
    opened.locator(".opened:visible").wait_for()
    assert opened.locator(".box:visible").count() > seen
    assert opened.locator("#picture svg").bounding_box()["height"] > height
    frame, boxes = opened.locator(".opened > rect").first.bounding_box(), opened.locator(".opened .box:visible")
    for number in range(boxes.count()):
        box = boxes.nth(number).bounding_box()
        assert frame["y"] < box["y"] and box["y"] + box["height"] < frame["y"] + frame["height"]
        assert frame["x"] < box["x"] and box["x"] + box["width"] < frame["x"] + frame["width"]
    opened.locator(".opened .sign").first.click()
    opened.locator(".opened:visible").wait_for(state="detached")
    assert opened.locator(".box:visible").count() == seen
    opened.fill("#search", "model.blocks.31.w7")
    opened.keyboard.press("Enter")
    opened.locator(".box.chosen:visible").wait_for()
    assert opened.locator(".opened:visible").count() >= 1 and opened.locator(".box.chosen").count() == 1
    assert opened.locator(".opened .arrow.lit").count() == opened.locator(".opened .label.lit").count() > 0
    opened.get_by_role("tab", name="Backward").click()
    assert "inside of a closed box" in opened.text_content("#hangs")
    assert said == []


def test_a_graph_that_is_too_much_for_a_page_has_an_outline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words count runs as such, findings lead to the run that has their nodes, and a module of it is whole."""
    monkeypatch.setattr("autograph_cli.export.page.sheets.WHOLE", 1_000)
    monkeypatch.setattr("autograph_cli.export.page.sheets.OUTLINED", 40)
    graph = blocks(60, 20)
    panels = Panels((Finding("AG901", "of one", None, "since", "do so", (), (700,)),))
    data = data_of(render(graph, "forward", "html", max_nodes=200, panels=panels).decode())
    view = view_of(render(graph, "forward", "html", max_nodes=200, panels=panels).decode())
    assert view["about"].startswith("An outline of 2,401 nodes: about 61 that ran in a row are a box each.")
    titles = {box["title"] for box in view["boxes"].values()}
    assert "model.blocks.0–1: Block {40 nodes}" in titles, titles
    (frame,) = view["frames"].values()
    assert frame["lines"][-1] == "30 runs"
    (number,) = data["findings"][0]["nodes"]
    assert data["nodes"][number]["title"] == "model.blocks.16–17: Block {40 nodes}"
    part = view_of(render(graph, "forward", "html", max_nodes=200, part=Slice(modules=("model.blocks.3",))).decode())
    assert part["about"].startswith("41 nodes") and not part["folds"]
