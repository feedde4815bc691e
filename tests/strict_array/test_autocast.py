"""Autocast on a GPU: each call of PyTorch's own lists has the dtype that they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograph_cli import torch
from tests.strict_array.record_autocast import FILE

ROWS = json.loads(FILE.read_text())
pytestmark = pytest.mark.usefixtures("gpu")


def made(x: Any) -> Any:
    """An argument: floats between 0 and 1, which every function takes."""
    if isinstance(x, list):
        return tuple(map(made, x))
    if not isinstance(x, dict):
        return x
    kind = getattr(torch, x["dtype"])
    if x["elements"] is not None:
        return torch.tensor(x["elements"], dtype=kind).reshape(x["shape"]).cuda()
    return torch.rand(x["shape"]).mul(0.8).add(0.1).to(kind).cuda()


def called(row: dict[str, Any]) -> Any:
    where = torch
    for part in row["in"].split(".")[1:]:
        where = getattr(where, part)
    args = [made(x) for x in row["args"]]
    with torch.autocast("cuda"):
        return getattr(where, row["name"])(*args, **row["kwargs"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['in']}.{row['name']}-{ROWS.index(row)}")
@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
def test_a_result_has_the_dtype_of_pytorchs_lists(row: dict[str, Any]) -> None:
    torch.manual_seed(0)
    if row["dtype"] is None:
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            called(row)
        return
    found = called(row)
    assert (found[0] if isinstance(found, tuple) else found).dtype == getattr(torch, row["dtype"])


def test_a_network_trains_with_a_gradient_scaler() -> None:
    torch.manual_seed(0)
    model, images, labels = torch.nn.Linear(4, 3).cuda(), torch.randn(8, 4).cuda(), torch.arange(8).cuda() % 3
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.5), torch.amp.GradScaler("cuda")
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            scores = model(images)
            loss = torch.nn.functional.cross_entropy(scores, labels)
        assert (scores.dtype, loss.dtype) == (torch.float16, torch.float32)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert model.weight.grad.dtype is torch.float32
    assert losses == sorted(losses, reverse=True)
    assert scaler.get_scale() == 65536.0


def test_regions_of_a_gpu_and_of_the_cpu_are_apart() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("cuda"):
        assert (x @ x).dtype is torch.float32
        with torch.autocast("cpu"):
            assert (x @ x).dtype is torch.bfloat16
            assert (x.cuda() @ x.cuda()).dtype is torch.float16
            assert torch.nn.functional.cosine_similarity(x.bfloat16(), x.bfloat16()).dtype is torch.bfloat16
    with torch.autocast("cpu"):
        assert (x.cuda() @ x.cuda()).dtype is torch.float32
    assert not torch.is_autocast_enabled("cuda")


def test_a_sum_records_the_dtype_that_it_is_given() -> None:
    x = torch.ones(3, dtype=torch.float16, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        total = x.sum()
        twice = x.sum(dtype=torch.float64)
    assert (total.dtype, twice.dtype) == (torch.float32, torch.float64)
    assert total.grad_fn.name() == "SumBackward0"
    assert total.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    total.backward()
    assert x.grad.dtype is torch.float16
