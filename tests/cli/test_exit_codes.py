"""The one table of exit codes: every command, on scripts that end well, fail late, fail early, leave, and are missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

GOOD = """import torch
w = torch.ones(3, requires_grad=True)
loss = torch.tanh(w * 2).sum()
loss.backward()
"""
SCRIPTS = {
    "ok": GOOD,
    "late": GOOD + "raise RuntimeError('late')\n",
    "early": "raise RuntimeError('early')\n" + GOOD,
    "leaves": GOOD + "raise SystemExit(3)\n",
}
ENDS = {"ok": 0, "late": 2, "early": 2, "leaves": 3, "missing": 2}
"""The exit codes of a command that passes on the code with which a script leaves."""
ASKED = {"ok": 0, "late": 2, "early": 2, "leaves": 2, "missing": 2}
"""The exit codes of a command for which 1 is an answer: a difference, or no path."""
COMMANDS: dict[str, dict[str, int]] = {
    "run FILE": ENDS, "render FILE -o graph.svg": ENDS, "show FILE": ENDS,
    "open FILE -o page.html --no-browser": ENDS, "steps FILE": ENDS, "explain FILE": ENDS, "check FILE": ENDS,
    "profile FILE": ENDS, "inspect FILE loss": ENDS, "why loss w FILE": ASKED, "snapshot FILE": ASKED,
    "diff kept.graph.txt FILE": ASKED,
}  # fmt: skip
KEPT = """autograph snapshot 3: ok.py
holds names, shapes, dtypes, constants, untracked
steps 1

[step 1]
order 0
  leaf w: float32[3]  with values=1
  %mul: float32[3] = mul(w)  grad_fn MulBackward0(w, _)  with other=2
  %tanh: float32[3] = tanh(%mul)  grad_fn TanhBackward0
  loss: float32[] = sum(%tanh)  grad_fn SumBackward0
results
  loss
passes
  0: backward(loss) order 1, gradients of all leaves
"""


@pytest.mark.parametrize("script", ENDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_as_the_table_says(
    cli: Callable[..., Result], tmp_path: Path, command: str, script: str
) -> None:
    (tmp_path / "kept.graph.txt").write_text(KEPT)
    for name, source in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(source)
    done = cli(*command.replace("FILE", f"{script}.py").split())
    assert done.exit_code == COMMANDS[command][script], done.output


@pytest.mark.parametrize(("command", "ends"), [("inspect FILE later", ENDS), ("why later w FILE", ASKED)])
def test_a_name_that_is_not_there_is_said(
    cli: Callable[..., Result], tmp_path: Path, command: str, ends: dict[str, int]
) -> None:
    for script in ("ok", "late", "leaves"):
        (tmp_path / f"{script}.py").write_text(SCRIPTS[script])
        done = cli(*command.replace("FILE", f"{script}.py").split())
        assert done.exit_code == (ends[script] or 2) and "'later'" in done.stderr.splitlines()[-1], done.output
