"""Where two runs part: changes that are planted in programs, those that only round, and none."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from autograph_cli.graph import Graph, Trace
from autograph_cli.graph.aligned import Aligned, Compared
from autograph_cli.graph.divergence import Divergence, divergence
from autograph_cli.graph.numbers import Apart, apart, kept
from autograph_cli.graph.parting_backward import partings
from autograph_cli.graph.parting_text import as_dict, first_place, sentence, text
from autograph_cli.graph.records import Edge, Measured, Node, Output, TensorType
from autograph_cli.record.run.runner import Target, record
from autograph_cli.testing.recording import recorded
from tests.graph.parting_programs import Planted, planted, rounded, same, sample
from tests.graph.planted_models import planted_models

COUNT = int(os.environ.get("AUTOGRAPH_PARTINGS", "40"))
"""So many changes are planted in programs, and in models; there are 387, and 527."""
ENGINE = os.environ.get("AUTOGRAPH_PARTINGS_ENGINE", "builtin")
REACH = 0.98


def trace(text: str, folder: Path, name: str) -> Trace:
    path = folder / name
    path.write_text(text, "utf-8")
    return record(Target.of(str(path)), "all", record=("values",), engine=ENGINE)[1]


def with_data(text: str, folder: Path, name: str) -> Trace:
    """The trace of a script as the command records it, with what is known of its data."""
    path = folder / name
    path.write_text(text, "utf-8")
    return recorded(Target.of(str(path)), "all", ENGINE, ("values",))[1]


_unchanged: dict[str, Trace] = {}
"""The traces of programs in which changes are planted, by their texts: each serves for all of its changes."""


def found(change: Planted, folder: Path) -> tuple[Divergence, tuple[Trace, Trace]]:
    if change.old not in _unchanged:
        _unchanged[change.old] = trace(change.old, folder, "a.py")
    old, new = _unchanged[change.old], trace(change.new, folder, "b.py")
    return divergence(old, new), (old, new)


def is_seen(traces: tuple[Trace, Trace]) -> bool:
    """Return whether a change comes through to a gradient at all: softmax does not mind what is added to all."""
    gradients = [
        [flow.given[0] for step in each.steps for node in step.graph if node.kind == "leaf" and node.measured
         for flow in node.measured.flows]
        for each in traces
    ]  # fmt: skip
    gaps = [apart(one, other) for one, other in zip(*gradients, strict=False) if one and other]
    return any(gap is None or gap.relative > 2e-6 for gap in gaps)


@pytest.mark.filterwarnings("ignore")
def test_planted_changes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named, missed = 0, []
    for change in (*sample(planted(), COUNT, 1), *sample(planted_models("forward", "backward"), COUNT, 1)):
        result, traces = found(change, tmp_path)
        if traces[1].failure or (result.verdict != "parted" and not is_seen(traces)):
            continue
        assert result.verdict == "parted", change.name
        place = first_place(result)
        said = sentence(result, ("a.py", "b.py"))
        if place is not None and place.line in (change.line, *change.lines) and change.kind in said:
            named += 1
        else:
            missed.append(f"{change.name}: {said}")
    capsys.readouterr()
    assert len(missed) <= (1 - REACH) * (named + len(missed)), missed


def test_changes_that_only_round_are_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for change in (*sample(rounded(), COUNT // 4, 1), *sample(planted_models("rounding"), COUNT // 4, 1)):
        result, _ = found(change, tmp_path)
        assert result.verdict in ("rounding", "equal"), change.name
        assert ".py:" not in sentence(result, ("a.py", "b.py"))
    capsys.readouterr()


def test_the_same_in_other_words_is_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for change in (*sample(same(), COUNT // 4, 1), *sample(planted_models("same"), COUNT // 4, 1)):
        result, _ = found(change, tmp_path)
        assert result.verdict == "equal", change.name
    capsys.readouterr()


SMALL = "import torch\nw = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], requires_grad=True)\n"
INCOMPARABLE = {
    "other random numbers": (
        SMALL + "torch.manual_seed({})\nx = torch.randn(5)\n(w * x).sum().backward()\n",
        ("1", "2"),
        "x is other data, or the runs drew other random numbers",
    ),
    "a leaf of other random numbers": (
        "import torch\ntorch.manual_seed({})\nw = torch.randn(6, requires_grad=True)\n(w * w).sum().backward()\n",
        ("1", "2"),
        "w is other data, or the runs drew other random numbers",
    ),
    "other lengths": (
        SMALL + "for _ in range({}):\n    (w * w).sum().backward()\n",
        ("2", "3"),
        "the first has 2 steps and the second 3",
    ),
    "other shapes": (
        SMALL + "x = torch.ones({}, 5)\n(w * x).sum().backward()\n",
        ("2", "3"),
        "x is float32[2, 5] in the first and float32[3, 5] in the second",
    ),
    "more backward calls": (
        SMALL + "y = (w * w).sum()\nfor _ in range({}):\n    y.backward(retain_graph=True)\n",
        ("1", "2"),
        "the first has 1 backward calls and the second 2",
    ),
}


@pytest.mark.parametrize("case", INCOMPARABLE)
def test_what_cannot_be_compared_is_told_in_a_sentence(case: str, tmp_path: Path) -> None:
    text, filled, told = INCOMPARABLE[case]
    old, new = (with_data(text.format(each), tmp_path, f"{each}.py") for each in filled)
    result = divergence(old, new)
    assert (result.verdict, told in result.why) == ("incomparable", True), result.why


def test_a_trace_without_numbers_is_never_equal(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(SMALL + "(w * w).sum().backward()\n", "utf-8")
    bare = record(Target.of(str(path)))[1]
    assert divergence(bare, bare).verdict == "incomparable"
    assert divergence(Trace("a.py"), Trace("a.py")).verdict == "incomparable"


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_what_is_nan_in_both_is_equal(value: str, tmp_path: Path) -> None:
    text = SMALL + f"y = (w * float('{value}')).sum()\ny.backward()\n"
    old, new = (trace(text, tmp_path, name) for name in ("a.py", "b.py"))
    assert divergence(old, new).verdict == "equal"
    other = trace(text.replace(f"float('{value}')", "2.0"), tmp_path, "c.py")
    assert divergence(old, other).verdict == "parted"


def test_a_gradient_that_is_rounding_by_itself_is_no_difference(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nconv, norm = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)\n"
        "x = torch.randn(3, 2, 9, 9)\ny = norm(conv({}))\n(y ** 3).mean().backward()\n"
    )
    old, new = (trace(text.format(each), tmp_path, f"{each[:1]}.py") for each in ("x", "x * 1.7 / 1.7"))
    assert divergence(old, new).verdict == "rounding"


CONV_NORM = """\
import torch
import torch.nn.functional as F
torch.manual_seed(1)
def per(t):
    return t[None, :, None, None]
class ConvNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        z = F.conv2d(x, w)
        ctx.save_for_backward(x, w)
        return (z - per(z.mean((0, 2, 3)))) * per((z.var((0, 2, 3), unbiased=False) + 1e-5).rsqrt())
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        z = F.conv2d(x, w)
        n = z.numel() / z.shape[1]
        inv = per((z.var((0, 2, 3), unbiased=False) + 1e-5).rsqrt())
        hat = (z - per(z.mean((0, 2, 3)))) * inv
        along, mean = per((g * hat).sum((0, 2, 3)) / n), per(g.sum((0, 2, 3)) / n)
        gz = FAULT
        return F.conv_transpose2d(gz, w), F.conv2d(x.transpose(0, 1), gz.transpose(0, 1)).transpose(0, 1)
x = torch.randn(SHAPE, requires_grad=True)
w = (torch.randn(8, 3, 3, 3) * GAIN).requires_grad_()
y = WAY
loss = LOSS
loss.backward()
"""
NORMED = "F.batch_norm(F.conv2d(x, w), None, None, training=True, eps=1e-5)"
RIGHT = "(g - mean - hat * along) * inv"
FAULTS = {
    "no projection": "(g - mean) * inv",
    "a sum for a mean": "(g - per(g.sum((0, 2, 3))) - hat * along) * inv",
    "not divided": "g - mean - hat * along",
    "a little more": "(g - mean - hat * along) * inv + 0.01 * g",
}
HIDING = "y.pow(2).sum()", "(y - 1).pow(2).mean()"
"""Losses that do not hang on what stands before the norm: its gradient is nothing but rounding."""
UNSEEN = {(HIDING[0], "a sum for a mean"), *[(loss, "not divided") for loss in HIDING]}
"""Faults that multiply nothing, and change no gradient."""
TELLING = "y.pow(3).sum()", "F.gelu(y).sum()"
SIZES = ("2, 3, 5, 5", "0.2"), ("4, 3, 10, 10", "0.2"), ("4, 3, 10, 10", "0.01")


def _fused(folder: Path, name: str, loss: str, size: tuple[str, str], way: str, fault: str = RIGHT) -> Trace:
    text = CONV_NORM.replace("FAULT", fault).replace("WAY", way).replace("LOSS", loss)
    return trace(text.replace("SHAPE", size[0]).replace("GAIN", size[1]), folder, name)


@pytest.mark.parametrize(
    ("loss", "size"),
    [(HIDING[0], SIZES[0]), (HIDING[1], SIZES[1]), (HIDING[0], SIZES[2]), *zip(TELLING, SIZES, strict=False)],
)
def test_what_cancels_is_judged_by_what_was_added_up(loss: str, size: tuple[str, str], tmp_path: Path) -> None:
    old = _fused(tmp_path, "a.py", loss, size, NORMED)
    equal = divergence(old, _fused(tmp_path, "b.py", loss, size, "ConvNorm.apply(x, w)"))
    assert equal.verdict == "rounding", sentence(equal, ("a.py", "b.py"))
    for name, fault in FAULTS.items():
        if (loss, name) in UNSEEN:
            continue
        found = divergence(old, _fused(tmp_path, "c.py", loss, size, "ConvNorm.apply(x, w)", fault))
        assert found.verdict == "parted", name


STYLES = {
    "the learning rate": ("lr=0.01", "lr=0.02", "state", 16),
    "what is clipped": (
        "    opt.step()",
        "    nn.utils.clip_grad_norm_(net.parameters(), 0.01); opt.step()",
        "state",
        16,
    ),
    "the gradient that it begins with": ("loss.backward()", "loss.backward(torch.tensor(1.5))", "seed", 15),
    "a label": ("[0, 1, 1, 0, 1, 0]", "[0, 1, 1, 0, 1, 1]", "state", 7),
    "a hook of a parameter": ("\nopt", "\nnet[3].weight.register_hook(lambda g: g * 1.1)\nopt", "hook", 12),
    "what requires a gradient": ("\nopt", "\nnet[3].weight.requires_grad_(False)\nopt", "cut", 12),
    "a mode": ("    out = net(x)", "    net.train(i != 2); out = net(x)", "operation", 12),
}
LOOP = """\
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(6, 4)
y = torch.tensor([0, 1, 1, 0, 1, 0])

