"""Time of one operation on small tensors, forward and backward, beside real PyTorch in one interleaved run.

    python benchmarks/small_operations.py            a table; ratios under 1 mean that autograph is faster

A chain of mul, add, sin, exp (1,000 operations) on 0-d and on (16,) float32 tensors, one thread each. CPU time of the
process; the median over rounds in which the two engines take turns. Needs the `torch` extra.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import torch as reference

from autograph_cli import torch as ours

OPERATIONS = 1000
ROUNDS = 60


def chain(engine: Any, x: Any) -> Any:
    sin, exp, h = engine.sin, engine.exp, x
    for _ in range(OPERATIONS // 4):
        h = exp(sin(h * x + x))
    return h


def turn(engine: Any, x: Any, ones: Any) -> tuple[float, float]:
    """Seconds of one forward and one backward pass."""
    start = time.process_time()
    h = chain(engine, x)
    middle = time.process_time()
    h.backward(ones)
    end = time.process_time()
    x.grad = None
    return middle - start, end - middle


def measure(shape: tuple[int, ...], rounds: int) -> dict[str, tuple[float, float]]:
    """Median microseconds an operation (forward, backward) of each engine."""
    engines = {"autograph": ours, "PyTorch": reference}
    inputs = {
        name: (engine.full(shape, 0.5, requires_grad=True), engine.ones(shape)) for name, engine in engines.items()
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
    for i in range(rounds + 3):
        for name, engine in engines.items():
            taken = turn(engine, *inputs[name])
            if i >= 3:
                times[name].append(taken)
    scale = 1e6 / OPERATIONS
    return {
        name: (statistics.median(f for f, _ in t) * scale, statistics.median(b for _, b in t) * scale)
        for name, t in times.items()
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    reference.set_num_threads(1)
    print(
        f"{'shape':8} {'pass':9} {'autograph':>10} {'PyTorch':>10} {'ratio':>7}   (us an operation, median of {rounds})"
    )
    for shape in ((), (16,)):
        found = measure(shape, rounds)
        for i, name in enumerate(("forward", "backward")):
            mine, theirs = found["autograph"][i], found["PyTorch"][i]
            print(f"{shape!s:8} {name:9} {mine:10.2f} {theirs:10.2f} {mine / theirs:7.2f}")


if __name__ == "__main__":
    main()
