"""The gradients of a tensor with several users come together in one box, whatever the way that arrows follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.export import render
from autograph_cli.graph import Graph
from autograph_cli.record.run.runner import Target, record

USES = {
    "x": "(x.sin() * x.exp() * x.cos() * x).sum()",
    "w": "sum((w * x.detach()).tanh() for _ in (0, 1)).sum() + (w * x.sin()).tanh().sum()",
    "(h)": "[(h.exp() + h.cos() + h.sin()).sum() for h in [x * 2]][0]",
}
SCRIPT = """
import torch
x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
loss = {loss}
gs = torch.autograd.grad(loss, [x, w], create_graph=True, allow_unused=True)
sum(g.pow(2).sum() for g in gs if g is not None).backward()
"""


def recorded(folder: Path, loss: str) -> Graph:
    (folder / "a.py").write_text(SCRIPT.format(loss=loss))
    return record(Target.of(str(folder / "a.py")))[1].steps[-1].graph


def boxes(drawn: bytes) -> dict[str, str]:
    """The titles of the boxes of a flowchart, by id."""
    lines = [line.strip() for line in drawn.decode().splitlines()]
    return {line.partition("[")[0]: line.split('"')[1].split("<br")[0] for line in lines if ":::derivative" in line}


@pytest.mark.parametrize("flow", ["gradient", "data"])
@pytest.mark.parametrize("name", USES)
def test_the_gradients_of_a_tensor_are_added_up_in_one_box(tmp_path: Path, name: str, flow: str) -> None:
    graph = recorded(tmp_path, USES[name])
    titles = list(boxes(render(graph, "double-backward", "mermaid", flow=flow, order=1)).values())
    each = list(boxes(render(graph, "double-backward", "mermaid", flow=flow, order=1, level="aten")).values())
    sums = [title for title in titles if title.startswith("⊕")]
    assert len(sums) == len(set(sums)), sums
    assert set(sums) == {title for title in each if title.startswith("⊕")}
    assert sum(title.startswith("⊕") for title in each) > len(sums), each
    assert len([title for title in titles if title[0] != "⊕"]) == len([title for title in each if title[0] != "⊕"])


@pytest.mark.parametrize("format", ["svg", "pdf", "dot", "mermaid"])
def test_all_formats_have_the_sign(tmp_path: Path, format: str) -> None:
    drawn = render(recorded(tmp_path, USES["x"]), "double-backward", format)
    assert (b"/Symbol" if format == "pdf" else "⊕ x".encode()) in drawn


def test_a_sum_at_the_border_of_the_forward_view_says_that_more_was_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import torch\nx = torch.ones(3, requires_grad=True)\ny = (x.sin() * x).sum()\n"
        "(g,) = torch.autograd.grad(y, x, create_graph=True)\n(x - 0.1 * g).sum().backward()\n"
    )
    graph = record(Target.of(str(tmp_path / "a.py")))[1].steps[-1].graph
    (box,) = [line for line in render(graph, "forward", "mermaid").decode().splitlines() if ":::cut" in line]
    assert '"… dy/dx<br/>⊕ x · g"' in box, box
