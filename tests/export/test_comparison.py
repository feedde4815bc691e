"""Pictures of a diff: what changed is shown, the rest folded."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli import torch
from autograph_cli.export import ExportError
from autograph_cli.export.compared_scenes import laid_out
from autograph_cli.export.comparison import both_scenes, render_diff, side_by_side, union_scene
from autograph_cli.graph import Graph, Trace, diff
from tests.graph.nets import inserted, net
from tests.record.recording import record

LOOKS = {"added", "removed", "changed"}


def styles(svg: bytes) -> Counter[str]:
    return Counter(re.findall(r'class="(\w+)"', svg.decode()))


def test_a_big_graph_is_folded_around_what_changed() -> None:
    graph = net(1_000)
    at = next(node.id for node in graph if node.id > 500 and node.kind == "operation")
    found = styles(render_diff(diff(graph, inserted(graph, at, "cosh"))))
    assert found["added"] == 1
    assert found["folded"] < 8
    assert found["operation"] < 8


def test_added_removed_and_changed_are_told_apart() -> None:
    graph = net(12)
    at = next(node.id for node in graph if node.kind == "operation")
    added, removed = diff(graph, inserted(graph, at, "cosh")), diff(inserted(graph, at, "cosh"), graph)
    assert styles(render_diff(added))["added"] == styles(render_diff(removed))["removed"] == 1
    assert b"dashed: no longer" in render_diff(removed)


def test_derivatives_are_in_bands_of_their_own(traces: dict[str, Trace]) -> None:
    graph = traces["sinh_function"].steps[-1].graph
    texts = [element.text for element in ET.fromstring(render_diff(diff(graph, net(5)))).iter() if element.text]
    assert {"order 0 · forward", "order 1 · backward"} <= set(texts)


@pytest.mark.parametrize("format", ["svg", "dot"])
def test_the_same_diff_gives_the_same_bytes(format: str) -> None:
    graph = net(60)
    other = inserted(graph, 59, "cosh")
    assert render_diff(diff(graph, other), format) == render_diff(diff(graph, other), format)


def test_equal_graphs_and_unknown_formats_are_refused() -> None:
    graph = net(5)
    with pytest.raises(ExportError, match="the graphs are the same"):
        render_diff(diff(graph, graph))
    with pytest.raises(ExportError, match="There is no format 'gif' for a diff"):
        render_diff(diff(graph, graph), "gif")


@pytest.mark.parametrize("size", [12, 1_000])
def test_two_graphs_stand_side_by_side(size: int) -> None:
    graph = net(size)
    at = next(node.id for node in graph if node.id > size / 2 and node.kind == "operation")
    other = inserted(graph, at, "cosh")
    root = ET.fromstring(side_by_side([diff(graph, other), diff(other, graph)], ("old.py", "new.py")))
    inner = [child for child in root if child.tag.endswith("svg")]
    found = [styles(ET.tostring(child)) for child in inner]
    assert [(its["added"], its["removed"]) for its in found] == [(0, 0), (1, 0), (0, 1), (0, 0)]
    folded = [its["folded"] for its in found]
    assert folded[0] == folded[1] and (folded[0] > 0) == (size > 200) and all(its["operation"] < 20 for its in found)
    left, right, below, _ = [[float(child.get(name, "0")) for name in ("x", "y", "width", "height")] for child in inner]
    assert right[0] >= left[0] + left[2] and right[1] == left[1] and below[1] >= left[1] + left[3]
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len(set(names))


def test_steps_that_are_alike_share_a_row() -> None:
    graph = net(12)
    found = diff(graph, inserted(graph, 8, "cosh")), diff(inserted(graph, 3, "sinh"), graph)
    pictures = [ET.fromstring(side_by_side([*found, *found][:count])) for count in (1, 2, 3, 4)]
    assert [sum(child.tag.endswith("svg") for child in root) for root in pictures] == [2, 4, 4, 4]


def test_a_change_shows_on_either_side_what_it_was_there() -> None:
    graph = net(1_000)
    node = next(node for node in graph if node.id > 500 and node.kind == "operation")
    other = replace(
        graph,
        nodes=tuple(replace(its, op="cosh", name="CoshBackward0") if its is node else its for its in graph),
    )
    old, new = both_scenes(diff(graph, other))
    assert [[box.title for box in scene.boxes if box.style == "changed"] for scene in (old, new)] == [
        [node.op],
        ["cosh"],
    ]
    assert not any(arrow.dashed for scene in (old, new) for arrow in scene.arrows)


class Block(torch.nn.Module):
    def __init__(self, act: Callable[..., torch.Tensor], *, after: bool, norm: bool, cut: bool, bias: bool) -> None:
        super().__init__()
        self.a, self.b, self.n = torch.nn.Linear(4, 8), torch.nn.Linear(8, 4, bias=bias), torch.nn.LayerNorm(4)
        self.bn = torch.nn.BatchNorm1d(8) if norm else None
        self.act, self.after, self.cut = act, after, cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(x if self.after else self.n(x))
        h = self.b(self.act(h if self.bn is None else self.bn(h)))
        y = (x.detach() if self.cut else x) + h
        made: torch.Tensor = self.n(y) if self.after else y
        return made


def model(blocks: int = 2, act: str = "relu", at: int = 1, **told: bool) -> Graph:
    def script() -> dict[str, torch.Tensor | torch.nn.Module]:
        usual = {"after": False, "norm": False, "cut": False, "bias": True}
        made = [Block(getattr(torch, act), **{**usual, **(told if each == at else {})}) for each in range(blocks)]
        net, x = torch.nn.Sequential(*made), torch.ones(3, 4)
        loss = net(x).sum()
        loss.backward()
        return {"net": net, "loss": loss}

    return record(script).steps[-1].graph


@pytest.mark.parametrize(
    ("told", "before", "after"),
    [
        ({"act": "tanh"}, {"relu": "changed"}, {"tanh": "changed"}),
        ({"bias": False}, {"b: Linear 8→4": "changed"}, {"b: Linear 8→4, no bias": "changed"}),
        ({"norm": True}, {}, {"bn: BatchNorm1d 8": "added"}),
        ({"after": True}, {"n: LayerNorm 4": "removed"}, {"n: LayerNorm 4": "added"}),
        ({"cut": True}, {"add": "changed"}, {"add": "changed"}),
        ({"blocks": 3, "at": 9}, {}, {"n: LayerNorm 4": "added", "add": "added", "relu": "added"}),
        ({"blocks": 6, "at": 9}, {}, {"n: LayerNorm 4": "added", "add": "added", "relu": "added"}),
    ],
    ids=["function", "bias", "norm", "moved", "cut", "block", "blocks"],
)
def test_both_sides_are_as_written_in_one_layout(
    told: dict[str, Any], before: dict[str, str], after: dict[str, str]
) -> None:
    found = diff(model(), model(**told))
    sides = laid_out(*both_scenes(found))
    looks = [{box.title: box.style for box in side.scene.boxes if box.style in LOOKS} for side in sides]
    assert looks[0] == before and after.items() <= looks[1].items()
    assert not {"t", "addmm", "zero_"} & {box.title for side in sides for box in side.scene.boxes}
    spots = [{box.id: spot for box, spot in zip(side.scene.boxes, side.positions, strict=True)} for side in sides]
    shared = spots[0].keys() & spots[1].keys()
    assert all(spots[0][key] == spots[1][key] for key in shared)
    assert len(shared) == len(spots[0]) - sum(style == "removed" for style in before.values())


@pytest.mark.parametrize(
    ("told", "looks"),
    [
        ({"act": "tanh"}, {"tanh": ("changed", "was relu")}),
        ({"bias": False}, {"b: Linear 8→4, no bias": ("changed", "was b: Linear 8→4")}),
        ({"norm": True}, {"bn: BatchNorm1d 8": ("added", "")}),
    ],
    ids=["function", "bias", "norm"],
)
def test_one_picture_of_both_is_as_written(told: dict[str, Any], looks: dict[str, tuple[str, str]]) -> None:
    scene = union_scene(diff(model(), model(**told)), "")
    assert {box.title: (box.style, box.subtitle) for box in scene.boxes if box.style in LOOKS} == looks
    assert {frame.title for frame in scene.frames} >= {"net: Sequential", "1: Block"}


def test_one_picture_tells_what_went_and_what_type_it_was() -> None:
    def script(*, wide: bool, power: bool) -> Graph:
        def run() -> dict[str, torch.Tensor]:
            x = torch.ones(4 if wide else 3, requires_grad=True, dtype=torch.float64 if wide else torch.float32)
            loss = (x.sin() * x if power else x.sin()).sum()
            torch.autograd.grad(loss, x, create_graph=True)
            return {"x": x, "loss": loss}

        return record(run).steps[-1].graph

    old, new = script(wide=False, power=True), script(wide=True, power=True)
    scene = union_scene(diff(old, new), "")
    assert [box.subtitle for box in scene.boxes if box.title == "x"] == ["was float32[3]"]
    assert {"[shape], float64", "before: [shape], float32"} <= set(scene.notes)
    gone = union_scene(diff(old, script(wide=False, power=False)), "")
    removed = {box.id for box in gone.boxes if box.style == "removed"}
    ways = {arrow.dashed for arrow in gone.arrows if not removed.isdisjoint((arrow.tail, arrow.head))}
    assert removed and ways == {True} and "dashed: no longer" in gone.notes
    kept = {box.id for box in gone.boxes if box.style not in LOOKS}
    assert any(arrow.tail in kept and arrow.head in kept and not arrow.dashed for arrow in gone.arrows)


def test_an_operation_is_no_changed_module() -> None:
    def discriminated() -> dict[str, torch.Tensor | torch.nn.Module]:
        net, x = torch.nn.Linear(3, 1), torch.ones(8, 3)
        loss = torch.nn.functional.softplus(-net(x)).mean()
        loss.backward()
        return {"net": net, "loss": loss}

    def squared() -> dict[str, torch.Tensor | torch.nn.Module]:
        w = torch.ones(4, requires_grad=True)
        loss = (w - 3).pow(2).sum()
        loss.backward()
        return {"w": w, "loss": loss}

    old, new = both_scenes(diff(*[record(script).steps[-1].graph for script in (discriminated, squared)]))
    looks = [{box.title: box.style for box in scene.boxes if box.style in LOOKS} for scene in (old, new)]
    assert looks[0]["net: Linear 3→1"] == "removed"


def test_what_another_module_has_is_no_like_of_a_parameter_that_went() -> None:
    found = diff(model(), model(norm=True, bias=False))
    gone = {name for number in found.removed for output in found.old[number].outputs for name in output.names}
    assert "net.1.b.bias" in gone and not found.renamed
