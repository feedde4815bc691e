"""The compiled tape does what Python's code does."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base.memory_format import strides_of
from autograph_cli.torch._core.operations.operation import table
from autograph_cli.torch._core.running import dispatch, inplace
from autograph_cli.torch._core.running.calling import fast_tape
from autograph_cli.torch._core.tape.node import View
from autograph_cli.torch._core.tape.saved_tensors import SavedList
from tests.cases import for_each
from tests.torch.core.running import plain_functions
from tests.torch.core.running.plain_programs import observed

ROOT = Path(__file__).parents[4]
pytestmark = [
    pytest.mark.skipif(fast_tape() is None, reason="the compiled modules are not built, or AUTOGRAPH_PURE is set"),
    pytest.mark.filterwarnings("ignore"),
]


def test_programs_print_and_record_the_same_without_it() -> None:
    asked = [sys.executable, "-W", "ignore", "-m", "tests.torch.core.running.plain_programs"]
    done = subprocess.run(asked, cwd=ROOT, env=os.environ | {"AUTOGRAPH_PURE": "1"}, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    pure, here = json.loads(done.stdout), observed()
    assert here.keys() == pure.keys()
    for name, seen in here.items():
        assert seen == pure[name], name


def test_custom_functions_do_the_same_without_it() -> None:
    asked = [sys.executable, "-W", "ignore", "-m", "tests.torch.core.running.plain_functions"]
    done = subprocess.run(asked, cwd=ROOT, env=os.environ | {"AUTOGRAPH_PURE": "1"}, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert plain_functions.printed() == json.loads(done.stdout)


def wanted(*shape: int) -> Any:
    return torch.randn(shape, requires_grad=True)


PLAIN: dict[str, Any] = {
    "add": lambda: (wanted(2, 3), wanted(3), 2),
    "mul": lambda: (wanted(2, 3), wanted(2, 3)),
    "div": lambda: (torch.ones(3), wanted(2, 3)),
    "sin": lambda: (wanted(),),
    "exp": lambda: (wanted(2, 3),),
    "relu": lambda: (wanted(3),),
    "pow_Tensor_Scalar": lambda: (wanted(3), 2),
    "mm": lambda: (wanted(2, 3), torch.ones(3, 2)),
    "addmm": lambda: (wanted(2), wanted(2, 3), wanted(3, 2), 1, 1),
    "t": lambda: (wanted(2, 3),),
    "view": lambda: (wanted(2, 3), (6,)),
    "expand": lambda: (wanted(3).sum(), (2, 2)),
    "select": lambda: (wanted(2, 3) * 1, 0, 1),
    "cat": lambda: ([wanted(2), torch.ones(3)], 0),
    "stack": lambda: ([wanted(2), wanted(2)], 0),
    "index": lambda: (wanted(4), [torch.tensor([0, 2])]),
    "index_put": lambda: (wanted(4), [torch.tensor([0, 2])], wanted(2), False),
    "addcmul": lambda: (wanted(3), wanted(3), wanted(3), 1),
    "gt": lambda: (wanted(3), torch.zeros(3)),
    "copy": lambda: (torch.ones(3), wanted(3)),
    "sum_dim_IntList": lambda: (wanted(2, 3), (1,), True, None),
    "softmax": lambda: (wanted(2, 3), 1),
    "var": lambda: (wanted(2, 3), (1,), 1, False),
    "max_dim": lambda: (wanted(2, 3), 1, False),
    "native_layer_norm": lambda: (wanted(2, 3), (3,), wanted(3), None, 1e-5),
    "unbind": lambda: (wanted(2, 3), 0),
}
"""Operations that the tape runs, and arguments that are plain."""


CAST: dict[str, Any] = {
    "mul": lambda: (wanted(3), torch.arange(3)),
    "add": lambda: (torch.arange(3), wanted(2, 3).double(), 1),
    "div": lambda: (torch.arange(3), torch.tensor(2)),
    "exp": lambda: (torch.arange(3),),
    "sin": lambda: (torch.ones(3, dtype=torch.float16, requires_grad=True),),
    "eq": lambda: (torch.arange(3), torch.tensor(1)),
    "addcmul": lambda: (wanted(3), torch.arange(3), torch.ones(3, dtype=torch.float64), 1),
}
"""Operations whose arrays it casts."""


def told(x: Any) -> Any:
    """Return what two ways to make a tensor, a saved thing or a list of them must have in common."""
    if isinstance(x, (tuple, list)):
        return [told(one) for one in x]
    if isinstance(x, SavedList):
        return "list", told(x.tensors())
    raw = getattr(x, "_ag_raw", x)
    if not hasattr(raw, "dtype"):
        return raw
    edge = getattr(x, "_ag_edge", None)
    view = (edge.base._ag_raw.tolist(), edge.creation, edge.version) if isinstance(edge, View) else None
    return type(raw), raw.dtype, raw.shape, strides_of(raw), raw.tolist(), x._ag_counter, view


def made_by(run: Any, op: Any, args: Any) -> Any:
    """The results of an operation, their nodes, and the gradients that these give."""
    outputs = run(op, args)
    assert outputs is not None
    node = next((t.grad_fn for t in (outputs if op.multiple else [outputs]) if t.grad_fn is not None), None)
    if node is None:
        return told(outputs), None
    edges = [None if edge is None else (type(edge[0]), edge[1]) for edge in node._ag_edges]
    found = told(outputs), type(node), edges, node._ag_output_meta, told(node._ag_saved)
    roots = [t for t in (outputs if op.multiple else [outputs]) if t.grad_fn is not None]
    leaves = [
        x for given in args for x in (given if isinstance(given, list) else [given]) if isinstance(x, torch.Tensor)
    ]
    inputs = [x for x in leaves if x.requires_grad]
    return found, told(torch.autograd.grad([t.sum() for t in roots], inputs))


@for_each(("name", "args"), [*PLAIN.items(), *CAST.items()])
def test_it_makes_what_dispatch_makes(name: str, args: Any) -> None:
    found = []
    for way in (fast_tape().run, dispatch.run):
        torch.manual_seed(1)
        found.append(made_by(way, table[name], args()))
    assert found[0] == found[1]


CHANGES: dict[str, Any] = {
    "add": lambda x: (x, torch.ones(3), 2),
    "mul": lambda x: (x, x.detach().clone().requires_grad_()),
    "exp": lambda x: (x,),
    "relu": lambda x: (x,),
    "pow_Tensor_Scalar": lambda x: (x, 3),
    "addcmul": lambda x: (x, torch.ones(3), wanted(3), 1),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("view", [False, True])
def test_it_changes_in_place_as_dispatch_does(name: str, view: bool) -> None:
    op, found = table[name], []
    for change in (fast_tape().change, inplace._run_in_full):
        torch.manual_seed(2)
        leaf = wanted(2, 3)
        base = leaf * 1
        changed = change(op, CHANGES[name](base[0] if view else base))
        assert changed is not None
        node = changed.grad_fn
        (slope,) = torch.autograd.grad(base.sum(), leaf)
        found.append((told(changed), base._version, type(node), type(base.grad_fn), told(base), told(slope)))
    assert found[0] == found[1]


def test_what_is_not_plain_is_left_to_python() -> None:
    op = table["mul"]

    def run(*args: Any) -> Any:
        return fast_tape().run(op, args)

    x = torch.ones(3, requires_grad=True)
    assert run(x, x) is not None
    assert run(x, 2) is not None
    for other in (True, "a", None, torch.ones(3, device="meta"), [1]):
        assert run(x, other) is None
    change, made = fast_tape().change, x * 1
    assert change(op, (made, x)) is made
    for other in (True, "a", None, torch.ones(3, dtype=torch.float64), torch.ones(3, device="meta"), [1]):
        assert change(op, (made, other)) is None
    assert change(op, (torch.ones(1).expand(3), 2)) is None
    assert change(table["t"], (x,)) is None
    assert fast_tape().run(table["cat"], ([x, x], 0)) is not None
    assert fast_tape().run(table["cat"], ([x, torch.ones(3, device="meta")], 0)) is None


def test_what_transforms_leave_alone_is_plain() -> None:
    def run(*args: Any) -> Any:
        return fast_tape().run(table["mul"], args)

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


@pytest.mark.parametrize("shape", [(), (2,)])
def test_complex_numbers_have_no_absolute_value_in_place(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"In-place abs is not supported for complex tensors\."):
        torch.ones(shape, dtype=torch.complex64).abs_()
