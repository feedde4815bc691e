"""Counts what the small rows of docs/performance.md do, and fails where one does more than the committed figures say.

    python benchmarks/guard.py [ROW ...] [--update]

It counts bytecode instructions and calls of the engine's own functions in one turn, and the blocks of memory that a graph holds:
the same numbers at each run, whatever else the machine does. More than 5 % above benchmarks/guard.json fails, with the
functions that grew. Figures belong to a version of Python; without those of this one nothing is compared, which is said.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from rows import ROWS

import autograph_cli
from autograph_cli import torch
from autograph_cli.torch._core.running.calling import fast_tape

FIGURES = Path(__file__).with_name("guard.json")
PACKAGE = str(Path(autograph_cli.__file__).parent)
COUNTED = ("chain_0d", "chain_16", "mlp_sgd", "gradient_penalty", "block_plain", "block_functional")
ALLOWED = 1.05
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}" + (", compiled" if fast_tape() else "")


def counted(turn: Callable[[], Any]) -> tuple[Counter[CodeType], Counter[CodeType]]:
    """Instructions of each of the engine's functions in one turn, and calls that they make of C functions."""
    instructions: Counter[CodeType] = Counter()
    calls: Counter[CodeType] = Counter()

    def each(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            instructions[frame.f_code] += 1
        return each

    def entered(frame: FrameType, _event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return each

    def profiled(frame: FrameType, event: str, _: Any) -> None:
        if event == "c_call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls[frame.f_code] += 1

    for watch, seen in ((sys.settrace, entered), (sys.setprofile, profiled)):
        watch(seen)
        try:
            turn()
        finally:
            watch(None)
    return instructions, calls


def figures(row: str) -> tuple[dict[str, int], dict[str, int]]:
    """The figures of a row, and the instructions of each function."""
    turn = ROWS[row][0](torch)
    for _ in range(2):
        turn()
    instructions, calls = counted(turn)
    by_function: Counter[str] = Counter()
    for code, n in instructions.items():
        where = Path(code.co_filename).name
        by_function[where.strip("<>") if where.startswith("<") else f"{where}:{code.co_qualname}"] += n
    return {"instructions": instructions.total(), "C calls": calls.total()}, dict(by_function.most_common())


def held() -> int:
    """Blocks of memory that a graph of 1,000 small operations holds."""
    x = torch.tensor(0.5, requires_grad=True)
    for _ in range(2):  # the first one fills caches
        gc.collect()
        before = sys.getallocatedblocks()
        h = x
        for _ in range(250):
            h = torch.exp(torch.sin(h * x + x))
        found = sys.getallocatedblocks() - before
        del h
    return found


def compared(row: str, now: dict[str, int], functions: dict[str, int], kept: dict[str, Any]) -> list[str]:
    """Return what is to be said of a row that does more than it did."""
    grown = [
        f"{row}: {now[what]:,} {what}, {kept[what]:,} are committed" for what in now if now[what] > kept[what] * ALLOWED
    ]
    if not grown:
        return []
    more = {name: n - kept["functions"].get(name, 0) for name, n in functions.items()}
    worst = sorted(((n, name) for name, n in more.items() if n > 0), reverse=True)[:5]
    return [*grown, *(f"    {name}: {n:,} instructions more" for n, name in worst)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(COUNTED)}; all without any")
    parser.add_argument("--update", action="store_true", help="commit to what is counted now")
    asked = parser.parse_args()
    every = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    kept = every.setdefault(VERSION, {})
    if not kept and not asked.update:
        print(f"guard: no figures for Python {VERSION}: nothing is compared; --update keeps them")
        return
    said = []
    for row in asked.rows or COUNTED:
        now, functions = figures(row)
        print(f"{row:20}" + "".join(f"{n:12,} {what}" for what, n in now.items()))
        if asked.update:
            kept[row] = now | {"functions": {name: n for name, n in functions.items() if n * 200 > now["instructions"]}}
        elif row in kept:
            said += compared(row, now, functions, kept[row])
    if not asked.rows:
        now = {"blocks": held()}
        print(f"{'graph of 1,000':20}{now['blocks']:12,} blocks")
        if asked.update:
            kept["held"] = now | {"functions": {}}
        elif "held" in kept:
            said += compared("held", now, {}, kept["held"])
    if asked.update:
        FIGURES.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")
    elif said:
        sys.exit("\n".join(["guard: more work than committed (benchmarks/guard.json):", *said]))


if __name__ == "__main__":
    main()
