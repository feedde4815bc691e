"""Runs the first examples of libraries built on PyTorch, on the engine and beside PyTorch, and writes docs/libraries.md.

`.venv/bin/python -m conformance.libraries --with FOLDER [--pytorch PYTHON] [NAME ...]`: `FOLDER` is one that the libraries are installed into
(`pip install --no-deps --target FOLDER einops torchmetrics ...`, without PyTorch), `PYTHON` an interpreter that has PyTorch. Each file
of conformance/libraries is an example; its first line says of which library, and what it does. With names, only those run and nothing is
written.

With `--published KEPT`, what runs is the Python in the READMEs of all packages in `FOLDER`, and in the notebooks under `--sources FOLDER`
(unpacked source packages: `pip download --no-deps --no-binary :all: gpytorch ...`); scripts and outputs are kept in the folder KEPT, and what
is there already does not run again. Scripts that PyTorch itself does not finish (they need a network, a GPU, or earlier lines) do not count.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import published

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "libraries.md"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
SECONDS = 240
HEAD = """# Libraries on the engine

Libraries that are plain Python on PyTorch run on the engine as scripts do: `autograph run` serves their `import torch`. This table is
written by `conformance/libraries.py`, which runs an example of each (`conformance/libraries/`) on the engine and beside PyTorch {version} and
compares what they print. "Same" means the same text, with numbers equal to a relative 1e-3.

| library | version | example | on the engine |
|---|---|---|---|
"""


PUBLISHED = """
## Scripts that libraries publish

`conformance/libraries.py` also runs the Python in the READMEs of packages and in their notebooks (models made smaller, the generators seeded),
and compares what they print and what they leave behind: all tensors, their gradients, and of small models those of the second order; numbers are the same up to a hundredth, as training multiplies rounding. Of {there} that PyTorch {version} runs, {same} are the same here
({share:.0f} %).

| library | version | PyTorch runs | the same here | what differs |
|---|---|---|---|---|
"""


def described(example: Path) -> tuple[str, str]:
    """The library of an example, and what the example does."""
    library, _, what = example.read_text("utf-8").partition("\n")[0].removeprefix("# ").partition(": ")
    return library, what


def ran(command: list[str], folder: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """The exit code of a command, what it printed, and its first error, which is the cause of the others."""
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "MPLBACKEND": "agg", "CI": "1"}
    environment = {**os.environ, "PYTHONPATH": folder, **quiet}
    try:
        done = subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"not done after {SECONDS} seconds"
    lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return done.returncode, done.stdout, named[0] if named else (lines or [""])[-1]


def cause(stderr_line: str) -> str:
    """An error as the table says it."""
    return stderr_line.replace("|", "\\|")[:160]


def same(ours: str, theirs: str, relative: float = 1e-3, absolute: float = 1e-5) -> bool:
    """Return whether two outputs have the same words, and numbers that are as good as equal."""
    if NUMBER.sub("#", ours).split() != NUMBER.sub("#", theirs).split():
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=relative, abs_tol=absolute) for a, b in pairs)


def verdict(example: Path, folder: str, pytorch: str | None) -> str:
    """Return what the table says of an example."""
    autograph = str(Path(sys.executable).with_name("autograph"))
    code, printed, error = ran([autograph, "run", "-q", str(example)], folder)
    if code:
        return f"stops: {cause(error)}"
    if pytorch is None:
        return "runs"
    code, expected, error = ran([pytorch, "-W", "ignore", str(example)], folder)
    if code:
        return f"runs; PyTorch itself stops here: {cause(error)}"
    return "runs, the same numbers" if same(printed, expected) else "runs, other numbers"


def outcome(script: Path, command: list[str], folder: str) -> list[Any]:
    """Return what `ran` tells of a script, kept beside it."""
    kept = script.with_name(f"{script.stem}.{Path(command[0]).name}.json")
    if not kept.exists():
        with tempfile.TemporaryDirectory() as empty:
            kept.write_text(json.dumps(ran([*command, str(script)], folder, Path(empty))), "utf-8")
    found: list[Any] = json.loads(kept.read_text("utf-8"))
    return found


def published_row(library: str, version: str, scripts: list[Path], folder: str, pytorch: str) -> tuple[str, int, int]:
    """The row of a library, how many of its scripts PyTorch runs, and how many are the same here."""
    autograph = [str(Path(sys.executable).with_name("autograph")), "run", "-q"]
    there, good, causes = 0, 0, []
    for script in scripts:
        code, expected, _ = outcome(script, [pytorch, "-W", "ignore"], folder)
        if code:
            continue
        there += 1
        code, printed, error = outcome(script, autograph, folder)
        if not code and same(published.comparable(printed), published.comparable(expected), 1e-2, 1e-2):
            good += 1
        else:
            name = script.stem.partition("__")[2]
            causes.append(f"{name}: {cause(error) if code else 'other numbers'}")
    return f"| {library} | {version} | {there} | {good} | {'; '.join(causes)} |", there, good


def run_published(kept: Path, folder: str, sources: Path | None, pytorch: str, versions: dict[str, str]) -> str:
    """The section on published scripts."""
    kept = kept.resolve()
    kept.mkdir(exist_ok=True)
    by_library: dict[str, list[Path]] = {}
    for library, name, text in published.scripts(Path(folder), sources):
        script = kept / f"{library}__{name}.py"
        script.write_text(text, "utf-8")
        by_library.setdefault(library.replace("_", "-"), []).append(script)
    rows = []
    for library, scripts in sorted(by_library.items()):
        version = versions.get(library, versions.get(library.replace("-", "_"), ""))
        rows.append(published_row(library, version, scripts, folder, pytorch))
        print(rows[-1][0], flush=True)
    there, good = sum(row[1] for row in rows), sum(row[2] for row in rows)
    head = PUBLISHED.format(there=there, same=good, share=100 * good / there, version="2.13")
    return head + "\n".join(row[0] for row in rows if row[1]) + "\n"


def write(examples: str | None = None, scripts: str | None = None) -> None:
    """Replace one part of the page, or both."""
    old, mark, rest = PAGE.read_text("utf-8").partition(PUBLISHED.lstrip("\n").partition("\n")[0])
    beside = PAGE.with_suffix(".part")
    beside.write_text((examples or old.rstrip("\n") + "\n") + (scripts or (f"\n{mark}{rest}" if mark else "")), "utf-8")
    beside.replace(PAGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with", dest="folder", required=True, help="a folder that the libraries are installed into")
    parser.add_argument("--pytorch", help="an interpreter that has PyTorch")
    parser.add_argument("--published", type=Path, metavar="KEPT", help="run published scripts, keep outputs in KEPT")
    parser.add_argument("--sources", type=Path, help="a folder of unpacked source packages, for their notebooks")
    parser.add_argument("names", nargs="*", help="only these examples")
    given = parser.parse_args()
    versions = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions(path=[given.folder])}
    if given.published:
        if not given.pytorch:
            parser.error("--published compares with PyTorch: give --pytorch")
        write(scripts=run_published(given.published, given.folder, given.sources, given.pytorch, versions))
        return
    rows = []
    for example in sorted((HERE / "libraries").glob("*.py")):
        if given.names and example.stem not in given.names:
            continue
        library, what = described(example)
        version = versions.get(library, versions.get(library.replace("-", "_"), "not installed"))
        rows.append(
            f"| {library} | {version} | [{what}](../conformance/libraries/{example.name}) | {verdict(example, given.folder, given.pytorch)} |"
        )
        print(rows[-1], flush=True)
    if not given.names:
        write(examples=HEAD.format(version="2.13") + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
