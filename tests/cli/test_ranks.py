"""`autograph run` on several ranks: one trace of all of them, and whatever one does, none is left behind."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from pathlib import Path

import pytest

from autograph_cli.cli.ranks import _mpiexec
from autograph_cli.record.run import store
from autograph_cli.testing.sweeps import environment
from tests.processes import PATIENCE, finished

pytest.importorskip("mpi4py")
SCRIPT = """import os, signal, sys, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
dist.all_reduce(w.grad)
os.write(1, f"rank {rank} of {os.environ['WORLD_SIZE']} {w.grad.tolist()}\\n".encode())  # in one piece
time.sleep(0.3)
if rank == 1:
    WHAT
dist.barrier()
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the script on two ranks; `what` is what rank 1 does at line 12."""

    def start(
        what: str, *options: str, before: tuple[str, ...] = (), command: str = "run"
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / "train.py").write_text(SCRIPT.replace("WHAT", what))
        words = [*before, sys.executable, "-m", "autograph_cli", command, *options, "train.py"]
        return finished(words, cwd=tmp_path, env=environment())

    return start


def trace(folder: Path) -> Path:
    return folder / ".autograph" / "trace.zip"


def left(folder: Path) -> list[str]:
    """The processes that work in a folder still."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            there = os.readlink(process / "cwd")
        except OSError:
            continue
        if there == str(folder):
            found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def left_at_last(folder: Path) -> list[str]:
    """Those that do not end: a process that was told to takes a moment."""
    last = time.monotonic() + PATIENCE
    while left(folder) and time.monotonic() < last:
        time.sleep(0.1)
    return left(folder)


def test_two_ranks_are_one_trace(run: Run, tmp_path: Path) -> None:
    done = run("pass", "--ranks", "2")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 2 [4.0, 4.0, 4.0]" for rank in range(2)]
    assert "ranks 0-1: the same graphs" in done.stderr
    assert [each.rank for each in store.ranks_of(trace(tmp_path))] == [0, 1]
    reduced = store.load(trace(tmp_path), 1).collectives[0]
    assert (reduced.op, reduced.tensors, reduced.ranks, reduced.bytes) == ("all_reduce", ("w.grad",), (0, 1), 12)
    assert sorted(path.name for path in (tmp_path / ".autograph").iterdir()) == [".gitignore", "trace.zip"]


