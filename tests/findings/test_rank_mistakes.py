"""What people get wrong between ranks: found out on its line, and nothing is found once it is mended.

The marks in `mistakes_of_ranks/` are those of `mistakes/`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from autograph_cli.findings.ranks import RULES, explain_ranks
from autograph_cli.record.run import store
from autograph_cli.testing.sweeps import environment
from tests.conftest import PATIENCE
from tests.findings.test_mistakes import HERE, expected, variant

pytest.importorskip("mpi4py")
MISTAKES = sorted((HERE / "mistakes_of_ranks").glob("*.py"))


def found(text: str, folder: Path, engine: str) -> list[tuple[str, int]]:
    """The codes found between two ranks that run a script, and their lines."""
    (folder / "script.py").write_text(text)
    command = [sys.executable, "-m", "autograph_cli", "run", "-q", "--ranks", "2", "--engine", engine]
    run = subprocess.run(
        [*command, "--timeout", "20", "-o", "trace.zip", "script.py"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
        text=True,
        check=False,
    )
    assert (folder / "trace.zip").exists(), (
        f"nothing was recorded, exit code {run.returncode}: {run.stdout}{run.stderr}"
    )
    findings = explain_ranks(store.ranks_of(folder / "trace.zip"), store.load(folder / "trace.zip"))
    return sorted((each.code, each.source.line if each.source else 0) for each in findings)


def engines() -> list[str]:
    """Those that are here."""
    return ["builtin", *(["torch"] if importlib.util.find_spec("torch") else [])]


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_mistake_is_found_on_its_line_and_nothing_once_it_is_mended(path: Path, engine: str, tmp_path: Path) -> None:
    text = path.read_text("utf-8")
    assert found(variant(text, "right"), tmp_path, engine) == expected(text)
    assert found(variant(text, "wrong"), tmp_path, engine) == []


def test_every_code_has_a_mistake() -> None:
    assert {code for path in MISTAKES for code, _ in expected(path.read_text("utf-8"))} == {rule.code for rule in RULES}
