"""Records programs of others with an installed PyTorch, and holds the graphs against a walk of `grad_fn` of its own.

`PYTHON -m conformance.projects [NAME ...]`: PYTHON has PyTorch, autograph and the packages that the programs in
conformance/projects and conformance/libraries use. Each runs three times, in processes of their own: plainly, with a
walk from the roots of each backward call, and recorded as `autograph run --engine torch` does. A row says which step
is drawn unless told otherwise, whether the graph of every pass of the kept steps is one that the walk met, node by node
and edge by edge, whether the double backward has derivatives, and whether the output is the same.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDERS = (HERE / "projects", HERE / "libraries")
SECONDS = 300
Walk = Counter[tuple[str, tuple[tuple[str, int] | None, ...]]]


def walk(roots: Iterable[Any]) -> Walk:
    """Every node that these tensors hang on, with the names of what its edges lead to."""
    waiting = [root.grad_fn for root in roots if getattr(root, "grad_fn", None) is not None]
    met, found = set(waiting), Counter()
    while waiting:
        node = waiting.pop()
        edges = [None if to is None else (short(to.name()), nr) for to, nr in node.next_functions]
        found[short(node.name()), tuple(edges)] += 1
        for to, _ in node.next_functions:
            if to is not None and to not in met:
                met.add(to)
                waiting.append(to)
    return found


def short(name: str) -> str:
    """A node's name without its namespace."""
    return name.rpartition("::")[2]


def recorded_walk(graph: Any, roots: Iterable[Any]) -> Walk:
    """The same of a recorded graph."""
    waiting = [root.node for root in roots]
    met, found = set(waiting), Counter()
    while waiting:
        node = graph[waiting.pop()]
        edges = [None if to is None else (graph[to.node].name, to.nr) for to in node.next]
        found[node.name, tuple(edges)] += 1
        for to in node.next:
            if to is not None and to.node not in met:
                met.add(to.node)
                waiting.append(to.node)
    return found


def walked(program: str, answer: str) -> None:
    """Run a program with a walk before each backward call."""
    import runpy

    import torch

    walks: list[Walk] = []

    def walking(call: Any) -> Any:
        def before(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            walks.append(walk([tensors] if isinstance(tensors, torch.Tensor) else tensors))
            return call(tensors, *args, **kwargs)

        return before

    torch.autograd.backward, torch.autograd.grad = walking(torch.autograd.backward), walking(torch.autograd.grad)
    runpy.run_path(program, run_name="__main__")
    Path(answer).write_text(json.dumps([list(each.items()) for each in walks]), "utf-8")


def row(program: Path, python: str) -> str:
    """The row of the table for one program."""
    head, _, what = program.read_text("utf-8").partition("\n")[0].removeprefix("# ").partition(": ")
    with tempfile.TemporaryDirectory() as folder:
        answer, trace = Path(folder, "walks.json"), Path(folder, "trace.json")
        plain = _ran([python, str(program)], folder)
        if plain.returncode:
            return f"| {head} | {what} | PyTorch itself stops: {_last(plain.stderr)} | | | | |"
        _ran([python, "-m", "conformance.projects", "--walk", str(program), str(answer)], str(HERE.parent))
        command = [python, "-m", "autograph_cli", "run", "--engine", "torch", "-o", str(trace), str(program)]
        done = _ran(command, folder)
        if done.returncode or not trace.exists():
            return f"| {head} | {what} | stops: {_last(done.stderr)} | | | | |"
        walks = json.loads(answer.read_text("utf-8")) if answer.exists() else None
        same = "the same" if plain.stdout == done.stdout else "**another**"
        return f"| {head} | {what} | {' | '.join(_judged(trace, walks))} | {same} |"


def _judged(path: Path, walks: Any) -> list[str]:
    from autograph_cli.graph import views
    from autograph_cli.graph.trace_file import read_trace

    trace = read_trace(path.read_bytes())
    met = None if walks is None else [Counter({_key(key): count for key, count in each}) for each in walks]
    passes = [(step, entry) for step in trace.steps for entry in step.graph.passes if entry.roots]
    right = 0 if met is None else sum(recorded_walk(step.graph, entry.roots) in met for step, entry in passes)
    shown = trace.main_step()
    if shown is None:
        return [f"{trace.total_steps}", "none", "", ""]
    line = next((f"{e.source.file}:{e.source.line}" for e in shown.graph.passes if e.source), "")
    double = shown.double or views.double_backward(shown.graph)
    derived = sum(node.order > 0 for node in double)
    kept = ", ".join(str(step.nth) for step in trace.steps)
    return [
        f"{trace.total_steps} ({kept})",
        f"{shown.nth}, {line}",
        f"{sum(node.is_operation for node in shown.graph)}, {derived}",
        f"{right} of {len(passes)}" if met is not None else "no walk",
    ]


def _key(key: Any) -> tuple[str, tuple[tuple[str, int] | None, ...]]:
    name, edges = key
    return name, tuple([None if edge is None else tuple(edge) for edge in edges])


def _ran(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    return subprocess.CompletedProcess(command, 1, "", f"not done after {SECONDS} seconds")


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].replace("|", "\\|")[:120] if lines else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="only these programs, by file name")
    parser.add_argument("--walk", nargs=2, metavar=("PROGRAM", "ANSWER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.walk:
        walked(*asked.walk)
        return
    print("| package | program | steps (kept) | drawn | nodes, derivatives | passes as walked | output |")
    print("|---|---|---|---|---|---|---|")
    for program in sorted(path for folder in FOLDERS for path in folder.glob("*.py")):
        if not asked.names or program.stem in asked.names:
            print(row(program, sys.executable), flush=True)


if __name__ == "__main__":
    main()
