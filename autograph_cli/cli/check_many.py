"""`autograph check` of several scripts, each in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from autograph_cli.atomic_files import before_a_signal_ends
from autograph_cli.cli.options import SCRIPTS
from autograph_cli.cli.printing import say
from autograph_cli.testing import scripts, sweeps
from autograph_cli.testing.settings import load

DIED = 2
"""The exit code where the process of a script ended by a signal."""


def are_many(names: Sequence[str]) -> bool:
    """Return whether these words name scripts and folders, and not one script and what to check in it."""
    return Path(names[0]).is_dir() or (len(names) > 1 and names[1].endswith(SCRIPTS))


def check(names: Sequence[str], options: Sequence[str], as_json: bool, jobs: int, over_mpi: bool) -> int:
    """Check scripts by `autograph check OPTIONS SCRIPT`, and say what came of each in the order of the scripts; the
    worst exit code."""
    said: list[object] = []
    worst = 0
    with sweeps.pool(jobs, over_mpi) as pool, before_a_signal_ends(sweeps.stop):
        if pool is None:
            return 0
        files = scripts.find(names, replace(load(), exclude=()))
        for script, (code, text) in zip(files, pool.map(partial(_one, tuple(options)), files), strict=True):
            worst = max(worst, code)
            if as_json:
                said.append({"script": str(script), "exit_code": code, **_parsed(text)})
            else:
                say(f"{script}:", style="bold")
                say("\n".join(f"  {line}" for line in text.splitlines()))
    if as_json:
        say(json.dumps(said, indent=2))
    return worst


def _one(options: tuple[str, ...], script: Path) -> tuple[int, str]:
    with sweeps.child("autograph_cli.cli", ["check", *options, str(script)]) as process:
        text = process.communicate()[0]
    if process.returncode < 0:
        return DIED, f"{text}ended by signal {-process.returncode}"
    return process.returncode, text


def _parsed(text: str) -> dict[str, object]:
    """The verdicts, which are last in what a process said; of one that failed its words."""
    begin = max(text.rfind("\n["), 0)
    try:
        return {"verdicts": json.loads(text[begin:])}
    except json.JSONDecodeError:
        return {"verdicts": [], "said": text}


def options_of(order: int, limit: float, as_json: bool, engine: str | None) -> Iterator[str]:
    """The command line that asks the same of one script."""
    yield from ("--order", str(order), "--limit", str(limit))
    if as_json:
        yield "--json"
    if engine is not None:
        yield from ("--engine", engine)
