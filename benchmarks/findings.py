"""Counts the mistakes that `explain` finds in the scripts of tests/findings/mistakes, beside torchfix and PyTorch's own words.

    python benchmarks/findings.py [--write] [--torchfix PATH] [--kept FILE]

Each script is there twice, wrong and mended. A tool has found it where it says something of the wrong script on a line
that is marked, and does not say the same there of the mended one; what it says of a mended script is a false alarm. It needs
PyTorch; torchfix is looked for beside Python and on the path, and may stand in an environment of its own. It takes many
minutes: what was said of a script is added to the file of `--kept`, and not asked again of the same text in a later run.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- measured by make bench-findings -->", "<!-- end -->"
sys.path.insert(0, str(ROOT))

from tests.findings.test_mistakes import MISTAKES, RIGHT, expected, variant  # noqa: E402

FAMILIES = {
    "AG0": "errors that autograd raises",
    "AG1": "derivatives that are silently missing",
    "AG2": "parameters without a gradient",
    "AG3": "numbers",
    "AG4": "from step to step",
    "AG5": "shapes and losses",
    "AG6": "modules",
    "AG8": "training",
}
SECONDS, TOGETHER = 120, 16
Said = set[tuple[int, str]]
"""The words of a tool about a script, with the line; -1 where it names none."""


def explained(path: Path) -> Said:
    """The findings, by line."""
    from tests.findings.test_explain import of_file

    found = of_file(path, engine="torch")
    return {(one.source.line if one.source else -1, f"{one.code} {one.said}") for one in found}


def warned(path: Path) -> Said:
    """The warnings, and what is raised where PyTorch runs the script."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        try:
            runpy.run_path(str(path), run_name="__main__")
            raised: Said = set()
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = {frame.lineno or -1 for frame in frames if frame.filename == str(path)} or {-1}
            raised = {(line, str(error)) for line in lines}
    return raised | {(one.lineno if one.filename == str(path) else -1, str(one.message)) for one in told}


def apart(function: Callable[[Path], Said], paths: Sequence[Path], together: int) -> Iterator[tuple[Path, Said]]:
    """Yield what a function says of scripts, so many `together` in a process of their own that has PyTorch already."""
    waiting = [*paths]
    while waiting:
        ours, theirs = multiprocessing.get_context("fork").Pipe()

        def work(batch: Sequence[Path], out: Connection) -> None:
            for path in batch:
                os.chdir(path.parent)
                out.send(function(path))
                gc.collect()  # what a script leaves behind is not found in the next one

        process = multiprocessing.get_context("fork").Process(target=work, args=(waiting[:together], theirs))
        process.start()
        theirs.close()
        for path in waiting[:together]:
            waiting = waiting[1:]
            try:
                said: Said | None = ours.recv() if ours.poll(SECONDS) else None
            except EOFError:
                said = None
            yield path, said or set()
            if said is None:  # it hung, or ended its process
                break
        else:
            process.join(1)
        if process.is_alive():
            process.kill()


