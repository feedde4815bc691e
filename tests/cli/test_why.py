"""`autograph why` prints the paths of a gradient, or the line that cuts the way."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autograph_cli.graph import Trace
from autograph_cli.record.run import runner, store

Cli = Callable[..., Result]
Ask = Callable[[str, str, str], Result]

START = """import torch
x = torch.ones(3, requires_grad=True)
w = torch.ones(3, requires_grad=True)
"""


@pytest.fixture
def ask(cli: Cli, tmp_path: Path) -> Ask:
    """Record a script, which begins with `START`, and ask for a path in it."""

    def run(script: str, loss: str, leaf: str) -> Result:
        file = tmp_path / "expr.py"
        file.write_text(START + script)
        with contextlib.redirect_stdout(io.StringIO()):
            _, trace = runner.record(runner.Target.of(str(file)))
        store.keep(trace, tmp_path)
        return cli("why", loss, leaf)

    return run


def test_path_is_printed_with_shapes_and_lines(ask: Ask) -> None:
    result = ask("loss = (x * w).sum()\nloss.backward()\n", "loss", "w")
    assert result.stdout.splitlines() == [
        "loss -> w: 1 path.",
        "",
        "1. 2 steps",
        "   loss: float32[]  sum (SumBackward0)  expr.py:4  loss = (x * w).sum()",
        "   %2: float32[3]   mul (MulBackward0)  expr.py:4  loss = (x * w).sum()",
        "   w: float32[3]    AccumulateGrad",
    ]
    assert result.exit_code == 0


def test_of_many_paths_the_extremes_are_printed_with_the_total(ask: Ask, cli: Cli) -> None:
    ask("y = x\nfor _ in range(60):\n    y = y * 2 + y\nloss = y.sum()\nloss.backward()\n", "loss", "x")
    lines = cli("why", "loss", "x", "--limit", "2").stdout.splitlines()
    assert lines[0] == f"loss -> x: about 10^{len(str(2**60)) - 1} paths, 2 of them shown."
    assert [line for line in lines if line[:1].isdigit()] == [
        "1. 61 steps, of the shortest",
        "2. 121 steps, of the longest",
    ]
    assert "   ... 22 nodes more" in lines
    assert "   ... 82 nodes more" in lines


CUTS = [
    ("d = x.detach()", "x", "expr.py:4 `d = x.detach()`: .detach(), of x"),
    ("h = x * 2\nd = h.detach() * 3", "x", "expr.py:5 `d = h.detach() * 3`: .detach(), of h"),
    ("with torch.no_grad():\n    d = x * 2", "x", "expr.py:5 `d = x * 2`: torch.no_grad(), of x"),
    ("@torch.no_grad()\ndef f():\n    return x * 2\nd = f()", "x", "expr.py:6 `return x * 2`: torch.no_grad(), of x"),
    ("d = (x * 2).long()", "x", "expr.py:4 `d = (x * 2).long()`: an integer dtype, .long(), of x"),
    ("d = x.to(torch.int64)", "x", "expr.py:4 `d = x.to(torch.int64)`: an integer dtype, .to(torch.int64), of x"),
    ("d = x.data + 1", "x", "expr.py:4 `d = x.data + 1`: .data, of x"),
    (
        "s = x.sum()\nd = torch.tensor([s.item()])",
        "x",
        "expr.py:5 `d = torch.tensor([s.item()])`: a new tensor built from numbers, torch.tensor(), .item(), of s",
    ),
    ("n = x.sum().item()\nd = torch.full((3,), n)", "x", "expr.py:4 `n = x.sum().item()`: .item(), of x"),
    ("e = x.detach()\nd = e * 2\nd = d + 1", "x", "expr.py:4 `e = x.detach()`: .detach(), of x"),
    ("h = x * 2\nh = h.detach()\nd = h", "x", "expr.py:5 `h = h.detach()`: .detach(), of h"),
    ("for v in [x]:\n    d = v.data", "x", "expr.py:5 `d = v.data`: .data, of v"),
]


@pytest.mark.parametrize(("script", "leaf", "words"), CUTS)
def test_the_line_that_cuts_is_named(ask: Ask, script: str, leaf: str, words: str) -> None:
    result = ask(f"{script}\nloss = (d * w).sum()\nloss.backward()\n", "loss", leaf)
    assert result.exit_code == 1
    first, second, *_ = result.stdout.splitlines()
    assert first == f"{leaf} gets no gradient from loss."
    assert second.startswith(f"  Cut at {words}; ")


def told(result: Result) -> str:
    assert result.exit_code == 1
    return " ".join(result.stdout.split())


DETACHED = "d = x.detach()\nloss = (d * w).sum()"
BY_NET = "net = torch.nn.Linear(3, 1)\nwith torch.no_grad():\n    d = net(x)\nloss = (d * w).sum()"
IN_F = "def f(h):\n    z = h.detach()\n    return (z * w).sum()\ny = x * 2\nloss = f(y)"
TOLD = [
    # script, leaf, what is said, what is not
    ("loss = (w + x.detach()).sum()", "x", "Cut at expr.py:4 `loss = (w + x.detach()).sum()`: .detach(), of x", "does not require"),
    ("loss = w.sum()", "x", "No recorded operation of this step takes x; x is made at expr.py:2 `x = torch.ones(3, requires_grad=True)`. It is never used: no other statement of expr.py names it.", "Cut at"),
    (BY_NET, "net.weight", "Cut at expr.py:6 `d = net(x)`: torch.no_grad(), of net; d, which has no history, enters mul at expr.py:7.", "does not require"),
    ("y = x * 2\nloss = w.sum()", "x", "x is used by mul at expr.py:4, which loss does not hang on.", "Cut at"),
    (DETACHED, "d", "d is an input of mul at expr.py:5, but does not require grad. d is made at expr.py:4 `d = x.detach()`: .detach().", "Cut at"),
    ("k = torch.ones(3, dtype=torch.int32)\nloss = (k * w).sum()", "k", "but does not require grad: it is int32, and only floating ones carry gradients.", "Cut at"),
    (IN_F, "x", "expr.py:5 `z = h.detach()` cuts h: .detach(); whether x is in it, is not told", "Cut at"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "leaf", "said", "unsaid"), TOLD)
def test_where_the_way_ends_is_told(ask: Ask, script: str, leaf: str, said: str, unsaid: str) -> None:
    words = told(ask(f"{script}\nloss.backward()\n", "loss", leaf))
    assert said in words and unsaid not in words


def test_a_cut_in_a_module_is_named_where_its_variable_is_known(ask: Ask) -> None:
    script = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = torch.nn.Linear(3, 4)
        self.dec = torch.nn.Linear(4, 2)
    def forward(self, x):
        h = torch.relu(self.enc(x))
        h = h.detach()
        return self.dec(h)
net = Net()
loss = net(x).sum()
loss.backward()
"""
    words = told(ask(script, "loss", "net.enc.weight"))
    assert "Cut at expr.py:12 `h = h.detach()`: .detach(), of h;" in words


