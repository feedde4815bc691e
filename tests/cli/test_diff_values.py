"""`autograph diff --values` runs both sides, names where they part first, and ends with 0, 1 or 3."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from msgspec.structs import replace

from autograph_cli.cli import diff_values
from autograph_cli.graph.divergence import divergence
from autograph_cli.graph.numbers import kept
from autograph_cli.graph.parting_inside import Inside
from autograph_cli.graph.records import Edge, Graph, Measured, Node, Output, Root, TensorType
from autograph_cli.graph.trace import Step, Trace
from autograph_cli.record.run import store
from tests.conftest import Run

TRAIN = """\
import torch
torch.manual_seed(2)
w = torch.nn.Parameter(torch.randn(3, 4))
x = torch.randn(5, 3)
opt = torch.optim.SGD([w], lr=0.1)
for step in range(20):
    h = torch.tanh(x @ w){}
    loss = h.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("over")
"""
ONCE = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(20):
    (w * w * (1.0{})).sum().backward()
    w.grad = None
"""
LATE = "; step == 13 and h.register_hook(lambda g: g * 1.5)"


@pytest.fixture
def autograph(cli: Callable[..., Result]) -> Run:
    """The command in this process; what it runs has processes of its own."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        result = cli(*words)
        return subprocess.CompletedProcess(words, result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, more in {"a.py": "", "late.py": LATE, "round.py": " * 1.7 / 1.7"}.items():
        (tmp_path / name).write_text(TRAIN.format(more), "utf-8")


def test_a_late_fault_is_looked_for_by_running_again(autograph: Run) -> None:
    result = autograph("diff", "--values", "a.py", "late.py")
    assert result.returncode == 1
    assert result.stdout.startswith("The runs part at a.py:7 and late.py:7 in step 14, backward: the gradient of h ")
    assert "  spreads   to the gradients (order 1) of w by 3.3e-01\n" in result.stdout


@pytest.mark.parametrize("words", [(), ("--every", "6")])
def test_a_fault_that_leaves_no_trace_is_found_where_each_nth_step_is_recorded(
    words: tuple[str, ...], autograph: Run
) -> None:
    for name, more in {"plain.py": "", "once.py": " + (step == 12)"}.items():
        Path(name).write_text(ONCE.format(more), "utf-8")
    result = autograph("diff", "--values", *words, "plain.py", "once.py")
    assert (result.returncode, "in step 13, forward: mul" in result.stdout) == ((1, True) if words else (0, False))
    assert words or "in 9 of 20 steps" in result.stdout


def test_rounding_is_told_so_without_a_place(autograph: Run) -> None:
    result = autograph("diff", "--values", "a.py", "round.py")
    assert result.returncode == 0
    assert result.stdout.startswith("The numbers differ by rounding only: by ")
    assert ".py:" not in result.stdout
    assert "in 9 of 20 steps; 18 operations and inputs have no like in the other run" in result.stdout


def test_traces_are_compared_and_what_was_not_kept_is_told(autograph: Run) -> None:
    for name in ("a", "late"):
        autograph("run", "-q", "--record", "values", "-o", f"{name}.json", f"{name}.py")
    same = autograph("diff", "--values", "a.json", "a.json")
    assert (same.returncode, same.stdout.splitlines()[0]) == (
        0,
        "The numbers are equal, bit for bit, in all that the graphs have.",
    )
    result = autograph("diff", "--values", "--json", "a.json", "late.json")
    told = json.loads(result.stdout)
    assert (result.returncode, told["verdict"], told["first"]["step"]) == (1, "parted", 20)
    assert "the steps between 8 and 20 were not kept" in told["sentence"]
    autograph("run", "-q", "-o", "bare.json", "a.py")
    bare = autograph("diff", "--values", "a.json", "bare.json")
    assert (bare.returncode, "bare.json has no numbers" in bare.stdout) == (3, True)


def test_a_script_that_is_not_repeatable_is_not_compared(autograph: Run, tmp_path: Path) -> None:
    text = TRAIN.format("").replace("torch.manual_seed(2)", "import time; torch.manual_seed(time.time_ns() % 10**9)")
    (tmp_path / "drawn.py").write_text(text.replace("range(20)", "range(1)"), "utf-8")
    (tmp_path / "one.py").write_text(TRAIN.format("").replace("range(20)", "range(1)"), "utf-8")
    result = autograph("diff", "--values", "drawn.py", "one.py")
    assert result.returncode == 3
    assert "drawn.py is not the same each time it is run" in result.stdout


def test_what_cannot_be_read_ends_with_2(autograph: Run) -> None:
    assert autograph("diff", "--values", "a.py", "missing.py").returncode == 2
    assert autograph("diff", "--values", "a.py").returncode == 2
    assert autograph("diff", "--values", "-o", "a.png", "a.py", "late.py").returncode == 2
    assert autograph("diff", "--values", "-o", "a.svg", "a.py", "round.py").returncode == 2


def test_a_picture_marks_where_they_part(autograph: Run) -> None:
    assert autograph("diff", "--values", "-o", "a.svg", "a.py", "late.py").returncode == 1
    drawn = Path("a.svg").read_text("utf-8")
    assert drawn.count(">they part here</text>") == 1, "both sides have one legend"
    assert drawn.count(">other numbers</text>") == 1


def test_what_is_measured_with_backward_calls_of_its_own_adds_no_steps(autograph: Run) -> None:
    autograph("run", "-q", "--record", "check", "--steps", "3", "-o", "checked.json", "a.py")
    trace = store.load(Path("checked.json"))
    assert (trace.total_steps, [step.nth for step in trace.steps]) == (20, [3])


RANKS = """\
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for step in range(3):
    x = torch.arange(3.0) + dist.get_rank()
    h = torch.tanh(w * x){}
    h.sum().backward()
    dist.all_reduce(w.grad)
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
dist.destroy_process_group()
"""
REDUCED = "dist.all_reduce(w.grad)"
RANKED = {
    "an operation of one rank": (
        {"{}": " * (1.5 if step == 1 and dist.get_rank() == 1 else 1.0)"},
        "a.py:7 and b.py:7 in step 2, forward: mul makes other numbers of the same inputs",
        "1 parts first, of ranks 0-1",
    ),
    "a reduction": (
        {"{}": " * 1.0", REDUCED: "dist.all_reduce(w.grad, op=dist.ReduceOp.MAX)"},
        "a.py:9 and b.py:9, backward: all_reduce of w.grad makes other numbers of what the ranks give, "
        "which is the same",
        "ranks 0-1",
    ),
    "a gradient that one rank gives": (
        {"{}": " * 1.0", REDUCED: "w.grad *= 1 + dist.get_rank(); " + REDUCED},
        "a.py:9 and b.py:9, backward: rank 1 gives all_reduce of w.grad other numbers, "
        "though all results and gradients until then are the same",
        "rank 1",
    ),
}


@pytest.mark.parametrize("what", RANKED)
def test_what_parts_first_on_ranks_is_named(autograph: Run, tmp_path: Path, what: str) -> None:
    edits, said, rank = RANKED[what]
    (tmp_path / "a.py").write_text(RANKS.format(" * 1.0"), "utf-8")
    text = RANKS
    for old, new in edits.items():
        text = text.replace(old, new)
    (tmp_path / "b.py").write_text(text, "utf-8")
    result = autograph("diff", "--values", "--ranks", "2", "a.py", "b.py")
    assert result.returncode == 1
    assert result.stdout.startswith(f"The runs part at {said}.\n")
    assert f"  rank      {rank}\n" in result.stdout


def test_ranks_are_run_in_the_way_of_their_side(tmp_path: Path) -> None:
    """Else `--compiled --ranks` and `--python --ranks` compare a run with itself."""
    text = "import os\n" + RANKS.format(" * float(os.environ['BY'])").replace("range(3)", "range(1)")
    (tmp_path / "a.py").write_text(text, "utf-8")
    ways = [diff_values.Way(environment={"BY": by}, words=f", {by}") for by in ("1.0", "1.5")]
    pairs = diff_values.open_ranks(2 * [("a.py", None)], ways, 2)
    assert [side.name for side in pairs[0]] == ["a.py, 1.0", "a.py, 1.5"]
    assert diff_values.compare_ranks(pairs).verdict == "parted"


def test_modules_are_run_as_python_m_does(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    for name, by in (("one", "1.0"), ("two", "3.0")):
        text = f"from pack import by_{name}\n" + ONCE.format("").replace("1.0)", f"by_{name}.BY)")
        (tmp_path / "pack" / f"{name}.py").write_text(text, "utf-8")
        (tmp_path / "pack" / f"by_{name}.py").write_text(f"BY = {by}\n", "utf-8")
    result = autograph("diff", "--values", "-m", "pack.one", "pack.two")
    assert result.returncode == 1
    assert result.stdout.startswith(
        "The runs part at pack/one.py:5 and pack/two.py:5, forward: mul makes other numbers"
    )


UNUSED = {
    ("--compiled",): "--compiled says how a script is run, and a.json is none.",
    ("--dtype", "float32,float64"): "--dtype says how a script is run, and a.json is none.",
    ("--seed", "1,2"): "--seed says how a script is run, and a.json is none.",
    ("--engines", "builtin,builtin"): "--engines says how a script is run, and a.json is none.",
    ("--every", "3", "a.json"): "--every says how a script is run, and a.json is none.",
    ("--ranks", "2", "a.json"): "--ranks says how a script is run, and a.json is none.",
    ("--ranks", "2", "--seed", "1,2", "a.py"): "--seed is for scripts of one process, without --ranks.",
}


@pytest.mark.parametrize("words", UNUSED)
def test_an_option_that_would_change_nothing_is_refused(words: tuple[str, ...], autograph: Run) -> None:
    """Else what is compared with itself is called equal."""
    autograph("run", "-q", "--record", "values", "-o", "a.json", "a.py")
    result = autograph("diff", "--values", *words, *(("a.json",) if "a.py" not in words else ()))
    assert (result.returncode, UNUSED[words] in result.stderr) == (2, True), result.stderr


NET = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
x = torch.randn(6, 4)
y = net(x) * (1.2 if torch.get_default_dtype() is torch.{} else 1.0)
y.square().mean().backward()
"""


