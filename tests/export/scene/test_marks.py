"""What is wrong in a graph is marked in its pictures, and a right graph has no mark."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from autograph_cli.cli.report import report
from autograph_cli.export import FORMATS, render
from autograph_cli.graph import Trace
from autograph_cli.graph.marks import marks_of, marks_text
from autograph_cli.record.run import runner

START = """import torch
w = torch.tensor([0.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, 3.0], requires_grad=True)
"""
KEPT = """class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.up, ctx.x = torch.exp(x), x
        return (ctx.up - 1 / ctx.up) / 2

    @staticmethod
    def backward(ctx, grad):
        return grad * (WHAT) / 2

out = Sinh.apply(w)
torch.autograd.grad(out.sum(), w, create_graph=MORE)
"""
LAYERS = """net = torch.nn.ModuleDict({"a": torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))})
net["b"] = torch.nn.Linear(2, 2)
h = net["a"](w)
loss = (net["b"](h.detach()) + v).sum()
loss.backward()
"""
CASES = {
    "right": ("loss = (w * v).exp().sum()\nloss.backward()\n", []),
    "relu in place": ("loss = (w * v).relu_().sum()\nloss.backward()\n", []),
    "a step": ("loss = (w * v).sum()\nloss.backward()\nwith torch.no_grad():\n    w -= w.grad\n", []),
    "a function of PyTorch's own that changes a norm in place": (
        "loss = torch.nn.functional.cosine_similarity(w + 1, v, dim=0)\nloss.backward()\n",
        [],
    ),
    "a mask": ("h = w * 2\nloss = (h * (h > 0)).sum()\nloss.backward()\n", []),
    "detach": (
        "loss = ((w * 2).detach() * v).sum()\nloss.backward()\n",
        ["gets no gradient", "cut here: detach, line 4"],
    ),
    "no_grad": (
        "g = w.exp()\nwith torch.no_grad():\n    h = g * 2\nloss = (h * v).sum()\nloss.backward()\n",
        ["gets no gradient", "cut here: mul, line 6"],
    ),
    "a leaf that required no gradient then": (
        "x = torch.ones(2)\ny = x.sin()\nx.requires_grad_()\nloss = (x * v - y).sum()\nloss.backward()\n",
        [],
    ),
    "a leaf that required none any more": (
        "loss = (w * v).sum()\nloss.backward(retain_graph=True)\nw.requires_grad_(False)\n"
        "more = (w.sin() * v).sum() + loss\nw.grad = None\nmore.backward()\n",
        [],
    ),
    "a solver under no_grad": (
        "u = v.cos()\nwith torch.no_grad():\n    z = torch.zeros(2)\n    for _ in range(20):\n"
        "        z = torch.tanh(w * z + u)\nloss = torch.tanh(w * z + u).sum()\nloss.backward()\n",
        [],
    ),
    "two layers under no_grad": (
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2))\n"
        "with torch.no_grad():\n    h = net(v)\nloss = (h * v).sum()\nloss.backward()\n",
        ["4 leaves of net get no gradient", "cut here: addmm, line 6"],
    ),
    "a target": (
        "h = w.exp()\nloss = (h * v - h.detach()).sum()\nloss.backward()\n",
        [],
    ),
    "a generator": (
        "made, critic = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()), torch.nn.Linear(2, 1)\n"
        "loss = critic(made(torch.ones(2)).detach()).sum()\nloss.backward()\n",
        [],
    ),
    "a copy of a model": (
        "online, target = (torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)) for _ in range(2))\n"
        "with torch.no_grad():\n    aim = target(v)\nloss = (online(v) - aim).pow(2).sum()\nloss.backward()\n",
        [],
    ),
    "the policy that a target asks": (
        "class Policy(torch.nn.Sequential):\n    pass\n"
        "policy = Policy(torch.nn.Linear(2, 2), torch.nn.Tanh())\n"
        "critic, target = (torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)) for _ in range(2))\n"
        "with torch.no_grad():\n    aim = 0.9 * target(policy(v))\n"
        "loss = (critic(v) - aim).pow(2).sum()\nloss.backward()\n",
        [],
    ),
    "an encoder that not only a target asks": (
        "class Encoder(torch.nn.Sequential):\n    pass\n"
        "encoder = Encoder(torch.nn.Linear(2, 2), torch.nn.Tanh())\n"
        "critic, target = (torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)) for _ in range(2))\n"
        "with torch.no_grad():\n    h = encoder(v)\n    aim = target(h)\n"
        "loss = (critic(h * v) - aim).pow(2).sum()\nloss.backward()\n",
        ["2 leaves of encoder get no gradient", "cut here: addmm, line 9"],
    ),
    "a block before an equal one": (
        "a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)\n"
        "with torch.no_grad():\n    h = a(v)\nloss = (b(h) * v).sum()\nloss.backward()\n",
        ["2 leaves of a get no gradient", "cut here: addmm, line 6"],
    ),
    "a part of a model that is built as another": (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.gate, self.main = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)\n    def forward(self, x):\n        with torch.no_grad():\n"
        "            g = self.gate(x).sigmoid()\n        return self.main(x) * g\n"
        "net = Net()\nloss = net(v).sum()\nloss.backward()\n",
        ["2 leaves of net.gate get no gradient", "cut here: addmm, line 10"],
    ),
    "a copy within a model": (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.online, self.target = (torch.nn.Sequential(torch.nn.Linear(2, 2)) for _ in range(2))\n"
        "    def forward(self, x):\n        with torch.no_grad():\n            aim = self.target(x)\n"
        "        return (self.online(x) - aim).pow(2).sum()\nnet = Net()\nloss = net(v)\nloss.backward()\n",
        [],
    ),
    "a model of another class": (
        "class Gate(torch.nn.Sequential):\n    pass\n"
        "gate, main = (cls(torch.nn.Linear(2, 2)) for cls in (Gate, torch.nn.Sequential))\n"
        "with torch.no_grad():\n    g = gate(v)\nloss = (main(v) * g).sum()\nloss.backward()\n",
        ["2 leaves of gate get no gradient", "cut here: addmm, line 8"],
    ),
    "a layer that is no copy": (
        "a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, bias=False)\n"
        "with torch.no_grad():\n    h = a(v)\nloss = (b(h) * v).sum()\nloss.backward()\n",
        ["2 leaves of a get no gradient", "cut here: addmm, line 6"],
    ),
    "rows by number": (
        "x = torch.ones(4, 2)\n_, rows = (v * x).topk(2)\nat = rows.T\nloss = (x[at[0]] * v).sum() + (x[rows[1]] * v).sum()\n"
        "loss.backward()\n",
        [],
    ),
    "a derivative without create_graph": (
        "h = (w.sin() * v).sum()\nslope, = torch.autograd.grad(h, w, retain_graph=True)\n"
        "loss = h + (slope * v).sum()\nloss.backward()\n",
        ["cut here: grad, line 5"],
    ),
    "a derivative with create_graph": (
        "h = (w.sin() * v).sum()\nslope, = torch.autograd.grad(h, w, create_graph=True)\n"
        "loss = h + (slope * v).sum()\nloss.backward()\n",
        [],
    ),
    "a sample that derivatives move": (
        "x = torch.ones(2, requires_grad=True)\nslope, = torch.autograd.grad((w * x).exp().sum(), x)\n"
        "x = (x - 0.1 * slope).detach()\nloss = (w * x * v).sum()\nloss.backward()\n",
        [],
    ),
    "a derivative without create_graph alone": (
        "slope, = torch.autograd.grad((w * w).sum(), w, retain_graph=True)\nloss = (slope * v).sum()\nloss.backward()\n",
        ["cut here: grad, line 4"],
    ),
    "a derivative that is looked at": (
        "h = (w.sin() * v).sum()\nslope, = torch.autograd.grad(h, w, retain_graph=True)\n"
        "print(slope.norm())\nh.backward()\n",
        [],
    ),
    "a step between retained passes": (
        "for _ in range(3):\n    loss = (w * v).exp().sum()\n    loss.backward(retain_graph=True)\n"
        "    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None\n",
        [],
    ),
    "changed under no_grad": (
        "h = w.exp()\nwith torch.no_grad():\n    h.mul_(2)\nloss = (h * v).sum()\nloss.backward()\n",
        ["left out of the gradient: mul_, line 6"],
    ),
    "nan forward": ("loss = ((w - 1).log() * v).sum()\nloss.backward()\n", ["NaN is made here, line 4"]),
    "nan backward": ("loss = ((w * v).sqrt() * 0).sum()\nloss.backward()\n", ["its backward makes NaN, line 4"]),
    "kept in forward": (
        KEPT.replace("WHAT", "ctx.up + 1 / ctx.up").replace("MORE", "True"),
        ["second derivative misses ctx.up, line 14"],
    ),
    "once differentiable": (
        KEPT.replace("WHAT", "ctx.up + 1 / ctx.up")
        .replace("MORE", "True")
        .replace("out.sum()", "out.pow(2).sum()")
        .replace("    @staticmethod\n    def backward", "    @staticmethod\n    @once\n    def backward")
        .replace("class Sinh", "once = torch.autograd.function.once_differentiable\nclass Sinh"),
        [],
    ),
    "a first derivative": (KEPT.replace("WHAT", "ctx.up + 1 / ctx.up").replace("MORE", "False"), []),
    "a module without gradient": (
        LAYERS,
        ["gets no gradient", "4 leaves of net.a get no gradient", "cut here: detach, line 7"],
    ),
    "in place": (
        "h = w.exp()\nk = h.mul_(2)\ntry:\n    k.sum().backward()\nexcept RuntimeError:\n    pass\n",
        ["changed in place after exp saved it, line 5"],
    ),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Trace]:
    def trace_of(script: str) -> Trace:
        monkeypatch.chdir(tmp_path)
        Path("script.py").write_text(START + script)
        return runner.record(runner.Target.of("script.py", ()), record=("values",), until_exit=True)[1]

    return trace_of


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_drawn_and_told(run: Callable[[str], Trace], case: str) -> None:
    script, words = CASES[case]
    trace = run(script)
    graph = trace.steps[0].graph
    assert [mark.words for mark in marks_of(graph)] == words
    told = dict(report(trace, None, Path()))
    assert told.get("marked", "") == ((words and f"{marks_text(marks_of(graph))}: red in the pictures") or "")
    picture = render(graph, "forward").decode()
    assert [word for word in words if f">{word}<" not in picture] == []
    assert picture.count('class="mark"') == len(words)
    assert "mark" not in render(graph, "forward", marks=False).decode()


STOPPED = "try:\n    b.backward()\nexcept RuntimeError:\n    pass\n"
LATE = {
    "freed": ("h = w.exp()\na, b = h.sum(), h.mean()\na.backward()\n" + STOPPED, ["freed before backward(), line 8"]),
    "freed by itself": ("b = w.exp().sum()\nb.backward()\n" + STOPPED, ["freed before backward(), line 7"]),
    "kept": ("h = w.exp()\na, b = h.sum(), h.mean()\na.backward(retain_graph=True)\n" + STOPPED, []),
    "a hook that scales": (
        "h = w.exp()\nh.register_hook(lambda g: g * 0.5)\nh.sum().backward()\n",
        ["hook × 0.5, line 5"],
    ),
    "a hook that clamps": (
        "v.register_hook(lambda g: g.clamp(0, 2))\n((w + 1) * v * v).sum().backward()\n",
        ["hook changes it, line 4"],
    ),
    "a hook on condition": (
        "h = w.exp()\nif h.requires_grad: h.register_hook(lambda g: -g)\nh.sum().backward()\n",
        ["hook × -1, line 5"],
    ),
    "a hook that looks": ("h = w.exp()\nh.register_hook(print)\nh.sum().backward()\n", []),
}


@pytest.mark.parametrize("case", LATE)
@pytest.mark.parametrize("view", ["forward", "backward"])
def test_hooks_and_what_was_freed_are_marked(run: Callable[[str], Trace], case: str, view: str) -> None:
    script, words = LATE[case]
    trace = run(script)
    picture = render(trace.steps[-1], view, hooks=trace.hooks).decode()
    assert re.findall(r">((?:freed|hook) [^<]*)</text>", picture) == words


def test_a_gradient_picture_has_the_mark_where_the_path_ends(run: Callable[[str], Trace]) -> None:
    graph = run(CASES["detach"][0]).steps[0].graph
    flowchart = render(graph, "backward", "mermaid").decode()
    box = next(line.split("[")[0].strip() for line in flowchart.splitlines() if "MulBackward0" in line)
    mark = next(line.split("(")[0].strip() for line in flowchart.splitlines() if "cut here" in line)
    assert f"  {box} -.-> {mark}" in flowchart.splitlines()


@pytest.mark.parametrize("view", ["forward", "backward", "double-backward"])
def test_what_was_differentiated_looks_unlike_other_results(run: Callable[[str], Trace], view: str) -> None:
    trace = run("h = w * v\nloss = h.exp().sum()\ng, = torch.autograd.grad(loss, w, create_graph=True)\n")
    picture = render(trace.steps[-1], view, "mermaid").decode()
    looks = dict(re.findall(r'\w+\("(\w+)"\):::(\w+)', picture))
    assert looks["loss"] == "root"
    assert {looks[name] for name in looks if name not in ("loss", "differentiated")} <= {"result"}


def test_the_arrow_to_a_mark_is_red(run: Callable[[str], Trace]) -> None:
    graph = run(CASES["detach"][0]).steps[0].graph
    assert 'stroke="#C62828"/><polygon' in render(graph).decode()
    assert "#C62828" not in render(run(CASES["right"][0]).steps[0].graph).decode()


@pytest.mark.parametrize("format", FORMATS)
def test_marks_are_drawn_in_every_format(run: Callable[[str], Trace], format: str) -> None:
    assert render(run(CASES["no_grad"][0]).steps[0], "forward", format)


def test_marks_stay_where_loops_are_rolled_and_modules_closed(run: Callable[[str], Trace]) -> None:
    trace = run(
        "layer = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(6)])\nh = w\nfor _ in range(8):\n"
        "    h = layer(h).detach() * v\nh.sum().backward()\n"
    )
    for options in ({}, {"roll": True}, {"depth": 0}, {"max_nodes": 10}):
        assert b"cut here: detach, line 7" in render(trace.steps[0], "forward", **options)  # type: ignore[arg-type]


def test_a_line_that_cuts_often_has_one_mark_in_a_picture(run: Callable[[str], Trace]) -> None:
    trace = run("loss = 0\nfor _ in range(3):\n    loss = loss + (w.exp().detach() * v).sum()\nloss.backward()\n")
    picture = render(trace.steps[0], roll=False).decode()
    assert picture.count(">cut here: detach, line 6 × 3<") == 1
    assert picture.count('class="mark"') == 2


def test_the_wrong_sinh_of_the_docs_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Path(__file__).parents[2] / "programs"
    monkeypatch.chdir(programs)
    traces = [runner.record(runner.Target.of(name, ()))[1] for name in ("13_sinh_wrong.py", "12_sinh_function.py")]
    words = "second derivative misses ctx.up, ctx.down, line 24"
    for view in ("forward", "backward", "double-backward"):
        assert [f">{words}</text>" in render(trace.steps[-1], view).decode() for trace in traces] == [True, False]
    assert [dict(report(trace, None, Path())).get("marked", "") for trace in traces] == [
        "second derivative misses (line 24): red in the pictures",
        "",
    ]


TEACHER = """
teacher, student = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
deep = torch.nn.Sequential(torch.nn.Linear(2, 9), torch.nn.Linear(9, 3))
optimizer = torch.optim.SGD([*{held}.parameters(), *student.parameters()], lr=0.1)
with torch.no_grad():
    target = deep(v).exp()