def test_mpiexec_before_the_command_is_the_same_with_a_shell_between_the_two(run: Run, tmp_path: Path) -> None:
    done = run("pass", before=(*_mpiexec(), "-n", "2", "sh", "-c", '"$@"; exit $?', "sh"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("autograph: train.py, 1 step") == 1
    assert [each.rank for each in store.ranks_of(trace(tmp_path))] == [0, 1]
    assert sorted(path.name for path in (tmp_path / ".autograph").iterdir()) == [".gitignore", "trace.zip"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorch_itself_is_recorded_on_two_ranks_with_gloo(run: Run, tmp_path: Path) -> None:
    done = run("pass", "--ranks", "2", "--engine", "torch")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 2 [4.0, 4.0, 4.0]" for rank in range(2)]
    reduced = store.load(trace(tmp_path), 1).collectives[0]
    assert (reduced.op, reduced.tensors, reduced.ranks, reduced.bytes) == ("all_reduce", ("w.grad",), (0, 1), 12)


SPAWNING = """import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def train(rank, size):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=os.environ["MASTER_PORT"])
    dist.init_process_group("gloo", rank=rank, world_size=size)
    w = torch.full((3,), 1.0 + rank, requires_grad=True)
    w.square().sum().backward()
    dist.all_reduce(w.grad)
    os.write(1, f"rank {rank} {w.grad.tolist()}\\n".encode())
    dist.destroy_process_group()

if __name__ == "__main__":
    for _ in range(2):
        mp.spawn(train, args=(2,), nprocs=2, join=True)
"""


@pytest.mark.parametrize("engine", ["builtin", *(["torch"] if importlib.util.find_spec("torch") else [])])
def test_spawn_calls_its_function_in_the_ranks_as_often_as_it_is_called(tmp_path: Path, engine: str) -> None:
    (tmp_path / "train.py").write_text(SPAWNING)
    command = [sys.executable, "-m", "autograph_cli", "run", "--ranks", "2", "--engine", engine, "train.py"]
    done = finished(command, cwd=tmp_path, env=environment(), check=True)
    assert sorted(done.stdout.splitlines()) == sorted(f"rank {rank} [6.0, 6.0, 6.0]" for rank in (0, 0, 1, 1))
    assert [len(store.load(trace(tmp_path), rank).collectives) for rank in range(2)] == [2, 2]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_killed_rank_of_pytorch_ends_the_other(run: Run, tmp_path: Path) -> None:
    done = run("os.kill(os.getpid(), signal.SIGKILL)", "-q", "--ranks", "2", "--engine", "torch")
    assert done.returncode == 137, done.stderr
    assert done.stderr.count("autograph: rank 1 was killed by SIGKILL, last seen at train.py") == 1
    assert [each.rank for each in store.ranks_of(trace(tmp_path))] == [0]
    assert left_at_last(tmp_path) == []


ELSEWHERE = """import sys
from pathlib import Path
from mpi4py import MPI
from autograph_cli.graph import Trace
from autograph_cli.record.run import rank_store
rank_store.BLOCK = 100
rank = MPI.COMM_WORLD.rank
folder = Path(f"host{rank}")
folder.mkdir()
rank_store.write_part(Trace("train.py", failure="x" * 1000, rank=rank, ranks=3), folder)
rank_store.send_to_first(MPI.COMM_WORLD, folder, f"host{rank}")
if rank == 0:
    rank_store.join(folder, 3, Path("trace.zip"))
"""


def test_the_parts_of_other_hosts_come_by_mpi(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    command = [*_mpiexec(), "-n", "3", sys.executable, "elsewhere.py"]
    finished(command, cwd=tmp_path, env=environment(), check=True)
    assert [each.rank for each in store.ranks_of(tmp_path / "trace.zip")] == [0, 1, 2]
    assert store.load(tmp_path / "trace.zip", 2).failure == "x" * 1000


SNAPSHOTS = {
    "alike": ("pass", ["[step 1]", "  step 1: all_reduce, 12 bytes, ranks 0-1 (w.grad)"]),
    "apart": (
        "w.exp().sum().backward()",
        [
            "[step 1, rank 0]",
            "[step 1, rank 1]",
            "[step 2, rank 1]",
            "  step 1, rank 0: all_reduce, 12 bytes, ranks 0-1 (w.grad)",
            "  step 1, rank 1: all_reduce, 12 bytes, ranks 0-1 (w.grad)",
        ],
    ),
}


@pytest.mark.parametrize("what", SNAPSHOTS)
def test_a_snapshot_has_the_ranks_of_the_same_graphs_once_and_what_they_exchanged(
    run: Run, tmp_path: Path, what: str
) -> None:
    code, kept = SNAPSHOTS[what]
    (tmp_path / "pyproject.toml").write_text("[tool.autograph]\n")
    assert run(code, "--ranks", "2", command="snapshot").stdout == "train.graph.txt: written\n1 snapshot: 1 written\n"
    lines = (tmp_path / "train.graph.txt").read_text().splitlines()
    assert lines[3] == "ranks 2"
    assert [line.partition(" as ")[0] for line in lines if line.startswith(("[step", "  step"))] == kept
    assert run(code, "--check", command="snapshot").stdout == "1 snapshot: 1 the same\n"
    assert left_at_last(tmp_path) == []


def test_of_a_rank_that_fails_there_is_no_snapshot(run: Run) -> None:
    failed = run("raise ValueError('no')", "--ranks", "2", command="snapshot")
    said = "train.py: failed: rank 1 failed with ValueError: no at train.py:12"
    assert (failed.returncode, failed.stdout.splitlines()[0]) == (2, said)


FAULTS = {
    "raises": ("raise ValueError('no')", "rank 1 failed with ValueError: no at train.py:12", 2),
    "leaves": ("sys.exit()", "rank 1 ended and never entered barrier", 2),
    "leaves with a code": ("os._exit(3)", "rank 1 failed with os._exit(3) at train.py", 3),
    "hangs": ("time.sleep(600)", "for {still} seconds rank 1 did not enter barrier", 2),
    **{
        f"is killed at {pause}": (
            f"time.sleep({pause} / 100); os.kill(os.getpid(), signal.SIGKILL)",
            "rank 1 was killed by SIGKILL, last seen at train.py:",
            137,
        )
        for pause in range(int(os.environ.get("AUTOGRAPH_KILLS", "1")))  # so many lose it at a time of its own
    },
}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
@pytest.mark.parametrize("what", FAULTS)
def test_all_ranks_end_with_one_sentence(run: Run, tmp_path: Path, what: str) -> None:
    code, said, ended = FAULTS[what]
    # More than the start takes, which is known after one.
    still = PATIENCE if what != "hangs" else 5 + 5 * int(timeit.timeit(lambda: run("pass", "--ranks", "2"), number=1))
    done = run(code, "--ranks", "2", "--timeout", str(still))
    assert done.returncode == ended, done.stderr
    told = f"autograph: {said.format(still=still)}"
    assert [line.startswith(told) for line in done.stderr.splitlines()].count(True) == 1, done.stderr
    kept = [each.rank for each in store.ranks_of(trace(tmp_path))]
    assert kept == ([0] if ended == 137 else [0, 1])
    assert left_at_last(tmp_path) == []


def test_a_snapshot_of_a_module_is_of_several_ranks_too(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("what = 3\n")
    (tmp_path / "package" / "train.py").write_text("from . import what\n" + SCRIPT.replace("WHAT", "pass"))
    command = [sys.executable, "-m", "autograph_cli", "snapshot"]
    for options, said in (("--ranks 2 -m package.train", "1 written"), ("--check package/train.py", "1 the same")):
        done = subprocess.run(
            [*command, *options.split()], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert done.stdout.endswith(f"1 snapshot: {said}\n")
    assert "module package.train\n" in (tmp_path / "package" / "train.graph.txt").read_text()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name)
def test_ranks_end_with_the_command_that_started_them(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("WHAT", "os.write(1, b'asleep'); time.sleep(600)"))
    command = [sys.executable, "-m", "autograph_cli", "run", "-q", "--ranks", "2", "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        said = b""
        while b"asleep" not in said:
            said += os.read(started.stdout.fileno(), 1000)
        started.send_signal(number)
    assert left_at_last(tmp_path) == []


def test_without_mpi_the_sentence_says_what_to_install(cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch,
                                                       tmp_path: Path) -> None:  # fmt: skip
    (tmp_path / "train.py").write_text("pass\n")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = cli("run", "--ranks", "2", "train.py")
    assert (done.exit_code, done.stderr.strip()) == (  # type: ignore[attr-defined]
        2,
        "Error: --ranks needs MPI, which is not installed here: pip install autograph-cli[mpi]",
    )
