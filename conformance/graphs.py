#!/usr/bin/env python3
"""Compares the graphs that both engines record of the samples and of the tests' programs.

python conformance/graphs.py check      # fails when a script whose graphs were the same has different ones now
python conformance/graphs.py update     # writes graphs.json and docs/conformance-graphs.md anew
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from autograph_cli import AutographError
from autograph_cli.graph.snapshot import HOLDS, compare
from autograph_cli.testing import scripts
from autograph_cli.testing.settings import VIEWS, load

HERE = Path(__file__).parent
ROOT = HERE.parent
SCORE, PAGE = HERE / "graphs.json", ROOT / "docs" / "conformance-graphs.md"
FILES = ("samples/*.py", "tests/programs/[0-9]*.py")
HELD = tuple(part for part in HOLDS if part not in ("values", "formulas", "untracked", "digests"))
"""What is compared; of what autograd did not record, PyTorch runs other operations than it tells of."""
TOLD = 2
"""The format of snapshots that holds what both engines tell: of the plain arguments that a later one has, PyTorch leaves
defaults out, and this engine those of backward operations."""
STEPS = "first,1,2"
SHOWN = 3

REASONS = {
    r"18_dataset": "the script builds no graph",
    r"char_rnn": "a recurrent layer is one node of oneDNN, and the workspace that it keeps has the size that this machine needs",
}
"""Why the graphs of a script differ, by a pattern of its name."""


def difference(script):
    """The sentences on how the graphs differ; None if they are the same."""
    settings = replace(load(ROOT), steps=STEPS, include=HELD, views=VIEWS)
    try:
        ours, theirs = (
            replace(scripts.take(script, replace(settings, engine=engine)), steps=None, version=TOLD)
            for engine in ("builtin", "torch")
        )
    except AutographError as error:
        return [str(error).removeprefix(f"{script} ")]
    found = compare(ours, theirs, settings.tolerance)
    return (found.sentences or ["the order of nodes"]) if found else None


def measure():
    """{script: "same", or how its graphs differ}"""
    paths = sorted(path for pattern in FILES for path in ROOT.glob(pattern))
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(difference, paths)
    return {str(path.relative_to(ROOT)): told or "same" for path, told in zip(paths, found, strict=True)}


def page(found):
    """docs/conformance-graphs.md"""
    import re

    same = [name for name, told in found.items() if told == "same"]
    lines = [
        "# The graphs of both engines",
        "",
        "Made by `python conformance/graphs.py update`; not to be edited by hand. Each script runs on the engine of this package and on "
        "PyTorch 2.13 (`autograph diff --engines builtin,torch`); its graphs, forward, backward and double backward, are compared with "
        "names, shapes, dtypes, constants, lines and modules, of the first three steps.",
        "",
        f"{len(same)} of {len(found)} are the same in both ({', '.join(Path(name).stem for name in same)}).",
        "",
        "| differs | why | the first of the differences |",
        "| --- | --- | --- |",
    ]
    for name, told in found.items():
        if told != "same":
            why = next(
                (reason for pattern, reason in REASONS.items() if re.search(pattern, name)), "not looked into yet"
            )
            lines.append(
                f"| {Path(name).stem} | {why} | {'; '.join(told[:SHOWN])}, {len(told)} in all |".replace("\n", " ")
            )
    return "\n".join([*lines, ""])


def main(command):
    found = measure()
    if command == "update":
        SCORE.write_text(json.dumps({name: told == "same" for name, told in found.items()}, indent=1) + "\n")
        PAGE.write_text(page(found))
        return 0
    before = json.loads(SCORE.read_text())
    lost = [name for name, told in found.items() if told != "same" and before.get(name)]
    for name in lost:
        print(f"{name}: the graphs were the same and are not: {'; '.join(found[name][:SHOWN])}")
    print(
        f"{sum(told == 'same' for told in found.values())} of {len(found)} scripts have the same graphs on both engines"
    )
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "check"))
