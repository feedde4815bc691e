"""The parts of many ranks made one trace: time and peak memory, which do not grow with the number of ranks.

    python benchmarks/ranks.py [--ranks 64] [--nodes 100000]

One part is recorded and written in a process of its own, and stands for all ranks; they are joined in another process.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from autograph_cli.graph import Edge, Graph, Node, Output, Step, TensorType, Trace
from autograph_cli.record.run import rank_store


def write(folder: Path, nodes: int) -> None:
    """The part of rank 0: a chain of so many nodes."""
    outputs = (Output(TensorType("float32", (8, 8))),)
    chain = [Node(0, "leaf", "AccumulateGrad", "", outputs)]
    for n in range(1, nodes):
        edge = (Edge(n - 1),)
        chain.append(Node(n, "operation", "TanhBackward0", "tanh", outputs, edge, edge))
    rank_store.write_part(Trace("train.py", (Step(0, Graph(tuple(chain))),), 1, ranks=2), folder)


def copy(folder: Path, ranks: int) -> None:
    """The same part for all other ranks."""
    for rank in range(1, ranks):
        for ending in ("part", "entry"):
            shutil.copy(folder / f"rank-0.{ending}", folder / f"rank-{rank}.{ending}")


def measured(what: str, folder: Path, count: int) -> dict[str, float]:
    """Seconds and MB of one of the two in a process of its own."""
    done = subprocess.run([sys.executable, __file__, what, str(folder), str(count)], capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def one(what: str, folder: Path, count: int) -> None:
    """Do one of the two here, and say what it took."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    if what == "write":
        write(folder, count)
    else:
        rank_store.join(folder, count, folder / "trace.zip")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": time.process_time() - start, "before": before, "peak": peak}))


def main() -> None:
    """Print a row for writing a part, and one each for joining few and all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {f"a part of {asked.nodes:,} nodes is written": measured("write", folder, asked.nodes)}
        for ranks in (2, asked.ranks):
            copy(folder, ranks)
            rows[f"{ranks} parts are joined"] = measured("join", folder, ranks)
        size = (folder / "trace.zip").stat().st_size / 1e6
    for what, row in rows.items():
        print(f"{what:<40} {row['seconds']:6.2f} s, {row['peak']:.0f} MB at most, {row['before']:.0f} MB before")
    print(f"the trace of {asked.ranks} ranks: {size:.1f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] in (["write"], ["join"]):
        one(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
