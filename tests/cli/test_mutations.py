"""A script is changed in one way after another: each change is named in the snapshot's words, harmless ones are not."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, Node, Output, Snapshot, TensorType, compare, read_snapshot
from autograph_cli.graph.review_modules import Modules
from autograph_cli.record.graphs.causes import switches
from autograph_cli.record.run import runner
from autograph_cli.testing.scripts import trace_sections
from autograph_cli.testing.settings import Settings

MODEL = """import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x ** 2


w1 = torch.ones(4, 3, requires_grad=True)
w2 = torch.ones(3, requires_grad=True)
x = torch.ones(2, 4, requires_grad=True)
target = torch.zeros(2)

hidden = torch.tanh(x @ w1)
frozen = hidden.detach().sum()
score = torch.softmax(hidden, dim=1) @ w2
cubed = Cube.apply(score - target)
(slope,) = torch.autograd.grad(cubed.sum(), x, create_graph=True)
loss = cubed.mean() + slope.pow(2).sum() * frozen
loss.backward()
"""

MUTATIONS: dict[str, tuple[str, str, list[str]]] = {
    "swap the arguments": (
        "cubed = Cube.apply(score - target)",
        "cubed = Cube.apply(target - score)",
        ["`sub` (model.py:24) takes its arguments in another order: (`score`, `target`) -> (`target`, `score`)"],
    ),
    "drop a detach": (
        "hidden.detach().sum()",
        "hidden.sum()",
        ["`hidden` gets a gradient this way too: no detach any more (model.py:22)"],
    ),
    "add a detach": ("@ w2", "@ w2.detach()", ["`w2` no longer gets a gradient: detach at line 23 of model.py"]),
    "freeze a leaf": (
        "w2 = torch.ones(3, requires_grad=True)",
        "w2 = torch.ones(3)",
        ["`w2` no longer gets a gradient"],
    ),
    "change a shape": (
        "target = torch.zeros(2)",
        "target = torch.zeros(1)",
        ["input `target` float32[2] -> float32[1]"],
    ),
    "change a dtype": (
        "target = torch.zeros(2)",
        "target = torch.zeros(2, dtype=torch.float64)",
        ["input `target` float32[2] -> float64[2]"],
    ),
    "add an operation": (
        "torch.tanh(x @ w1)",
        "torch.tanh(torch.relu(x @ w1))",
        ["forward gained a `relu` (model.py:21), on `mm`"],
    ),
    "leave an operation out": ("torch.tanh(x @ w1)", "x @ w1", ["forward lost a `tanh`"]),
    "take another operation": ("torch.tanh(x", "torch.sigmoid(x", ["`tanh` became `sigmoid` (model.py:21)"]),
    "add an operation inside the custom backward": (
        "return grad_output * 3 * x ** 2",
        "return (grad_output * 3 * x ** 2).exp()",
        ["backward of `Cube` (model.py:24) gained an `exp`"],
    ),
    "softmax along another dimension": ("dim=1", "dim=0", ["`softmax` (model.py:23) is called with dim=0, not dim=1"]),
    "another exponent": (
        "slope.pow(2)",
        "slope.pow(4)",
        ["`pow` (model.py:26) is called with exponent=4, not exponent=2"],
    ),
    "no create_graph": (
        "x, create_graph=True)",
        "x, retain_graph=True)",
        ["`grad(sum)` (model.py:25) no longer keeps a graph of its own (create_graph)"],
    ),
    "a gradient by another tensor": (
        "torch.autograd.grad(cubed.sum(), x,",
        "torch.autograd.grad(cubed.sum(), w2,",
        ["`grad(sum)` (model.py:25) no longer goes to `x`", "`grad(sum)` (model.py:25) now goes to `w2`"],
    ),
    "a backward to some leaves only": (
        "loss.backward()",
        "loss.backward(inputs=[w1, x])",
        ["`w2` no longer gets a gradient"],
    ),
    "another reduction": ("cubed.mean()", "cubed.sum()", ["`mean` became `sum` (model.py:26)"]),
    "another step": (
        "loss.backward()",
        "loss.backward()\n(w2 * 2).sum().backward()",
        ["the script made 2 steps, not 1"],
    ),
}

HARMLESS = {
    "rename a variable": [("hidden", "inner")],
    "rename a leaf": [("w1", "weight")],
    "move everything down": [("import torch\n", "import torch\n\n# a comment\n\n")],
    "make the leaves in another order": [
        ("w2 = torch.ones(3, requires_grad=True)\n", ""),
        ("target = ", "w2 = torch.ones(3, requires_grad=True)\ntarget = "),
    ],
    "name a result on the way": [
        ("score = torch.softmax(hidden, dim=1)", "soft = torch.softmax(hidden, dim=1)\nscore = soft")
    ],
    "print something": [("loss.backward()", "print(loss)\nloss.backward()")],
    "other numbers": [
        ("torch.ones(4, 3", "2 * torch.ones(4, 3"),
        ("w1 = 2 * torch.ones(4, 3, requires_grad=True)", "w1 = torch.full((4, 3), 2.0, requires_grad=True)"),
    ],
}


DROPOUT = """import torch