(student(v) - target).pow(2).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(("held", "words"), [("teacher", ""), ("deep", "cut here")], ids=["none", "some"])
def test_what_no_optimizer_holds_is_to_have_no_gradient(run: Callable[[str], Trace], held: str, words: str) -> None:
    trace = run(TEACHER.format(held=held))
    marks = marks_of(trace.steps[0].graph, trace.held)
    assert [mark.kind for mark in marks if mark.kind == "cut here"] == ([words] if words else [])
    assert bool(marks) == bool(words) == ("marked" in dict(report(trace, None, Path())))
    assert marks_of(trace.steps[0].graph), "without a ledger it may be a mistake"


def test_a_long_list_is_told_in_short(run: Callable[[str], Trace]) -> None:
    lines = "".join(f"h{n} = w.exp().detach()\nloss = loss + (h{n} * v).sum()\n" for n in range(5))
    marks = marks_of(run(f"loss = 0\n{lines}loss.backward()\n").steps[0].graph)
    assert marks_text(marks) == "a leaf gets no gradient, a gradient is cut × 5 (lines 5, 7, 9, ...)"


def test_what_is_detached_from_a_result_is_a_dashed_arrow_beside_its_mark(run: Callable[[str], Trace]) -> None:
    trace = run("fake = w.exp()\nd = (fake.detach() * v).sum()\ng = fake.mean()\nd.backward()\n")
    lines = render(trace.steps[0], "forward", "dot").decode().splitlines()
    (pill,) = [line.split()[0] for line in lines if 'label="fake"' in line]
    (mark,) = [line.split()[0] for line in lines if 'label="cut here: detach, line 5"' in line]
    led = [line for line in lines if line.strip().startswith(f"{pill} -> ")]
    assert any('style="dashed"' in line and "detach" in line for line in led)
    assert any(line.strip().startswith(f"{pill} -> {mark} ") for line in led)
    assert not [line for line in lines if 'label="detach' in line]
