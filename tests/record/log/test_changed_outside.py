"""Tensors with a gradient that are changed outside of autograd: what is computed from them is told of what they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograph_cli.export import ExportError, render
from autograph_cli.graph import Graph
from autograph_cli.record.run.runner import Target, record

START = """
import torch
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = torch.tensor([4.0, 5.0, 6.0])
h = w * x
v = h[1:]
early = (w * x).sum()
"""
OUTSIDE = "with torch.no_grad():\n    "
CASES = {
    "an operation": (OUTSIDE + "h.mul_(2)", "h", ["mul_"]),
    "several": (OUTSIDE + "h.add_(1); h.clamp_(max=11); h.neg_()", "h", ["add_", "clamp_", "neg_"]),
    "a copy": (OUTSIDE + "h.copy_(x)", "h", ["copy_"]),
    "a part": (OUTSIDE + "h[1:].copy_(x[:2])", "h", ["slice", "slice", "copy_"]),
    "an element": (OUTSIDE + "h[0] = x[1]", "h", ["select", "select", "copy_"]),
    "a view of before": (OUTSIDE + "h.mul_(2)", "v * 3", ["mul_"]),
    "a view of after": (OUTSIDE + "h.mul_(2)", "h[1:]", ["mul_"]),
    "through a view": (OUTSIDE + "v.mul_(2)", "h", ["mul_"]),
    "what is read through the view": (OUTSIDE + "v.mul_(2)", "v * 3", ["mul_"]),
    "a leaf that was used": (OUTSIDE + "w.sub_(x)", "w", ["sub_"]),
    "out=": (OUTSIDE + "torch.mul(x, 3, out=h)", "h", ["mul", "copy_"]),
    "through detach": ("h.detach().mul_(2)", "h", ["detach", "mul_"]),
    "a leaf through detach": ("w.detach().mul_(2)", "w", ["detach", "mul_"]),
    "several through one detach": ("d = w.detach(); d.mul_(2); d.neg_()", "w", ["detach", "mul_", "neg_"]),
    "with autograd afterwards": (OUTSIDE + "h.add_(1)\nh.mul_(3)", "h", ["add_"]),
}
"""What changes a tensor, what is computed from it then, and the operations without a node that are told."""
REFUSED = {
    "a view of before": "as_strided",
    "what is read through the view": "as_strided",
    "through detach": "mul_",
    "a leaf through detach": "mul_",
    "several through one detach": "mul_",
}
"""Those of which no ONNX model is written, and the operation that is named."""


def graph_of(tmp_path: Path, lines: str) -> tuple[Graph, float]:
    script = tmp_path / "script.py"
    script.write_text(f"import pathlib\n{START}{lines}\npathlib.Path('y').write_text(repr(y.item()))\n")
    _, trace = record(Target.of(str(script)))
    return trace.steps[-1].graph, float((tmp_path / "y").read_text())


@pytest.mark.parametrize("name", CASES)
def test_it_is_told_of_what_the_tensor_holds(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    change, used, told = CASES[name]
    graph, _ = graph_of(tmp_path, f"{change}\ny = ({used}).sum() + early\ny.backward()")
    assert [node.op for node in graph if node.kind == "untracked"] == told


@pytest.mark.parametrize("name", CASES)
def test_the_onnx_model_computes_what_the_script_computed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    change, used, _ = CASES[name]
    graph, y = graph_of(tmp_path, f"{change}\ny = ({used}).sum() + early\ny.backward()")
    if name in REFUSED:
        with pytest.raises(ExportError, match=f"cannot be written as ONNX: {REFUSED[name]}"):
            render(graph, "forward", "onnx")
        return
    session = onnxruntime.InferenceSession(render(graph, "forward", "onnx"), providers=["CPUExecutionProvider"])
    given = {"w": np.array([1, 2, 3], np.float32), "x": np.array([4, 5, 6], np.float32)}
    found = session.run(["y"], {one.name: given[one.name] for one in session.get_inputs()})
    assert float(found[0]) == y


@pytest.mark.parametrize(
    "change",
    [
        OUTSIDE + "w.fill_(2)",
        OUTSIDE + "w.sub_(x)",
        "w.detach().mul_(2)",
        OUTSIDE + "w[0] = 2",
        OUTSIDE + "w.view(3, 1)[1:].clamp_(0, 1); w.data[0].fill_(2)",
    ],
    ids=["filled", "changed", "through detach", "through a view", "through views of views"],
)
def test_a_leaf_that_no_operation_of_the_step_used_starts_from_there(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graph, _ = graph_of(tmp_path, f"early.backward()\n{change}\ny = (w * x).sum()\ny.backward()")
    assert [node.op for node in graph if node.kind == "untracked"] == []


def test_a_leaf_of_which_a_view_was_used_was_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = f"early.backward()\n{OUTSIDE}v = w[1:]; z = v * 2; w[0].fill_(2)\ny = (w * x).sum() + z.sum()\ny.backward()"
    graph, _ = graph_of(tmp_path, lines)
    assert [node.op for node in graph if node.kind == "untracked"] == ["slice", "mul", "select", "fill_", "sum"]


@pytest.mark.parametrize(
    ("between", "views"),
    [("", 1), ("other.add_(1)", 1), ("part.mul_(2)", 2), ("other.add_(1); part.mul_(2)", 2)],
    ids=["nothing", "other memory", "its memory", "both"],
)
def test_a_view_of_an_earlier_step_is_another_input_only_where_its_memory_was_changed(
    between: str, views: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    earlier = "part = torch.arange(3.0)\nseen = part[1:]\n(w[1:] * seen).sum().backward()"
    used = "(w[1:] + seen).sum() + (w[1:] + seen).sum()"
    before = f"other = torch.ones(3)\ny = (w + other).sum() + {used}"
    graph, _ = graph_of(tmp_path, f"{earlier}\n{before}\n{between}\ny = y + {used}\ny.backward()")
    assert sum(node.kind == "input" and node.outputs[0].type.shape == (2,) for node in graph) == views


@pytest.mark.parametrize(
    ("view", "ops"),
    [("seen[:1]", ["slice"]), ("seen[None][:, :]", ["unsqueeze", "alias"])],
    ids=["part", "twice"],
)
@pytest.mark.parametrize("between", ["", "w.grad.mul_(0.5)", "torch.nn.utils.clip_grad_norm_([w], 1.0)"])
def test_a_view_of_an_earlier_view_is_told_whatever_else_was_changed(
    between: str, view: str, ops: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    earlier = "seen = torch.arange(6.0)[1:3]\n(w[:2] * seen).sum().backward()"
    graph, _ = graph_of(tmp_path, f"{earlier}\n{between}\ny = (w[:2] * {view}).sum()\ny.backward()")
    assert [node.op for node in graph if node.kind == "untracked"][-len(ops) :] == ops
    assert [node.outputs[0].names for node in graph if node.kind == "input"][-1:] == [("seen",)]
