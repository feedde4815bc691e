"""`autograph snapshot --include digests` keeps digests of the numbers, and `--check` names the first that is another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Cli = Callable[..., Result]

SCRIPT = """\
import torch
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
loss = torch.nn.functional.elu(w, alpha=1.5).exp().sum()
loss.backward()
"""


def test_numbers_are_checked_against_stored_digests(cli: Cli) -> None:
    Path("net.py").write_text(SCRIPT, "utf-8")
    assert cli("snapshot", "--include", "names,digests", "net.py").exit_code == 0
    assert "  elu 1 = norm " in Path("net.graph.txt").read_text("utf-8")
    assert cli("snapshot", "--check", "net.py").exit_code == 0
    Path("net.py").write_text(SCRIPT.replace("1.5", "1.501"), "utf-8")
    result = cli("snapshot", "--check", "net.py")
    assert (result.exit_code, "the numbers part first at `elu 1`: norm" in result.stdout) == (1, True), result.stdout