opt = torch.optim.AdamW(net.parameters(), lr=0.01)

for i in range(4):
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("case", STYLES)
def test_training_that_parts_is_told_by_its_kind(case: str, tmp_path: Path) -> None:
    before, after, kind, line = STYLES[case]
    assert before in LOOP
    changed = LOOP.replace(before, after, 1).replace("\n\n", "\n", after.count("\n") > 1)
    result = divergence(trace(LOOP, tmp_path, "a.py"), trace(changed, tmp_path, "b.py"))
    assert result.parting is not None
    place = first_place(result)
    assert (result.verdict, result.parting.kind, place and place.line) == ("parted", kind, line)


def test_the_line_of_another_clip_or_hook_is_told(tmp_path: Path) -> None:
    clipped = [
        LOOP.replace("opt.step", f"nn.utils.clip_grad_norm_(net.parameters(), {most})\n    opt.step")
        for most in (9, 0.1)
    ]
    result = divergence(*(trace(each, tmp_path, name) for name, each in zip(("a.py", "b.py"), clipped, strict=True)))
    place = first_place(result)
    assert (result.verdict, place and place.line) == ("parted", 16)
    hooked = LOOP.replace("    loss =", "    out.register_hook(lambda g: g * 2)\n    loss =")
    result = divergence(trace(LOOP, tmp_path, "c.py"), trace(hooked, tmp_path, "d.py"))
    assert "  hook      registered at d.py:13, out.register_hook(lambda g: g * 2)" in str(result).splitlines()


