"""`autograph bisect` in a repository made for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Run

SCRIPT = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = torch.tanh(w * {factor}).sum()\nloss.backward()\n"


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Six commits: a comment, one that fails, the change that is looked for, two that change nothing."""
    git(tmp_path, "init", "-q")
    sources = [
        SCRIPT.format(factor=2),
        "# new\n" + SCRIPT.format(factor=2),
        "raise SystemExit(1)\n",
        SCRIPT.format(factor=3),
        SCRIPT.format(factor=3) + "print(loss)\n",
        "# newer\n" + SCRIPT.format(factor=3),
    ]
    for number, source in enumerate(sources):
        (tmp_path / "train.py").write_text(source)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", f"commit {number}")
        git(tmp_path, "tag", f"c{number}")
    return tmp_path


def test_the_commit_that_changed_the_graph_is_found_and_told(autograph: Run, history: Path) -> None:
    (history / "train.py").write_text("not committed")
    found = autograph("bisect", "c0", "c5", "train.py")
    assert found.returncode == 2, "commit 2 fails, so that it may be commit 2 or 3"
    git(history, "checkout", "-q", "-f", "c2")
    (history / "train.py").write_text(SCRIPT.format(factor=2) + "# mended\n")
    git(history, "commit", "-q", "-a", "-m", "mended")
    for number in (3, 4, 5):
        git(history, "cherry-pick", "-X", "theirs", "--allow-empty", f"c{number}")
    found = autograph("bisect", "c0", "HEAD", "train.py")
    assert found.returncode == 1, found.stderr
    first, sentence = found.stdout.splitlines()
    assert "commit 3 (t, " in first
    assert sentence == "  `mul` (train.py:3) is called with other=3, not other=2"
    assert git(history, "worktree", "list").count("\n") == 1
    assert not git(history, "branch", "--list", "*bisect*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "c5", "train.py"), "Error: There is no revision nowhere in "),
        (("c0", "c1", "train.py"), "Error: There is nothing to look for: the graph is the same at c1.\n"),
        (("c0", "c2", "train.py"), "Error: It cannot be said of both ends whether they are good: train.py failed"),
    ],
)
def test_what_cannot_be_looked_for_is_said(
    autograph: Run, history: Path, arguments: tuple[str, ...], message: str
) -> None:
    told = autograph("bisect", *arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(message)