def test_dtypes_round_and_a_fault_in_one_is_named(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET.format("bfloat16"), "utf-8")
    result = autograph("diff", "--values", "--dtype", "float64,float32,bfloat16", "net.py")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("float64 and float32: The numbers differ by rounding only: by ")
    assert any(line.startswith("float64 and bfloat16: The runs part at net.py:6, forward: mul") for line in lines)
    assert result.returncode == 1
    assert autograph("diff", "--values", "--dtype", "float32", "net.py").returncode == 2


SEEDED = """\
import torch
torch.manual_seed(2)
w = torch.nn.Parameter(torch.ones(3, 4))
x = torch.ones(5, 3)
for step in range(6):
    h = torch.nn.functional.dropout(torch.tanh(x @ w), RATE)
    (h.square().mean() * (1 if step < 4 else 2)).backward()
"""
ONE_SCRIPT = {
    "two seeds": (("--seed", "1,2"), "0.5", 3, "an input of once.py:6 is other data, or the runs drew other random num"),
    "two seeds of what draws nothing": (("--seed", "1,2"), "0.0", 0, "The numbers are equal"),
    "one seed": (("--seed", "3", "once.py"), "0.5", 0, "The numbers are equal"),
    "two steps": (("--step", "2", "--step", "5"), "0.0", 1, "The runs part at once.py:7, forward: mul makes other numbers"),
    "two equal steps": (("--step", "2", "--step", "3"), "0.0", 0, "The numbers are equal"),
    "steps that draw": (("--step", "2", "--step", "3"), "0.5", 3, "The numbers cannot be compared: an input of once.py:6 is"),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_SCRIPT)
