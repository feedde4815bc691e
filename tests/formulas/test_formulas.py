"""Derivatives as formulas: how they read, and that they give the numbers that the engine gave."""

from __future__ import annotations

import builtins
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.formulas import Formula, FormulaError, formulas_of
from autograph_cli.graph import Edge, Graph, Node, Output, TensorType
from autograph_cli.record.recorder import Recorder
from tests.formulas.evaluate import evaluate


def run(script: str) -> tuple[tuple[Formula, ...], dict[str, Any]]:
    """The formulas of a script's last step, and its variables."""
    torch.manual_seed(0)
    made: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "grad": torch.autograd.grad}
    exec(f"def script():\n{textwrap.indent(script, '    ')}\n    return locals()", made)
    recorder = Recorder("all", "script.py")
    recorder.start()
    try:
        scope = made["script"]()
    finally:
        trace = recorder.finish(dict(scope))
    return formulas_of(trace.steps[-1].graph), scope


VECTOR = "x = torch.tensor([0.3, -0.7, 1.2], requires_grad=True, dtype=torch.float64)\n"
MATRIX = """
x = torch.randn(5, 3, dtype=torch.float64)
W = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
b = torch.randn(4, dtype=torch.float64, requires_grad=True)
"""

READ = {
    "powers": (
        "x = torch.tensor(2.0, requires_grad=True)\ny = x ** 4\nfor _ in range(4):\n"
        "    y, = grad(y, x, create_graph=True)",
        ["y = x⁴", "y′ = 4x³", "y′′ = 12x²", "y′′′ = 24x", "y′′′′ = 24"],
    ),
    "a named intermediate": (
        VECTOR + "w = torch.tensor([1., 2, 3], requires_grad=True)\ny = torch.tanh(w * x)\nloss = (y ** 2).sum()\n"
        "loss.backward()",
        ["y = tanh(w·x)", "loss = sum(y²)", "dloss/dw = 2·x·y·(1 - y²)", "dloss/dx = 2·w·y·(1 - y²)"],
    ),
    "a matrix": (
        MATRIX + "h = x @ W.t() + b\nloss = (h ** 2).sum() / 2\nloss.backward()",
        ["h = b + x @ Wᵀ", "loss = sum(h²)/2", "dloss/dW = hᵀ @ x", "dloss/db = sum(h, dim=0)"],
    ),
    "classes": (
        MATRIX
        + "t = torch.tensor([0, 1, 2, 3, 1])\nz = F.linear(x, W, b)\nloss = F.cross_entropy(z, t)\nloss.backward()",
        [
            "z = b + x @ Wᵀ",
            "loss = -sum(log_softmax(z, dim=1)·onehot(t, 4))/5",
            "dloss/dW = ((softmax(z, dim=1) - onehot(t, 4))ᵀ @ x)/5",
            "dloss/db = mean(softmax(z, dim=1) - onehot(t, 4), dim=0)",
        ],
    ),
    "the gradient that a script gives": (VECTOR + "y = x * 3\ny.backward(torch.ones(3))", ["y = 3x", "dy/dx = 3v"]),
}


@pytest.mark.parametrize("name", READ)
def test_formulas_read_as_a_person_would_write_them(name: str) -> None:
    script, lines = READ[name]
    assert list(map(str, run(script)[0])) == lines


