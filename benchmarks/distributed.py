"""all_reduce over MPI beside PyTorch's gloo: 1 KB to 256 MB of float32, on 2 and 4 processes of this machine.

`python benchmarks/distributed.py` in an environment with PyTorch and the extra `mpi`; the runs take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SIZES = [1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28]


def measure(torch: Any, largest: int) -> None:
    """Print the median seconds of one call for each size, on rank 0."""
    dist = torch.distributed
    found = {}
    for size in [size for size in SIZES if size <= largest]:
        x = torch.ones(size // 4)
        times = []
        for _ in range(max(3, min(50, (1 << 26) // size))):
            dist.barrier()
            begun = time.perf_counter()
            dist.all_reduce(x)
            times.append(time.perf_counter() - begun)
            x.fill_(1.0)
        found[size] = statistics.median(times)
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def on_mpi(largest: int) -> None:
    from autograph_cli import torch

    torch.distributed.init_process_group("gloo")
    measure(torch, largest)


def on_gloo(rank: int, ranks: int, meeting: str, largest: int) -> None:
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=ranks)
    measure(torch, largest)


def run(engine: str, ranks: int, largest: int) -> dict[int, float]:
    """The seconds of a call for each size of bytes."""
    mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)] if engine == "mpi" else []
    command = [*mpiexec, sys.executable, __file__, "--play", engine, "--ranks", str(ranks), "--largest", str(largest)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {int(size): seconds for size, seconds in json.loads(out.splitlines()[-1]).items()}


def play_gloo(ranks: int, largest: int) -> None:
    import tempfile

    import torch.multiprocessing

    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(on_gloo, (ranks, f"{folder}/meeting", largest), nprocs=ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="bytes")
    parser.add_argument("--rounds", type=int, default=3, help="of which medians are taken")
    parser.add_argument("--play", choices=["mpi", "gloo"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        on_mpi(given.largest) if given.play == "mpi" else play_gloo(given.ranks[0], given.largest)
        return
    print("| bytes | " + " | ".join(f"{n} processes: MPI, gloo (ms), ratio" for n in given.ranks) + " |")
    print("|---|" + "---|" * len(given.ranks))
    rows: dict[int, list[str]] = {size: [] for size in SIZES if size <= given.largest}
    for ranks in given.ranks:
        rounds = [
            {engine: run(engine, ranks, given.largest) for engine in ("mpi", "gloo")} for _ in range(given.rounds)
        ]
        for size in rows:
            ours, theirs = (statistics.median(each[engine][size] for each in rounds) for engine in ("mpi", "gloo"))
            rows[size].append(f"{ours * 1e3:.3g}, {theirs * 1e3:.3g}, {ours / theirs:.2f}")
    for size, row in rows.items():
        print(f"| {size:,} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