def test_a_script_is_compared_with_itself(case: str, autograph: Run) -> None:
    words, rate, code, told = ONE_SCRIPT[case]
    Path("once.py").write_text(SEEDED.replace("RATE", rate), "utf-8")
    result = autograph("diff", "--values", *words, "once.py")
    assert (result.returncode, told in result.stdout) == (code, True), result.stdout


def test_two_steps_of_a_trace_are_compared(autograph: Run) -> None:
    Path("once.py").write_text(SEEDED.replace("RATE", "0.0"), "utf-8")
    autograph("run", "-q", "--record", "values", "--steps", "all", "-o", "once.json", "once.py")
    result = autograph("diff", "--values", "--step", "2", "--step", "5", "once.json")
    assert (result.returncode, "constants other=1 and other=2" in result.stdout) == (1, True)
    ended = "    if step % 2: h.sum().backward(); continue\n"
    Path("kinds.py").write_text(SEEDED.replace("RATE)\n", f"0.0)\n{ended}"), "utf-8")
    result = autograph("diff", "--values", "--step", "3", "--step", "4", "kinds.py")
    assert "the steps are of different kinds, ended by kinds.py:8 and kinds.py:7" in result.stdout
    assert result.returncode == 3
    for words in (("--step", "9"), ("--step", "1", "--step", "2", "once.json"), ("--seed", "1,1"), ("--seed", "x")):
        assert autograph("diff", "--values", *words, "once.json").returncode == 2


