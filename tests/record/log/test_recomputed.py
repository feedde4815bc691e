"""What a checkpoint computes once more during backward is forward, and no derivative."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from autograph_cli.cli.profile_tables import tables
from autograph_cli.cli.report import report
from autograph_cli.record.run.runner import Target, record

INSTALLED = importlib.util.find_spec("torch") is not None
SCRIPT = """
import torch
from torch.utils.checkpoint import checkpoint
layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
h = torch.ones(3, 2, requires_grad=True).exp()
y = checkpoint(REGION, h, use_reentrant=REENTRANT)
loss = (y * y).sum()
loss.backward(create_graph=MORE)
"""


@pytest.mark.filterwarnings("ignore:Using backward", "ignore:None of the inputs")
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("region", ["layer", "lambda x: checkpoint(layer, x.tanh(), use_reentrant=REENTRANT)"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_it_has_no_order_no_parent_and_no_backward_call(
    reentrant: bool, region: str, more: bool, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("REGION", region).replace("REENTRANT", str(reentrant)).replace("MORE", str(more)))
    result, trace = record(Target.of(str(script)))
    assert result.exit_code == 0
    graph = trace.steps[-1].graph
    graph.verify()
    forward = {"t", "addmm", "relu", "tanh"}
    derivatives = [node for node in graph if node.order]
    assert bool(derivatives) == more
    assert not [node for node in derivatives if node.op in forward - {"t"}]
    assert {entry.order for entry in graph.passes} == {1}
    if not reentrant:
        assert [node.op for node in graph if node.op == "addmm"] == ["addmm"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "engine",
    ["builtin", pytest.param("torch", marks=pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed"))],
)
def test_it_is_said_that_what_it_holds_is_not_counted(engine: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("REGION", "layer").replace("REENTRANT", "False").replace("MORE", "False"))
    result, trace = record(Target.of(str(script)), record=("time",), engine=engine)
    assert result.exit_code == 0
    said = dict(report(trace, None, Path()))
    assert said["memory"].endswith(
        "kept for backward, not counting what hooks (a checkpoint's, the script's) hold for 2 operations"
    )
    assert said["held"].endswith(" or more")
    assert "\nkept: not counting what hooks " in tables(trace.steps[0], trace, (), "time", 5)
