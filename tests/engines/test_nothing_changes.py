"""Scripts run the same with and without recording: output, exit code, warnings, random streams, all numbers to the bit."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.testing.settings import load

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ARGUMENTS = load(ROOT).arguments
SCRIPTS = [
    str(path.relative_to(ROOT))
    for pattern in ("samples/*.py", "tests/programs/[0-9]*.py", "tests/engines/programs/*.py")
    for path in sorted(ROOT.glob(pattern))
]
Both = Callable[[str], list[dict[str, Any]]]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """Run a script plainly and recorded; how it ended in each."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "beside.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdin and process.stdout
    with process, process.stdin as asked, process.stdout as told:

        def run(script: str) -> list[dict[str, Any]]:
            print(json.dumps([str(ROOT / script), *ARGUMENTS.get(script, ())]), file=asked, flush=True)
            found: list[dict[str, Any]] = json.loads(told.readline())
            return found

        yield run
        asked.close()


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_the_same_with_and_without_recording(both: Both, script: str) -> None:
    plain, recorded = both(script)
    recorded["out"] = recorded["out"].replace(
        "{'autograph': noted}", "{}"
    )  # metadata of nodes, which a script may print
    assert recorded == plain
    assert plain["out"].endswith("}\n")  # the state that it left