@pytest.mark.parametrize("taken", [False, True])
def test_what_an_operation_keeps_for_itself_is_not_judged_unless_something_takes_it(
    taken: bool, tmp_path: Path
) -> None:
    text = "import torch\nw = torch.tensor([[1.0, 2.0, 4.0]], requires_grad=True)\n{}({}).sum().backward()\n"
    given = ("torch.var_mean", "w, 1)[1]") if taken else ("torch.nn.functional.layer_norm", "w * w, (3,)")
    text = text.replace("({})", "({}") if taken else text
    one = trace(text.format(*given), tmp_path, "a.py")
    graph = one.steps[0].graph
    node = next(each for each in graph if len(each.outputs) > 1)
    assert node.measured is not None
    other = [*node.measured.exact]
    last = other[1]
    assert last is not None
    other[1] = kept(np.full(last.count, 7e19, np.float32))
    nodes = [
        replace(each, measured=replace(each.measured, exact=tuple(other))) if each is node else each for each in graph
    ]
    result = divergence(one, replace(one, steps=(replace(one.steps[0], graph=replace(graph, nodes=tuple(nodes))),)))
    assert (result.verdict, result.unseen) == (("parted", 0) if taken else ("equal", 1))


NOISY = """\
import torch
w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
x = torch.tensor([0.1, 0.7])
opt = torch.optim.Adam([w], lr={lr})
for i in range(3):
    noise = {noise}
    loss = (w * torch.cat([torch.ones(2), noise])).sum() ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("rate", [0.1, 0.11])
def test_what_adam_makes_of_rounding_is_no_fault_and_another_rate_is(rate: float, tmp_path: Path) -> None:
    ways = {"a.py": (0.1, "torch.sin(x) ** 2 + torch.cos(x) ** 2 - 1"), "b.py": (rate, "-1e-7 * torch.tanh(x)")}
    runs = [trace(NOISY.format(lr=lr, noise=noise), tmp_path, name) for name, (lr, noise) in ways.items()]
    result = divergence(*runs)
    assert result.verdict == ("rounding" if rate == 0.1 else "parted"), str(result)
    assert rate != 0.1 or "as far as can be told" in str(result)


LEAVES = """\
import torch
from torch import nn
torch.manual_seed(0)
a, b = torch.randn(4), torch.rand(4)
w = (a * b).requires_grad_()
v = torch.linspace(0, 1, 4).unsqueeze(-1).requires_grad_()
u = nn.Parameter(torch.ones(4) * 0.3)
t = torch.zeros(4)
t[1] = 2.0
t.requires_grad_(True)
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
p = nn.Parameter(torch.empty(4))
nn.init.uniform_(p, -0.1, 0.1)
lin = nn.Linear(4, 4)
nn.init.constant_(lin.bias, 0.1)
y = torch.tensor([1.0, 2.0, 3.0, 4.0])
(lin(w * u + v.squeeze() * t + x + p) * y).sum().backward()
"""
MADE = {
    "another operation": ("(a * b)", "(a + b)", 5),
    "one more": ("(a * b)", "(a * b * 1.1)", 5),
    "what it is made of": ("torch.rand(4)", "torch.rand(4) * 0.5", 4),
    "a view": ("torch.linspace(0, 1, 4)", "torch.linspace(0, 2, 4)", 6),
    "a parameter": ("* 0.3", "* 0.4", 7),
    "before a change in place": ("torch.zeros(4)", "torch.ones(4)", 8),
    "a change in place": ("t[1] = 2.0", "t[2] = 2.0", 9),
    "numbers": ("3.0, 4.0], requires_grad", "3.5, 4.0], requires_grad", 11),
    "a draw": ("-0.1, 0.1", "-0.2, 0.2", 13),
    "what replaces a draw": ("lin.bias, 0.1", "lin.bias, 0.2", 15),
    "data": ("4.0])", "5.0])", 16),
}


@pytest.mark.parametrize("case", MADE)
def test_a_leaf_that_was_made_otherwise_is_named_where_it_was_made(case: str, tmp_path: Path) -> None:
    before, after, line = MADE[case]
    runs = []
    for name, script in {"a.py": LEAVES, "b.py": LEAVES.replace(before, after, 1)}.items():
        (tmp_path / name).write_text(script, "utf-8")
        runs.append(recorded(Target.of(str(tmp_path / name)), "all", measured=("values",))[1])
    result = divergence(*runs)
    place = first_place(result)
    assert result.parting is not None
    assert (result.parting.kind, place and place.line) == ("state", line)


DATA = """\
import torch
torch.manual_seed(2)
w = torch.nn.Parameter(torch.randn(3, 4))
data = torch.randn(6, 5, 3)
for step in range(4):
    x = data[step]
    torch.manual_seed(step)
    x = x + torch.randn(5, 3)
    torch.tanh(x @ w).square().mean().backward()
