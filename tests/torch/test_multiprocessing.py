"""Tensors in memory that several processes see, and how they get there."""

import gc
import multiprocessing
import os
from pathlib import Path

import pytest

from autograph_cli import torch
from autograph_cli.torch import multiprocessing as mp


def shared_files():
    """Return how many descriptors of shared memory, which has no name anywhere, this process holds."""
    gc.collect()
    return sum("memfd" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd))


def _is_open(descriptor):
    return os.path.islink(f"/proc/self/fd/{descriptor}")


linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which files are open")


@linux
def test_all_views_move_together_and_nothing_is_left_behind():
    before = shared_files()
    base = torch.arange(6.0)
    view, column = base.view(2, 3), base.view(2, 3)[:, 1]
    assert not base.is_shared()
    assert column.share_memory_() is column
    assert base.is_shared() and view.is_shared() and column.is_shared()
    base[1] = 9
    assert column.tolist() == [9.0, 4.0] and view.stride() == (3, 1) and column.storage_offset() == 1
    number = torch.tensor(3).share_memory_()
    number += 1
    assert number.item() == 4 and torch.empty(0).share_memory_().numel() == 0
    assert shared_files() > before
    del base, view, column, number
    assert shared_files() == before


def test_only_memory_can_be_shared():
    with pytest.raises(RuntimeError, match="only a dense tensor that has memory"):
        torch.empty(2, device="meta").share_memory_()


def train(model, done, position):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(position)
    for _ in range(40):
        x = torch.randn(8, 2)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    done[position] += 1


def test_processes_train_one_model_together():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    assert model.share_memory() is model and model.weight.is_shared()
    done = torch.zeros(2).share_memory_()
    context = mp.get_context("fork")
    processes = [context.Process(target=train, args=(model, done, position)) for position in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert done.tolist() == [1.0, 1.0] and [p.exitcode for p in processes] == [0, 0]
    assert torch.allclose(model.weight, torch.ones(1, 2), atol=0.1)


def answer(index, tensor, results, read):
    tensor[index] = index + 1.0
    results.put((index, torch.full((2,), float(index), requires_grad=True)))
    read.wait()


@linux
def test_a_spawned_process_is_handed_the_memory_itself():
    before = shared_files()
    context = multiprocessing.get_context("spawn")
    results, read, tensor = context.SimpleQueue(), context.Event(), torch.zeros(2)
    running = mp.spawn(answer, (tensor, results, read), nprocs=2, join=False)
    found = sorted((results.get() for _ in range(2)), key=lambda pair: pair[0])
    read.set()
    while not running.join():
        pass
    assert [(index, t.tolist(), t.requires_grad, t.is_shared()) for index, t in found] == [
        (0, [0.0, 0.0], True, True),
        (1, [1.0, 1.0], True, True),
    ]
    assert tensor.tolist() == [1.0, 2.0] and tensor.is_shared() and len(running.pids()) == 2
    del found, tensor
    assert shared_files() == before


def fail(index):
    if index == 1:
        raise ValueError("of its own")
    os._exit(3)


def test_an_error_in_a_process_comes_back():
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error"):
        mp.start_processes(only_second, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as told:
        mp.start_processes(fail, nprocs=1, start_method="fork")
    assert told.value.exit_code == 3


def only_second(index):
    if index == 1:
        fail(index)


def test_a_tensor_inside_a_graph_is_not_sent_and_an_empty_one_is():
    queue = mp.get_context("fork").SimpleQueue()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(torch.ones(2, requires_grad=True) * 2)
    queue.put(torch.empty(0, 3))
    assert queue.get().shape == (0, 3)


def test_a_strategy_can_be_named():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy(mp.get_sharing_strategy())


def test_a_conjugate_moves_with_what_it_is_the_conjugate_of():
    z = torch.tensor([1 + 2j, 3 - 1j])
    other = z.conj()
    z.share_memory_()
    z.mul_(2)
    assert other.is_shared() and other.tolist() == [2 - 4j, 6 + 2j]
