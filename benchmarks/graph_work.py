"""The rows of graph work in docs/performance.md: from a graph to pictures and texts, and commands on kept traces.

    python benchmarks/graph_work.py [--only REGEX] [--million] [--write]

Each measurement is a process of its own: its CPU time (without imports, except for commands) and its peak memory. `--million` adds
a kept step of a million nodes, three quarters of them the derivative graph that autograph makes: it takes minutes and 2 GB.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from layouts import CHAIN

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- written by `benchmarks/graph_work.py` -->", "<!-- end of graph work -->"
STEP = """
import torch
x = torch.tensor(0.5, requires_grad=True)
h = x
for _ in range({n}):
    h = torch.sin(h * x + x).exp()
h.backward()
"""
"""A step with 4 nodes a turn, and 11 in its derivative graph."""
MEASURED = """
import resource, time
start = time.process_time()
{work}
print("took", time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
LIVE = """
from autograph_cli import capture, torch
from autograph_cli.export import render
from autograph_cli.graph import diff
from autograph_cli.graph.snapshot import Section, Snapshot
scope = dict(torch=torch)
exec({script!r}.replace("import torch", ""), scope)
loss = scope["loss"]
"""
LARGE, MIDDLE, SMALL = 90_000, 9_000, 900
SIZES = {LARGE: "100,000", MIDDLE: "10,000", SMALL: "1,000"}
LIVE_ROWS = (
    ("a live graph to DOT", LARGE, "render(capture(loss), 'backward', 'dot')", 1.0),
    ("to JSON", LARGE, "render(capture(loss), 'backward', 'json')", None),
    ("to text", LARGE, "capture(loss).to_text()", None),
    ("to SVG, all open", SMALL, "render(capture(loss), 'backward', 'svg')", 0.3),
    ("to SVG, all open", MIDDLE, "render(capture(loss), 'backward', 'svg')", 2.0),
    ("to SVG, all open", LARGE, "render(capture(loss), 'backward', 'svg')", 15.0),
    ("diff of two", MIDDLE, "diff(capture(loss), capture(loss))", None),
    ("snapshot", MIDDLE, "Snapshot('a.py', (Section('step 0', capture(loss)),), steps=1).to_text()", None),
)
"""Title, turns of the chain, what is timed, seconds aimed at."""
COMMANDS = (
    ("`autograph --help`", ("--help",), 0.15),
    ("`autograph show` of a kept trace of 20 nodes", ("show",), 0.3),
)
MILLION = (
    ("a kept step of a million nodes: `run`", ("run", "-q", "step.py"), 25),
    ("`show`, its text", ("show",), 8),
    ("`render --backward -f dot`", ("render", "--backward", "-f", "dot", "-o", "x.dot"), 15),
    ("`render --backward`, folded", ("render", "--backward", "-o", "x.svg"), 15),
)


def measured(code: str, folder: str, words: tuple[str, ...] = ()) -> tuple[float, float]:
    """CPU seconds and peak MB of a process."""
    with_caches = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=folder, env=with_caches
    )
    found = re.search(r"took ([\d.]+) (\d+)", done.stdout + done.stderr)
    if done.returncode or found is None:
        sys.exit(f"graph_work: {done.stderr}")
    return float(found[1]), int(found[2]) / 1024


def command(folder: str, words: tuple[str, ...]) -> tuple[float, float]:
    """The same of a command, from the start of Python to its end."""
    code = (
        "import atexit, resource, sys, time\n"
        "def told():\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print('took', used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)\n"
        "atexit.register(told)\n"
        "from autograph_cli.cli import main\n"
        f"sys.argv = ['autograph', *{words!r}]\n"
        "main()\n"
    )
    return measured(code, folder)


def median(figures: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(seconds for seconds, _ in figures), max(memory for _, memory in figures)


def rows(only: str, million: bool) -> list[str]:
    """The lines of the table."""
    lines = []

    def add(title: str, found: tuple[float, float], reach: float | None) -> None:
        cells = (title, f"{found[0]:.2f}", f"{found[1]:,.0f}", "" if reach is None else f"{reach:g}")
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name, turns, work, reach in LIVE_ROWS:
            title = f"{name}, {SIZES[turns]} nodes"
            if re.search(only, title):
                code = LIVE.format(script=CHAIN.format(n=turns)) + MEASURED.format(work=work)
                add(title, median([measured(code, folder) for _ in range(1 if turns == LARGE else 3)]), reach)
        step = Path(folder, "step.py")
        step.write_text(STEP.format(n=5))
        command(folder, ("run", "-q", "step.py"))
        for title, words, reach in COMMANDS:
            if re.search(only, title):
                add(title, median([command(folder, words) for _ in range(5)]), reach)
        step.write_text(STEP.format(n=66_500))
        for title, words, reach in MILLION if million else ():
            add(title, command(folder, words), reach)
            if words[0] == "run":
                size = Path(folder, ".autograph", "trace.json.gz").stat().st_size / 1e6
                lines.append(f"| its trace, MB | {size:.0f} | | 100 |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression that titles of rows must match")
    parser.add_argument("--million", action="store_true", help="also a kept step of a million nodes")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    text = "\n".join(
        [
            f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}; processes of their own, medians.",
            "",
            "| row | s of CPU | peak MB | reach, s |",
            "| --- | --- | --- | --- |",
            *rows(asked.only, asked.million),
        ]
    )
    if asked.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