"""
DIFFER = {
    "another sample": (
        "data[step]",
        "data[step if step < 2 else 5]",
        "step 3, forward: the data differ: select makes ",
    ),
    "another seed": (
        "seed(step)",
        "seed(step if step < 2 else 9)",
        "step 3, forward: the data differ: randn ",
    ),
    "a parameter": ("    x = data", "    if step == 2: w.data *= 2\n    x = data", "step 3, forward: w begins with "),
}


@pytest.mark.parametrize("case", DIFFER)
def test_data_and_random_numbers_that_differ_are_told_first(case: str, tmp_path: Path) -> None:
    before, after, told = DIFFER[case]
    old, new = (
        trace(text, tmp_path, name) for text, name in ((DATA, "a.py"), (DATA.replace(before, after, 1), "b.py"))
    )
    assert told in sentence(divergence(old, new), ("a.py", "b.py"))


def test_noise_that_an_optimizer_makes_large_is_rounding(tmp_path: Path) -> None:
    loss = "(torch.logsumexp(out, 1) - out[torch.arange(6), y]).mean()"
    changed = LOOP.replace("F.cross_entropy(out, y)", loss)
    result = divergence(trace(LOOP, tmp_path, "a.py"), trace(changed, tmp_path, "b.py"))
    assert (result.verdict, result.unseen > 0) == ("rounding", True)
    assert result.largest < 1e-2


def test_the_optimizer_that_steps_otherwise_shows_in_the_next_step(tmp_path: Path) -> None:
    text = (
        SMALL + "opt = torch.optim.SGD([w], lr={})\nfor _ in range(3):\n    opt.zero_grad()\n"
        "    (w * w).sum().backward()\n    opt.step()\n"
    )
    old, new = (trace(text.format(each), tmp_path, f"{each}.py") for each in ("0.1", "0.1001"))
    result = divergence(old, new)
    assert result.parting is not None
    assert result.old is not None
    assert (result.verdict, result.parting.kind, result.old.number) == ("parted", "state", 1)


def test_digests_tell_large_tensors_apart() -> None:
    np = pytest.importorskip("numpy")
    numbers = np.sin(np.arange(10_000, dtype=np.float32))
    other = numbers.copy()
    other[77] += 0.25
    gap = apart(kept(numbers), kept(other))
    assert gap is not None
    assert gap.difference == pytest.approx(0.25, rel=1e-3)
    assert kept(numbers).data == b""
    same = apart(kept(numbers), kept(numbers.copy()))
    assert same is not None
    assert same.same
    wide = apart(kept(numbers), kept(numbers.astype(np.float64)))
    assert wide is not None
    assert wide.relative < 1e-5


DIFFERENCES = {
    "everywhere": lambda np, n: np.ones(n),
    "one channel": lambda np, n: (np.arange(n) // 144 == 3).astype(float),
    "one column": lambda np, n: (np.arange(n) % 8 == 1).astype(float),
    "rising": lambda np, n: np.linspace(0, 1, n),
    "in turns": lambda np, n: (-1.0) ** np.arange(n),
    "anyhow": lambda np, n: np.random.default_rng(1).standard_normal(n),
}


@pytest.mark.parametrize("size", [1_152, 5_000, 40_000, 300_003])
@pytest.mark.parametrize("case", DIFFERENCES)
def test_digests_measure_differences_of_any_form(case: str, size: int) -> None:
    np = pytest.importorskip("numpy")
    base = np.random.default_rng(0).standard_normal(size)
    gap = 1e-3 * DIFFERENCES[case](np, size)
    found = apart(kept(base), kept(base + gap))
    assert found is not None
    assert 0.3 < found.difference / np.linalg.norm(gap) < 2


@pytest.mark.parametrize("size", [5, 5_000])
def test_what_is_not_finite_is_never_rounding(size: int) -> None:
    np = pytest.importorskip("numpy")
    ways = {}
    for name in ("nan", "inf", "-inf", "0"):
        ways[name] = np.ones(size, np.float32)
        ways[name][3] = float(name)
    for one, other in itertools.product(ways, ways):
        gap = apart(kept(ways[one]), kept(ways[other]))
        assert gap is not None
        assert gap.same == (one == other)
        assert gap.same or gap.relative > 1e-3
    moved = np.roll(ways["nan"], 1)
    assert apart(kept(ways["nan"]), kept(moved)).relative == float("inf")  # type: ignore[union-attr]


def test_the_numbers_of_a_part_are_those_that_it_ends_with(tmp_path: Path) -> None:
    script = "import torch\nw = torch.tensor([1.0, 3.0], requires_grad=True)\nloss = (w * w).WAY\nloss.backward()\n"
    old, new = (trace(script.replace("WAY", way), tmp_path, "a.py") for way in ("mean()", "sum() / 4"))
    report = "\n".join(text(divergence(old, new), ("a.py", "b.py")))
    assert "5 and 2.5" in report


NUMBERS = "import torch\nimport torch.nn.functional as F\nx = torch.linspace(-2, 3, 8).view(2, 4).requires_grad_()\n"
ARGUMENTS = {
    "a word": ('F.gelu(x, approximate="none")', 'F.gelu(x, approximate="tanh")', "approximate='none' and approximate='tanh'"),
    "a number": ("F.layer_norm(x, (4,), eps=1e-5)", "F.layer_norm(x, (4,), eps=0.01)", "eps=1e-05 and eps=0.01"),
    "a dimension": ("x.softmax(-1)", "x.softmax(0)", "dim=1 and dim=0"),
    "another operation": ("x.softmax(-1)", "x.softmax(1) * 1.5", "other=1.5"),
}  # fmt: skip


def test_what_is_alone_stands_beside_the_line_that_it_is_on(tmp_path: Path) -> None:
    text_of = (
        "import torch\nw = torch.ones(4, requires_grad=True)\nl = w.tanh()\nh = torch.exp({})\nh.sum().backward()\n"
    )
    ways = [trace(text_of.format(way), tmp_path, name) for way, name in (("l * 0.5", "a.py"), ("l", "b.py"))]
    for pair, first, second in ((ways, "a", "b"), (ways[::-1], "a", "b")):
        told = [*text(divergence(*pair), ("one", "other"))]
        assert told[0].startswith(f"The runs part at {first}.py:4 and {second}.py:4, forward: ")
        assert "  constants other=0.5" in told
        assert told[-1].endswith("; 1 operation or input has no like in the other run")


TRAINED = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
opt = torch.optim.{}
x = torch.randn(8, 4)
for step in range(24):
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.param_groups[0]["lr"] = {} if step == 19 else 0.01
    opt.step()
"""
OPTIONS = {
    "beta": ("AdamW(net.parameters())", "AdamW(net.parameters(), betas=(0.9, 0.99))", "beta2=0.999 in ", "beta2=0.99 in "),
    "decay": ("SGD(net.parameters())", "SGD(net.parameters(), weight_decay=0.5)", "weight_decay=0 in ", "weight_decay=0.5 in "),
    "another": ("SGD(net.parameters())", "Adam(net.parameters())", "is SGD in ", " and Adam in "),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS)
