"""What recording adds to the time of a training loop: the same loop with and without `autograph run`'s recorder, in turns.

    python benchmarks/recording.py [rounds] [--write]
    python benchmarks/recording.py --script FILE [rounds]

CPU time of the process, one thread; the median of the rounds' ratios. With a script: the same for all of `FILE`, without
the time that the imports take. Needs no PyTorch. `--write` puts the table into benchmarks/README.md.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tables import put, table

from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run.runner import Result, Target, run

HEAD = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
TRAIN = """
for step in range({steps}):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
GAN = """
for step in range({steps}):
    fake = make(torch.randn(32, 8))
    d_optimizer.zero_grad()
    d_loss = criterion(judge(x), ones) + criterion(judge(fake.detach()), zeros)
    d_loss.backward()
    d_optimizer.step()
    g_optimizer.zero_grad()
    g_loss = criterion(judge(fake), ones)
    g_loss.backward()
    g_optimizer.step()
"""
PENALTY = """
for step in range({steps}):
    optimizer.zero_grad()
    at = torch.randn(32, 2, requires_grad=True)
    slope, = torch.autograd.grad(model(at).sum(), at, create_graph=True)
    loss = criterion(model(x), y) + ((slope.norm(dim=1) - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
"""
MIXED = """
for step in range({steps}):
    last = step % 10 == 9
    loss = criterion(model(x[:20] if last else x), y[:20] if last else y)
    loss.backward()
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
    if last:
        with torch.no_grad():
            criterion(model(x), y)
"""
TINY = """
for step in range({steps}):
    (w * 2).sum().backward()
"""
PARTICLE = """
charges = torch.tensor([[10.0, 2.0], [10.0, 6.0]], dtype=torch.float64)
for step in range({steps}):
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    x, v = torch.stack([torch.zeros((), dtype=torch.float64), w[0] + 8.0]), torch.tensor([0.75, 0.0], dtype=torch.float64)
    for _ in range(8):
        at = x if x.requires_grad else x.clone().requires_grad_()
        (g,) = torch.autograd.grad((1 / (at - charges).pow(2).sum(1).sqrt()).sum(), at, create_graph=True)
        x, v = x + 0.5 * v, v - 0.5 * g
    torch.autograd.grad(x[0] * x[0], w)
"""
LOOPS: dict[str, tuple[str, int, str]] = {
    "one product": ("w = torch.ones(3, requires_grad=True)\n", 20_000, TINY),
    "a force, differentiated": ("", 100, PARTICLE),
    "LeNet, batch 16": (
        "model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),\n"
        "    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10))\n"
        "x, y, criterion = torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,)), nn.CrossEntropyLoss()\n"
        "optimizer = torch.optim.Adam(model.parameters())\n",
        250,
        TRAIN,
    ),
    "784-128-10, batch 64": (
        "model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))\n"
        "x, y, criterion = torch.randn(64, 784), torch.randint(0, 10, (64,)), nn.CrossEntropyLoss()\n"
        "optimizer = torch.optim.Adam(model.parameters())\n",
        1000,
        TRAIN,
    ),
    "2-16-16-1, batch 32": (
        "model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))\n"
        "x, y, criterion = torch.randn(32, 2), torch.randn(32, 1), nn.MSELoss()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n",
        5000,
        TRAIN,
    ),
    "GAN, two steps in turn": (
        "make = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))\n"
        "judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 1))\n"
        "x, ones, zeros, criterion = torch.randn(32, 2), torch.ones(32, 1), torch.zeros(32, 1), nn.BCEWithLogitsLoss()\n"
        "d_optimizer, g_optimizer = (torch.optim.Adam(m.parameters()) for m in (judge, make))\n",
        1000,
        GAN,
    ),
    "gradient penalty": (
        "model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))\n"
        "x, y, criterion = torch.randn(32, 2), torch.randn(32, 1), nn.MSELoss()\n"
        "optimizer = torch.optim.Adam(model.parameters())\n",
        500,
        PENALTY,
    ),
    "batches, evaluation": (
        "model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))\n"
        "x, y, criterion = torch.randn(32, 2), torch.randn(32, 1), nn.MSELoss()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n",
        2000,
        MIXED,
    ),
}


def seconds(source: str, *, record: bool, file: str = "loop.py") -> float:
    recorder = Recorder("first,last", file, each=False) if record else None
    times: list[float] = []
    path = os.path.abspath(file)
    linecache.cache[path] = len(source), None, source.splitlines(keepends=True), path  # as if it were there

    def before() -> None:
        if recorder is not None:
            recorder.start()
        times.append(time.process_time())

    def after(result: Result) -> None:
        if recorder is not None:
            recorder.finish(result.scope)
        times.append(time.process_time())

    with contextlib.redirect_stdout(io.StringIO()):
        result = run(Target("file", file, source=source.encode()), before=before, after=after)
    if result.failure:
        sys.exit(result.failure)
    return times[1] - times[0]


def compare(name: str, source: str, steps: int, rounds: int, file: str = "loop.py") -> list[str]:
    seconds(source, record=True, file=file)
    pairs = [[seconds(source, record=record, file=file) for record in (False, True)] for _ in range(rounds)]
    plain, recorded = (statistics.median(pair[i] for pair in pairs) / steps * 1e6 for i in (0, 1))
    row = [name, f"{plain:.0f}", f"{recorded - plain:.0f}", f"{statistics.median(b / a for a, b in pairs):.2f}"]
    print("{:22} {:>10} {:>10} {:>7}".format(*row), flush=True)
    return row


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--write"]
    script = words[1] if words[:1] == ["--script"] else None
    numbers = words[2:] if script else words
    rounds = int(numbers[0]) if numbers else 5
    print(f"{'loop':22} {'us a step':>10} {'added':>10} {'ratio':>7}   (median of {rounds})")
    if script is not None:
        compare(os.path.basename(script), Path(script).read_text(encoding="utf-8"), 1, rounds, script)
        return
    rows = [
        compare(name, HEAD + build + body.format(steps=steps), steps, rounds)
        for name, (build, steps, body) in LOOPS.items()
    ]
    if "--write" in sys.argv:
        head = ["loop", "us a step", "us added", "ratio"]
        said = f"CPU time of loops with and without the recorder, in turns, medians of {rounds} rounds."
        put("benchmarks/recording.py", table(head, rows, said))


if __name__ == "__main__":
    main()
