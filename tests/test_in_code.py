"""Recording a block of code, of autograph's engine and, where it is installed, of PyTorch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import autograph_cli
from autograph_cli import AutographError, capture, torch
from autograph_cli.graph import from_json
from tests.conftest import Run

INSTALLED = importlib.util.find_spec("torch") is not None
CODE = """
{imports}
model, x = torch.nn.Linear(3, 2), torch.ones(3)
with autograph_cli.record("all") as trace:
    for _ in range(2):
        loss = model(x).pow(2).sum()
        loss.backward()
print(trace.trace.engine, trace.trace.total_steps, [root.name for root in trace.step.graph.roots])
trace.render("graph.svg", view="double-backward")
trace.save("trace.json")
trace.show("backward")
again = model(x).sum()
print(len(trace.step.graph), again.grad_fn.name())
"""
OURS, THEIRS = "import autograph_cli; from autograph_cli import torch", "import torch, autograph_cli"


@pytest.mark.parametrize("imports", [OURS, pytest.param(THEIRS, marks=pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed"))])  # fmt: skip
def test_a_block_is_recorded(python: Run, autograph: Run, tmp_path: Path, imports: str) -> None:
    (tmp_path / "block.py").write_text(CODE.format(imports=imports))
    done = python("block.py")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{'pytorch' if imports == THEIRS else 'autograph'} 2 ['loss']", done.stderr
    assert "  leaf model.weight: float32[2, 3]" in lines
    assert any(line.startswith("  loss: float32[] = SumBackward0(%") for line in lines)
    assert lines[-1].endswith("SumBackward0")
    assert "<svg" in (tmp_path / "graph.svg").read_text()
    assert "grad_fn SumBackward0" in autograph("show", "trace.json").stdout


def test_what_was_recorded_says_so_in_short() -> None:
    with autograph_cli.record(engine="builtin") as trace:
        loss = (torch.ones(3, requires_grad=True) * 2).sum()
        loss.backward()
    assert repr(trace) == "<Recording: <Trace of test_in_code.py: 1 step>>"
    assert repr(trace.step.graph) == "<Graph: 3 nodes, roots loss>"


LATE = """
import sys, autograph_cli
finders = sys.meta_path[:]
with autograph_cli.record() as trace:
    import torch
    loss = torch.ones(3, requires_grad=True).sum()
    loss.backward()
print(trace.trace.engine, trace.trace.total_steps, [root.name for root in trace.step.graph.roots])
assert sys.meta_path == finders
"""


@pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed")
def test_pytorch_is_recorded_that_is_imported_in_the_block(python: Run, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    done = python("late.py")
    assert (done.stdout, done.stderr) == ("pytorch 1 ['loss']\n", "")


def test_a_block_in_a_script_that_runs_on_the_engine_records_the_engine(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    assert autograph("run", "-q", "late.py").stdout == "autograph 1 ['loss']\n"


OLD_PYTORCH = """
import sys
from autograph_cli import engines, record
connect = engines.connect
def refuse(name):
    if name == "torch":
        raise engines.EngineError("PyTorch 1.0 is too old.")
    return connect(name)
engines.connect = refuse
sys.path.insert(0, "there")
with record() as trace:
    import torch
print(torch.word)
"""


def test_a_pytorch_that_cannot_be_recorded_is_imported_all_the_same(python: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "torch.py").write_text("word = 'imported'")
    (tmp_path / "old.py").write_text(OLD_PYTORCH)
    done = python("old.py")
    assert done.stdout == "imported\n"
    assert done.stderr == (
        "autograph: PyTorch is not recorded. PyTorch 1.0 is too old.\n"
        "autograph: Nothing was recorded: within the block no tensor that requires grad was computed with.\n"
    )


def test_a_block_that_records_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with autograph_cli.record() as trace:
        torch.ones(3)
    assert capsys.readouterr().err.startswith("autograph: Nothing was recorded: within the block")
    with pytest.raises(AutographError, match="Nothing was recorded: within the block"):
        trace.render()


def test_a_captured_graph_alone_is_a_trace(tmp_path: Path, autograph: Run) -> None:
    layer = torch.nn.Linear(3, 2)
    graph = capture([layer(torch.ones(3)).sum()], module=layer)
    assert from_json(graph.to_json()).steps[0].graph == graph
    (tmp_path / "graph.json").write_text(graph.to_json())
    assert "leaf weight: float32[2, 3]" in autograph("show", "graph.json").stdout