def test_another_optimizer_is_told_and_no_rounding(case: str, tmp_path: Path) -> None:
    *ways, old, new = OPTIONS[case]
    result = divergence(*(trace(TRAINED.format(way, 0.01), tmp_path, f"{way[:3]}{len(way)}.py") for way in ways))
    assert result.verdict in ("parted", "incomparable")
    told = "\n".join(text(result, ("a.py", "b.py")))
    assert old in told
    assert new in told


def test_a_late_step_of_the_optimizer_is_named_by_its_line(tmp_path: Path) -> None:
    made = [trace(TRAINED.format("SGD(net.parameters())", rate), tmp_path, f"{rate}.py") for rate in (0.01, 0.5)]
    early = [
        trace(TRAINED.replace("19", "9").format("SGD(net.parameters())", rate), tmp_path, "a.py")
        for rate in (0.01, 0.5)
    ]
    rates = "  optimizer the step before had lr=0.01 in the first and lr=0.5 in the second"
    assert rates in text(divergence(*early), ("a.py", "b.py"))
    told = sentence(divergence(*made), ("a.py", "b.py"))
    assert "0.01.py:11 in step 21" in told
    assert told.endswith("begins with other numbers, though its gradient in the step before is the same.")


CLEARED = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for i in range(4):
    opt.zero_grad()
    (net(x) - y).pow(2).mean().backward()
    opt.step()
