"""The places that reports name are files that are there, and the commands that they print can be pasted."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.graph.snapshot import SnapshotDiff
from autograph_cli.testing.checking import Asked, Result, command
from autograph_cli.testing.files import Outcome
from autograph_cli.testing.reports import github

PLACES = {
    "beside the script": ("train.py", "`tanh` became `relu` (net.py:3)", "net.py,line=3"),
    "of a package": ("package/train.py", "`tanh` became `relu` (package/net.py:3)", "package/net.py,line=3"),
    "deeper in it": ("package/sub/train.py", "`aux`: no_grad at line 5 of package/net.py", "package/net.py,line=5"),
    "of a hook": (
        "train.py",
        "hook new: register_hook changes a gradient (net.py:7, h.register_hook(f))",
        "net.py,line=7",
    ),
    "nowhere": ("train.py", "the script made 2 steps, not 3", "train.py"),
}


@pytest.mark.parametrize("what", PLACES)
def test_an_annotation_stands_in_the_file_that_the_sentence_names(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, sentence, place = PLACES[what]
    monkeypatch.chdir(tmp_path)
    for name in ("net.py", "package/net.py", script):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    outcome = Outcome(Path("train.graph.txt"), "different", SnapshotDiff(others=(sentence,)))
    (line,) = github([Result(Path(script), outcome)])
    assert line.startswith(f"::error file={place},title=")


def test_a_command_has_names_in_quotes_where_a_shell_needs_them() -> None:
    assert command([Path("a b.py"), Path("c.py")], Asked(), "--update") == "autograph snapshot --update 'a b.py' c.py"
