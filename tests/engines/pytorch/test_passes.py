"""Operations of a backward pass go by unheard where nothing is told of them, and only there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.conftest import Run

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
COUNTING = """
import torch
from torch.utils.checkpoint import checkpoint
from autograph_cli.engines import connect
from autograph_cli.engines.pytorch import private
from autograph_cli.record.recorder import Recorder

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def more(grad):
    with torch.enable_grad():
        return grad * torch.ones(3, requires_grad=True).exp().detach()

heard, compute = [], private.compute
def counted(operation, *about):
    heard.append(private.in_pass())
    return compute(operation, *about)
private.compute = counted
recorder = Recorder("all", engine=connect("torch"), record={record})
recorder.derivations.of_call = lambda *_, **__: (None, None)  # which runs a pass of its own
recorder.start()
w = torch.ones(3, requires_grad=True)
{script}
trace = recorder.finish(dict(globals()))
print(any(heard), len(trace.steps), recorder.broken)
"""
PLAIN = "(w.sin() * w).sum().backward()"
CASES = {
    "nothing but operations": (PLAIN, "()", False),
    "a graph of the gradient": ("(w.sin() * w).sum().backward(create_graph=True)", "()", True),
    "a custom Function": ("Double.apply(w).sum().backward()", "()", True),
    "a hook that computes": ("h = w.sin(); h.register_hook(more); h.sum().backward()", "()", True),
    "a checkpoint": ("checkpoint(torch.sin, w, use_reentrant=False).sum().backward()", "()", True),
    "values": (PLAIN, "['values']", True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pass_is_heard_where_something_is_told_of_it(case: str, python: Run, tmp_path: Path) -> None:
    script, record, heard = CASES[case]
    (tmp_path / "counting.py").write_text(COUNTING.format(script=script, record=record))
    done = python("counting.py")
    assert done.stdout.split()[:2] == [str(heard), "1"], done.stderr
