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


def test_a_block_that_imports_pytorch_first_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = False
    monkeypatch.setattr("autograph_cli.record.pytorch.is_loaded", lambda: loaded)
    with autograph_cli.record() as trace:
        loaded = True
    with pytest.raises(AutographError, match="imported only within the block"):
        trace.render()


def test_a_block_that_records_nothing_says_so() -> None:
    with autograph_cli.record() as trace:
        torch.ones(3)
    with pytest.raises(AutographError, match="Nothing was recorded: within the block"):
        trace.render()


def test_a_captured_graph_alone_is_a_trace(tmp_path: Path, autograph: Run) -> None:
    layer = torch.nn.Linear(3, 2)
    graph = capture([layer(torch.ones(3)).sum()], module=layer)
    assert from_json(graph.to_json()).steps[0].graph == graph
    (tmp_path / "graph.json").write_text(graph.to_json())
    assert "leaf weight: float32[2, 3]" in autograph("show", "graph.json").stdout
