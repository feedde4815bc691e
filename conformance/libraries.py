"""Runs the first examples of libraries built on PyTorch, on the engine and beside PyTorch, and writes docs/libraries.md.

`.venv/bin/python conformance/libraries.py --with FOLDER [--pytorch PYTHON] [NAME ...]`: `FOLDER` is one that the libraries are installed into
(`pip install --no-deps --target FOLDER einops torchmetrics ...`, without PyTorch), `PYTHON` an interpreter that has PyTorch. Each file
of conformance/libraries is an example; its first line says of which library, and what it does. With names, only those run and nothing is
written.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import re
import subprocess
import sys
from pathlib import Path

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


def described(example: Path) -> tuple[str, str]:
    """The library of an example, and what the example does."""
    library, _, what = example.read_text("utf-8").partition("\n")[0].removeprefix("# ").partition(": ")
    return library, what


def ran(command: list[str], folder: str) -> tuple[int, str, str]:
    """The exit code of a command, what it printed, and its first error, which is the cause of the others."""
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return 1, "", f"not done after {SECONDS} seconds"
    lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return done.returncode, done.stdout, named[0] if named else (lines or [""])[-1]


def cause(stderr_line: str) -> str:
    """An error as the table says it."""
    return stderr_line.replace("|", "\\|")[:160]


def same(ours: str, theirs: str) -> bool:
    """Whether two outputs have the same words, and numbers that are as good as equal."""
    if NUMBER.sub("#", ours).split() != NUMBER.sub("#", theirs).split():
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-5) for a, b in pairs)


def verdict(example: Path, folder: str, pytorch: str | None) -> str:
    """What the table says of an example."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with", dest="folder", required=True, help="a folder that the libraries are installed into")
    parser.add_argument("--pytorch", help="an interpreter that has PyTorch")
    parser.add_argument("names", nargs="*", help="only these examples")
    given = parser.parse_args()
    versions = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions(path=[given.folder])}
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
        text = HEAD.format(version="2.13") + "\n".join(rows) + "\n"
        beside = PAGE.with_suffix(".part")
        beside.write_text(text, "utf-8")
        beside.replace(PAGE)


if __name__ == "__main__":
    main()
