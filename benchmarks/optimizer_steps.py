"""Time of an optimizer's step, beside real PyTorch in one interleaved run.

    python benchmarks/optimizer_steps.py             a table; ratios under 1 mean that autograph is faster

The parameters of a small perceptron (784-64-10 and 16-16-1) and one large matrix; one thread each. CPU time of the
process; the median over rounds in which the two engines take turns. Needs the `torch` extra.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import torch as reference

from autograph_cli import torch as ours

MODELS = {
    "16-16-1": [(16, 16), (16,), (1, 16), (1,)],
    "784-64-10": [(64, 784), (64,), (10, 64), (10,)],
    "1000x1000": [(1000, 1000)],
}
OPTIMIZERS = {"SGD": {}, "SGD momentum": {"momentum": 0.9}, "Adam": {}, "AdamW": {}, "RMSprop": {}, "Adagrad": {}}
STEPS = 20


def build(engine: Any, name: str, shapes: list[tuple[int, ...]]) -> Any:
    parameters = [engine.ones(shape).requires_grad_() for shape in shapes]
    for p in parameters:
        p.grad = engine.full_like(p.detach(), 0.01)
    return getattr(engine.optim, name.split()[0])(parameters, lr=1e-3, **OPTIMIZERS[name])


def seconds(optimizer: Any) -> float:
    start = time.process_time()
    for _ in range(STEPS):
        optimizer.step()
    return (time.process_time() - start) / STEPS


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    reference.set_num_threads(1)
    print(
        f"{'parameters':10} {'optimizer':14} {'autograph':>10} {'PyTorch':>10} {'ratio':>7}   (us a step, median of {rounds})"
    )
    for model, shapes in MODELS.items():
        for name in OPTIMIZERS:
            pair = [build(engine, name, shapes) for engine in (ours, reference)]
            times = [[seconds(o) for o in pair] for _ in range(rounds + 2)][2:]
            mine, theirs = (statistics.median(t[i] for t in times) * 1e6 for i in (0, 1))
            print(f"{model:10} {name:14} {mine:10.1f} {theirs:10.1f} {mine / theirs:7.2f}")


if __name__ == "__main__":
    main()
