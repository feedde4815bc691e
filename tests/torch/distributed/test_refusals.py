"""What stays PyTorch's own says so, and a world of one process needs no MPI."""

import subprocess
import sys
from datetime import timedelta

import pytest

from autograph_cli import torch
from tests.processes import finished

dist = torch.distributed


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(
    ("call", "said"),
    {
        "dist.TCPStore('localhost', 1)": "TCPStore is not available .* MPI brings the processes together",
        "dist.rpc.rpc_sync('a', print)": "rpc.rpc_sync is not available .* none calls functions of another",
        "dist.run.main()": "autograph run --ranks 4 SCRIPT ARGS",
        "dist.tensor.DTensor()": "each process has the whole tensor",
        "dist.init_process_group('gloo', rank=0, world_size=3)": "3 processes are asked for, and MPI started 1: start the "
        "script with `autograph run --ranks 3 SCRIPT`",
        "dist.init_process_group('gloo', rank=2, world_size=1)": "rank 2 is given to a process that can only be rank 0",
        "dist.init_process_group('gloo', timeout=5)": "Expected timeout argument to be of type datetime.timedelta",
    }.items(),
)
def test_a_call_that_cannot_be_answered_says_what_to_do(call, said):
    with pytest.raises((RuntimeError, ValueError, TypeError), match=said):
        eval(call)
    assert not dist.is_initialized()


def test_without_mpi_a_run_of_several_processes_says_what_to_install():
    code = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "from autograph_cli import torch\n"
        "torch.distributed.init_process_group('gloo', rank=0, world_size=2)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith("pip install 'autograph-cli[mpi]' (mpi4py and mpich)")


def test_a_world_of_one_imports_no_mpi():
    code = (
        "from autograph_cli import torch\nimport sys\n"
        "torch.distributed.init_process_group('gloo')\nx = torch.ones(2)\ntorch.distributed.all_reduce(x)\n"
        "print(x.tolist(), 'mpi4py' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1.0, 1.0] False\n"


def test_a_tensor_is_multiplied_before_a_premultiplied_sum(world):
    x = torch.tensor([1.0, 2.0])
    dist.all_reduce(x, dist._make_nccl_premul_sum(3.0))
    assert x.tolist() == [3.0, 6.0]


def test_a_tensor_that_is_not_dense_is_refused_by_name(world):
    with pytest.raises(RuntimeError, match=r"dense tensors only, not those of layout torch.sparse_coo"):
        dist.broadcast(torch.ones(2).to_sparse(), 0)


@pytest.mark.parametrize(
    ("call", "said"),
    {
        "dist.all_reduce(torch.ones(1), dist.ReduceOp.PREMUL_SUM)": "PREMUL_SUM needs a factor",
        "dist.all_reduce(torch.ones(1), group=gone)": "Invalid process group specified: it was destroyed",
    }.items(),
)
def test_a_call_that_makes_no_sense_is_refused_by_name(world, call, said):
    gone = dist.new_group([0])
    dist.destroy_process_group(gone)
    with pytest.raises((ValueError, TypeError), match=said):
        eval(call, {"dist": dist, "torch": torch, "gone": gone})


ON_ITS_OWN = """
from autograph_cli import torch
def begin(rank, size):
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
def by_hand(size):
    processes = [torch.multiprocessing.Process(target=begin, args=(rank, size)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
if __name__ == "__main__":
    CALL
"""


@pytest.mark.parametrize("call", ["torch.multiprocessing.spawn(begin, (2,), nprocs=2)", "by_hand(2)"])
def test_a_process_that_the_script_started_says_how_ranks_are_started(tmp_path, call):
    (tmp_path / "train.py").write_text(ON_ITS_OWN.replace("CALL", call))
    command = [sys.executable, str(tmp_path / "train.py")]
    done = finished(command)
    assert (
        "a process that the script started is no rank: `autograph run --ranks 2 train.py` starts those" in done.stderr
    )


def test_there_is_nobody_to_wait_for_in_a_world_of_one(world):
    dist.monitored_barrier(timeout=timedelta(seconds=1))
    work = dist.barrier(async_op=True)
    assert work.wait() and work.is_success() and work.get_future().wait() == []
