"""Pictures of big graphs beside torchviz and Graphviz: processor time from the graph to DOT, and to SVG.

    python benchmarks/layout_times.py [--limit SECONDS] [--only NAME] [--quick]

Each measurement is a process of its own, the two sides taking turns. Both draw the gradient graph of the same script,
autograph that of its own engine, torchviz that of PyTorch. It needs the package torchviz (not a dependency), PyTorch
(the `torch` extra) and Graphviz's `dot`; what is not there is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHAIN = """
import torch
y = torch.ones(16, requires_grad=True)
ys = [y]
for i in range({n}):
    y = torch.sin(y) + ys[-8] if i % 10 == 9 else torch.sin(y)
    ys.append(y)
loss = y.sum()
"""
MLP = """
import torch
x, heads = torch.ones(2, 4), []
for i in range({n}):
    w, b = torch.ones(4, 4, requires_grad=True), torch.ones(4, requires_grad=True)
    heads.append(torch.relu(x @ w + b))
loss = torch.stack(heads).sum()
"""
RNN = """
import torch
w, u, b = (torch.ones(*size, requires_grad=True) for size in ((4, 4), (4, 4), (4,)))
h = torch.zeros(2, 4)
for t in range({n}):
    h = torch.tanh(torch.ones(2, 4) @ u + h @ w + b)
loss = h.sum()
"""
TRANSFORMER = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.before, self.after = heads, nn.LayerNorm(size), nn.LayerNorm(size)
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
    def forward(self, x):
        many, long, size = x.shape
        y = self.before(x)
        shape = many, long, self.heads, size // self.heads
        q, k, v = self.q(y).view(shape), self.k(y).view(shape), self.v(y).view(shape)
        weight = torch.softmax(q.transpose(1, 2) @ k.permute(0, 2, 3, 1), -1)
        x = x + self.out((weight @ v.transpose(1, 2)).transpose(1, 2).reshape(many, long, size))
        return x + self.down(torch.relu(self.up(self.after(x))))
model = nn.Sequential(*(Block(8, 2) for _ in range({n})))
loss = model(torch.ones(1, 4, 8)).pow(2).mean()
"""
GRAPHS = {
    "chain with skips": (CHAIN, (900, 9_000, 90_000)),
    "wide MLP": (MLP, (100, 1_000, 16_000)),
    "RNN": (RNN, (100, 1_000, 16_000)),
    "transformer": (TRANSFORMER, (2, 24)),
}
"""Scripts, and the sizes that are tried."""
Times = dict[str, float]


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of processor time that something takes, and what it gives."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def ours(script: str) -> Times:
    """autograph: the graph to DOT, to an SVG with everything open, and to the one that is drawn unless told otherwise."""
    from autograph_cli.export import render
    from autograph_cli.record.run.runner import Target, record

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.py"
        file.write_text(script)
        graph = record(Target.of(str(file)))[1].steps[-1].graph
    found: Times = {}
    found["dot"], text = timed(lambda: render(graph, "backward", "dot"))
    found["boxes"] = text.count(b" shape=")
    found["svg"], _ = timed(lambda: render(graph, "backward", "svg"))
    found["readable svg"], _ = timed(lambda: render(graph, "backward", "svg", max_nodes=200))
    return found


def theirs(script: str) -> Times:
    """torchviz: the graph to DOT, which goes to the file named in the last argument."""
    from torchviz import make_dot  # type: ignore[import-not-found]

    names: dict[str, Any] = {}
    exec(script, names)
    seconds, text = timed(lambda: make_dot(names["loss"]).source)
    Path(sys.argv[-1]).write_text(text)
    return {"dot": seconds, "boxes": text.count("[label=")}


def one(side: str, name: str, size: int) -> None:
    """Measure one side in this process, on a stack that holds torchviz's recursion."""
    script = GRAPHS[name][0].replace("{n}", str(size))
    threading.stack_size(1 << 29)
    sys.setrecursionlimit(1_000_000)
    thread = threading.Thread(target=lambda: print(json.dumps({"ours": ours, "theirs": theirs}[side](script))))
    thread.start()
    thread.join()


def measured(side: str, name: str, size: int, limit: float, file: Path) -> Times:
    """Return what a process of its own measures; nothing if it fails or takes too long."""
    command = [sys.executable, __file__, "--side", side, "--only", name, "--size", str(size), str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * limit, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return {}
    return json.loads(done.stdout) if done.stdout else {}


def laid_out(file: Path, limit: float) -> float | None:
    """The seconds of processor time that `dot` takes for an SVG of a file; None if it takes too long or fails."""
    command = ["dot", "-Tsvg", str(file), "-o", str(file.with_suffix(".svg"))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))

    try:
        subprocess.run(command, capture_output=True, preexec_fn=bound, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name: str, size: int, limit: float, hopeless: bool) -> bool:
    """Measure both sides and print a line; whether `dot` was still in time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.dot"
        mine = measured("ours", name, size, limit, file)
        its = measured("theirs", name, size, limit, file)
        svg = laid_out(file, limit) if its and not hopeless else None
    if not mine:
        print(f"{name:17} {size:7,}   autograph failed", flush=True)
        return not hopeless

    def seconds(value: float | None, over: str = "") -> str:
        return f"{value:8.2f}" if value is not None else f"{over or '-':>8}"

    late = f"> {limit:g}" if its else "-"
    ratio = f"{its['dot'] / mine['dot']:6.1f}" if its else f"{'-':>6}"
    whole = its["dot"] + svg if its and svg is not None else None
    faster = f"{whole / mine['svg']:.1f}" if whole else f"> {limit / mine['svg']:.1f}" if its else "-"
    print(
        f"{name:17} {size:7,} {mine['boxes']:8,.0f} {its.get('boxes', 0):8,.0f} | {seconds(mine['dot'])} "
        f"{seconds(its.get('dot'))} {ratio} | {seconds(mine['svg'])} {seconds(whole, late)} {faster:>7} | "
        f"{seconds(mine['readable svg'])}",
        flush=True,
    )
    return svg is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that dot may take for one graph")
    parser.add_argument("--only", choices=GRAPHS, help="one kind of graph")
    parser.add_argument("--quick", action="store_true", help="without the largest graph of each kind")
    parser.add_argument("--side", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("file", nargs="?", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.side:
        one(asked.side, asked.only, asked.size)
        return
    print(f"{'seconds':25} {'boxes':>17} | {'to DOT':>24} | {'to SVG, all open':>25} | readable")
    print(
        f"{'graph':17} {'size':>7} {'ours':>8} {'torchviz':>8} | {'ours':>8} {'torchviz':>8} {'ratio':>6} | "
        f"{'ours':>8} {'with dot':>8} {'ratio':>7} | {'ours':>8}"
    )
    for name, (_, sizes) in GRAPHS.items():
        if asked.only in (None, name):
            hopeless = False
            for size in sizes[:-1] if asked.quick else sizes:
                hopeless = not compare(name, size, asked.limit, hopeless)


if __name__ == "__main__":
    main()
