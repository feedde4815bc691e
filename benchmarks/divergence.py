"""Measures the cost of finding where two runs part: two steps of LeNet, recorded with numbers, and compared.

    python benchmarks/divergence.py [rounds]

CPU time of the process, one thread, the median of the rounds. Needs no PyTorch. Digests are a part of `--record values`: the
ratio is that of recording with them to recording the summaries alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from autograph_cli.graph import Trace
from autograph_cli.graph.divergence import divergence
from autograph_cli.record.measure import measures
from autograph_cli.record.run.runner import Target, record

LENET = """\\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.{}(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
    nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
)
x, y = torch.randn(64, 1, 28, 28), torch.randint(10, (64,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
"""


def took(work: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU time of a call, and what it gives."""
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def recorded(path: Path) -> Trace:
    """The trace of a script."""
    with contextlib.redirect_stdout(io.StringIO()):
        return record(Target.of(str(path)), "all", record=("values",))[1]


def main() -> None:
    """Measure in turns, and print the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    keep = measures.exact
    with_digests, without, equal, parted = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("a.py", "b.py")]
        for path, activation in zip(paths, ("Tanh", "Hardtanh"), strict=True):
            path.write_text(LENET.format(activation), "utf-8")
        recorded(paths[0])
        for _ in range(rounds):
            spent, old = took(lambda: recorded(paths[0]))
            with_digests.append(spent)
            measures.exact = lambda raw: None
            without.append(took(lambda: recorded(paths[0]))[0])
            measures.exact = keep
            new = recorded(paths[1])
            equal.append(took(lambda old=old: divergence(old, old))[0])
            parted.append(took(lambda old=old, new=new: divergence(old, new))[0])
    ratio = statistics.median(one / other for one, other in zip(with_digests, without, strict=True))
    print(f"recording with digests: {ratio:.2f} times as long as with summaries alone")
    print(f"comparing two steps: equal {statistics.median(equal):.3f} s, parted {statistics.median(parted):.3f} s")


if __name__ == "__main__":
    main()
