"""A rolled loop is one turn, with its number of turns, fed from before and leading on behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.export import VIEWS, render
from autograph_cli.export.layered import place
from autograph_cli.export.rolling import roll
from autograph_cli.export.scene import Scene, build
from autograph_cli.graph import Step, Trace, backward, double_backward, forward
from autograph_cli.record.runner import Target, record

SCRIPT = """
import torch
w, u = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
xs, h = torch.ones(9, 1, 2), torch.zeros(1, 2)
for x in xs:
    h = torch.tanh(x @ u + h @ w)
loss = (h * h).sum()
loss.backward()
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Step:
    file = tmp_path_factory.mktemp("rolling") / "rnn.py"
    file.write_text(SCRIPT)
    return record(Target.of(str(file)))[1].steps[-1]


def drawn(scene: Scene) -> list[str]:
    return [f"{box.title} {box.subtitle}".strip() for box in scene.boxes if box.style == "operation"]


def arrows(scene: Scene, *, back: bool) -> set[tuple[str, str]]:
    titles = {box.id: f"{box.title} {box.subtitle}".strip() for box in scene.boxes}
    return {(titles[arrow.tail], titles[arrow.head]) for arrow in scene.arrows if arrow.back is back}


def test_one_turn_of_the_forward_graph_is_drawn(step: Step) -> None:
    graph = forward(step.graph)
    scene = roll(build(graph, "", data=True), graph)
    assert drawn(scene) == ["mm", "mm", "add", "tanh", "mm × 8", "mm × 8", "add × 8", "tanh × 8", "mul", "sum"]
    assert arrows(scene, back=True) == {("tanh × 8", "mm × 8")}
    assert {("tanh", "mm × 8"), ("add × 8", "tanh × 8"), ("tanh × 8", "h"), ("h", "mul")} <= arrows(scene, back=False)
    assert scene.notes[-2:] == ("× n: one of n turns of a loop", "dotted: from turn to turn")


def test_what_every_turn_is_fed_with_is_drawn_once(step: Step) -> None:
    graph = forward(step.graph)
    scene = roll(build(graph, "", data=True), graph)
    fed = sorted(box.title for box in scene.boxes if box.style in ("leaf", "input"))
    assert len(fed) == 7  # of the first turn x, u, h, w; of the others x, u, w


def test_the_gradient_graph_rolls_as_the_forward_graph_does(step: Step) -> None:
    graph = backward(step.graph)
    scene = roll(build(graph, "", data=False), graph)
    assert sorted(title for title in drawn(scene) if "×" in title) == [
        "AddBackward0 × 8", "MmBackward0 × 8", "MmBackward0 × 8", "TanhBackward0 × 8",
    ]  # fmt: skip
    assert arrows(scene, back=True) == {("MmBackward0 × 8", "TanhBackward0 × 8")}


def test_two_uses_in_one_turn_are_two_arrows(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x\nfor _ in range(6):\n    y = torch.sin(y) * y\ny.sum().backward()\n"
    )
    graph = forward(record(Target.of(str(tmp_path / "a.py")))[1].steps[-1].graph)
    scene = roll(build(graph, "", data=True), graph)
    (times,) = (box.id for box in scene.boxes if box.title == "mul" and "×" in box.subtitle)
    assert sum(arrow.head == times and not arrow.back for arrow in scene.arrows) >= 2


@pytest.mark.parametrize("view", VIEWS)
def test_a_rolled_picture_is_smaller_and_well_laid_out(step: Step, view: str) -> None:
    whole, rolled = (render(step, view, roll=rolls) for rolls in (False, True))
    assert len(rolled) < len(whole) / 2
    assert render(step, view, roll=True) == rolled


def test_a_double_backward_graph_rolls_in_both_orders(step: Step) -> None:
    assert step.double is not None
    graph = double_backward(step.double)
    scene = roll(build(graph, "", data=False), graph)
    assert {box.band for box in scene.boxes if "×" in box.subtitle} == {0, 2}
    place(scene)


def test_a_graph_without_loops_stays_as_it_is(traces: dict[str, Trace]) -> None:
    graph = forward(traces["higher_order"].steps[0].graph)
    scene = build(graph, "", data=True)
    assert roll(scene, graph) is scene


def test_big_graphs_roll_by_themselves_and_on_request_never(step: Step) -> None:
    def shown(**how: object) -> bool:
        return "×" in render(step, "forward", **how).decode()  # type: ignore[arg-type]

    assert [shown(), shown(max_nodes=20), shown(max_nodes=20, roll=False), shown(roll=True)] == [False, True, False, True]
