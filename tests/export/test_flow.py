"""A picture of derivatives says what is computed, by which leaf, and from what: as its gradient graph or as data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograph_cli.export import ExportError, render
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.records import Scene
from autograph_cli.graph import Graph, double_backward
from autograph_cli.graph.derivatives import derivatives_text, incoming_gradients
from autograph_cli.graph.names import told_apart
from autograph_cli.record.run import runner

POWER = """
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x**4
for _ in range(2):
    y, = torch.autograd.grad(y, x, create_graph=True)
"""
TWO_LEAVES = """
import torch
x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
loss = (x * w).sin().sum()
slope, other = torch.autograd.grad(loss, (w, x), create_graph=True)
again, = torch.autograd.grad(slope.sum(), x, create_graph=True)
"""
LISTED = """import torch
w = [torch.tensor(float(n), requires_grad=True) for n in range(1, 4)]
loss = w[0] * w[1] * w[2]
slopes = torch.autograd.grad(loss, w, create_graph=True)
"""
MANY = """
import torch
a, b, c, d, e, f = (torch.ones(2, requires_grad=True) for _ in range(6))

loss = (a * b * c * d * e * f).sum()
grads = torch.autograd.grad(loss, (a, b, c, d, e, f), create_graph=True)
"""
UNRECORDED = """
import torch
x = torch.ones(3, requires_grad=True)
score = x.sin().sum()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
loss = score * 2
loss.backward()
"""
PENALTY = """
import torch
x = torch.ones(3, requires_grad=True)
y = x.sin().sum()
slope, = torch.autograd.grad(y, x, create_graph=True)
mask = x.detach() > 0
loss = y + (slope * mask).sum()
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Graph]:
    def graph_of(script: str, record: tuple[str, ...] = ()) -> Graph:
        monkeypatch.chdir(tmp_path)
        Path("script.py").write_text(script)
        _, trace = runner.record(runner.Target.of("script.py", ()), "first,last", record=record, until_exit=True)
        return trace.steps[-1].graph

    return graph_of


def flowing(graph: Graph) -> Scene:
    return build(double_backward(graph, data=True), "", data=True)


@pytest.mark.parametrize("flow", ["gradient", "data"])
def test_a_derivative_is_titled_by_what_is_computed(run: Callable[..., Graph], flow: str) -> None:
    picture = render(run(POWER), "double-backward", "svg", flow=flow).decode()
    for words in (">pow 3<", ">mul × 4<", ">pow 2<", ">mul × 3<", ">MulBackward1 · ∂ pow<"):
        assert words in picture


@pytest.mark.parametrize(
    ("script", "titles"),
    [
        (POWER, ["dy/dx", "dy′/dx"]),
        (TWO_LEAVES, ["dloss/dw, dloss/dx", "d(sum)/dx"]),
        (LISTED, ["dloss/dw[0…2]", ""]),
        (UNRECORDED, ["dscore/dx", ""]),
        (MANY, ["dloss/da, dloss/db, dloss/dc and 3 more", ""]),
    ],
)
def test_a_band_says_its_derivatives(run: Callable[..., Graph], script: str, titles: list[str]) -> None:
    graph = run(script)
    assert [derivatives_text(told_apart(graph), order) for order in (1, 2)] == titles
    picture = render(graph, "double-backward", "mermaid").decode()
    assert f"order 1 · backward · {titles[0]}" in picture


def test_data_flows_from_the_leaves_down_through_the_orders(run: Callable[..., Graph]) -> None:
    placed = lay_out(flowing(run(PENALTY)))
    assert [lane.band.number for lane in placed.lanes] == [0, 2, 3]
    assert all(upper.bottom < lower.top for upper, lower in zip(placed.lanes, placed.lanes[1:], strict=False))
    at = dict(zip((box.id for box in placed.scene.boxes), placed.positions, strict=True))
    assert all(at[arrow.tail].y < at[arrow.head].y for arrow in placed.scene.arrows)


def test_what_needs_no_gradient_stands_in_the_band_that_uses_it(run: Callable[..., Graph]) -> None:
    bands = {box.title: box.band for box in flowing(run(PENALTY)).boxes}
    assert bands["gt 0"] == 3
    assert bands["gradient of sin"] == 2


@pytest.mark.parametrize(("record", "words"), [((), "gradient of y"), (("values",), "1, gradient of y")])
def test_the_gradient_that_comes_in_is_an_input(run: Callable[..., Graph], record: tuple[str, ...], words: str) -> None:
    graph = run(POWER.replace("range(2)", "range(1)"), record)
    assert list(incoming_gradients(graph).values()) == [words]
    assert f">{words}<" in render(graph, "double-backward", "svg", flow="data").decode()


def test_a_given_gradient_keeps_its_name(run: Callable[..., Graph]) -> None:
    graph = run(
        "import torch\nx = torch.ones(3, requires_grad=True)\nv = torch.arange(3.0)\ny = x.exp()\n"
        "g, = torch.autograd.grad(y, x, v, create_graph=True)\n"
    )
    assert not incoming_gradients(graph)
    assert ">v<" in render(graph, "double-backward", "svg", flow="data").decode()


def test_an_unknown_flow_is_refused(run: Callable[..., Graph]) -> None:
    with pytest.raises(ExportError, match="There is no flow 'up'; known ones: gradient, data"):
        render(run(POWER), flow="up")


@pytest.mark.parametrize(
    "format", ["svg", "dot", "mermaid", "pdf", "text", "json", "graphml", "gexf", "cytoscape", "html"]
)
def test_both_flows_are_made_in_every_format(run: Callable[..., Graph], format: str) -> None:
    graph = run(PENALTY)
    made = [render(graph, "double-backward", format, flow=flow) for flow in ("gradient", "data")]
    assert made[0] != made[1]
