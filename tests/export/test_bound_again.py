"""A name that a script binds again names each of its tensors, in every view."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from autograph_cli.export import render
from autograph_cli.graph import Graph, double_backward
from autograph_cli.graph.names import told_apart
from autograph_cli.record.run import runner

FOUR_TIMES = """
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x**4
for _ in range(4):
    y, = torch.autograd.grad(y, x, create_graph=True)
"""
TWO_LEAVES = """
import torch
x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
y = (x * w).sin()
y, = torch.autograd.grad(y.sum(), x, create_graph=True)
"""
CHAIN = """
import torch
x = torch.ones(3, requires_grad=True)
h = x.sin()
h = h.cos()
h = h.exp()
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Graph]:
    def graph_of(script: str) -> Graph:
        monkeypatch.chdir(tmp_path)
        Path("script.py").write_text(script)
        _, trace = runner.record(runner.Target.of("script.py", ()), "first,last", until_exit=True)
        return trace.steps[-1].graph

    return graph_of


def results(picture: bytes) -> list[str]:
    """The named results of a flowchart, from the highest."""
    lines = [line.strip() for line in picture.decode().splitlines()]
    return [line.split('"')[1] for line in lines if line.endswith((":::result", ":::root"))]


def test_every_order_of_a_name_bound_four_times_is_drawn(run: Callable[[str], Graph]) -> None:
    graph = run(FOUR_TIMES)
    assert {node.order for node in double_backward(told_apart(graph))} == {0, 1, 2, 3, 4}
    picture = render(graph, "double-backward", "mermaid")
    assert sorted(results(picture), key=len) == ["y", "y′", "y′′", "y′′′"]
    assert "= y′′′′" in picture.decode(), "it is not differentiated, and stands on its node"


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_lower_orders_are_shown_with_a_higher_one(run: Callable[[str], Graph], order: int) -> None:
    assert {node.order for node in double_backward(run(FOUR_TIMES), order=order)} == set(range(order + 1))


def test_the_backward_picture_shows_the_tensor_that_was_differentiated_first(run: Callable[[str], Graph]) -> None:
    assert results(render(run(FOUR_TIMES), "backward", "mermaid")) == ["y"]


def test_a_derivative_of_several_leaves_is_numbered(run: Callable[[str], Graph]) -> None:
    graph = told_apart(run(TWO_LEAVES))
    assert [root.name for root in graph.roots if root.name.startswith("y")] == ["y~2"]
    assert "y (2)" in results(render(run(TWO_LEAVES), "double-backward", "mermaid"))


def test_tensors_of_one_name_are_numbered_in_order(run: Callable[[str], Graph]) -> None:
    graph = run(CHAIN)
    assert [node.outputs[0].names for node in told_apart(graph)] == [("x",), ("h",), ("h~2",), ("h~3",)]
    assert results(render(graph, "forward", "mermaid")) == ["h (3)"]


def test_names_that_are_bound_once_stay_as_they_are(run: Callable[[str], Graph]) -> None:
    graph = run("import torch\nx = torch.ones(3, requires_grad=True)\ny = x.sin()\nz = y.cos()\n")
    assert told_apart(graph) == graph


def test_a_name_that_went_on_to_another_tensor_is_not_kept_by_the_first(run: Callable[[str], Graph]) -> None:
    graph = run(
        FOUR_TIMES.replace("for _", "d = y\nfor _").replace(
            "    y, = torch.autograd.grad(y,", "    d, = torch.autograd.grad(d,"
        )
    )
    picture = render(graph, "double-backward", "mermaid").decode()
    assert sorted(results(picture.encode()), key=len) == ["d", "y", "d′", "d′′"]
    assert "= d′′′" in picture
    assert "<br/>d" not in picture


def test_derivatives_are_written_in_a_pdf(run: Callable[[str], Graph]) -> None:
    assert render(run(FOUR_TIMES), "double-backward", "pdf").startswith(b"%PDF")


EARLIER = """
import torch
w = torch.ones(3, requires_grad=True)
given, queue, ptr = torch.ones(3), torch.zeros(3, 4), 0
def refill(buffer, rows):
    buffer[:, 0] = rows
for step in range({steps}):
    {first}
    with torch.no_grad():
        k = torch.rand(3) * 2
    (w * k * queue[:, 0].clone() * given).sum().backward()
    {last}
"""


@pytest.mark.parametrize("steps", [2, 30])
@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        ("given.fill_(2.0)", "", {"given"}),
        ("given.mul_(0.5).add_(1)", "", {"given"}),
        ("", "queue[:, 0] = k", {"k", "queue"}),
        ("", "queue[:, 1:] = torch.stack([k.flip(0)] * 3, 1)", {"k", "queue"}),
        ("", "refill(queue, k)", {"k", "queue"}),
        ("", "given = k / k.norm()", {"k"}),
    ],
)
def test_what_a_step_is_given_by_the_one_before_has_its_name(
    run: Callable[[str], Graph], steps: int, first: str, last: str, names: set[str]
) -> None:
    graph = run(EARLIER.format(steps=steps, first=first or "pass", last=last or "pass"))
    inputs = [output.names[:1] for node in graph if node.kind == "input" for output in node.outputs]
    assert all(inputs) and names <= {name for (name,) in inputs}, inputs


FOLLOWING = """
import copy, torch
net = torch.nn.Linear(3, 2)
follower = copy.deepcopy(net).requires_grad_(False)
x = torch.ones(4, 3)
for step in range(3):
    with torch.no_grad():
        for p, q in zip(net.parameters(), follower.parameters()):
            q.mul_(0.9).add_(p, alpha=0.1)
    loss = (net(x) - follower(x)).pow(2).sum()
    loss.backward()
"""


@pytest.mark.parametrize("view", ["forward", "backward"])
def test_a_name_with_one_holder_in_the_picture_has_no_number(run: Callable[[str], Graph], view: str) -> None:
    drawn = render(run(FOLLOWING), view, "svg").decode()
    assert not re.search(r"(weight|bias) \(2\)", drawn)
    assert ("◦ weight [2, 3]" in drawn) == (view == "forward")
    assert "buffer" not in drawn, "it is a parameter"
