"""Gradients of leaves on a GPU are kept or copied, and memory that overlaps is refused, as on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch

pytestmark = pytest.mark.usefixtures("gpu")


def test_a_gradient_that_nobody_else_holds_is_not_copied() -> None:
    x = torch.ones(1 << 16, device="cuda", requires_grad=True)
    y = x.exp().sum()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    y.backward()
    # The gradient of the sum is a view of one number, that of `exp` is kept.
    assert torch.cuda.max_memory_allocated() - before < 2 * x.nbytes


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_gradient_is_laid_out_as_its_leaf(device: str) -> None:
    x = torch.ones(2, 3, 4, 5, device=device).contiguous(memory_format=torch.channels_last).requires_grad_()
    (x * torch.ones(2, 3, 4, 5, device=device)).sum().backward()
    assert x.grad.stride() == x.stride() == (60, 1, 15, 3)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_leaves_that_got_one_gradient_do_not_share_it(device: str) -> None:
    a, b = (torch.ones(3, device=device, requires_grad=True) for _ in range(2))
    (a + b).backward(torch.full((3,), 2.0, device=device))
    a.grad += 1
    assert (a.grad.tolist(), b.grad.tolist()) == ([3.0] * 3, [2.0] * 3)


OVERLAPPING: dict[str, Callable[[Any], Any]] = {
    "a part into another": lambda x: x[1:].add_(x[:-1]),
    "out=": lambda x: torch.exp(x[:-1], out=x[1:]),
}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", OVERLAPPING)
def test_memory_that_overlaps_is_not_written(name: str, device: str) -> None:
    with pytest.raises(
        RuntimeError, match="unsupported operation: some elements of the input tensor and the written-to"
    ):
        OVERLAPPING[name](torch.ones(4, device=device))
