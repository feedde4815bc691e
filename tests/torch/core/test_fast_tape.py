"""The compiled tape does what Python's code does."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.codegen import fast_tape
from autograph_cli.torch._core.operation import table
from tests.torch.core import plain_functions
from tests.torch.core.plain_programs import observed

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.skipif(fast_tape() is None, reason="the compiled modules are not built, or AUTOGRAPH_PURE is set"),
    pytest.mark.filterwarnings("ignore"),
]


def test_programs_print_and_record_the_same_without_it() -> None:
    asked = [sys.executable, "-W", "ignore", "-m", "tests.torch.core.plain_programs"]
    done = subprocess.run(asked, cwd=ROOT, env=os.environ | {"AUTOGRAPH_PURE": "1"}, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    pure, here = json.loads(done.stdout), observed()
    assert here.keys() == pure.keys()
    for name, seen in here.items():
        assert seen == pure[name], name


def test_custom_functions_do_the_same_without_it() -> None:
    asked = [sys.executable, "-W", "ignore", "-m", "tests.torch.core.plain_functions"]
    done = subprocess.run(asked, cwd=ROOT, env=os.environ | {"AUTOGRAPH_PURE": "1"}, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert plain_functions.printed() == json.loads(done.stdout)


@pytest.mark.parametrize(
    "name",
    [
        *("add", "mul", "div", "sin", "exp", "mm", "addmm", "t", "view", "relu", "pow_Tensor_Scalar"),
        *("cat", "stack", "index", "index_put", "addcmul", "gt", "copy"),
    ],
)
def test_it_runs_common_operations(name: str) -> None:
    assert fast_tape().forward_of(table[name], table[name].kernel_function) is not None


def test_what_is_not_plain_is_left_to_python() -> None:
    op = table["mul"]
    run = fast_tape().forward_of(op, op.kernel_function)
    x = torch.ones(3, requires_grad=True)
    assert run(x, x) is not None
    assert run(x, 2) is not None
    for other in (True, "a", None, torch.ones(3, dtype=torch.float64), torch.ones(3, device="meta"), [1]):
        assert run(x, other) is None
    change, made = fast_tape().change, x * 1
    assert change(op, (made, x)) is made
    for other in (True, "a", None, torch.ones(3, dtype=torch.float64), torch.ones(3, device="meta"), [1]):
        assert change(op, (made, other)) is None
    assert change(op, (torch.ones(1).expand(3), 2)) is None
    assert change(table["t"], (x,)) is None
    cat = fast_tape().forward_of(table["cat"], table["cat"].kernel_function)
    assert cat([x, x], 0) is not None
    assert cat([x, torch.ones(3, device="meta")], 0) is None


def test_what_transforms_leave_alone_is_plain() -> None:
    run = fast_tape().forward_of(table["mul"], table["mul"].kernel_function)
    x, seen = torch.ones(3, requires_grad=True), []

    def product(t: Any) -> Any:
        seen.append((run(x, x) is not None, run(x, t) is not None))
        return (x * t).sum()

    torch.func.grad(product)(torch.ones(3))
    torch.func.vmap(product)(torch.ones(2, 3))
    torch.func.jvp(product, (torch.ones(3),), (torch.ones(3),))
    with torch.inference_mode():
        product(torch.ones(3))
    assert seen == [(True, True), (True, False), (False, False), (False, False)]


def _turn(x: Any, w: Any, y: Any) -> None:
    h = torch.tanh(x @ w.T + 1) * 2
    with torch.no_grad():
        h.detach() * h
    with pytest.raises(RuntimeError):
        x * torch.ones(7)
    loss = ((h.view(-1)[1:] - y) ** 2).mean() + torch.nn.functional.linear(x, w).relu().sum()
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    (slope.norm() + loss).backward()
    w.grad = x.grad = None
    _changes(x, y)


def _changes(x: Any, y: Any) -> None:
    """Lists of tensors, changes in place, and a transform."""
    joined = torch.stack((torch.cat((x, x * 2)), torch.cat([x, x]))) * 1
    row = joined[0]
    row.mul_(1.5).add_(joined[1])
    row[1:].view(-1)[:2].copy_(y[:2])
    joined.sin_().exp_()
    for wrong in (y, y.double(), torch.ones(2, 8, 3).T):
        with pytest.raises(RuntimeError):
            row.mul_(wrong)
    with pytest.raises(RuntimeError):
        x.add_(1)
    with torch.no_grad():
        y.detach()[1:].add_(0)
    picked = x[torch.tensor([0, 2])].sum() + x[x > 0].sum()
    torch.autograd.grad(joined.sum() + picked, x)
    torch.func.vmap(torch.func.grad(lambda r: (r.tanh() * r).sum()))(x.detach())


def test_it_keeps_nothing() -> None:
    x, w = torch.randn(4, 3, requires_grad=True), torch.nn.Parameter(torch.randn(2, 3))
    y = torch.randn(7)
    for _ in range(20):
        _turn(x, w, y)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(200):
        _turn(x, w, y)
    gc.collect()
    assert sys.getallocatedblocks() - before < 100


def test_strides_that_nodes_keep_are_their_own():
    wide = [torch.ones(n, n + 7, requires_grad=True) for n in range(300, 340)]
    nodes = [(torch.ones(2, len(w)) @ w).grad_fn for w in wide]
    gc.collect()
    others = [n + 1000 for n in range(4000)]
    assert [node._saved_mat2_sym_sizes for node in nodes] == [(n, n + 7) for n in range(300, 340)]
    assert [node._saved_mat2_sym_strides for node in nodes] == [(n + 7, 1) for n in range(300, 340)]
    assert others == [*range(1000, 5000)]