def test_the_wrong_way_round_is_told(ask: Ask) -> None:
    assert "the second is made from the first" in told(ask("loss = w.sum()\n", "w", "loss"))


def test_a_script_that_changed_since_is_not_read(ask: Ask, cli: Cli, tmp_path: Path) -> None:
    ask("d = x.detach()\nloss = (d * w).sum()\nloss.backward()\n", "loss", "x")
    (tmp_path / "expr.py").write_text(START + "print()\nd = x.data\nloss = (d * w).sum()\nloss.backward()\n")
    result = cli("why", "loss", "d")
    assert "The script as it was recorded is not in this folder" in told(result)
    assert "`" not in result.stdout


def test_unknown_names_are_answered_with_known_ones(cli: Cli, trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    for names in (("z", "w"), ("y", "z")):
        result = cli("why", *names)
        assert result.exit_code == 2
        assert result.stderr == "Error: There is no 'z' here; known names: 'y', 'w', 'x'.\n"


def test_what_cannot_be_answered_is_not_the_answer_that_there_is_no_path(cli: Cli, ask: Ask) -> None:
    assert cli("why", "loss", "x", "missing.json").exit_code == 2
    assert ask("raise ValueError\n", "loss", "x").exit_code == 2


def test_a_parameter_without_its_module_is_answered_with_its_whole_name(ask: Ask) -> None:
    result = ask("net = torch.nn.Linear(3, 1)\nloss = net(x).sum()\nloss.backward()\n", "loss", "weight")
    assert result.stderr == "Error: There is no 'weight' here; known names: 'net.weight'.\n"


WRONG = """class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x.detach() ** 2

y = Cube.apply(x).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
"""


def test_a_gradient_without_history_is_told_with_the_line_that_made_it(ask: Ask) -> None:
    first, made, why = ask(WRONG, "g", "x").stdout.splitlines()
    assert first == "No path: no tensor in the graph of this step is called g."
    assert made.startswith("  g is made at expr.py:16 `(g,) = ")
    assert why.startswith("  There `grad` with create_graph=True (expr.py:16) recorded nothing: ")
    told = ask(WRONG.replace(", create_graph=True", ""), "g", "x")
    assert (told.exit_code, told.stdout.splitlines()[-1][:21]) == (1, "  It has no grad_fn, ")


def test_a_gradient_has_paths_too(ask: Ask) -> None:
    script = "y = (x ** 3).sum()\n(g,) = torch.autograd.grad(y, x, create_graph=True)\ng.sum().backward()\n"
    result = ask(script, "g", "x")
    assert result.exit_code == 0
    assert "PowBackward0" in result.stdout


def test_the_step_that_has_the_names_is_taken(ask: Ask, cli: Cli) -> None:
    script = "r = x * w\nr.sum().backward()\nq = x + w\nr = None\nq.sum().backward()\n"
    lines = ask(script, "r", "w").stdout.splitlines()
    assert lines[:2] == ["Step 2 has not both; this is step 1.", "r -> w: 1 path."]
    asked = cli("why", "r", "w", "--step", "2").stdout
    assert asked.count("Step 2 was looked at; r is in: --step 1.\n") == 1


LEARN = "opt = torch.optim.SGD([x, w], 0.1)\nfor _ in range(2):\n    opt.zero_grad()\n    {}\n    loss.backward()\n    opt.step()\n"
PICK = "_, i = torch.max(x.view(1, 3), 1)\n    loss = w[i].sum()"
SAID = [
    # script, loss, leaf, what is said
    (LEARN.format(PICK), "loss", "x", "max at expr.py:7 makes whole numbers of"),
    (LEARN.format("y = torch.tensor([x.sum().item(), 1.0])\n    loss = (w.sum() * y).sum()"), "loss", "x", "torch.tensor(), .item()"),
    (LEARN.format("y = (x > 1) * 1.0\n    loss = y.sum().requires_grad_()"), "loss", "x", "gt at expr.py:7 cuts off what was"),
    ("y = x.double()\nloss = (y * w).sum()\nloss.backward()\n", "loss", "y", "It is no leaf, as _to_copy at expr.py:4"),
    ("def f(h):\n    return h\nh = f((x, w))\nloss = (h[0] * 2).sum()\nloss.backward()\n", "loss", "h", "No tensor of this step is called h;"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "loss", "leaf", "said"), SAID)
def test_what_the_graph_and_the_run_know_is_said(ask: Ask, script: str, loss: str, leaf: str, said: str) -> None:
    assert said in " ".join(ask(script, loss, leaf).stdout.split())


def test_a_function_that_returned_none_is_named(ask: Ask) -> None:
    script = """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b
    @staticmethod
    def backward(ctx, g):
        return g, None
loss = F.apply(x, w * 2).sum()
loss.backward()
"""
    done = ask(script, "loss", "w")
    assert done.exit_code == 1
    assert "FBackward returned None for input 1, expr.py:10 `return g, None`; it is of F at expr.py:11." in done.stdout
    assert ask(script, "loss", "x").stdout.startswith("loss -> x: 1 path.")


LAYERS = """net = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh()) for _ in range(16)])
opt = torch.optim.SGD(net[1:].parameters(), lr=0.1)
loss = net(x).sum()
loss.backward()
opt.step()
"""


def test_a_path_that_is_mostly_inside_modules_is_told_by_them(ask: Ask) -> None:
    result = ask(
        "emb, rnn = torch.nn.Embedding(5, 4), torch.nn.GRU(4, 4)\n"
        "y = rnn(emb(torch.tensor([[0, 1, 2, 3]]).t()))[0]\n"
        "loss = y[-1].sum()\nloss.backward()\n",
        "loss",
        "emb.weight",
    )
    rows = [line.split("  ") for line in result.stdout.splitlines()]
    whats = [[part.strip() for part in row if part.strip()][1] for row in rows[1:6]]
    assert [what.partition(", ")[0] for what in whats] == [
        "sum (SumBackward0)",
        "select (SelectBackward0)",
        "rnn (GRU)",
        "emb (Embedding): embedding",
        "AccumulateGrad",
    ]


def test_outputs_of_one_node_are_counted(ask: Ask) -> None:
    result = ask("loss = sum(each * 2 for each in w.unbind())\nloss.backward()\n", "loss", "w")
    assert "   %1: 3 x float32[]  unbind (UnbindBackward0)" in result.stdout


def test_a_long_path_is_told_by_modules_and_what_the_run_knows_of_the_leaf(ask: Ask) -> None:
    lines = ask(f"from torch import nn\n{LAYERS}", "loss", "net.0.0.weight").stdout.splitlines()
    assert lines[0] == "loss -> net.0.0.weight: 1 path, the shortest of 129 steps, by modules:"
    assert len(lines) < 32
    assert sum("(Sequential), " in line for line in lines) == 16
    assert lines[-2] == "  no optimizer holds it, so no step changes it."


@pytest.mark.parametrize(
    ("name", "told"),
    {
        "net.0.0.weight": ["  no optimizer holds it, so no step changes it."],
        "hidden": [],
        "tanh": [],
        "unused": ["  no optimizer holds it, and no backward call gave it a gradient."],
    }.items(),
)
def test_what_optimizers_hold_is_told_of_leaves_alone(ask: Ask, name: str, told: list[str]) -> None:
    layers = LAYERS.replace(
        "loss = net(x)", "hidden = net[0](x)\nunused = torch.ones(2, requires_grad=True)\nloss = net[1:](hidden)"
    )
    said = ask(f"from torch import nn\n{layers}", "loss", name).stdout
    assert [line for line in said.splitlines() if "optimizer" in line] == told


def test_what_freezes_is_told(ask: Ask) -> None:
    frozen = LAYERS.replace("opt =", "for p in net[0].parameters():\n    p.requires_grad = False\nopt =")
    said = ask(f"from torch import nn\n{frozen}", "loss", "net.0.0.weight").stdout
    assert "  expr.py:7 `p.requires_grad = False` freezes.\n" in said
