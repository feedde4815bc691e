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
    ("net = nn.Linear(3, 4)\n_, best = torch.max(net(torch.randn(2, 3)), 1)\nloss = best.float().mean()\nloss.backward()", "AG004", "max at expr.py:5 makes best: int64[2]", "torch.tensor"),
    ("net = nn.Linear(3, 4)\ndef miss(out, y):\n    return 1 - (out.sum(1) > y).float().mean()\nloss = miss(net(torch.randn(2, 3)), 0.5)\nloss.backward()", "AG004", "expr.py:6 compares", "torch.tensor"),
    ("a, b = torch.ones(1, requires_grad=True), nn.Linear(1, 1)\nopt = torch.optim.SGD([a, *b.parameters()], 0.1)\nfor _ in range(4):\n    c = torch.FloatTensor([a.item(), 2])\n    loss = (b(c[:1]) - c[1]).pow(2).mean()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()", "AG201", "torch.stack", "no_grad"),
    ("net = nn.Linear(3, 4).requires_grad_(False)\nx = torch.randn(2, 3)\ny = net(x)\nx.requires_grad_()\nloss = y[0, y[0].argmax()]\nloss.backward()", "AG004", "before line 6", "argmax"),
    ("w = torch.ones(3, requires_grad=True)\nh = w.exp()\nfor _ in range(2):\n    loss = (h * 2).sum()\n    loss.backward()", "AG001", "Compute h within the loop", "Detach what is carried"),
    ("w = torch.ones(2, 3, requires_grad=True)\ny = torch.sigmoid(w)\ny[:, 0] += 1\n(y**2).sum().backward()", "AG002", "sigmoid at expr.py:5 saved y", "pow"),
    ("G, D = nn.Linear(2, 3), nn.Linear(3, 1)\nopt = torch.optim.SGD(D.parameters(), 0.1)\nfake = G(torch.randn(4, 2)).tanh()\nD(fake).pow(2).mean().backward()\nopt.step()\nD(fake).mean().backward()", "AG001", "expr.py:7 fake.detach()", "Add the losses"),
    (TWO + "\ntotal = 0" + LOOP.format("total = total + b(a(torch.randn(8, 3))).pow(2).mean()\n    loss = total").replace("backward()", "backward(retain_graph=True)"), "AG002", "total holds the graphs", "hidden"),
    ("net = nn.GRU(3, 4)\noptimizer = torch.optim.SGD(net.parameters(), 0.1)\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.net = net\n    def forward(self, x):\n        return self.net(x)[0][:, -1]\nmodel = Net()" + LOOP.replace("8, 3", "8, 5, 3").format("loss = (model(x) - torch.ones(8, 4)).pow(2).mean()"), "AG511", "batch_first", "softmax"),
    ("import copy\nclass Policy(nn.Linear):\n    pass\npolicy = Policy(3, 2)\npolicy.kept = [policy(torch.ones(3)).sum()]\nbest = copy.deepcopy(policy)", "AG017", "policy.kept[0].detach()", "randn"),
    ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.randn(4)).view(2, 2)\nnet = Net()\nnet.w.sum().backward()\nprint(net.w.grad)", "AG204", "Keep nn.Parameter itself", "retain_grad"),
    ("w = torch.ones(3, requires_grad=True)\nh = w * 2\nh.sum().backward()\nh.retain_grad()\nprint(h.grad)", "AG204", "Call retain_grad() before backward", "requires_grad_"),
    (TWO + LOOP.format("h = torch.tensor([v.item() for v in a(x).mean(0)])\n    loss = (b(x) * h).mean()"), "AG202", "torch.stack", "no_grad"),
]  # fmt: skip
STEP = """
actor, critic = nn.Linear(3, 3), nn.Linear(3, 3)
first, second = torch.optim.SGD(actor.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
x = torch.randn(4, 3)
q, loss = critic(x).pow(2).mean(), critic(torch.tanh(actor(x))).mean()
q.backward()
second.step()
first.zero_grad()
loss.backward()
"""


def test_the_leaf_is_one_that_the_optimizer_of_the_step_holds(found: Explain) -> None:  # noqa: F811
    (one,) = found(START + STEP)
    assert (one.code, one.source and one.source.line) == ("AG002", 10)
    assert one.said.startswith("critic.weight, ")


@pytest.mark.parametrize(("script", "code", "said", "unsaid"), WORDS)
def test_reason_and_remedy_are_of_the_cause(found: Explain, script: str, code: str, said: str, unsaid: str) -> None:  # noqa: F811
    findings = found(START + script + "\n")
    assert {one.code for one in findings} == {code}
    for one in findings:
        words = " ".join([one.reason, one.remedy, *one.facts])
        assert said in words
        assert unsaid not in words


TURNS = """net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
{}
for _ in range(9):
    loss = net(torch.randn(2, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {}
"""
LOG = "def logger():\n    seen = []\n    def log(x):\n        seen.append((0, x))\n    return log\nlog = logger()"
NOTED = "class Memory(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('kept', torch.zeros(3))\n        self.write = nn.Linear(3, 3)\n    def forward(self, x):\n        self.kept = self.kept + self.write(x)\n        return self.kept\nmemory = Memory()\nfor _ in range(9):\n    memory(torch.randn(3))\n"
KEPT = [
    # script, who keeps it and where, of how many turns
    (TURNS.format(LOG, "log(loss)"), "seen (in log)", 9, "4 earlier turns"),
    (TURNS.format("kept = []", "kept.append(net(net(torch.randn(2, 4))).sum() + loss)"), "kept", 12, "4 earlier turns"),
    (NOTED, "memory.kept", 10, "9 earlier turns"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "name", "line", "turns"), KEPT)
def test_who_keeps_graphs_is_named(found: Explain, script: str, name: str, line: int, turns: str) -> None:  # noqa: F811
    (one,) = found(START + script, select=["AG401"])
    assert one.said == f"{name} keeps the graphs of earlier turns: it takes in one more at expr.py:{line} each time"
    assert turns in one.facts[0]


def test_a_graph_that_a_gradient_keeps_is_not_told_to_be_kept_by_a_variable(found: Explain) -> None:  # noqa: F811
    made = (
        "real = torch.randn(2, 4, requires_grad=True)\n    out = net(real)\n    out.sum().backward(create_graph=True)"
    )
    script = TURNS.format("", "pass").replace(
        "loss = net(torch.randn(2, 4)).pow(2).mean()", f"{made}\n    loss = real.grad.pow(2).mean() - out.mean()"
    )
    assert [one.said for one in found(START + script, select=["AG401"])] == []