class Kept:
    """The words of tools about scripts, as lines of a file, so that a run that was ended goes on where it was."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._said = file, dict[str, Said]()
        for line in file.read_text("utf-8").splitlines() if file is not None and file.exists() else ():
            key, said = json.loads(line)
            self._said[key] = {(number, words) for number, words in said}

    def ask(self, tool: str, function: Callable[[Path], Said], paths: Iterable[Path], together: int) -> None:
        """Ask a tool about the scripts that it was not asked about."""
        new = [path for path in paths if self._key(tool, path) not in self._said]
        for path, said in apart(function, new, together):
            self._said[self._key(tool, path)] = said
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps([self._key(tool, path), sorted(said)]) + "\n")

    def said(self, tool: str, path: Path) -> Said:
        """Return what a tool said of a script."""
        return self._said[self._key(tool, path)]

    def _key(self, tool: str, path: Path) -> str:
        return f"{tool} {path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def load() -> None:
    """Import what scripts and the recorder import, so that no process does it again."""
    for name in ("torch._dynamo", "torch.distributed", "torch.utils.data", "tests.findings.test_explain"):
        importlib.import_module(name)
    for package in ("autograph_cli.record", "autograph_cli.engines.pytorch"):
        path = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(path, f"{package}."):
            importlib.import_module(module.name)
    gc.freeze()  # nor looks through it for what may be collected


def linted(torchfix: str, folder: Path) -> dict[str, Said]:
    """Return what torchfix says, by file."""
    command = [torchfix, "--select", "ALL", "--show-stderr", str(folder)]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found: dict[str, Said] = {}
    for match in re.finditer(r"^(.*?\.py):(\d+):\d+: (TOR.*)$", text, re.MULTILINE):
        found.setdefault(Path(match[1]).name, set()).add((int(match[2]), match[3]))
    return found


def measured(torchfix: str | None, kept: Kept) -> str:
    """The table, and what is said of right scripts."""
    import torch

    load()
    torch.set_num_threads(1)  # of small scripts, one after the other
    tools = ["autograph", "PyTorch", *(["torchfix"] if torchfix else [])]
    named, alarms, count = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for path in MISTAKES:
            text = path.read_text("utf-8")
            for kind, left_out in (("wrong", "right"), ("mended", "wrong")):
                (folder / f"{path.stem}_{kind}.py").write_text(variant(text, left_out), "utf-8")
        for path in RIGHT:
            shutil.copy(path, folder / f"{path.stem}_right.py")
        scripts = sorted(folder.glob("*.py"))
        kept.ask("PyTorch", warned, scripts, 1)  # some warnings come once in a process
        kept.ask("autograph", explained, scripts, TOGETHER)
        of_linter = linted(torchfix, folder) if torchfix else {}
        ask: dict[str, Callable[[Path], Said]] = {
            "autograph": lambda path: kept.said("autograph", path),
            "PyTorch": lambda path: kept.said("PyTorch", path),
            "torchfix": lambda path: of_linter.get(path.name, set()),
        }
        for path in MISTAKES:
            marks = expected(path.read_text("utf-8"))
            family = marks[0][0][:3]
            count[family] += 1
            for tool in tools:
                wrong, mended = (ask[tool](folder / f"{path.stem}_{kind}.py") for kind in ("wrong", "mended"))
                named[tool, family] += bool({line for _, line in marks} & {line for line, _ in wrong - mended})
                alarms[tool] += bool(mended)
        for path in RIGHT:
            for tool in tools:
                alarms[tool] += bool(ask[tool](folder / f"{path.stem}_right.py"))
    versions = {"autograph": "", "PyTorch": f" {torch.__version__.partition('+')[0]}", "torchfix": _version(torchfix)}
    head = ["", "scripts", *(f"{tool}{versions[tool]}" for tool in tools)]
    rows = [
        [f"{family} {title}", str(count[family]), *(str(named[tool, family]) for tool in tools)]
        for family, title in FAMILIES.items()
    ]
    rows.append(["all", str(count.total()), *(str(sum(named[tool, one] for one in count)) for tool in tools)])
    right = len(MISTAKES) + len(RIGHT)
    rows.append([f"said of {right} right scripts", str(right), *(str(alarms[tool]) for tool in tools)])
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows)]
    return "\n".join(lines)


def _version(torchfix: str | None) -> str:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return f" {metadata.version('torchfix')}"
    text = subprocess.run([torchfix or "true", "--version"], capture_output=True, text=True, check=False).stdout
    return f" {text.strip()}" if text.strip() else ""


def main() -> None:
    """Measure, and print the table or write it into docs/findings.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="put the table into docs/findings.md")
    beside = Path(sys.executable).with_name("torchfix")
    parser.add_argument("--torchfix", default=str(beside) if beside.exists() else shutil.which("torchfix"))
    parser.add_argument("--kept", type=Path, help="a file that keeps what was said, for a run that goes on later")
    options = parser.parse_args()
    table = measured(options.torchfix, Kept(options.kept))
    print(table)
    if options.write:
        text = PAGE.read_text("utf-8")
        before, _, rest = text.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
