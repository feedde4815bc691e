"""All rows of docs/performance.md: this engine, PyTorch, other engines on NumPy where they are installed, and NumPy by hand.

    python benchmarks/bench.py [--rounds N] [--threads N] [--only REGEX] [--write]

Each engine is a process of its own, with the settings of memory and threads that it has outside of here; they take turns, row by
row and round by round, so that all meet the same neighbours on the machine. First the numbers are compared. Then CPU time,
medians of the rounds; with `--threads 0`, as many threads as each engine takes by itself, it is time on the wall, and a table of
its own. Needs the `torch` extra; `pip install mygrad autograd` adds the other engines.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- written by `make bench` -->", "<!-- end -->"
BEGIN_THREADS = "<!-- written by `benchmarks/bench.py --threads 0` -->"
Turn = Callable[[], list[float]]
PER_TURN = 0.03
"""Seconds that one measurement lasts at least."""
PEERS = {"MyGrad": "mygrad", "HIPS autograd": "autograd"}
NODES = 200_000
"""Of the long chain, which costs the same a node at any length."""


# ---------------------------------------------------------------- the process of one engine


def rows_of(engine: str) -> tuple[dict[str, Callable[[], Any]], str]:
    """Return what makes the turns of each row, and the version."""
    from functools import partial

    from rows import ROWS

    if engine == "NumPy":
        import numpy
        from rows_numpy import ROWS as by_hand

        return by_hand, str(numpy.__version__)
    if engine in PEERS:
        import importlib.metadata

        import rows_peers

        made = rows_peers.mygrad_rows() if engine == "MyGrad" else rows_peers.hips_rows()
        return made, importlib.metadata.version(PEERS[engine])
    if engine == "PyTorch":
        import torch

        if "OMP_NUM_THREADS" in os.environ:
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        version = str(torch.__version__)
    else:
        from autograph_cli import __version__ as version, torch  # type: ignore[no-redef]
        from autograph_cli.cli import tuning

        tuning.tune()  # as `autograph run` does
    return {name: partial(row[0], torch) for name, row in ROWS.items()}, version


def work(made: dict[str, Callable[[], Turn]], version: str) -> None:
    """Answers the lines on stdin: `make ROW` with the numbers of one turn, `turn` with its CPU seconds."""
    print(json.dumps(version), flush=True)
    turn, times = None, 1
    for line in sys.stdin:
        order, _, row = line.strip().partition(" ")
        answer: Any = None
        if order == "make" and row in made:
            turn = made[row]()
            answer, times = turn(), 1
            times = max(1, math.ceil(PER_TURN / max(timed(turn, 1), 1e-7)))
        elif order == "turn":
            answer = timed(turn, times)
        print(json.dumps(answer), flush=True)


def timed(turn: Any, times: int) -> float:
    """Seconds of one turn: of the processor, or on the wall where threads share it."""
    clock = time.process_time if "OMP_NUM_THREADS" in os.environ else time.perf_counter
    start = clock()
    for _ in range(times):
        turn()
    return (clock() - start) / times


# ---------------------------------------------------------------- the process that asks


def environment(threads: int) -> dict[str, str]:
    """The environment, with what it says of threads to the libraries below the engines; nothing of 0."""
    told = {f"{kind}_NUM_THREADS": str(threads) for kind in ("OMP", "OPENBLAS", "MKL")}
    rest = {name: value for name, value in os.environ.items() if name not in told}
    return rest | (told if threads else {})


class Engine:
    """The process of an engine, which waits for orders."""

    def __init__(self, command: list[str], threads: int = 1) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(threads),
            bufsize=1,
        )
        self.version = self.answer()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench: the process of an engine ended; what it said stands above")
        return json.loads(line)

    def ask(self, order: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        return self.answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measured(engines: dict[str, Engine], row: str, rounds: int, close: float = 1e-3) -> dict[str, float]:
    """Median seconds of each engine that has the row; ends the run where their numbers differ."""
    found = {name: engine.ask(f"make {row}") for name, engine in engines.items()}
    present = [name for name, answer in found.items() if answer is not None]
    for name in present:
        if close < 1e-3 or name not in PEERS:  # which differentiate a sum, so that they return other numbers
            for mine, theirs in zip(found[name], found["PyTorch"], strict=close < 1e-3):
                if not math.isclose(mine, theirs, rel_tol=close, abs_tol=close / 10):
                    sys.exit(f"bench: {row}: {name} computes {found[name]}, PyTorch {found['PyTorch']}")
    taken: dict[str, list[float]] = {name: [] for name in present}
    for _ in range(rounds):
        for name in present:
            taken[name].append(engines[name].ask("turn"))
    return {name: statistics.median(times) for name, times in taken.items()}


def alone(code: str, *arguments: str, threads: int = 1) -> str:
    """Return what a process of its own prints, which finds its code in `__pycache__`."""
    command = [sys.executable, *([code] if code.endswith(".py") else ["-c", code]), *arguments]
    known = {name: value for name, value in environment(threads).items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=known).stdout


def long_chain(peers: dict[str, Any]) -> list[list[str]]:
    """The rows of the long chain: build and backward a node, and memory."""
    path = str(Path(__file__).parent / "long_chain.py")
    figures = []
    for flags in ([], ["--torch"]):
        runs = [re.findall(r"[\d.]+ (?:s|bytes)", alone(path, str(NODES), *flags)) for _ in range(3)]
        figures.append([statistics.median(float(run[i].split()[0]) for run in runs) for i in (0, 1, 3)])
    rows = []
    for i, (title, unit) in enumerate((("build", "us a node"), ("backward", "us a node"), ("memory", "bytes a node"))):
        mine, theirs = (f[i] * (1e6 / NODES if i < 2 else 1) for f in figures)
        rows.append(cells(f"a long chain: {title}", unit, {"autograph": mine, "PyTorch": theirs}, peers, 0.4))
    return rows


def imported(peers: dict[str, Any], threads: int, rounds: int) -> list[str]:
    """The row of the import; the first round, which may compile, is not counted."""
    text = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    names = {"autograph": "autograph_cli.torch", "PyTorch": "torch", "NumPy": "numpy"}
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(1 + rounds):
        for name, module in names.items():
            found[name].append(float(alone(text.format(module), threads=threads)))
    figures = {name: statistics.median(times[1:]) for name, times in found.items()}
    return cells("import", "s", figures, peers, 0.15)


def cells(
    title: str, unit: str, figures: dict[str, float], peers: dict[str, Any], reach: float | None = None
) -> list[str]:
    """One line of the table."""
    ratio = figures["autograph"] / figures["PyTorch"]
    shown = [f"{figures[name]:.3g}" if name in figures else "" for name in ("autograph", "PyTorch")]
    others = [f"{figures[name]:.3g}" if name in figures else "" for name in ("NumPy", *peers)]
    return [
        title,
        unit,
        *shown,
        f"{ratio:.2f}" if ratio < 1 else f"**{ratio:.2f}**",
        *others,
        "" if reach is None else f"{reach:g}",
    ]


def table(lines: list[list[str]], engines: dict[str, Engine], threads: int, rounds: int) -> str:
    """The lines as Markdown, with what they were measured on."""
    peers = [name for name in engines if name in PEERS]
    head = ["row", "unit", "autograph", "PyTorch", "ratio", "NumPy by hand", *peers, "reach"]
    versions = ", ".join(f"{name} {engine.version}" for name, engine in engines.items())
    shared = {0: "threads as each takes them", 1: "one thread each"}.get(threads, f"{threads} threads each")
    clock, load = "CPU time" if threads else "time on the wall", os.getloadavg()[0]
    return "\n".join(
        [
            f"{versions}; Python {platform.python_version()}; {processor()}, {os.cpu_count()} cores, {shared}, load {load:.1f}; {clock},",
            f"medians of {rounds} rounds in which the engines take turns.",
            "",
            *(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines]),
        ]
    )


def processor() -> str:
    """Return what the system calls the processor."""
    known = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", known.read_text()) if known.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression that names of rows must match")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    if asked.engine:
        work(*rows_of(asked.engine))
        return
    from rows import ROWS

    names = ["autograph", "PyTorch", "NumPy", *(n for n, module in PEERS.items() if importlib.util.find_spec(module))]
    engines = {name: Engine([__file__, "--engine", name], asked.threads) for name in names}
    peers = {name: engine for name, engine in engines.items() if name in PEERS}
    lines = []
    for name, (_, title, unit, scale, reach) in ROWS.items():
        if re.search(asked.only, name):
            found = measured(engines, name, asked.rounds)
            lines.append(cells(title, unit, {n: s * scale for n, s in found.items()}, peers, reach))
            print(" | ".join(lines[-1]), flush=True)
    for engine in engines.values():
        engine.close()
    if asked.threads and re.search(asked.only, "long_chain"):
        lines += long_chain(peers)
    if asked.threads and re.search(asked.only, "import"):
        lines.append(imported(peers, asked.threads, asked.rounds))
    text = table(lines, engines, asked.threads, asked.rounds)
    print(text)
    if asked.write:
        begin = BEGIN if asked.threads else BEGIN_THREADS
        before, _, rest = PAGE.read_text().partition(begin)
        PAGE.write_text(f"{before}{begin}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
