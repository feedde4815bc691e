"""Large graphs, side by side with PyTorch: deep, wide, and very many small ones.

    python benchmarks/scale.py [NAME ...] [--fraction F]

Each measurement runs in a process of its own, so that its peak memory is its own; `--fraction 0.1` makes all of them smaller.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def chain(torch: Any, n: int) -> Any:
    """One node after the other, n of them."""
    x = torch.tensor(0.5, requires_grad=True)
    h = x
    for _ in range(n // 2):
        h = h * x + x
    h.backward()
    return x.grad


def stacked(torch: Any, n: int) -> Any:
    """n leaves, stacked and summed."""
    leaves = [torch.tensor(1.0, requires_grad=True) for _ in range(n)]
    torch.stack(leaves).sum().backward()
    return leaves[-1].grad


def joined(torch: Any, n: int) -> Any:
    """n vectors, joined and summed."""
    leaves = [torch.ones(2, requires_grad=True) for _ in range(n)]
    torch.cat(leaves).sum().backward()
    return leaves[-1].grad[0]


def added(torch: Any, n: int) -> Any:
    """n leaves, added one by one."""
    leaves = [torch.tensor(1.0, requires_grad=True) for _ in range(n)]
    total = leaves[0]
    for leaf in leaves[1:]:
        total = total + leaf
    total.backward()
    return leaves[-1].grad


def consumers(torch: Any, n: int) -> Any:
    """One leaf, used by n operations whose results are stacked."""
    x = torch.tensor(1.0, requires_grad=True)
    torch.stack([x * 2 for _ in range(n)]).sum().backward()
    return x.grad


def indexed(torch: Any, n: int) -> Any:
    """n views of one small leaf, stacked."""
    x = torch.ones(4, requires_grad=True)
    torch.stack([x[i % 4] for i in range(n)]).sum().backward()
    return x.grad[0]


def turns(torch: Any, n: int) -> Any:
    """n times forward and backward, nothing kept."""
    x = torch.tensor(0.5, requires_grad=True)
    for _ in range(n):
        x.grad = None
        (x * x).backward()
    return x.grad


def changes(torch: Any, n: int) -> Any:
    """n changes of a view in place."""
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    for i in range(n):
        y[i % 4].mul_(1.0)
    y.sum().backward()
    return x.grad[0]


CASES: dict[str, tuple[Callable[[Any, int], Any], int]] = {
    "chain": (chain, 1_000_000),
    "stacked": (stacked, 100_000),
    "joined": (joined, 100_000),
    "added": (added, 100_000),
    "consumers": (consumers, 100_000),
    "indexed": (indexed, 100_000),
    "turns": (turns, 1_000_000),
    "changes": (changes, 10_000),
}


def peak() -> float:
    """Peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, engine: str, n: int) -> None:
    """Run one case and print its seconds, MiB and result."""
    if engine == "torch":
        import torch

        torch.set_num_threads(1)
    else:
        from autograph_cli import torch
    run, _ = CASES[name]
    run(torch, 10)
    gc.collect()
    gc.set_threshold(200_000, 50, 100)
    before, start = peak(), time.perf_counter()
    result = run(torch, n)
    print(json.dumps([time.perf_counter() - start, peak() - before, float(result)]))


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--one"]:
        measure(arguments[1], arguments[2], int(arguments[3]))
        return
    fraction = float(arguments[arguments.index("--fraction") + 1]) if "--fraction" in arguments else 1.0
    print(f"{'case':<10} {'n':>9} {'ours s':>8} {'torch s':>8} {'ratio':>6} {'ours MiB':>9} {'torch MiB':>9}")
    for name in [a for a in arguments if a in CASES] or CASES:
        n = max(int(CASES[name][1] * fraction), 10)
        found = []
        for engine in ("ours", "torch"):
            ran = subprocess.run(
                [sys.executable, __file__, "--one", name, engine, str(n)], capture_output=True, text=True, check=True
            )
            found.append(json.loads(ran.stdout.splitlines()[-1]))
        (mine, memory, result), (theirs, other_memory, other_result) = found
        same = "" if abs(result - other_result) <= 1e-5 * abs(other_result) else f"  {result} is not {other_result}"
        print(
            f"{name:<10} {n:>9,} {mine:>8.2f} {theirs:>8.2f} {mine / theirs:>6.2f} {memory:>9.0f} {other_memory:>9.0f}{same}",
            flush=True,
        )


if __name__ == "__main__":
    main()
