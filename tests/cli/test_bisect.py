"""`autograph bisect` in a repository made for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from autograph_cli.testing import recording

Cli = Callable[..., Result]

SCRIPT = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = torch.tanh(w * {factor}).sum()\nloss.backward()\n"


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


_recorded: dict[bytes, recording.Recording | recording.RecordingError] = {}
_record = recording.record


def recorded_once(script: Path, *arguments: Any, **options: Any) -> recording.Recording:
    """Record each text of the script once for all tests of this file: a process each takes a second."""
    text = script.read_bytes()
    if text not in _recorded:
        try:
            _recorded[text] = _record(script, *arguments, **options)
        except recording.RecordingError as error:
            _recorded[text] = error
    found = _recorded[text]
    if isinstance(found, recording.RecordingError):
        raise found
    return found


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six commits: a comment, one that fails, the change that is looked for, two that change nothing."""
    monkeypatch.setattr(recording, "record", recorded_once)
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


def test_the_commit_that_changed_the_graph_is_found_and_told(cli: Cli, history: Path) -> None:
    (history / "train.py").write_text("not committed")
    found = cli("bisect", "c0", "c5", "train.py")
    assert found.exit_code == 2, "commit 2 fails, so that it may be commit 2 or 3"
    git(history, "checkout", "-q", "-f", "c2")
    (history / "train.py").write_text(SCRIPT.format(factor=2) + "# mended\n")
    git(history, "commit", "-q", "-a", "-m", "mended")
    for number in (3, 4, 5):
        git(history, "cherry-pick", "-X", "theirs", "--allow-empty", f"c{number}")
    found = cli("bisect", "c0", "HEAD", "train.py")
    assert found.exit_code == 1, found.stderr
    first, sentence = found.stdout.splitlines()
    assert "commit 3 (t, " in first
    assert sentence == "  `mul` (train.py:3) is called with other=3, not other=2"
    assert git(history, "worktree", "list").count("\n") == 1
    assert not git(history, "branch", "--list", "*bisect*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c0", "c1", "train.py"), "Error: There is nothing to look for: the graph is the same at c1.\n"),
        (("c0", "c2", "train.py"), "Error: It cannot be said of both ends whether they are good: train.py failed"),
    ],
)
def test_what_cannot_be_looked_for_is_said(cli: Cli, history: Path, arguments: tuple[str, ...], message: str) -> None:
    told = cli("bisect", *arguments)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith(message)


def test_a_finding_may_be_why_a_script_fails(cli: Cli, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for number, source in enumerate([SCRIPT, "# new\n" + SCRIPT, SCRIPT.replace(".sum()", ""), "1 / 0\n"]):
        (tmp_path / "train.py").write_text(source.format(factor=2))
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", f"commit {number}")
        git(tmp_path, "tag", f"c{number}")
    found = cli("bisect", "--finding", "AG007", "c0", "c2", "train.py")
    assert (found.exit_code, "commit 2 (t, " in found.stdout) == (1, True), found.output
    assert "  AG007 train.py:4: " in found.stdout
    assert cli("bisect", "--finding", "AG007", "c0", "c3", "train.py").exit_code == 2