def traced(name: str, *numbers: float) -> Trace:
    """A run of one step in which an operation of this name made numbers of a leaf."""
    outputs = (Output(TensorType("float32", (2,))),)
    leaf = Node(0, "leaf", "AccumulateGrad", "", outputs, measured=Measured(exact=(kept(np.float32([1, 2])),)))
    edge, measured = Edge(0), Measured(exact=(kept(np.float32(numbers)),))
    made = Node(1, "operation", name, "sin", outputs, (edge,), (edge,), measured=measured)
    return Trace("c.py", (Step(0, Graph((leaf, made), (Root("y", 1),))),), 1, engine="torch")


EAGER, OTHER = traced("SinBackward0", 3, 4), traced("SinBackward0", 3, 5)
COMPILED = traced("CompiledFunctionBackward", 3, 5)
FOUND = Inside("sin", None, False)
COMPILERS = {
    "what TorchDynamo traced": (OTHER, FOUND, "the backend eager, which runs what TorchDynamo traced, parts too, for"),
    "AOTAutograd": (EAGER, FOUND, "the backend eager does not part: AOTAutograd makes the difference"),
    "the backend": (None, replace(FOUND, off=0.1), "the graph of AOTAutograd is right, and its compiler makes the"),
    "nothing that can be seen": (EAGER, None, "the backend eager does not part, and of what was compiled all results"),
    "a PyTorch that keeps its backend": (COMPILED, FOUND, ""),
}
"""The run with the backend `eager`, if there is one, what was found inside, and what is said."""


@pytest.mark.parametrize("what", COMPILERS)
def test_the_part_of_the_compiler_is_told(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    traced_by_dynamo, inside, said = COMPILERS[what]

    def side(name: str, revision: str | None, way: diff_values.Way) -> diff_values.Side:
        assert traced_by_dynamo is not None and way.environment == diff_values.DYNAMO
        return diff_values.Side(name, traced_by_dynamo)

    monkeypatch.setattr(diff_values, "_side", side)
    found = replace(divergence(EAGER, COMPILED), inside=inside)
    told = diff_values.compilers(found, EAGER, ("c.py", None), diff_values.Way("torch"))
    assert told.startswith(said) and bool(told) == bool(said)
