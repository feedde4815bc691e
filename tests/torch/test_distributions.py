"""Distributions against what PyTorch gave (record_distributions.py writes it)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from tests.torch.record_distributions import CASES, EXPECTED, FITTED, observe

RECORDED = json.loads(EXPECTED.read_text())
D = torch.distributions


def same(ours, theirs, where, tolerance=1e-9):
    if isinstance(theirs, dict):
        for key in theirs:
            same(ours[key], theirs[key], f"{where}: {key}", tolerance)
    elif theirs is None:
        assert ours is None, where
    else:
        tolerance = 1e-5 if where == "narrow" else tolerance
        np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=tolerance, atol=tolerance, err_msg=where)


@pytest.mark.parametrize("name", CASES)
def test_samples_densities_and_gradients_are_those_of_pytorch(name):
    found = observe(torch, name)
    for key, value in RECORDED[name].items():
        same(found[key], value, key, 2e-3 if name in FITTED and key == "gradient of rsample" else 1e-9)


def test_independent_takes_a_batch_as_one_value():
    d = D.Independent(D.Normal(torch.zeros(4, 3), torch.ones(4, 3)), 1)
    assert (tuple(d.batch_shape), tuple(d.event_shape)) == ((4,), (3,))
    assert d.log_prob(torch.zeros(4, 3)).shape == (4,)
    assert torch.equal(D.kl_divergence(d, d), torch.zeros(4))
    assert repr(d) == "Independent(Normal(loc: torch.Size([4, 3]), scale: torch.Size([4, 3])), 1)"


REFUSED = [
    (lambda: D.Normal(torch.tensor([0.0]), torch.tensor([-1.0])), ValueError,
     r"Expected parameter scale \(Tensor of shape \(1,\)\) of distribution Normal\(loc: tensor\(\[0.\]\), scale: tensor\(\[-1.\]\)\) to satisfy the constraint GreaterThan\(lower_bound=0.0\), but found invalid values:\ntensor\(\[-1.\]\)"),
    (lambda: D.Bernoulli(0.5).log_prob(torch.tensor(0.3)), ValueError,
     r"Expected value argument \(Tensor of shape \(\)\) to be within the support \(Boolean\(\)\) of the distribution Bernoulli\(probs: 0.5\), but found invalid values:\n0.30000001192092896"),
    (lambda: D.Bernoulli(), ValueError, "Either `probs` or `logits` must be specified, but not both."),
    (lambda: D.Uniform(1.0, 0.0), ValueError, "Uniform is not defined when low>= high"),
    (lambda: D.Categorical(torch.tensor(0.5)), ValueError, "`probs` parameter must be at least one-dimensional."),
    (lambda: D.Normal(0.0, 1.0).log_prob(1.0), ValueError, "The value argument to log_prob must be a Tensor"),
    (lambda: D.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2)), ValueError, "Value is not broadcastable with batch_shape"),
    (lambda: D.MultivariateNormal(torch.zeros(2)), ValueError, "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."),
    (lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.5)), NotImplementedError, r"No KL\(p \|\| q\) is implemented for p type Normal and q type Bernoulli"),
    (lambda: D.Normal("a", 1.0), ValueError, "Input arguments must all be instances of Number"),
    (lambda: D.Weibull, AttributeError, "torch.distributions.Weibull is not available"),
]  # fmt: skip


@pytest.mark.parametrize("make, kind, text", REFUSED, ids=[text for _, _, text in REFUSED])
def test_refusals_are_in_the_words_of_pytorch(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0


def test_all_values_can_be_listed():
    assert D.Categorical(torch.ones(2, 3)).enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert D.Bernoulli(torch.ones(2)).enumerate_support(expand=False).tolist() == [[0.0], [1.0]]
