"""DistributedDataParallel in one process: what it refuses, in PyTorch's words, and how it reduces its buckets."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch import distributed as dist, nn
from autograph_cli.torch.distributed._buckets import assign
from autograph_cli.torch.nn.parallel import DistributedDataParallel as DDP


@pytest.fixture(autouse=True)
def one_process() -> Iterator[None]:
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Two(nn.Module):
    """Two layers, of which each call uses one, both in a row, or both side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: Any, how: str = "a") -> Any:
        if how == "apart":
            return self.a(x), self.b(x)
        return self.b(self.a(x)) if how == "both" else self.a(x)


X = torch.ones(1, 2)


def train(model: Any, how: str = "a") -> None:
    out = model(X, how)
    (out[0] if how == "apart" else out).sum().backward()


def train_twice(model: Any, first: str, second: str) -> None:
    train(model, first)
    train(model, second)
    model(X)


def use_outside(model: Any) -> None:
    (model(X) + model.module.b(X)).sum().backward()


def differentiate_twice(model: Any) -> None:
    model(X, "both").pow(2).sum().backward(create_graph=True)


REFUSED = [
    (lambda: DDP(nn.ReLU()), RuntimeError, "is not needed when a module doesn't have any parameter that requires a gradient"),
    (lambda: DDP(nn.LazyLinear(2)), RuntimeError, "Modules with uninitialized parameters can't be used"),
    (lambda: DDP(Two(), device_ids=[0, 1]), ValueError, "device_ids can only be None or contain a single element."),
    (lambda: DDP(Two(), device_ids=[0]), ValueError, "but got device_ids \\[0\\], output_device None, and module parameters"),
    (lambda: DDP(Two()).register_comm_hook(None, 3), TypeError, "Communication hook must be callable."),
    (lambda: train_twice(DDP(Two()), "a", "a"), RuntimeError, "were not used in producing loss. You can enable unused.*: b.weight, b.bias\n.*: 2 3$"),
    (lambda: train_twice(DDP(Two(), static_graph=True), "a", "both"), RuntimeError, "parameter is unused in first iteration, but then got used"),
    (lambda: train_twice(DDP(Two(), static_graph=True), "both", "a"), RuntimeError, "parameter is used in first iteration, but then got unused"),
    (lambda: use_outside(DDP(Two(), find_unused_parameters=True)), RuntimeError, "has been marked as ready twice"),
    (lambda: differentiate_twice(DDP(Two())), RuntimeError, "does not average gradients that have a graph"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_what_is_refused_and_how(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=f"(?s){words}"):
        call()


def test_a_sparse_gradient_is_refused_by_its_name() -> None:
    model = DDP(nn.Sequential(nn.Embedding(3, 2, sparse=True)))
    with pytest.raises(RuntimeError, match=r"that of 0.weight is sparse"):
        model(torch.tensor([1])).sum().backward()


def test_there_is_one_hook() -> None:
    model = DDP(Two())
    model.register_comm_hook(None, lambda state, bucket: None)
    with pytest.raises(RuntimeError, match="can only be called once"):
        model.register_comm_hook(None, lambda state, bucket: None)


@pytest.mark.parametrize(
    "options", [{}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}, {"static_graph": True}]
)
def test_gradients_are_those_of_the_module(options: Any) -> None:
    plain = Two()
    model = DDP(copy.deepcopy(plain), **options)
    for _ in range(3):
        train(plain, "both")
        train(model, "both")
    for p, q in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(p.grad, q.grad)


@pytest.mark.parametrize("options", [{"find_unused_parameters": True}, {"static_graph": True}])
def test_what_no_rank_uses_has_no_gradient(options: Any) -> None:
    model = DDP(Two(), **options)
    for _ in range(2):
        train(model)
    assert [name for name, p in model.named_parameters() if p.grad is None] == ["module.b.weight", "module.b.bias"]


def test_an_output_that_the_loss_does_not_use_is_found_behind_the_sink() -> None:
    model = DDP(Two(), find_unused_parameters=True)
    train(model, "apart")
    train(model, "apart")
    assert [p.grad is None for p in model.parameters()] == [False, False, True, True]
    assert model(X).grad_fn.name() == "_DDPSinkBackward"


def test_gradients_are_views_of_buckets_where_that_is_asked_for() -> None:
    model = DDP(Two(), gradient_as_bucket_view=True)
    train(model, "both")
    train(model, "both")
    assert len({p.grad.untyped_storage().data_ptr() for p in model.parameters()}) == 1


def test_a_module_is_loaded_again_with_its_reducer() -> None:
    model = copy.deepcopy(DDP(Two()))
    train(model, "both")
    assert all(p.grad is not None for p in model.parameters())
    assert next(iter(model.state_dict())) == "module.a.weight"


def buckets_of(steps: int, **options: Any) -> list[list[int]]:
    """The sizes of the buckets of each step, in the order in which they are reduced."""
    model = DDP(nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)]), **options)
    seen: list[list[int]] = []

    def note(state: Any, bucket: Any) -> Any:
        if bucket.index() == 0:
            seen.append([])
        seen[-1].append(bucket.buffer().numel())
        future: Any = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    model.register_comm_hook(None, note)
    for _ in range(steps):
        model(torch.ones(1, 4)).sum().backward()
    return seen


LIMIT = {"bucket_cap_mb": 0.0001}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[80], [80], [80]]),
        (LIMIT, [[80], [40, 40], [40, 40]]),
        ({**LIMIT, "static_graph": True}, [[80], [80], [40, 40]]),
        ({**LIMIT, "find_unused_parameters": True}, [[4, 40, 36]] * 3),
    ],
)
def test_buckets_are_made_anew_once_the_order_of_gradients_is_known(options: Any, expected: Any) -> None:
    assert buckets_of(3, **options) == expected  # as PyTorch has them


def test_the_first_bucket_is_smaller_and_each_dtype_has_its_own() -> None:
    tensors = [torch.ones(10), torch.ones(10), torch.ones(4, dtype=torch.float64), torch.ones(10), torch.ones(10)]
    assert assign(tensors, [40, 80], range(5)) == [[0], [1, 3], [2], [4]]


def test_no_sync_leaves_the_reduction_to_the_next_pass() -> None:
    model, reduced = DDP(Two()), []

    def note(state: Any, bucket: Any) -> Any:
        reduced.append(bucket.index())
        future: Any = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    model.register_comm_hook(None, note)
    with model.no_sync():
        train(model, "both")
    assert reduced == []
    train(model, "both")
    assert reduced == [0]


def test_parameters_that_are_ignored_are_not_reduced() -> None:
    module = Two()
    DDP._set_params_and_buffers_to_ignore_for_model(module, ["b.weight", "b.bias"])
    model = DDP(module)
    for _ in range(2):
        train(model)
    assert model.reducer.names == ["a.weight", "a.bias"]
