"""Resizing: elements go where they belong, and nowhere else, on short lines and on long ones."""

import math

import numpy as np
import pytest

from autograph_cli import torch

NN = torch.nn.functional
CASES = [
    # mode, dimensions, which element is bad, results that are bad in PyTorch, elements whose gradient is
    ("nearest", 1, 3, 2, 1),
    ("nearest", 2, 7, 4, 1),
    ("linear", 1, 3, 4, 2),
    ("bilinear", 2, 7, 25, 4),
    ("bicubic", 2, 7, 49, 8),
    ("trilinear", 3, 7, 75, 8),
]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(("mode", "dims", "where", "results", "gradients"), CASES)
def test_what_is_not_finite_stays_where_it_belongs(
    mode: str, dims: int, where: int, results: int, gradients: int, bad: float
) -> None:
    x = torch.arange(1.0, 1 + 6**dims)
    x[where] = bad
    x = x.reshape(1, 1, *[6] * dims).requires_grad_()
    y = NN.interpolate(x, scale_factor=2, mode=mode)
    incoming = torch.ones_like(y)
    incoming.view(-1)[5] = bad
    y.backward(incoming)
    assert (~y.isfinite()).sum() == results
    assert (~x.grad.isfinite()).sum() == gradients


def test_the_gradient_of_averages_of_bins_that_is_not_finite_stays_there() -> None:
    x = torch.ones(1, 1, 6, 6).requires_grad_()
    incoming = torch.ones(1, 1, 3, 3)
    incoming[0, 0, 1, 1] = math.inf
    NN.adaptive_avg_pool2d(x, 3).backward(incoming)
    assert (~x.grad.isfinite()).sum() == 4


@pytest.mark.parametrize("n", [6, 100, 30_000])
def test_lines_of_any_length_have_the_sums_of_their_weights(n: int) -> None:
    x = torch.from_numpy(np.random.default_rng(n).standard_normal(n)).requires_grad_()
    y = NN.interpolate(x[None, None], size=2 * n, mode="linear")[0, 0]
    at = np.clip((np.arange(2 * n) + 0.5) / 2 - 0.5, 0, n - 1)
    assert np.allclose(y.detach().numpy(), np.interp(at, np.arange(n), x.detach().numpy()))
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), 2.0)
