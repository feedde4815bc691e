"""LeNet on batches of 64 digits, forward, backward and a step: this engine beside PyTorch, one thread each.

Run it with an interpreter that has both: `python benchmarks/lenet.py`.
"""
# ruff: noqa: E402

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import statistics
import time
from typing import Any

from autograph_cli import torch as ours

ROUNDS = 30
BATCH = 64


def parameters(torch: Any) -> list[Any]:
    """Weights and biases of two convolutions and three linear layers."""
    torch.manual_seed(0)
    shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 256), (120,), (84, 120), (84,), (10, 84), (10,)]
    return [(torch.randn(*shape) * 0.1).requires_grad_() for shape in shapes]


def loss(torch: Any, weights: list[Any], images: Any, labels: Any) -> Any:
    """The cross entropy of the network's scores."""
    f = torch.nn.functional
    x = f.max_pool2d(f.relu(f.conv2d(images, weights[0], weights[1])), 2)
    x = f.max_pool2d(f.relu(f.conv2d(x, weights[2], weights[3])), 2)
    x = f.relu(f.linear(x.flatten(1), weights[4], weights[5]))
    x = f.relu(f.linear(x, weights[6], weights[7]))
    return f.cross_entropy(f.linear(x, weights[8], weights[9]), labels)


def step(torch: Any, weights: list[Any], images: Any, labels: Any) -> float:
    """CPU seconds of one step of gradient descent."""
    start = time.process_time()
    loss(torch, weights, images, labels).backward()
    with torch.no_grad():
        for weight in weights:
            weight -= 0.01 * weight.grad
            weight.grad = None
    return time.process_time() - start


def main() -> None:
    import torch as theirs

    theirs.set_num_threads(1)
    sides = []
    for torch in (ours, theirs):
        weights = parameters(torch)
        sides.append((torch, weights, torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))))
    seconds: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for side, kept in zip(sides, seconds, strict=True):
            kept.append(step(*side))
    here, there = (statistics.median(kept[5:]) for kept in seconds)
    print(f"autograph {here * 1e3:.1f} ms, PyTorch {there * 1e3:.1f} ms a step: ratio {here / there:.2f}")


if __name__ == "__main__":
    main()
