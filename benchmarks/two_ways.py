"""Time of one operation with its node as it is called, on the compiled tape where that is there, and by `dispatch.run`.

    python benchmarks/two_ways.py

CPU time of the process on 0-d and (16,) float32 tensors: the least of rounds in which both take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from autograph_cli import torch
from autograph_cli.torch._core.base.op_namespace import table
from autograph_cli.torch._core.running import dispatch

CALLS = 4000
ROUNDS = 15


def nanoseconds(run: Callable[[], Any]) -> float:
    start = time.process_time_ns()
    for _ in range(CALLS):
        run()
    return (time.process_time_ns() - start) / CALLS


def measure(name: str, shape: tuple[int, ...]) -> tuple[float, float]:
    """Nanoseconds a call: the function, `dispatch.run`."""
    op = table[name]
    inputs = [torch.full(shape, 0.5, requires_grad=True) for _ in op.tensors]
    args = op.bind(*inputs)
    times = [
        (nanoseconds(lambda: op.function(*inputs)), nanoseconds(lambda: dispatch.run(op, args))) for _ in range(ROUNDS)
    ]
    return min(t for t, _ in times), min(t for _, t in times)


if __name__ == "__main__":
    for shape in ((), (16,)):
        for name in ("mul", "add", "sin", "exp"):
            called, general = measure(name, shape)
            print(f"{name} {shape}: {called:.0f} ns, by dispatch.run {general:.0f} ns")
