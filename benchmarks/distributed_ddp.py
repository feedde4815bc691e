"""A training step of DistributedDataParallel over MPI beside PyTorch's over gloo: LeNet and a perceptron of 25 million
parameters, on 2 processes of this machine with one thread each.

`python benchmarks/distributed_ddp.py` in an environment with PyTorch and the extra `mpi`; the runs take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = 3


def lenet(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def perceptron(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(784, 3500), nn.ReLU(), nn.Linear(3500, 3500), nn.ReLU(), nn.Linear(3500, 2850), nn.ReLU(), nn.Linear(2850, 10))  # fmt: skip


MODELS = {"LeNet, 64 pictures": (lenet, (64, 1, 28, 28), 30), "perceptron, 25M": (perceptron, (32, 784), 5)}


def measure(torch: Any, wrapped: bool) -> dict[str, float]:
    """The median seconds of a step of each model, wrapped in DistributedDataParallel or by itself."""
    found = {}
    for name, (make, shape, steps) in MODELS.items():
        torch.manual_seed(0)
        model = make(torch.nn)
        model = torch.nn.parallel.DistributedDataParallel(model) if wrapped else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x, y = torch.randn(*shape), torch.randint(0, 10, shape[:1])
        times = []
        for _ in range(steps + 3):
            torch.distributed.barrier()
            begun = time.perf_counter()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            times.append(time.perf_counter() - begun)
        found[name] = statistics.median(times[3:])
    return found


def play(torch: Any) -> None:
    """Print both times of each model, on rank 0."""
    found = [measure(torch, wrapped) for wrapped in (True, False)]
    if torch.distributed.get_rank() == 0:
        print(json.dumps(found), flush=True)
    torch.distributed.destroy_process_group()


def on_mpi() -> None:
    from autograph_cli import torch

    torch.distributed.init_process_group("gloo")
    play(torch)


def on_gloo(rank: int, meeting: str) -> None:
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=2)
    play(torch)


def run(engine: str) -> list[dict[str, float]]:
    """The seconds of a step of each model, with and without DistributedDataParallel."""
    mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2"] if engine == "mpi" else []
    one_thread = ["env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"]
    command = [*one_thread, *mpiexec, sys.executable, __file__, "--play", engine]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--play", choices=["mpi", "gloo"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play == "mpi":
        return on_mpi()
    if given.play == "gloo":
        import torch.multiprocessing

        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(on_gloo, (f"{folder}/meeting",), nprocs=2)
        return None
    rounds = [{engine: run(engine) for engine in ("mpi", "gloo")} for _ in range(ROUNDS)]
    print("| a step on 2 processes | MPI, gloo (ms) | ratio | without DDP: engine, PyTorch (ms) | ratio |")
    print("|---|---|---|---|---|")
    for name in MODELS:
        cells = []
        for kind in (0, 1):
            ours, theirs = (statistics.median(each[e][kind][name] for each in rounds) * 1e3 for e in ("mpi", "gloo"))
            cells += [f"{ours:.3g}, {theirs:.3g}", f"{ours / theirs:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
