"""The device `meta`, against what real PyTorch says of it (meta.json, written by record_meta.py)."""

import json
import warnings

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._arrays.meta import Meta
from autograph_cli.torch._core.tape.tensor import make
from tests.cases import for_each
from tests.torch.core.record_meta import EXPECTED, cases, outcome

CASES = cases()
RECORDED = json.loads(EXPECTED.read_text())


def test_every_case_was_recorded():
    assert list(RECORDED) == list(CASES)


@for_each("name", CASES)
def test_as_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(torch, CASES[name]) == RECORDED[name]


# ---------------------------------------------------------------- arrays without memory

READERS = {
    "item": lambda a: a.item(),
    "bool": bool,
    "float": float,
    "int": int,
    "tolist": lambda a: a.tolist(),
    "asarray": np.asarray,
    "array": np.array,
    "memory": memoryview,
    "bytes": lambda a: a.tobytes(),
    "written into memory": lambda a: np.zeros(()).__setitem__(..., a),
    "added to memory": lambda a: np.add(1.0, a, out=np.zeros(())),
}


@pytest.mark.parametrize("name", READERS)
def test_no_element_can_be_read(name):
    with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
        READERS[name](Meta((), "float32"))


def laid_out(shape, order):
    return np.zeros([shape[d] for d in order]).transpose(np.argsort(order))


SHAPES = [
    ((2, 3, 4), (0, 1, 2)), ((2, 3, 4), (2, 0, 1)), ((5, 1, 3), (1, 2, 0)), ((4, 4), (1, 0)), ((3,), (0,)), ((), ()),
]  # fmt: skip
FUNCTIONS = {
    "sum of the first": lambda a: a.sum(0) if a.ndim else a,
    "sine": np.sin,
    "with itself turned": lambda a: a + a.T if len(set(a.shape)) < 2 else a,
    "copy": lambda a: a.copy("K"),
    "in C order": lambda a: a.copy(),
    "cast": lambda a: a.astype("int8"),
    "running": lambda a: np.cumsum(a, 0) if a.ndim else a,
    "stacked": lambda a: np.stack([a, a], -1),
    "joined": lambda a: np.concatenate([a, a], 0) if a.ndim else a,
    "new dimension": lambda a: a[None],
    "every second": lambda a: a[::2] if a.ndim else a,
    "flat": lambda a: a.reshape(-1),
    "pairs": lambda a: a.reshape(*a.shape[:-1], 1, -1) if a.ndim else a,
    "picked": lambda a: a[np.array([[0, 1], [1, 0]])] if a.ndim else a,
    "picked inside": lambda a: a[:, np.array([0, 0])] if a.ndim > 1 else a,
    "picked by two": lambda a: a[np.array([0, 1]), :, np.array([0, 0])] if a.ndim > 2 else a,
    "by rows": lambda a: np.take(a, np.array([0, 0, 1]), 0) if a.ndim else a,
    "product": lambda a: a @ a.swapaxes(-1, -2) if a.ndim > 1 else a,
    "comparison": lambda a: a > 0,
    "with a number": lambda a: np.float64(2) * a,
    "moved": lambda a: np.moveaxis(a, 0, -1) if a.ndim else a,
    "largest": lambda a: a.max(axis=-1, keepdims=True) if a.ndim else a,
}


@for_each("name", FUNCTIONS)
@for_each(("shape", "order"), SHAPES)
def test_geometry_is_that_of_numpy(name, shape, order):
    real = laid_out(shape, order)
    want, got = FUNCTIONS[name](real), FUNCTIONS[name](Meta(real.shape, real.dtype, real.strides))
    steps = [[s for s, n in zip(a.strides, a.shape, strict=True) if n > 1] for a in (want, got)]
    assert (got.shape, got.dtype, steps[1]) == (want.shape, want.dtype, steps[0])


def test_a_view_knows_its_place():
    whole = Meta((10, 10), "float32")
    part = whole[2:, 3]
    assert (part.address - whole.address, part.memory is whole.memory, np.shares_memory(part, whole)) == (
        4 * 23,
        True,
        True,
    )
    assert not np.shares_memory(whole, Meta((10, 10), "float32"))


def test_size_does_not_matter():
    a = Meta((10**6, 10**6), "float32")
    assert (np.exp(a - a.max(1, keepdims=True)) @ a.T).shape == (10**6, 10**6)


# ---------------------------------------------------------------- beside tensors with memory


@pytest.mark.parametrize(
    "run",
    [
        lambda m, c: m @ c.T,
        lambda m, c: c @ m.T,
        lambda m, c: m.add_(c),
        lambda m, c: c.add_(m),
        lambda m, c: torch.where(c > 0, m, c),
        lambda m, c: torch.nn.functional.conv1d(m[None], c[None]),
        lambda m, c: c[torch.zeros(1, dtype=torch.int64, device="meta")],
    ],
)
def test_devices_do_not_mix(run):
    """PyTorch lets some of these pass, and reads memory that is not there."""
    with pytest.raises(RuntimeError, match="is not on the expected device"):
        run(torch.empty(2, 3, device="meta"), torch.ones(2, 3))


def test_the_same_operations_are_recorded_as_on_the_cpu():
    def names(device):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 2)
        ).to(device)
        x = torch.randn(3, 4, device=device, requires_grad=True)
        gradient = torch.autograd.grad(model(x).square().mean(), x, create_graph=True)[0]
        found, waiting = [], [gradient.grad_fn]
        while waiting:
            node = waiting.pop()
            found.append(node.name())
            waiting += [after for after, _ in node.next_functions if after is not None]
        return sorted(found)

    assert names("meta") == names("cpu")


def test_a_result_that_depends_on_elements_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="aten::unique_consecutive"):
        torch.unique_consecutive(torch.empty(3, device="meta"))


def test_a_stand_in_of_any_shape_makes_a_tensor():
    assert make(Meta((2, 3), "float16")).shape == (2, 3)


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian"])
def test_whole_derivatives_have_no_memory_either(transform):
    x = torch.ones(3, device="meta")
    found = getattr(torch.func, transform)(lambda t: t.sin() if transform != "hessian" else t.sin().sum())(x)
    assert found.is_meta and found.shape == (3, 3)


def test_the_counter_of_a_normalization_stands_beside_its_statistics():
    assert torch.nn.BatchNorm1d(3, device="meta").num_batches_tracked.is_meta


@pytest.mark.parametrize("shape, order", [((1,), (0,)), ((3, 1), (0, 1)), ((2, 4, 3, 1), (0, 2, 1, 3))])
def test_a_copy_of_a_view_with_a_stride_of_0_has_no_memory_either(shape, order):
    one = torch.empty(shape, device="meta").permute(order)
    for x in (one, one.expand(*one.shape[:-1], 5)):
        for copy in (x.clone(), x.double(), x.contiguous(), torch.empty_like(x), x.reshape(-1)):
            assert copy.is_meta


def test_tangents_have_no_memory_either():
    x, tangent = torch.empty(3, 4, device="meta").t(), torch.empty(4, 3, device="meta")
    for function in (torch.sin, torch.sign, lambda x: x.clone().mul_(2)):
        assert all(found.is_meta for found in torch.func.jvp(function, (x,), (tangent,)))