"""
DONE = {
    "no zero_grad": ("opt.zero_grad()", "pass", "a.py:8 in step 3", "zero_grad (a.py:8) ran in the first alone"),
    "zero_grad now and then": ("opt.zero", "i % 2 or opt.zero", "a.py:8 in step 3", "zero_grad (a.py:8) ran in the first"),
    "a late zero_grad": ("    opt.step", "    opt.zero_grad()\n    opt.step", "b.py:10 in step 2", "zero_grad (b.py:10) ran in the second"),
    "a clip": ("    opt.step", "    nn.utils.clip_grad_norm_(net.parameters(), 0.1)\n    opt.step", "b.py:10 in step 2", "the clip (b.py:10) ran in the second"),
    "a step left out": ("    opt.step", "    i == 1 or opt.step", "a.py:10 in step 3", "a step of the optimizer (a.py:10) ran in the first"),
    "a step more": ("opt.step()", "opt.step(); opt.step()", "b.py:10 in step 2", "a step of the optimizer (b.py:10) ran in the second"),
    "a gradient changed": ("    opt.step", "    net[0].weight.grad.mul_(2)\n    opt.step", "a.py:10 in step 2", "the step changed parameters by"),
    "a parameter changed": ("opt.step()", "opt.step(); nn.init.zeros_(net[2].bias)", "a.py:10 in step 2", "the step changed parameters alike: what came after"),
}  # fmt: skip


@pytest.mark.parametrize("case", DONE)
def test_what_is_done_with_gradients_is_told(case: str, tmp_path: Path) -> None:
    old, new, place, told = DONE[case]
    found = divergence(trace(CLEARED, tmp_path, "a.py"), trace(CLEARED.replace(old, new), tmp_path, "b.py"))
    lines = [*text(found, ("a.py", "b.py"))]
    assert f"The runs part at {place}, " in lines[0]
    assert f"  optimizer {told}" in "\n".join(lines)


DRAWN = {
    "another bound": ("randint(0, 5, (9,))", "randint(0, 7, (9,))", "by randint(high=5, low=0)", "by randint(high=7, low=0)"),
    "another kind": ("randn(9)", "rand(9)", "by randn()", "by rand()"),
    "of dropout": ("nn.functional.dropout(w, 0.4)", "nn.functional.dropout(w, 0.5)", "by bernoulli(p=0.4)", "by bernoulli(p=0.5)"),
}  # fmt: skip


@pytest.mark.parametrize("case", DRAWN)
def test_another_way_to_draw_is_no_other_seed(case: str, tmp_path: Path) -> None:
    *ways, old, new = DRAWN[case]
    made = "import torch\ntorch.manual_seed(3)\nw = torch.ones(9, requires_grad=True)\nx = torch.{}\n(x * w).sum().backward()\n"
    found = divergence(
        *(with_data(made.format(way), tmp_path, name) for way, name in zip(ways, ("a.py", "b.py"), strict=True))
    )
    assert f"is drawn {old} in the first run, and {new} in the second." in sentence(found, ("a.py", "b.py"))
    assert found.verdict == "parted"


@pytest.mark.parametrize("case", ARGUMENTS)
def test_the_argument_that_differs_and_both_lines_are_told(case: str, tmp_path: Path) -> None:
    *ways, constants = ARGUMENTS[case]
    texts = [f"{NUMBERS}y = {way}\ny.pow(3).sum().backward()\n" for way in ways]
    old, new = (trace(text, tmp_path, name) for text, name in zip(texts, ("a.py", "b.py"), strict=True))
    details = as_dict(divergence(old, new), ("a.py", "b.py"))["first"]["details"]
    lines = [details["old_line"], details["new_line"]]
    assert (lines, details["constants"]) == ([f"y = {way}" for way in ways], constants)


@pytest.mark.parametrize(
    ("off", "constant", "level"),
    [
        ((1e-7, 1e-7), "2", "rounding"),  # both are right, however far rounding has grown
        ((1e-7, 4e-3), "2", "parted"),  # the one is off on its own inputs
        ((4e-3, 4e-3), "2", "unknown"),
        ((None, 1e-7), "2", "unknown"),
        ((1e-7, 1e-7), "3", "unknown"),  # other operations are both right, too
    ],
)
def test_float64_tells_a_fault_from_rounding_that_has_grown(
    off: tuple[float | None, float], constant: str, level: str
) -> None:
    outputs = (Output(TensorType("float32", (3,))),)
    nodes = [
        Node(
            0,
            "operation",
            "MulBackward0",
            "mul",
            outputs,
            constants=(("other", each),),
            measured=Measured(deviation=(by,)),
        )
        for each, by in zip(("2", constant), off, strict=True)
    ]
    aligned = Aligned(Graph((nodes[0],)), Graph((nodes[1],)), same_engine=True)
    found = Compared("unknown", Apart(False, 0.02, 1.0), 2.0**-23)
    assert aligned.recomputed(*nodes, 0, found).level == level


BACKWARD = {
    # a backward call within a hook began after the call that it is in
    "before a hook that runs a backward call": ("""
