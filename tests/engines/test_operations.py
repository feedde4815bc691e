"""What recording PyTorch needs of operations stands in a file, and nothing of the built-in engine is imported for it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from autograph_cli.engines.builtin.operations_file import symmetric, text
from autograph_cli.engines.operations import FILE, facts_of
from autograph_cli.graph.reordered import SYMMETRIC

SCRIPT = """
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
values, indices = Double.apply(model(torch.ones(5, 3))).topk(1)
loss = values.exp().sum()
loss.backward()
"""
COMMANDS = (
    "run script.py", "run script.py --record values,time,memory,flops", "explain script.py", "check script.py",
    "show script.py --backward", "render script.py -o page.html", "why loss model[0].weight script.py",
    "render script.py --double-backward -o picture.svg",
)  # fmt: skip
COUNTED = """
import atexit, os, sys
import torch
from autograph_cli.cli import main

def report():
    imported = [name for name in sys.modules if name.startswith("autograph_cli.torch")]
    os.write(told, f"{command}: {imported}\\n".encode())

told = int(sys.argv[1])
for command in sys.argv[2:]:
    child = os.fork()
    if not child:
        atexit.register(report)
        name, *words = command.split()
        sys.argv = ["autograph", name, "--engine", "torch", *words]
        sys.exit(main())
    os.waitpid(child, 0)
"""


def test_the_file_is_made_from_the_records_of_the_engine() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "make operations"
    assert SYMMETRIC.read_text(encoding="utf-8") == symmetric(), "make operations"


def test_nodes_without_a_record_have_no_facts() -> None:
    assert facts_of("AccumulateGrad") is None


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_recording_pytorch_imports_nothing_of_the_engine(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with open(tmp_path / "told", "w+") as told:
        command = [sys.executable, "-c", COUNTED, str(told.fileno()), *COMMANDS]
        ran = subprocess.run(command, cwd=tmp_path, pass_fds=[told.fileno()], capture_output=True, text=True)
        told.seek(0)
        assert told.read().splitlines() == [f"{command}: []" for command in COMMANDS], ran.stderr
