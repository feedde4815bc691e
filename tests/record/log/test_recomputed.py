"""What a checkpoint computes once more during backward is forward, and no derivative."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from autograph_cli.cli.profile_tables import tables
from autograph_cli.cli.report import report
from autograph_cli.graph.saved_memory import kept_tensors, total_bytes, uncounted_words
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


ENGINES = pytest.mark.parametrize(
    "engine",
    ["builtin", pytest.param("torch", marks=pytest.mark.skipif(not INSTALLED, reason="PyTorch is not installed"))],
)
MEASURED = """
import gc, weakref
import torch
from torch.utils.checkpoint import checkpoint
try:
    from torch.multiprocessing.reductions import StorageWeakRef
    def living(x):
        found = StorageWeakRef(x.untyped_storage())
        return lambda: not found.expired()
except ImportError:
    from autograph_cli.engines.builtin.saved import owner
    def living(x):
        found = weakref.ref(owner(x._ag_raw))
        return lambda: found() is not None
made = []
def noted(x):
    made.append((living(x), x.nbytes))
    return x
def inner(x, scale=None):
    return noted(noted(x.sin()) * scale)
def forward(w):
    layer = torch.nn.Linear(20, 20)
    h = noted(w.exp())
    REGION
    return (y * noted(y.tan())).sum()
loss = forward(torch.ones(300, 20, requires_grad=True))
gc.collect()
print(sum(size for lives, size in made if lives()) + STATES * torch.get_rng_state().nbytes)
loss.backward()
"""
REGIONS = [
    ("y = checkpoint(inner, h, noted(torch.ones(7, 300, 20)), use_reentrant=False)", 1),
    ("y = checkpoint(inner, h, scale=noted(torch.ones(7, 300, 20)), use_reentrant=False)", 1),
    ("a, b = noted(h.cos()), noted(torch.ones(5)); y = checkpoint(lambda x: inner(x, a), h, use_reentrant=False)", 1),
    ("y = checkpoint(lambda x: checkpoint(inner, noted(layer(x)), h, use_reentrant=False), h, use_reentrant=False)", 2),
    (
        "pair = [h, noted(h.exp())]\n    y = checkpoint(lambda both: inner(*both), pair, use_reentrant=False, "
        "preserve_rng_state=False)",
        0,
    ),
    ("y = checkpoint(inner, checkpoint(layer, h, use_reentrant=False), h, use_reentrant=False); noted(y)", 2),
]


@ENGINES
@pytest.mark.parametrize(("region", "states"), REGIONS)
def test_what_it_holds_is_counted_once(
    region: str, states: int, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(MEASURED.replace("REGION", region).replace("STATES", str(states)))
    result, trace = record(Target.of(str(script)), engine=engine)
    assert result.exit_code == 0
    graph = trace.steps[-1].graph
    graph.verify()
    assert uncounted_words(graph) == ""
    assert total_bytes(kept_tensors(graph)) == int(capsys.readouterr().out)


@ENGINES
def test_what_hooks_of_the_script_hold_is_said_not_to_be_counted(engine: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\nwith torch.autograd.graph.saved_tensors_hooks(lambda x: "
        "(x,), lambda x: x[0]):\n    y = x.exp().sin()\ny.sum().backward()\n"
    )
    result, trace = record(Target.of(str(script)), record=("time",), engine=engine)
    assert result.exit_code == 0
    said = dict(report(trace, None, Path()))
    assert said["memory"].endswith(
        "kept for backward, not counting what hooks (a checkpoint's, the script's) hold for 2 operations"
    )
    assert said["held"].endswith(" or more")
    assert "\nkept: not counting what hooks " in tables(trace.steps[0], trace, (), "time", 5)
