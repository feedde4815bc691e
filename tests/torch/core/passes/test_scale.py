"""Long chains, and nodes with many inputs: no recursion, no leftovers. (`benchmarks/scale.py` goes to a million.)"""

import gc
import sys
import threading
import weakref

from autograph_cli import torch


def test_a_long_chain_is_built_run_and_freed():
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1.0
        y = y * 1.0
    first = weakref.ref(y.grad_fn)
    y.backward()
    assert x.grad.item() == 1.0 and y.item() == 100_001.0
    del y
    assert first() is None


def test_a_long_chain_is_freed_without_being_run():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y.sin()
    first = weakref.ref(y.grad_fn)
    del y
    assert first() is None


def test_a_long_chain_of_second_order():
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(3_000):
        y = y * 1.0 + x * x * 1e-6
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    assert abs(h.item() - 6e-3) < 1e-9
    del y, g
    gc.collect()


def test_a_sum_of_many_inputs():
    leaves = [torch.tensor(float(i), requires_grad=True) for i in range(20_000)]
    torch.stack(leaves).sum().backward()
    assert all(leaf.grad.item() == 1.0 for leaf in leaves)


def test_one_leaf_used_many_times():
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    total = x * 0
    for _ in range(20_000):
        total = total + x
    total.backward()
    assert x.grad.item() == 20_000.0


def test_the_recursion_limit_is_left_alone():
    assert sys.getrecursionlimit() <= 3000


def test_backward_of_several_threads_loses_no_gradient():
    x = torch.zeros(2_000, requires_grad=True)

    def turns():
        for _ in range(20):
            (x * 1).sum().backward()

    threads = [threading.Thread(target=turns) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (x.grad == 160).all()


def test_grad_mode_is_each_threads_own():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(torch.is_grad_enabled())
    assert seen == [True, False]
