"""What `--engine torch` adds to a training step of PyTorch: of steps that are kept, and of those in between.

    .venv-conformance/bin/python benchmarks/recording_pytorch.py [rounds]

Seconds a step, one thread, the median of the rounds; needs PyTorch.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from autograph_cli.engines import connect
from autograph_cli.record.recorder import Recorder

STEPS = 20


class Block(nn.Module):
    """A block of a small GPT."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        several = [part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.attention(self.before(x)).chunk(3, -1)]
        x = x + self.out(F.scaled_dot_product_attention(*several, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.inner(self.after(x))


def lenet() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    return model, torch.rand(32, 1, 28, 28), torch.randint(10, (32,))


def gpt() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    model = nn.Sequential(nn.Embedding(64, 128), *[Block(128) for _ in range(4)], nn.Flatten(0, 1), nn.Linear(128, 64))
    return model, torch.randint(64, (8, 64)), torch.randint(64, (512,))


def train(make: Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]], steps: str | None) -> float:
    """Seconds a step, with a recorder that keeps these steps, or without one."""
    torch.manual_seed(0)
    model, x, y = make()
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    recorder = None if steps is None else Recorder(steps, engine=connect("torch"))
    if recorder is not None:
        recorder.start()
    took = []
    for _ in range(STEPS):
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        took.append(time.perf_counter() - start)
    if recorder is not None:
        assert recorder.finish({}).total_steps == STEPS and not recorder.broken
    return statistics.median(took[2:])


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    for make in (lenet, gpt):
        runs = [[train(make, steps) for steps in (None, "0", "last", "2:20")] for _ in range(rounds)]
        plain, between, followed, kept = (statistics.median(column) for column in zip(*runs, strict=True))
        print(
            f"{make.__name__}: {1000 * plain:.2f} ms a step; in between {between / plain:.2f}, "
            f"followed {followed / plain:.2f}, kept {kept / plain:.2f} of it"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
