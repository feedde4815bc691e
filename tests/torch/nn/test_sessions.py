"""What modules say and do, line by line as PyTorch does (record_sessions.py keeps its answers beside the scripts)."""

import pytest

from autograph_cli import torch
from tests.torch.nn.record_sessions import SESSIONS, transcript


@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*.py")), ids=lambda path: path.stem)
def test_session_prints_what_pytorch_prints(path):
    assert transcript(torch, path).splitlines() == path.with_suffix(".out").read_text().splitlines()
