"""`autograph diff --values` runs both sides, names where they part first, and ends with 0, 1 or 3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
LATE = "; step == 13 and h.register_hook(lambda g: g * 1.5)"


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
    assert drawn.count(">they part here</text>") == 2
    assert drawn.count(">other numbers</text>") == 2


def test_what_is_measured_with_backward_calls_of_its_own_adds_no_steps(autograph: Run) -> None:
    autograph("run", "-q", "--record", "check", "--steps", "3", "-o", "checked.json", "a.py")
    trace = store.load(Path("checked.json"))
    assert (trace.total_steps, [step.nth for step in trace.steps]) == (20, [3])
