"""Reason and remedy are of what was recorded: the same code has others where the cause is another."""

from __future__ import annotations

import pytest

from tests.findings.test_explain import Explain, found  # noqa: F401

START = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
LOOP = """
for _ in range(4):
    x = torch.randn(8, 3)
    {}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TWO = "a, b = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)\noptimizer = torch.optim.SGD([a.weight, b.weight], 0.1)"
ROW = "w = torch.randn(3, 3, requires_grad=True)\nmasked = w.masked_fill(torch.eye(3).tril() == 0, -float('inf'))\n"
CUSTOM = """
class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (x.norm() + 1)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / x.norm()
x = torch.zeros(3, requires_grad=True)
Unit.apply(x * 1).sum().backward()
"""
WORDS = [
    # script, code, what is said, what is not
    (TWO + LOOP.format("loss = (b(x) * a(x).detach()).pow(2).mean()"), "AG202", "Detach less", "index"),
    (TWO + LOOP.format("loss = b.weight[a(x).argmax(1)].pow(2).mean()"), "AG202", "Whole numbers", "Detach"),
    (TWO + LOOP.format("h = a(x)\n    with torch.no_grad():\n        h = h * 2\n    loss = (b(x) * h).mean()"), "AG202", "outside of no_grad", "Detach"),
    (TWO + LOOP.format("loss, more = b(x).pow(2).mean(), a(x).mean()"), "AG202", "Add what is computed from it", "Detach"),
    (TWO + LOOP.format("loss = b(x).pow(2).mean() * a(x).mean().item()"), "AG202", "plain number", "Detach"),
    (TWO + LOOP.format("with torch.no_grad():\n        h = a(x)\n    loss = (b(x) * h).mean()"), "AG201", "outside of no_grad", "No recorded"),
    (ROW + "torch.softmax(masked[:, 1:], 1)[1:].sum().backward()", "AG301", "was put there", "in the domain"),
    (ROW + "torch.log_softmax(masked, 1).diagonal(1).sum().backward()", "AG301", "pick nothing that is masked", "in the domain"),
    ("w = torch.tensor([1.0, -1.0], requires_grad=True)\ntorch.where(w > 0, w.sqrt(), w).sum().backward()", "AG301", "zero times NaN", "log1p"),
    ("w = torch.tensor([1e30], requires_grad=True)\n(w * 1e10).sum().backward()", "AG301", "larger than its type", "in the domain"),
    (CUSTOM, "AG302", "The backward of Unit", "infinite"),
    ("w = torch.zeros(3, requires_grad=True)\nw.norm().sqrt().backward()", "AG302", "infinite", "larger"),
    ("w = torch.ones(3, requires_grad=True)\n(g,) = torch.autograd.grad((w**2).sum(), w)\nprint(w.grad.norm())", "AG006", "Take what grad returns", "zero_grad"),
    ("w = torch.ones(3, requires_grad=True)\nw = w * 0.1\n(w**2).sum().backward()\nw -= w.grad * 2", "AG006", "place at expr.py:5,", "retain_grad"),
    ("w = torch.ones(3, requires_grad=True)\na = w.exp()\nv = torch.ones(3, requires_grad=True)\na.sum().backward()\n(v**2).sum().backward()\n(a * 2).sum().backward()", "AG001", "expr.py:7", "expr.py:8"),
    ("net = nn.Linear(4, 20)\nnn.init.constant_(net.bias, -9)\nfor _ in range(4):\n    torch.relu(net(torch.rand(8, 4))).sum().backward()\n    net.zero_grad()", "AG305", "initial values", "learning rate"),
    ("x = torch.randn(8, 3)\nx[2, 1] = float('nan')\nnn.Linear(3, 1)(x).pow(2).mean().backward()", "AG301", "where it is made", "in the domain"),
    ("x = torch.randn(8, 3)\nx[2, 1] = float('inf')\nnn.Linear(3, 1)(x).pow(2).mean().backward()", "AG301", "where it is made", "mask"),
    ("x = torch.ones(8, 3)\nx = (x - x.mean(0)) / x.std(0)\nnn.Linear(3, 1)(x).pow(2).mean().backward()", "AG301", "expr.py:5", "in the domain"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "code", "said", "unsaid"), WORDS)
def test_reason_and_remedy_are_of_the_cause(found: Explain, script: str, code: str, said: str, unsaid: str) -> None:  # noqa: F811
    findings = found(START + script + "\n")
    assert {one.code for one in findings} == {code}
    for one in findings:
        words = " ".join([one.reason, one.remedy, *one.facts])
        assert said in words
        assert unsaid not in words
