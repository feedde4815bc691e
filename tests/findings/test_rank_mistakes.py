"""What people get wrong between ranks: found out on its line, and nothing is found once it is mended.

The marks in `mistakes_of_ranks/` are those of `mistakes/`.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograph_cli.cli.ranks import _mpiexec
from autograph_cli.findings.ranks import RULES, explain_ranks
from autograph_cli.record.run import store
from autograph_cli.testing.sweeps import environment
from tests.conftest import ROOT
from tests.findings.test_mistakes import HERE, expected, variant
from tests.processes import finished

pytest.importorskip("mpi4py")
MISTAKES = sorted((HERE / "mistakes_of_ranks").glob("*.py"))


STOPS = {"barrier_of_the_first", "two_orders"}
"""Those in which a rank waits for what does not come: the command has to end them."""
Scripts = Callable[[Path, str], Path]


def alone(script: Path, engine: str) -> Path:
    """The trace of a script that the command runs on two ranks."""
    command = [sys.executable, "-m", "autograph_cli", "run", "-q", "--ranks", "2", "--engine", engine]
    run = finished([*command, "--timeout", "20", "-o", "trace.zip", script.name], cwd=script.parent, env=environment())
    trace = script.with_name("trace.zip")
    assert trace.exists(), f"nothing was recorded, exit code {run.returncode}: {run.stdout}{run.stderr}"
    return trace


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Scripts:
    """The script of each mistake, with it and without; those that end by themselves have been run on two ranks."""
    folder, ended = tmp_path_factory.mktemp("ranks"), []
    for path, left_out in itertools.product(MISTAKES, ("right", "wrong")):
        script = folder / f"{path.stem}-{left_out}" / "script.py"
        script.parent.mkdir()
        script.write_text(variant(path.read_text("utf-8"), left_out))
        if left_out == "wrong" or path.stem not in STOPS:
            ended.append(str(script))
    command = [*_mpiexec(), "-n", "2", sys.executable, "-m", "tests.findings.rank_runs", *ended]
    run = finished(command, cwd=ROOT, env=environment())
    assert not run.returncode, run.stderr
    return lambda path, left_out: folder / f"{path.stem}-{left_out}" / "script.py"


def found(script: Path, engine: str) -> list[tuple[str, int]]:
    """The codes found between two ranks that run a script, and their lines."""
    run = script.with_name("trace.zip")
    trace = run if engine == "builtin" and run.exists() else alone(script, engine)
    findings = explain_ranks(store.ranks_of(trace), store.load(trace))
    return sorted((each.code, each.source.line if each.source else 0) for each in findings)


def engines() -> list[str]:
    """Those that are here."""
    return ["builtin", *(["torch"] if importlib.util.find_spec("torch") else [])]


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_mistake_is_found_on_its_line_and_nothing_once_it_is_mended(
    path: Path, engine: str, scripts: Scripts
) -> None:
    assert found(scripts(path, "right"), engine) == expected(path.read_text("utf-8"))
    assert found(scripts(path, "wrong"), engine) == []


def test_every_code_has_a_mistake() -> None:
    assert {code for path in MISTAKES for code, _ in expected(path.read_text("utf-8"))} == {rule.code for rule in RULES}
