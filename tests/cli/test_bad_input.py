"""Bad input of snapshot, diff and bisect ends with one sentence, and 2."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Cli = Callable[..., Result]
SCRIPT = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = torch.tanh(w * 2).sum()\nloss.backward()\n"
GOOD = """autograph snapshot 3: expr.py
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
LOSS = "  loss: float32[] = sum(%tanh)  grad_fn SumBackward0\n"
CONFLICT = GOOD.replace(LOSS, f"<<<<<<< HEAD\n{LOSS}=======\n{LOSS.replace('sum', 'mean')}>>>>>>> other\n")
TWICE = GOOD + "\n" + GOOD[GOOD.index("[step 1]") :]
OTHER = GOOD.replace("steps 1\n", "steps 1\nengine torch\n")
CONFLICT_SAID = "line 10: there is a merge conflict; resolve it, or write it again with --update."
TWICE_SAID = "line 16: there is a second section [step 1]."
UTF_SAID = "is no autograph snapshot: it is not UTF-8."
NUL_SAID = r"is no autograph snapshot: its first line is '\x00\x01'."
NEWER_SAID = "has version 99, and this autograph reads up to version 3: a newer autograph wrote it."

SNAPSHOTS: dict[str, tuple[bytes, str]] = {
    "with a conflict": (CONFLICT.encode(), CONFLICT_SAID),
    "not UTF-8": (b"\x00\x01\xff\xfe", UTF_SAID),
    "binary": (b"\x00\x01", NUL_SAID),
    "two sections of one name": (TWICE.encode(), TWICE_SAID),
    "empty": (b"", "is empty."),
    "newer": (GOOD.replace("snapshot 3", "snapshot 99").encode(), NEWER_SAID),
}
REQUESTS: dict[str, str] = {
    "diff --rev nowhere expr.py": "There is no revision nowhere in ",
    "diff expr.py@nowhere expr.py": "There is no revision nowhere in ",
    "diff --rev=-x expr.py": "-x is no revision.",
    "diff --rev c0 expr.py": "expr.py is not there at c0.",
    "diff --rev c1 none.py": "none.py is not there at c1.",
    "diff --rev c1 expr.graph.txt": "--rev is for scripts, and expr.graph.txt is none.",
    "diff none.graph.txt expr.py": "Cannot read none.graph.txt: No such file or directory.",
    "bisect nowhere c2 expr.py": "There is no revision nowhere in ",
    "bisect c1 nowhere expr.py": "There is no revision nowhere in ",
    "bisect c0 c2 expr.py": "expr.py is not there at c0.",
    "bisect c2 c1 expr.py": "c1 comes before c2: give the good one first.",
    "bisect c1 c2 none/none.py": "There is no file none/none.py.",
    "snapshot none.py": "There is no file none.py.",
    "snapshot expr expr.py": "expr and expr.py have the same snapshot, expr.graph.txt: leave out one of them.",
    "snapshot --check --engine torch expr.py": "expr.graph.txt is of the engine builtin, and asked for is torch: "
    "write it again with autograph snapshot --update --engine torch expr.py",
}
LISTED = ("snapshot --check",)
"""Cases whose sentence is a line of a list, on stdout."""


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "expr.py").write_text(SCRIPT)
    (tmp_path / "expr").write_text(SCRIPT)
    (tmp_path / "expr.graph.txt").write_text(GOOD)
    return tmp_path


def told(done: Result, listed: bool) -> str:
    """The one sentence that a command said."""
    assert done.exit_code == 2, done.output
    if not listed:
        (line,) = done.stderr.splitlines()
        assert done.stdout == ""
        return line.removeprefix("Error: ")
    line, _ = done.stdout.splitlines()
    return line.removeprefix("expr.py: ")


@pytest.mark.parametrize("command", ["snapshot --check expr.py", "diff expr.graph.txt expr.py"])
@pytest.mark.parametrize("what", SNAPSHOTS)
def test_a_snapshot_that_is_none_is_said(cli: Cli, folder: Path, what: str, command: str) -> None:
    content, said = SNAPSHOTS[what]
    (folder / "expr.graph.txt").write_bytes(content)
    sentence = told(cli(*command.split()), command.startswith("snapshot"))
    assert sentence.startswith("expr.graph.txt") and sentence.endswith(said)
    assert (folder / "expr.graph.txt").read_bytes() == content


def test_what_cannot_be_asked_for_is_said(cli: Cli, folder: Path) -> None:
    git(folder, "init", "-q")
    for number, names in enumerate(((), ("expr.py", "expr.graph.txt"), ("expr",))):
        git(folder, "add", *names) if names else None
        git(folder, "commit", "-q", "--allow-empty", "-m", "commit")
        git(folder, "tag", f"c{number}")
    for command, said in REQUESTS.items():
        sentence = told(cli(*command.split()), command.startswith(LISTED))
        assert sentence.startswith(said), command


@pytest.mark.parametrize("command", ["diff --rev HEAD expr.py", "bisect a b expr.py"])
def test_without_a_repository_there_are_no_revisions(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    assert told(cli(*command.split()), listed=False) == "expr.py is in no repository of git."


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_a_snapshot_of_an_engine_that_is_not_there_is_said(cli: Cli, folder: Path) -> None:
    (folder / "expr.graph.txt").write_text(OTHER)
    assert told(cli("snapshot", "--check", "expr.py"), listed=True) == (
        "expr.graph.txt is of the engine torch, and PyTorch is not installed here; write it again with "
        "autograph snapshot --update --engine builtin expr.py"
    )
