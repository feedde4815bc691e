"""How gamma and beta variates move with their shape: the numbers are of sixty digits, by mpmath."""

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._kernels import cpu

GAMMA = np.array(
    [
        (0.001, 1e-09, 2.014769392626168e-05),
        (0.5, 0.1, 0.5097655670826973),
        (0.5, 3, 2.9129424164403646),
        (1, 0.5, 0.806979116825318),
        (5, 5, 1.0339193521127075),
        (5, 1, 0.41468824768962703),
        (5, 12, 1.5508363766251059),
        (300, 290, 0.9836913479381038),
        (300, 330, 1.0489944554677773),
        (2000, 2000, 1.0000833374988094),
    ]
)
"""Shape, variate, slope."""
BETA = np.array(
    [
        (0.01, 0.01, 0.02, 37.90819941386521),
        (0.3, 0.5, 0.5, 1.3220415512632513),
        (0.7, 0.5, 0.5, 2.2494405929877455),
        (0.9, 0.2, 3, 2.0255406469507458),
        (0.2, 5, 20, 0.041912198746086),
        (0.5, 8, 8, 0.06516797233523608),
        (0.001, 0.7, 600, 0.0019159238682808155),
        (0.999, 400, 0.3, 0.0025009363511544784),
        (0.6, 300, 200, 0.0020024462808407514),
        (0.7, 2, 3, 0.3067515481969157),
    ]
)
"""Variate, both shapes, slope / (1 - variate)."""


def test_gamma_variates_move_as_mathematics_says():
    shape, variate, slope = GAMMA.T
    np.testing.assert_allclose(cpu._standard_gamma_grad(shape, variate), slope, rtol=1e-9)


def test_beta_variates_move_as_mathematics_says():
    variate, a, b, slope = BETA.T
    np.testing.assert_allclose(cpu._dirichlet_grad(variate, a, a + b), slope, rtol=1e-9)


def test_ends_and_empty_arrays():
    assert cpu._standard_gamma_grad(np.ones(2), np.array([0.0, 1e-300])).tolist() == pytest.approx([0.0, 0.0])
    assert cpu._dirichlet_grad(np.array([0.0, 1.0]), np.ones(2), np.full(2, 3.0)).tolist() == [0.0, 0.0]
    assert cpu._standard_gamma_grad(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)


def test_the_graph_is_that_of_pytorch():
    shape = torch.tensor([0.5, 2.0], requires_grad=True)
    drawn = torch.distributions.Gamma(shape, torch.tensor(2.0)).rsample()
    gamma = drawn.grad_fn.next_functions[0][0]
    assert gamma.name() == "StandardGammaBackward0"
    (slope,) = torch.autograd.grad(drawn.sum(), shape, create_graph=True)
    assert [node and node.name() for node, _ in slope.grad_fn.next_functions] == [None, "StandardGammaGradBackward0"]
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad' is not implemented"):
        torch.autograd.grad(slope.sum(), shape)
    drawn = torch.distributions.Dirichlet(shape).rsample()
    assert drawn.grad_fn.name() == "_DirichletBackward"
    (slope,) = torch.autograd.grad(drawn[0], shape, create_graph=True)
    assert not slope.requires_grad


def test_elements_of_a_dirichlet_sample_move_by_nothing_together():
    shape = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    drawn = torch.distributions.Dirichlet(shape).rsample((5,))
    (slope,) = torch.autograd.grad(drawn.sum(), shape)
    assert slope.abs().max() < 1e-12


COUNTS = [
    [0, 0, 0, 0, 2, 13, 978, 0],
    [0, 0, 1, 9, 21, 203, 20036, 2],
    [0, 1, 3, 17, 44, 482, 49960, 4],
    [0, 1, 4, 31, 75, 695, 69975, 3],
    [0, 1, 5, 40, 100, 999, 99900, 7],
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_counts_are_the_numbers_of_pytorch(dtype):
    torch.manual_seed(0)
    rates = torch.tensor([0.0, 0.3, 2.0, 9.9, 10.0, 50.0, 1000.0, 3.3], dtype=dtype)
    assert torch.poisson(rates).tolist() == [0, 1, 4, 10, 7, 40, 973, 5]
    trials = torch.tensor([0.0, 1, 5, 40, 100, 1000, 100000, 7], dtype=dtype)
    assert [torch.binomial(trials, torch.full_like(trials, p)).tolist() for p in (0.01, 0.2, 0.5, 0.7, 0.999)] == COUNTS
    assert torch.rand(1).item() == 0.2880874276161194


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (
            lambda: torch.poisson(torch.tensor(-1.0)),
            RuntimeError,
            "invalid Poisson rate, expected rate to be non-negative",
        ),
        (lambda: torch.poisson(torch.tensor([1])), NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'"),
        (
            lambda: torch.binomial(torch.tensor([1]), torch.tensor([0.5])),
            ValueError,
            "binomial only supports floating-point dtypes for count, got: Long",
        ),
        (
            lambda: torch.vmap(torch.poisson)(torch.ones(2)),
            RuntimeError,
            "vmap: called random operation while in randomness error mode",
        ),
        (
            lambda: torch.vmap(torch.poisson, randomness="same")(torch.ones(2)),
            RuntimeError,
            "Vmap does not currently support same randomness",
        ),
    ],
)
def test_refusals_are_in_the_words_of_pytorch(make, kind, text):
    with pytest.raises(kind, match=text):
        make()