class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square().sum()
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * WAY
w = torch.linspace(-1, 1, 5).requires_grad_()
z = w.tanh()
start = z.detach().requires_grad_()
again = start.sin()
z.register_hook(lambda g: g + torch.autograd.grad(again, start, g, retain_graph=True)[0])
(Loss.apply(z) * 2 + 1).backward()
""", ("2", "3"), 15, "the backward of Loss sends on"),
    # of a sum that comes to nothing the difference is as large as those of its terms
    "a bias before a norm, behind rounding": ("""
torch.manual_seed(7)
first, second = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 8, 3, padding=1)
norm = torch.nn.BatchNorm1d(8)
h = first(torch.randn(6, 3, 6, 6)).relu()
h = second(h) + WAY
norm(h.mean((2, 3))).log_softmax(-1)[:, 0].mean().backward()
""", ("h", "h * 3 / 3"), 0, "rounding only"),
}  # fmt: skip


@pytest.mark.parametrize("case", BACKWARD)
def test_the_first_gradient_that_parts_is_named(case: str, tmp_path: Path) -> None:
    script, ways, line, told = BACKWARD[case]
    texts = ["import torch" + script.replace("WAY", way) for way in ways]
    result = divergence(*(trace(text, tmp_path, name) for text, name in zip(texts, ("a.py", "b.py"), strict=True)))
    place = first_place(result)
    assert told in sentence(result, ("a.py", "b.py"))
    assert (place.line if place else 0) == line


@pytest.mark.parametrize(("op", "same"), [("copy_", True), ("add_", False)])
def test_what_was_there_before_it_is_overwritten_is_no_difference(op: str, same: bool) -> None:
    outputs = (Output(TensorType("float32", (2,))),)

    def graph(before: float) -> Graph:
        numbers = np.float32([before, before]), np.float32([1, 2]), np.float32([1, 2])
        first, second, third = (Measured(exact=(kept(each),)) for each in numbers)
        nodes = (
            Node(0, "input", "", "", outputs, measured=first),
            Node(1, "input", "", "", outputs, measured=second),
            Node(2, "untracked", "", op, outputs, args=(Edge(0), Edge(1)), measured=third),
        )
        return Graph(nodes)

    aligned = Aligned(graph(1.0), graph(-7.0), same_engine=True)
    assert (partings(aligned) == []) == same


def test_results_without_a_like_that_lack_numbers_are_counted(tmp_path: Path) -> None:
    old = trace(SMALL + "x = torch.ones(5)\n(w * x).sum().backward()\n", tmp_path, "a.py")
    new = trace(SMALL + "x = torch.ones(5)\n(w @ x).backward()\n", tmp_path, "b.py")
    assert divergence(old, new).unseen == 0
    (step,) = new.steps
    root = step.graph.passes[0].roots[0].node
    measured = step.graph[root].measured
    assert measured is not None
    nodes = list(step.graph)
    nodes[root] = replace(nodes[root], measured=replace(measured, exact=()))
    bare = replace(new, steps=(replace(step, graph=replace(step.graph, nodes=tuple(nodes))),))
    found = divergence(old, bare)
    assert found.unseen == 2 and "; 2 could not be" in str(found)  # beside `mul`, and as the result
