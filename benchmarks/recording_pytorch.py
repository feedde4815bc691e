"""What `--engine torch` adds to a training step of PyTorch: of steps that are kept, and of those in between.

    .venv-conformance/bin/python benchmarks/recording_pytorch.py [rounds] [--write]

CPU time of a step, one thread, the median of the rounds, in which all take turns; needs PyTorch. `--write` puts the table into
benchmarks/README.md.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch
from tables import put, table
from torch import nn
from torch.nn import functional as F

from autograph_cli.engines import connect
from autograph_cli.record.recorder import Recorder

STEPS, HEARD = 40, 20
"""The number of steps, and of the first ones, of which the ledger of training hears everything."""


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
    model = nn.Sequential(nn.Embedding(64, 128), *[Block(128) for _ in range(2)], nn.Flatten(0, 1), nn.Linear(128, 64))
    return model, torch.randint(64, (1, 64)), torch.randint(64, (64,))


def narrow() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    model = nn.Sequential(nn.Embedding(64, 32), *[Block(32) for _ in range(4)], nn.Flatten(0, 1), nn.Linear(32, 64))
    return model, torch.randint(64, (1, 64)), torch.randint(64, (64,))


def perceptron() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    return model, torch.rand(64, 784), torch.randint(10, (64,))


def neurons() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))
    return model, torch.rand(32, 2), torch.randint(2, (32,))


MODELS = {
    "perceptron 2-16-16-2, 32 rows": neurons,
    "perceptron 784-128-10, 64 pictures": perceptron,
    "LeNet, 32 pictures": lenet,
    "GPT of 2 blocks, 64 tokens": gpt,
    "GPT of 4 blocks, width 32, 64 tokens": narrow,
}


def train(make: Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]], steps: str | None) -> float:
    """Seconds a step, with a recorder that keeps these steps, or without one; with `last`, of those that are followed."""
    torch.manual_seed(0)
    model, x, y = make()
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    recorder = None if steps is None else Recorder(steps, engine=connect("torch"))
    if recorder is not None:
        recorder.start()
    took = []
    for _ in range(STEPS):
        start = time.process_time()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        took.append(time.process_time() - start)
    if recorder is not None:
        assert recorder.finish({}).total_steps == STEPS and not recorder.broken
    return statistics.median(took[2:16] if steps == "last" else took[HEARD:])


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    rows = []
    for title, make in MODELS.items():
        runs = [[train(make, steps) for steps in (None, "1", "last", "2:60")] for _ in range(rounds)]
        plain = statistics.median(run[0] for run in runs)
        added = max(statistics.median(run[1] - run[0] for run in runs), 0.0)  # less than nothing is noise
        ratios = [statistics.median(run[n] / run[0] for run in runs) for n in (1, 2, 3)]
        rows.append([title, f"{1000 * plain:.2f}", f"{1000 * added:.2f}", *(f"{ratio:.2f}" for ratio in ratios)])
        print(*rows[-1], sep=" | ", flush=True)
    if "--write" in sys.argv:
        head = ["", "ms a step", "ms added in between", "in between", "followed", "kept"]
        said = f"PyTorch {torch.__version__}, one thread; CPU time, medians of {rounds} rounds in turns."
        put("benchmarks/recording_pytorch.py", table(head, rows, said))


if __name__ == "__main__":
    main(next((int(word) for word in sys.argv[1:] if word.isdigit()), 5))
