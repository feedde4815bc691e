"""The ledger of training is the same of both engines, changes nothing, and ends with the recording."""

from __future__ import annotations

import importlib.util
import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from autograph_cli import torch
from autograph_cli.graph.ledger import Ledger
from autograph_cli.record.log.ledger import WHOLE
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner
from autograph_cli.torch import nn

ENGINES = [
    "builtin",
    pytest.param("torch", marks=pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch")),
]
SCRIPT = """
import copy
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
twin = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 2)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
net[0].weight.register_hook(lambda g: 2 * g)
losses = []
for _ in range(7):
    net.train()
    opt.zero_grad()
    h = checkpoint(net[0], torch.randn(5, 3), use_reentrant=False)
    loss = net[2](net[1](h)).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    sched.step()
    losses.append(loss)
net.eval()
"""


def heard(script: str, folder: Path, engine: str = "builtin", steps: str = "first,last") -> Ledger:
    """The ledger of a script."""
    path = folder / "train.py"
    path.write_text(script)
    with redirect_stdout(io.StringIO()):
        _, trace = runner.record(runner.Target.of(str(path)), steps, engine=engine)
    assert trace.ledger is not None
    return trace.ledger


@pytest.mark.parametrize("engine", ENGINES)
def test_what_happens_is_heard_in_order_with_its_line(tmp_path: Path, engine: str) -> None:
    ledger = heard(SCRIPT, tmp_path, engine)
    lines = {each.kind: each.source.line for each in ledger.happenings if each.source is not None and each.step == 3}
    assert lines == {"mode": 16, "zero_grad": 17, "backward": 20, "unscale": 21, "clip": 22, "step": 23, "schedule": 25}
    kinds = [each.kind for each in ledger.happenings if each.kind not in ("schedule", "call")]
    assert kinds[:7] == ["mode", "zero_grad", "backward", "unscale", "clip", "step", "mode"]
    assert [each.words for each in ledger.happenings if each.kind == "mode"] == ["train"] * 7 + ["eval"]
    called = [each for each in ledger.happenings if each.kind == "call"]
    assert [(each.words, each.made) for each in called] == [("net.0", True)]
    steps = [each for each in ledger.happenings if each.kind == "step"]
    assert [each.rate for each in steps] == pytest.approx([0.1, 0.1, 0.01, 0.01, 1e-3, 1e-3, 1e-4])
    assert all(each.norm > 0 and len(ledger.sets[each.moved]) == 4 for each in steps)
    assert [each.words for each in ledger.happenings if each.kind == "schedule"] == ["made", *[""] * 7]


@pytest.mark.parametrize("engine", ENGINES)
def test_optimizers_modules_hooks_and_what_keeps_graphs_are_told(tmp_path: Path, engine: str) -> None:
    ledger = heard(SCRIPT, tmp_path, engine)
    (optimizer,) = ledger.optimizers
    assert (optimizer.name, optimizer.cls, optimizer.source and optimizer.source.line) == ("opt", "SGD", 10)
    assert ledger.names(ledger.sets[optimizer.holds]) == ["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"]
    assert [(each.cls, each.copied) for each in ledger.modules] == [("Linear", False)] * 2
    (hook,) = ledger.hooks
    assert (hook.kind, ledger.parameters[hook.parameter or 0].name) == ("register_hook", "net.0.weight")
    assert set(hook.factors) == {2.0}
    (keeper,) = ledger.keepers
    assert keeper.name == "losses"
    assert list(keeper.living) == sorted(set(keeper.living)) or keeper.living[:2] == (0, 0)


def test_much_is_counted_and_not_written(tmp_path: Path) -> None:
    ledger = heard(SCRIPT.replace("range(7)", "range(40)").replace("losses.append(loss)", "pass"), tmp_path)
    assert sum(each.kind == "step" for each in ledger.happenings) == WHOLE
    assert ledger.more > 40
    of_last = ["backward", "unscale", "clip", "step", "schedule"]
    assert [(each.kind, each.step) for each in ledger.later if each.kind != "mode"] == [(kind, 39) for kind in of_last]
    assert not any(each.step > WHOLE for each in ledger.happenings), "nothing is concluded over the gap"


@pytest.mark.parametrize("loops", [WHOLE - 1, WHOLE, WHOLE + 1])
def test_the_last_of_the_first_steps_has_what_follows_its_pass(tmp_path: Path, loops: int) -> None:
    ledger = heard(SCRIPT.replace("range(7)", f"range({loops})"), tmp_path)
    kinds = [each.kind for each in ledger.happenings]
    assert [kinds.count(kind) for kind in ("backward", "clip", "step", "schedule")] == [min(loops, WHOLE)] * 3 + [
        min(loops, WHOLE) + 1
    ]


LATER = {
    "first,last": [(60, "for _ in range(60):"), (60, "i = 0\nwhile (i := i + 1) <= 60:")],
    "3,30:32": [(30, "for _ in range(60):"), (31, "for _ in range(60):")],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("steps", LATER)
def test_later_steps_that_are_kept_are_heard(tmp_path: Path, engine: str, steps: str) -> None:
    for number, loop in LATER[steps]:
        script = f"""
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
{loop}
    opt.zero_grad()
    net(torch.ones(3, 2)).sum().backward()
    opt.step()
"""
        found = [each.kind for each in heard(script, tmp_path, engine, steps).later if each.step == number - 1]
        assert found[:2] == ["backward", "step"], loop


def test_between_kept_steps_nothing_is_heard() -> None:
    recorder = Recorder("40", each=False)
    recorder.start()
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    ledger = recorder.finish({"w": w}).ledger
    assert ledger is not None and {each.step for each in ledger.later} == {39}
    assert len(recorder.books._later) < 10


def test_nothing_stays_in_the_place_of_what_was_heard(tmp_path: Path) -> None:
    def places() -> list[object]:
        utils = sys.modules["autograph_cli.torch.nn.utils"]
        return [
            torch.optim.Optimizer.__init__,
            torch.optim.Optimizer.zero_grad,
            nn.Module.train,
            nn.Module.__init__,
            torch.Tensor.register_hook,
            utils.clip_grad_norm_,
            nn.utils.clip_grad.clip_grad_norm_,
        ]

    before = places()
    heard(SCRIPT, tmp_path)
    assert places() == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_that_looks_at_what_is_heard_sees_the_same(tmp_path: Path, engine: str) -> None:
    script = """
import inspect, warnings, torch
from torch import nn
w = torch.ones(2, requires_grad=True)
def hook(g):
    "its words"
    return None
w.register_hook(hook)
net = nn.Linear(2, 2)
def full(module, grad_input, grad_output): pass
net.register_full_backward_hook(full)
for _ in range(2):
    net((w * 1)[None]).sum().backward(); w.grad = None
    print([h is hook for h in getattr(w, "_backward_hooks", {}).values()], list(net._backward_hooks.values()) == [full])
print(inspect.signature(torch.optim.SGD.__init__), nn.utils.clip_grad_norm_.__name__, nn.Module.train.__doc__ is not None)
opt = torch.optim.SGD((x for x in [w]), lr=0.1)
(w * w).sum().backward()
print(nn.utils.clip_grad_norm_((x for x in [w]), 1.0), w.grad)
try:
    torch.optim.SGD([], lr=0.1)
except ValueError as error:
    print(error)
try:
    torch.optim.SGD(w, lr=0.1)
except TypeError as error:
    print(error)
def shorter(g): return g[:1]
v = torch.ones(2, requires_grad=True)
v.register_hook(shorter)
try:
    (v * 1).sum().backward()
except RuntimeError as error:
    print(error)
try:
    nn.Module().train("no")
except ValueError as error:
    print(error)
opt.step()
print(w)
"""
    path = tmp_path / "looks.py"
    path.write_text(script)
    said = []
    for record in (True, False):
        out = io.StringIO()
        with redirect_stdout(out):
            if record:
                _, trace = runner.record(runner.Target.of(str(path)), engine=engine)
                assert "broken" not in [notice.kind for notice in trace.notices]
            else:
                runner.run(runner.Target.of(str(path)), served=engine == "builtin")
        said.append(out.getvalue())
    assert said[0] == said[1] != ""


HEADS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(6, 3, sparse=True)
        self.heads = {"a": nn.Linear(3, 2), "b": nn.Linear(3, 1)}
    def forward(self, ids):
        return [head(self.words(ids)).sum() for head in self.heads.values()]
net = Net()
opt = torch.optim.SparseAdam(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    sum(net(torch.tensor([1, 2, 2]))).backward()
    opt.step()
"""
FLAT = """
import torch
net = torch.nn.Linear(3, 2)
opt = torch.optim.{optimizer}(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    torch.sign(net(torch.ones(4, 3))).sum().backward()
    opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_of_unregistered_modules_have_names_of_their_own_and_sparse_gradients_are_read(
    tmp_path: Path, engine: str
) -> None:
    ledger = heard(HEADS, tmp_path, engine)
    names = {f"net.heads['{head}'].{name}" for head in "ab" for name in ("weight", "bias")}
    assert {each.name for each in ledger.parameters} == {"net.words.weight", *names}
    steps = [each for each in ledger.happenings if each.kind == "step"]
    assert all(ledger.names(ledger.sets[each.ready]) == ["net.words.weight"] and each.norm > 0 for each in steps)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"])
def test_what_a_step_detaches_cuts_nothing(tmp_path: Path, engine: str, optimizer: str) -> None:
    script = FLAT.format(optimizer=optimizer)
    script = script.replace(
        "opt.step()", "opt.step(lambda: torch.tensor(0.0))" if optimizer == "LBFGS" else "opt.step()"
    )
    ledger = heard(script, tmp_path, engine)
    assert not [each for each in ledger.happenings if each.kind == "cut"]
    assert all(each.ready == 0 for each in ledger.happenings if each.kind == "step")


@pytest.mark.parametrize(
    ("change", "moved"),
    [("add_(0)", 0), ("mul_(-1)", 1), ("add_(float('inf'))", 1), ("mul_(float('nan'))", 1), ("copy_(-0.0 * w)", 0)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_what_moves_is_told_of_all_numbers(tmp_path: Path, dtype: str, change: str, moved: int) -> None:
    start = "torch.zeros(3" if "copy_" in change else "torch.ones(3"
    ledger = heard(
        f"""
import torch
w = {start}, dtype=torch.{dtype}, requires_grad=True)
class Own(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        w.{change}
opt = Own([w], {{}})
for _ in range(2):
    (w * 2).abs().sum().backward()
    opt.step()
""",
        tmp_path,
    )
    steps = [each for each in ledger.happenings if each.kind == "step"]
    assert [len(ledger.sets[each.moved]) for each in steps[:1]] == [moved]