COMPUTED = {
    "elementwise": VECTOR + "y = torch.exp(x) * torch.sin(2 * x) + x.cos() / (1 + x ** 2)\nz = y.sigmoid().log()\n"
    "loss = (z.sinh() + z.cosh() * 0.5 - z).mean()\nloss.backward()",
    "roots": VECTOR + "y = (x ** 2 + 1).sqrt() + (x ** 2 + 2).rsqrt() + 1 / (x + 3)\nloss = y.sum()\nloss.backward()",
    "kinks": VECTOR
    + "positive = x > 0\ny = x.relu() + 0.5 * x.abs() + torch.where(positive, x ** 2, -x)\nloss = y.sum()\nloss.backward()",
    "soft": VECTOR + "loss = (F.softplus(x) * F.silu(x) + F.logsigmoid(x)).sum()\nloss.backward()",
    "kinks and ties": "x = torch.tensor([0.0, 1.0, -1.0], requires_grad=True, dtype=torch.float64)\n"
    "y = torch.tensor([0.0, 2.0, -1.0], dtype=torch.float64)\n"
    "z = torch.maximum(x, y) + x.clamp(-1, 1) + x.abs() + F.elu(x, 0.5) + F.leaky_relu(x, 0.1) + torch.minimum(y, x)\n"
    "loss = z.sum() + F.hardtanh(x).sum() * 2 + F.smooth_l1_loss(x, y)\nloss.backward()",
    "numbers": VECTOR
    + "y = 2 - x / 3 + 0.25 * (x - 1.5)\nz = 2 ** x + torch.add(x, y, alpha=3)\nloss = (y * z).sum()\n"
    "loss.backward()",
    "broadcast": MATRIX + "y = torch.tanh(x @ W.t() * b)\nloss = (y * b).mean(0).pow(2).sum()\nloss.backward()",
    "dims": MATRIX + "y = (x @ W.t()).sum(1, keepdim=True) * b\nloss = y.mean(dim=0).exp().sum()\nloss.backward()",
    "softmax": MATRIX + "p = torch.softmax(x @ W.t() + b, dim=1)\nloss = -(p * p.log()).sum(1).mean()\nloss.backward()",
    "vectors": VECTOR + "A = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)\ny = A @ x\n"
    "loss = x @ y + (y @ A).norm()\nloss.backward()",
    "batches": "a = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)\n"
    "b = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)\n"
    "p = torch.softmax(a @ b, dim=-1)\nloss = (p @ a.transpose(1, 2).transpose(-1, -2)).pow(2).sum()\nloss.backward()",
    "squared error": MATRIX + "t = torch.randn(5, 4, dtype=torch.float64)\nloss = F.mse_loss(F.linear(x, W, b), t)\n"
    "loss.backward()",
    "reshaped": MATRIX
    + "y = torch.tanh(W.view(2, 6)).reshape(3, 4)\nloss = (x @ y).flatten().pow(3).sum()\nloss.backward()",
    "a loop": MATRIX
    + "U = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)\nh = start = torch.zeros(5, 4, dtype=torch.float64)\n"
    "for _ in range(5):\n    h = torch.tanh(x @ W.t() + h @ U)\nloss = (h ** 2).sum()\nloss.backward()",
    "double": VECTOR + "w = torch.tensor([1., -2, 0.5], requires_grad=True, dtype=torch.float64)\n"
    "score = torch.sin(w * x).sum()\nslope, = grad(score, x, create_graph=True)\n"
    "loss = score + 10 * (slope.norm() - 1) ** 2\nloss.backward()",
    "double with matrices": MATRIX + "y = torch.tanh(x @ W.t() + b)\nloss = y.pow(2).sum()\n"
    "g, k = grad(loss, (W, b), create_graph=True)\npenalty = (g ** 2).sum() + (k ** 3).sum()\npenalty.backward()",
    "triple": VECTOR + "y = (torch.sin(x) * x ** 3).sum()\na, = grad(y, x, create_graph=True)\n"
    "b, = grad(a.pow(2).sum(), x, create_graph=True)\nc = (b * x).sum()\nc.backward()",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_formulas_give_the_recorded_numbers(name: str) -> None:
    found, scope = run(COMPUTED[name])
    values = {key: np.asarray(x.detach().numpy()) for key, x in scope.items() if isinstance(x, torch.Tensor)}
    checked = 0
    for formula in found:
        assert not formula.inexact, formula
        value = evaluate(formula.expr, values)
        names = formula.name.split(" = ")
        of = names[-1].rpartition("/d")[2]
        if "/d" not in names[-1] or len(names) > 1:
            if names[0] in values and names[0] != "h":  # of a name that is bound again the last holder is there only
                np.testing.assert_allclose(np.broadcast_to(value, values[names[0]].shape), values[names[0]], rtol=1e-9)
            values.setdefault(names[0], value)
        elif of in scope and scope[of].is_leaf:
            expected = scope[of].grad.numpy()
            np.testing.assert_allclose(np.broadcast_to(value, expected.shape), expected, rtol=1e-8, atol=1e-12)
            checked += 1
        values.setdefault(formula.name, value)
    assert checked


SCALE = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x * by
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.by, None
"""
SAID = {
    "an operation without a rule is a call": (
        "x = torch.randn(4, requires_grad=True)\ny = torch.renorm(x.view(2, 2), 2, 0, 1.5)\nloss = y.sum()\nloss.backward()",
        [
            ("y = renorm(reshape(x, 2×2), p=2, dim=0, maxnorm=1.5)", False),
            ("loss = sum(y)", False),
            ("δ = ∂renorm(reshape(x, 2×2), p=2, dim=0, maxnorm=1.5)/∂reshape(x, 2×2)", True),
            ("dloss/dx = reshape(δ, 4)", False),
        ],
    ),
    "its derivative is in brackets where something is done to it": (
        "M = torch.rand(3, 3).requires_grad_()\nx = torch.rand(3, requires_grad=True)\n"
        "loss = (M.T.cumprod(0) * x).sum()\nloss.backward()",
        [
            ("loss = sum(x·cumprod(Mᵀ, dim=0))", False),
            ("dloss/dM = ((∂cumprod(Mᵀ, dim=0)/∂Mᵀ)·x)ᵀ", True),
            ("dloss/dx = sum(cumprod(Mᵀ, dim=0), dim=0)", False),
        ],
    ),
    "it is one factor among others": (
        "x = torch.rand(3, requires_grad=True)\ng, = torch.autograd.grad((x ** 2).lgamma().sum(), x, create_graph=True)\n"
        "loss = (1 / (g * 3 + 7)).sum()",
        [("g = d(sum(lgamma(x²)))/dx = 2·x·(∂lgamma(x²)/∂(x²))", True), ("loss = sum(1/(3g + 7))", False)],
    ),
    "what a custom Function computes is not known": (
        SCALE + "x = torch.randn(4, requires_grad=True)\nw = torch.randn(4, requires_grad=True)\n"
        "y = Scale.apply(x, 2) - Scale.apply(x, 3)\nz = Scale.apply(x, 4)\nloss = (y + w * z).sum()\nloss.backward()",
        [("loss = sum(w·z + y)", False), ("dloss/dw = z", False)],
    ),
    "no gradient goes through what was detached": (
        "x = torch.randn(4, requires_grad=True)\nloss = (x * x.detach()).sum()\nloss.backward()",
        [("loss = sum(x·detach(x))", False), ("dloss/dx = detach(x)", False)],
    ),
    "nor is one told of what was changed without a record": (
        "x = torch.randn(4, requires_grad=True)\ny = x * 2\nwith torch.no_grad():\n    y.clamp_(min=0)\n"
        "loss = (y * 3).sum()\nloss.backward()",
        [("y = 2x", False), ("t₁ = clamp(y, min=0)", False), ("loss = 3·sum(t₁)", False)],
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_formulas_say_what_is_known(name: str) -> None:
    script, lines = SAID[name]
    assert [(str(formula), formula.inexact) for formula in run(script)[0]] == lines


def test_formulas_are_latex_too() -> None:
    found, _ = run(READ["a named intermediate"][0])
    assert found[2].latex == r"\frac{\partial \mathit{loss}}{\partial w} = 2 x y \left(1 - y^{2}\right)"


def test_a_power_of_what_is_1_or_0_is_itself_and_products_of_tensors_stand_in_brackets() -> None:
    script = (
        "W = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)\nx = torch.randn(3, dtype=torch.float64)\n"
        "s = torch.tensor(2.0, requires_grad=True, dtype=torch.float64)\nloss = (torch.relu(W @ x) * s).sum()\n"
        "g, = grad(loss, W, create_graph=True)\np = ((g @ x) * s).sum()\np.backward()"
    )
    found = {str(each).partition(" = ")[0]: each for each in run(script)[0]}
    assert "²" not in str(found["g"])
    assert r"s \left(g \, x\right)" in found["p"].latex


def test_a_graph_without_names_has_no_formula() -> None:
    with pytest.raises(FormulaError, match="no formula to write"):
        formulas_of(Graph())


def test_a_graph_of_many_operations_is_refused() -> None:
    number = TensorType("float32", ())
    nodes = [Node(0, "leaf", "AccumulateGrad", "", (Output(number, ("x",)),))]
    nodes += [
        Node(n, "operation", "ExpBackward0", "exp", (Output(number),), args=(Edge(n - 1),)) for n in range(1, 400)
    ]
    with pytest.raises(FormulaError, match="up to 300 operations, and the graph has 399"):
        formulas_of(Graph(tuple(nodes)))


@pytest.mark.parametrize(
    ("name", "op", "why"),
    [
        ("SoftplusBackward", "Softplus", "is a custom Function"),
        ("BernoulliBackward0", "bernoulli", "is random"),
        ("FftBackward0", "spherical_fft", "is not in the table of operations"),
        ("TransposeBackward0", "transpose", "takes dim0, which is not recorded"),
    ],
)
def test_what_cannot_be_run_again_is_named_with_the_reason(name: str, op: str, why: str) -> None:
    vector = TensorType("float32", (2,))
    leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(vector, ("x",)),))
    graph = Graph((leaf, Node(1, "operation", name, op, (Output(vector, ("y",)),), args=(Edge(0),))))
    with pytest.raises(FormulaError, match=f"{op} cannot be: it {why}$"):
        formulas_of(graph, needed=True)


def test_without_sympy_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = builtins.__import__

    def absent(name: str, *args: Any, **options: Any) -> Any:
        if name == "sympy":
            raise ModuleNotFoundError("No module named 'sympy'", name="sympy")
        return there(name, *args, **options)

    for name in [name for name in sys.modules if name.startswith("autograph_cli.formulas.")]:
        if not name.endswith("records"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(FormulaError, match="pip install sympy"):
        formulas_of(Graph())
