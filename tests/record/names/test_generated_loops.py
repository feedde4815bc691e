"""Steps of loops of all kinds are the same, whether only the first and the last are kept or all of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli import torch
from autograph_cli.graph import Trace, to_json
from autograph_cli.record.log.ledger import WHOLE
from autograph_cli.record.recorder import Recorder
from autograph_cli.torch import nn

START = """
w, v = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
lin, other_lin = nn.Linear(4, 4), nn.Linear(4, 4)
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.5), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
block = Block()
norm = nn.BatchNorm1d(4)
critic = nn.Linear(4, 1)
data, other, scalar = torch.randn(3, 4), torch.randn(3, 4), torch.tensor(2.0)
batches = [torch.randn(3, 4) for _ in range(3)]
kept, fails = [], []
optimizers = [torch.optim.Adam([*net.parameters(), w], lr=0.01), torch.optim.SGD([*critic.parameters(), v], lr=0.01)]
"""
BEGINNINGS = [
    "x = torch.randn(3, 4)",
    "x = batches[i % 3]",
    "x = data",
    "x = torch.randn(3 if i % 5 != 4 else 2, 4)",
    "x = torch.randn(3, 4, requires_grad=True)",
    "x = torch.randn(12, 4)[i % 4 * 3 : i % 4 * 3 + 3]",
]
PIECES = [
    # what changes at one step, or now and then
    "h = h.sin() if i not in at else h.cos()",
    "if i in at:\n    h = h * 2\nelse:\n    h = h * 2",
    "h = h ** (2 if i not in at else 3)",
    "h = h ** (2 if i not in at else 2.0)",
    "h = h * (2.0 if i not in at else scalar)",
    "h = h * (0.0 if i not in at else -0.0)",
    "h = h + (data[:len(h)] if i not in at else other[:len(h)])",
    "h = h + (w if i not in at else v)",
    "h = getattr(h + 0, 'mul' if i not in at else 'mul_')(2)",
    "h = torch.cat([h, h] if i not in at else [h, h, h])[: len(h)]",
    "h = h.sum(0, keepdim=i not in at) + h",
    "h = (lin if i not in at else other_lin)(h)",
    "h = lin(lin(h)) if i not in at else lin(h).tanh()",
    "h = net(h) if i not in at else net[0](h)",
    "h = block(h)",
    "h = block(h, i in at)",
    "if i in at:\n    h.register_hook(lambda g: g * 2)",
    "if i in at:\n    h.retain_grad()",
    "if i in at:\n    h.register_hook(record)",
    "if i in at:\n    try:\n        lin(torch.ones(7) * w[:1])\n    except RuntimeError:\n        pass",
    "if i in at:\n    kept.append(h)",
    "if i in at:\n    kept.append((w * 3).sum())\n    h = h + kept[0]",
    "if i in at:\n    h = h.detach().requires_grad_()",
    "if i in at:\n    w = torch.randn(4, requires_grad=True)",
    "if i in at:\n    with torch.no_grad():\n        net(other)",
    "if i in at:\n    nn.Linear(4, 4)(other)",
    "if i in at:\n    w.requires_grad_(not w.requires_grad)",
    "if i in at:\n    fails.append(1)",
    # what is in every step
    "h = Doubled.apply(h)",
    "h = Nested.apply(h)",
    "h = norm(h)",
    "h += 1",
    "h = h.view(-1).view(-1, 4)",
    "kept.append(h)",
    "h = h + torch.ones(4)",
    "y = torch.tanh(h)\nz = y * h\nh = z + y",
    "with torch.no_grad():\n    net(other)",
    "h.sum().backward(retain_graph=True)",
    "g, = torch.autograd.grad(h.sum(), w, create_graph=True, allow_unused=True)\nh = h if g is None else h + g.pow(2).mean()",
    "p = torch.randn(3, 4, requires_grad=True)\ng, = torch.autograd.grad(critic(p).tanh().sum(), p, create_graph=True)\nh = h + g.norm()",
    "g, = torch.autograd.grad((w * w).sum(), [w])\nh = h * g.sum()",
    "h = checkpoint(lin, h, use_reentrant=False)",
    "d_loss = critic(h.detach()).mean()\nd_loss.backward()\noptimizers[1].step()",
    "d_loss = (critic(data) - critic(h.detach())).mean()\nd_loss.backward()\nd_loss = critic(h.detach() * 2).mean()\nd_loss.backward()",
    "fast = w - 0.1 * torch.autograd.grad((w * h).sum(), w, create_graph=True)[0] if w.requires_grad else w\nh = h + fast",
]
ENDS = [
    "loss = h.pow(2).mean() + (w * v).sum()\nloss.backward()",
    "loss = h.mean() + (w * v).sum()\nfor o in optimizers:\n    o.zero_grad()\nloss.backward()\nfor o in optimizers:\n    o.step()",
    "loss = nn.MSELoss()(h, torch.zeros(4)) + (w * v).sum()\nloss.backward()",
    "loss = critic(h).sum() + (w * v).sum()\nloss.backward()\noptimizers[0].step()\noptimizers[0].zero_grad()",
    "loss = (h * 0.1).sum() + (w * v).sum()\ntry:\n    loss.backward()\nexcept ValueError:\n    pass",
]
AFTER = ["", "", "last = w * 2", "last = critic(h.detach())", "total = sum([each.sum() for each in kept[-2:]])"]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.scale = nn.Linear(4, 4), nn.Parameter(torch.ones(4))

    def forward(self, x: Any, twice: bool = False) -> Any:
        x = self.inner(x) + torch.ones(4) * self.scale
        return self.inner(x) if twice else x


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if Doubled.fails:
            raise ValueError(Doubled.fails.pop())
        return g * 2

    fails: list[int] = []  # noqa: RUF012


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x.detach())
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.requires_grad_()
            return torch.autograd.grad(x.sin(), x, g.detach())[0]


def record(g: Any) -> Any:
    with torch.enable_grad():
        leaf = torch.ones(2, requires_grad=True)
        (leaf * 3).sum().backward()
    return g


def script_of(seed: int) -> str:
    draw = random.Random(seed)
    turns = draw.randint(6, 14)
    lines = [
        START,
        f"for i in range({turns}):",
        f"    {draw.choice(BEGINNINGS)}",
        f"    h = {draw.choice(['x * w', 'net(x) * w'])}",
    ]
    for piece in draw.sample(PIECES, draw.randint(0, 4)):
        times = draw.choice([{draw.randrange(turns)}, {turns - 1}, {i for i in range(turns) if i % 3 == 2}])
        lines += [f"    at = {sorted(times)}", *[f"    {line}" for line in piece.split("\n")]]
    lines += [f"    {line}" for line in draw.choice(ENDS).split("\n")]
    return "\n".join([*lines, draw.choice(AFTER), ""])


def trace_of(source: str, steps: str) -> tuple[Trace, str]:
    torch.manual_seed(0)
    fails: list[int] = []
    Doubled.fails = fails
    scope = {"torch": torch, "nn": nn, "Block": Block, "Doubled": Doubled, "Nested": Nested, "record": record}
    scope |= {"checkpoint": torch.utils.checkpoint.checkpoint}
    recorder = Recorder(steps, "loop.py")
    error = ""
    recorder.start()
    try:
        exec(
            compile(source.replace("kept, fails = [], []", "kept, fails = [], Doubled.fails"), "loop.py", "exec"), scope
        )
    except Exception as raised:
        error = repr(raised)
    finally:
        trace = recorder.finish({name: value for name, value in scope.items() if name[0] not in "_"})
    assert not recorder.broken
    return trace, error


def early(trace: Trace) -> Trace:
    """The trace with what the ledger heard while it hears everything: later, it hears the steps that are kept."""
    assert trace.ledger is not None
    heard = tuple(each for each in trace.ledger.happenings if each.step < WHOLE)
    return replace(trace, ledger=replace(trace.ledger, happenings=heard, later=(), more=0))


@pytest.mark.parametrize("seed", range(40))
def test_a_step_of_a_generated_loop_is_the_same_whichever_are_kept(seed: int) -> None:
    source, steps = script_of(seed), ["first,last", "first,last,4"][seed % 2]
    (some, error), (every, same_error) = trace_of(source, steps), trace_of(source, "all")
    some, every = early(some), early(every)
    assert error == same_error
    assert some.total_steps == every.total_steps
    for step in some.steps:
        alone = replace(every, steps=(replace(every.steps[step.number], derived=step.derived, double=step.double),))
        assert to_json(replace(some, steps=(step,))) == to_json(alone), source