torch.manual_seed(0)
w = torch.ones(4, requires_grad=True)
drop = torch.nn.Dropout(0.5)
h = torch.tanh(w * 2)
loss = (drop(h) * h).sum() + w.sum()
loss.backward()
"""

UNRECORDED: dict[str, tuple[str, str, list[str]]] = {
    "add a detach": ("* h)", "* h.detach())", ["`h` no longer gets a gradient this way: detach at line 7 of model.py"]),
    "compute with what was detached": (
        "* h)",
        "* (h.detach() + 1))",
        [
            "`h` no longer gets a gradient this way: detach at line 7 of model.py",
            "forward gained an `add` with other=1 (model.py:7), on `detach`, not recorded by autograd",
        ],
    ),
    "compute a target": (
        "drop(h) * h",
        "drop(h) * h * torch.ones(4).cos()",
        [
            "forward gained a `cos` (model.py:7), on an input float32[4], not recorded by autograd",
            "forward gained a `mul` (model.py:7), on `mul` and `cos`",
        ],
    ),
    "another argument": (
        "drop(h) * h",
        "drop(h) * h.detach().clamp(0, 1)",
        [
            "`h` no longer gets a gradient this way: detach at line 7 of model.py",
            "forward gained a `clamp` with max=1 and min=0 (model.py:7), on `detach`, not recorded by autograd",
        ],
    ),
    "a gradient straight through": (  # what is detached is new too: it never got a gradient
        "drop(h) * h",
        "drop(h) * (h + (h.round() - h).detach())",
        [
            "forward gained a `round`, a `sub` and an `add` (model.py:7)",
            "forward gained a `detach` (model.py:7), on `sub`, not recorded by autograd",
        ],
    ),
    "no gradients in the middle": (
        "h = torch.tanh(w * 2)",
        "with torch.no_grad(): h = torch.tanh(w * 2)",
        ["`h` no longer gets a gradient: no_grad at line 6 of model.py"],
    ),
    "no gradients over several lines": (
        "h = torch.tanh(w * 2)",
        "with torch.no_grad():\n    a = w * 2\n\n    h = torch.tanh(a)",
        ["`h` no longer gets a gradient: no_grad at line 6 of model.py"],
    ),
    "no gradients in what is called": (
        "h = torch.tanh(w * 2)",
        "def body(x):\n    return torch.tanh(x * 2)\n\nwith torch.inference_mode():\n    h = body(w)",
        ["`h` no longer gets a gradient: inference_mode at line 9 of model.py"],
    ),
    "no gradients by a decorator": (
        "h = torch.tanh(w * 2)",
        "@torch.no_grad()\ndef body(x):\n    return torch.tanh(x * 2)\n\nh = body(w)",
        ["`h` no longer gets a gradient: no_grad at line 6 of model.py"],
    ),
    "no gradients in one of two calls": (
        "h = torch.tanh(w * 2)",
        "class Off(torch.no_grad):\n    pass\n\ndef body(x):\n    return torch.tanh(x * 2)\n\n"
        "with torch.no_grad():\n    body(w)\nwith Off():\n    h = body(w)",
        ["`h` no longer gets a gradient: no_grad at line 10 of model.py"],
    ),
    "no gradients by a statement": (
        "h = torch.tanh(w * 2)",
        "with torch.no_grad():\n    w * 2\ntorch.set_grad_enabled(False)\nh = torch.tanh(w * 2)\n"
        "torch.set_grad_enabled(True)",
        ["`h` no longer gets a gradient: no_grad at line 9 of model.py"],
    ),
    "a mask elsewhere": ("drop(h) * h", "drop(h) * h + drop(w)", ["forward gained a `mul` and an `add` (model.py:7)"]),
    "a second mask": (
        "drop(h)",
        "drop(drop(h))",
        ["forward gained a `mul` (model.py:7), on `mul` and an input float32[4]"],
    ),
}


def taken(tmp_path: Path, source: str, settings: Settings = Settings()) -> Snapshot:  # noqa: B008
    script = tmp_path / "model.py"
    script.write_text(source)
    with contextlib.redirect_stdout(io.StringIO()):
        result, trace = runner.record(runner.Target.of(str(script)))
    assert result.exit_code == 0, result.failure
    around = switches((step.graph for step in trace.steps), script)
    sections = trace_sections(trace, settings)
    return Snapshot("model.py", sections, settings.include, trace.total_steps, switches=around)


def mutated(source: str, old: str, new: str) -> str:
    assert old in source
    return source.replace(old, new)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_is_named(tmp_path: Path, mutation: str) -> None:
    old, new, expected = MUTATIONS[mutation]
    kept = read_snapshot(taken(tmp_path, MODEL).to_text())
    found = compare(kept, taken(tmp_path, mutated(MODEL, old, new)))
    for sentence in expected:
        assert any(line.startswith(sentence) for line in found.sentences), found.sentences


@pytest.mark.parametrize("change", HARMLESS)
def test_a_harmless_change_is_none(tmp_path: Path, change: str) -> None:
    kept = read_snapshot(taken(tmp_path, MODEL).to_text())
    source = MODEL
    for old, new in HARMLESS[change]:
        source = mutated(source, old, new)
    assert compare(kept, taken(tmp_path, source)).sentences == []


def test_a_module_whose_operations_are_in_another_one_is_named() -> None:
    """Those of a list may be called by the variable of a loop, and its parameters by their place in the list."""
    outputs = (Output(TensorType("float32", (3,)), ("scaled.weight",)),)
    leaf, neg = (
        Node(0, "leaf", "AccumulateGrad", "", outputs),
        Node(1, "operation", "NegBackward0", "neg", (), (Edge(0),)),
    )
    modules = Modules(Graph((leaf, replace(neg, module="layer"))), [0, 1], Graph(), [])
    assert list(modules.sentences("gained")) == ["forward gained the module `scaled` with 1 parameter"]


WHOLE = replace(Settings(), include=(*Settings().include, "untracked"))


@pytest.mark.parametrize("mutation", UNRECORDED)
def test_what_autograd_did_not_record_is_named(tmp_path: Path, mutation: str) -> None:
    old, new, expected = UNRECORDED[mutation]
    kept = read_snapshot(taken(tmp_path, DROPOUT, WHOLE).to_text())
    found = compare(kept, taken(tmp_path, mutated(DROPOUT, old, new), WHOLE))
    assert found.sentences == expected


@pytest.mark.parametrize("change", HARMLESS)
def test_a_harmless_change_is_none_in_what_autograd_did_not_record(tmp_path: Path, change: str) -> None:
    source = MODEL
    for old, new in HARMLESS[change]:
        source = mutated(source, old, new)
    kept = read_snapshot(taken(tmp_path, MODEL, WHOLE).to_text())
    assert "%detach: float32[2, 3] = detach(hidden)  untracked\n" in kept.to_text()
    assert compare(kept, taken(tmp_path, source, WHOLE)).sentences == []
