"""Scripts run the same with and without recording: output, exit code, warnings, random streams, all numbers to the bit."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.testing.settings import load
from tests.engines.traced_programs import END, PROGRAMS, START

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ARGUMENTS = load(ROOT).arguments
SCRIPTS = [
    str(path.relative_to(ROOT))
    for pattern in ("samples/*.py", "tests/programs/[0-9]*.py", "tests/engines/programs/*.py")
    for path in sorted(ROOT.glob(pattern))
]
Both = Callable[[str, Sequence[Sequence[str]]], list[dict[str, Any]]]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


WAYS = {
    "run": ["run", "-q", "-o", "trace.json"],
    "measured": ["run", "-q", "-o", "trace.json", "--steps", "all", "--record", "values,time,flops,memory,inside"],
    "checked": ["run", "-q", "-o", "trace.json", "--record", "check"],
    "check": ["check", "--limit", "1"],
    "explain": ["explain"],
    "render": ["render", "-f", "text"],
}
"""All ways of recording a script."""
FEW = tuple(WAYS) if os.environ.get("AUTOGRAPH_TRACED") == "all" else ("measured", "checked")
"""Those in which programs run that are traced, but with AUTOGRAPH_TRACED=all."""
LOADED = (
    "torch._dynamo",
    "torch.export",
    "torch.ao.quantization",
    "torch.fx.experimental.proxy_tensor",
    "torch.package",
)
"""What the programs that are traced import: so they need it only once."""


@contextlib.contextmanager
def besides(*modules: str) -> Iterator[Both]:
    """What runs a script plainly and recorded in some ways, and tells how it ended in each."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "beside.py"), *modules],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdin and process.stdout
    with process, process.stdin as asked, process.stdout as told:

        def run(script: str, ways: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
            print(json.dumps([ways, [str(ROOT / script), *ARGUMENTS.get(script, ())]]), file=asked, flush=True)
            found: list[dict[str, Any]] = json.loads(told.readline())
            return found

        yield run
        asked.close()


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with besides() as run:
        yield run


@pytest.fixture(scope="module")
def traced() -> Iterator[Both]:
    with besides(*LOADED) as run:
        yield run


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_the_same_with_and_without_recording(both: Both, script: str) -> None:
    plain, recorded = both(script, [WAYS["run"]])
    assert recorded == plain
    assert plain["out"].endswith("}\n")  # the state that it left


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_pytorch_traces_or_transforms_runs_the_same_in_every_way(
    traced: Both, tmp_path: Path, program: str
) -> None:
    (tmp_path / "program.py").write_text(START + PROGRAMS[program] + END)
    ways = {way: WAYS[way] for way in FEW}
    plain, *recorded = traced(str(tmp_path / "program.py"), list(ways.values()))
    *lines, _ = plain["out"].splitlines()
    assert plain["code"] == 0 and lines[-1].endswith(" end"), plain["err"]
    for way, told in zip(ways, recorded, strict=True):
        assert "ended the recording" not in told["err"] and "autograph_cli" not in told["err"], (way, told["err"])
        if WAYS[way][0] == "run":
            assert (way, told) == (way, plain)
        else:  # there the script prints to stderr
            said = iter(told["err"].splitlines())
            assert [line for line in lines if line not in said] == [], (way, told["err"])
            assert told["code"] == 0, (way, told["out"])
