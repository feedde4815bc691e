"""What recording adds to the time of a training loop: the same loop with and without `autograph run`'s recorder, in turns.

    python benchmarks/recording.py [rounds]

CPU time of the process, one thread; the median of the rounds' ratios. Needs no PyTorch.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from autograph_cli.record.imports import serve
from autograph_cli.record.recorder import Recorder

HEAD = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
TRAIN = """
for step in range({steps}):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
LOOPS = {
    "LeNet, batch 16": (
        "model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),\n"
        "    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10))\n"
        "x, y, criterion = torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,)), nn.CrossEntropyLoss()\n"
        "optimizer = torch.optim.Adam(model.parameters())\n", 250),
    "784-128-10, batch 64": (
        "model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))\n"
        "x, y, criterion = torch.randn(64, 784), torch.randint(0, 10, (64,)), nn.CrossEntropyLoss()\n"
        "optimizer = torch.optim.Adam(model.parameters())\n", 1000),
    "2-16-16-1, batch 32": (
        "model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))\n"
        "x, y, criterion = torch.randn(32, 2), torch.randn(32, 1), nn.MSELoss()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n", 5000),
}  # fmt: skip


def seconds(name: str, *, record: bool) -> float:
    build, steps = LOOPS[name]
    code = compile(HEAD + build + TRAIN.format(steps=steps), "loop.py", "exec")
    scope = {"__name__": "__main__"}
    recorder = Recorder("first,last", "loop.py") if record else None
    if recorder is not None:
        recorder.start()
    start = time.process_time()
    exec(code, scope)
    elapsed = time.process_time() - start
    if recorder is not None:
        recorder.finish(scope)
    return elapsed


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'loop':22} {'us a step':>10} {'recorded':>10} {'ratio':>7}   (median of {rounds})")
    with serve():
        for name, (_, steps) in LOOPS.items():
            seconds(name, record=True)
            pairs = [[seconds(name, record=record) for record in (False, True)] for _ in range(rounds)]
            plain, recorded = (statistics.median(pair[i] for pair in pairs) / steps * 1e6 for i in (0, 1))
            print(f"{name:22} {plain:10.1f} {recorded:10.1f} {statistics.median(b / a for a, b in pairs):7.2f}")


if __name__ == "__main__":
    main()
