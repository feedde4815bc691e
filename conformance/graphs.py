#!/usr/bin/env python3
"""Compares the graphs that both engines record of the samples and of the tests' programs.

python conformance/graphs.py check      # fails when a script whose graphs were the same has different ones now
python conformance/graphs.py update     # writes graphs.json and docs/conformance-graphs.md anew
"""

import json
import multiprocessing
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from autograph_cli import AutographError
from autograph_cli.engines import connect
from autograph_cli.graph.snapshot import HOLDS, compare
from autograph_cli.testing import recording, scripts, sweeps
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
PATIENCE = 600
"""The seconds after which a script counts as one that hangs."""
SHOWN = 3

REASONS = {
    r"18_dataset": "the script builds no graph",
    r"char_rnn": "a recurrent layer is one node of oneDNN, and the workspace that it keeps has the size that this machine needs",
}
"""Why the graphs of a script differ, by a pattern of its name."""


class Forked:
    """A copy of this process, which has imported PyTorch, that records a script as a process of its own does."""

    def __init__(self, request, file):
        self.pid = os.fork()
        if not self.pid:
            try:
                os.dup2(file.fileno(), 0)
                for stream in (1, 2):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                sys.argv, sys.path[0] = ["", request], str(ROOT)
                recording.main()
            finally:
                os._exit(1)

    def communicate(self):
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return ("",)


@contextmanager
def forked(module, words, folder, file, executable):
    """What `sweeps.child` is for the engine of this package."""
    yield Forked(*words, file)


CHILDREN = {"builtin": sweeps.child, "torch": forked}


def taken(script, settings):
    """The snapshot of a script on the engine of the settings."""
    sweeps.child = CHILDREN[settings.engine]
    return replace(scripts.take(script, settings), steps=None, version=TOLD)


def difference(script):
    """The sentences on how the graphs differ; None if they are the same."""
    settings = replace(load(ROOT), steps=STEPS, include=HELD, views=VIEWS)
    try:
        ours, theirs = (taken(script, replace(settings, engine=engine)) for engine in CHILDREN)
    except AutographError as error:
        return [str(error).removeprefix(f"{script} ")]
    found = compare(ours, theirs, settings.tolerance)
    return (found.sentences or ["the order of nodes"]) if found else None


def measure():
    """{script: "same", or how its graphs differ}"""
    paths = sorted(path for pattern in FILES for path in ROOT.glob(pattern))
    connect("torch")  # imported once, for all that are forked
    with multiprocessing.get_context("fork").Pool(2) as pool:
        begun = [pool.apply_async(difference, (path,)) for path in paths]
        found = [each.get(PATIENCE) for each in begun]
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
