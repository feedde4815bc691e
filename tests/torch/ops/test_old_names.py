"""Old names do what they do in PyTorch, with its warnings, at the line of the script (record_old_names.py wrote them down)."""

import importlib
import json
import sys

import pytest

from autograph_cli import torch
from tests.torch.ops.record_old_names import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text(encoding="utf-8"))
PARTS = ("autograd", "nn.modules.module", "nn.modules.utils", "func", "utils.data", "utils.checkpoint", "optim")


@pytest.fixture(autouse=True)
def served(monkeypatch):
    """`import torch` in a snippet is the engine."""
    monkeypatch.setitem(sys.modules, "torch", torch)
    for part in PARTS:
        names = part.split(".")
        for i in range(1, len(names) + 1):
            name = ".".join(names[:i])
            monkeypatch.setitem(sys.modules, f"torch.{name}", importlib.import_module(f"autograph_cli.torch.{name}"))


@pytest.mark.parametrize("snippet", RECORDED)
def test_a_snippet_prints_raises_and_warns_as_in_pytorch(snippet):
    found, elsewhere = observe(torch, snippet)
    assert found == RECORDED[snippet]
    assert elsewhere == []
