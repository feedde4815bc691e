"""Distributions against what PyTorch gave (record_distributions.py writes it)."""

import importlib
import json
import warnings

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch import record_distributions as recorded

EXPECTED = json.loads(recorded.EXPECTED.read_text())
D, C = torch.distributions, torch.distributions.constraints


def near(ours, theirs, tolerance):
    if isinstance(theirs, list):
        return (
            isinstance(ours, list)
            and len(ours) == len(theirs)
            and all(near(a, b, tolerance) for a, b in zip(ours, theirs, strict=True))
        )
    if isinstance(theirs, dict):
        return (
            isinstance(ours, dict)
            and ours.keys() == theirs.keys()
            and all(near(ours[k], theirs[k], tolerance) for k in theirs)
        )
    if isinstance(theirs, float) and not isinstance(ours, str):
        return abs(ours - theirs) <= tolerance * max(1.0, abs(theirs))
    return ours == theirs


def same(ours, theirs, name):
    ours = json.loads(json.dumps(ours))
    for key, wanted in theirs.items():
        fitted = key == "rsample" and (name in recorded.FITTED or "Gamma" in name)
        tolerance = 3e-3 if fitted else 1e-5 if key == "narrow" else 1e-7
        found = ours[key]
        if (
            name.startswith("Wishart") and key == "rsample"
        ):  # PyTorch cannot differentiate these samples: it changes a mask that it has saved
            found, wanted = found[:-1], wanted[:-1]
        assert near(found, wanted, tolerance), f"{name}: {key}"


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@for_each("name", recorded.CASES)
def test_samples_densities_graphs_and_gradients_are_those_of_pytorch(name):
    same(recorded.observe(torch, name), EXPECTED["distributions"][name], name)


@pytest.mark.parametrize("code", recorded.MADE)
def test_what_is_made_of_other_distributions_is_that_of_pytorch(code):
    same(recorded.observe_made(torch, code), EXPECTED["made"][code], code)


@for_each("code", recorded.TRANSFORMS)
def test_transforms_are_those_of_pytorch(code):
    same(recorded.observe_transform(torch, code), EXPECTED["transforms"][code], code)


def test_constraints_are_those_of_pytorch():
    for code in recorded.CONSTRAINTS:
        same(recorded.observe_constraint(torch, code), EXPECTED["constraints"][code], code)


def test_every_pair_has_the_divergence_of_pytorch_with_its_graph_or_none():
    found = json.loads(json.dumps(recorded.divergences(torch)))
    assert [pair for pair, wanted in EXPECTED["divergences"].items() if not near(found[pair], wanted, 1e-7)] == []


def test_refusals_are_in_the_words_of_pytorch():
    found = recorded.refusals(torch)
    assert {code: text for code, text in found.items() if text != EXPECTED["refusals"][code]} == {}


def test_modules_have_the_names_of_pytorch():
    for name in """
        normal.Normal categorical.Categorical kl.kl_divergence multivariate_normal.MultivariateNormal
        utils.broadcast_all transforms.ExpTransform constraint_registry.biject_to studentT.StudentT
        relaxed_categorical.ExpRelaxedCategorical
    """.split():
        module, _, attribute = name.partition(".")
        assert hasattr(importlib.import_module(f"{D.__name__}.{module}"), attribute)


def test_a_subclass_that_gives_little_has_the_rest():
    class Half(D.Distribution):
        arg_constraints: dict[str, C.Constraint] = {"size": C.positive}  # noqa: RUF012

        def __init__(self, size, validate_args=None):
            self.size = size
            super().__init__(size.shape, validate_args=validate_args)

        @C.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return C.interval(0.0, self.size)

        def rsample(self, sample_shape=()):
            return torch.rand(self._extended_shape(sample_shape)) * self.size

    half = Half(torch.tensor([1.0, 2.0]))
    assert (half.batch_shape, half.sample((3,)).shape, repr(half)) == ((2,), (3, 2), "Half(size: torch.Size([2]))")
    assert (Half.support.event_dim, C.is_dependent(Half.support)) == (0, True)
    with pytest.raises(ValueError, match="within the support"):
        half._validate_sample(torch.tensor([3.0, 1.0]))
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        Half(torch.tensor([-1.0]))


def test_a_divergence_can_be_registered_for_a_class_of_a_script():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def _mine(p, q):
        return torch.tensor(7.0)

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)) == 7
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.Normal(0.0, 1.0),
        lambda: D.Gamma(2.0, 3.0),
        lambda: D.Beta(2.0, 3.0),
        lambda: D.Weibull(1.0, 2.0),
        lambda: D.Kumaraswamy(2.0, 3.0),
        lambda: D.Gumbel(0.5, 2.0),
        lambda: D.GeneralizedPareto(0.1, 1.0, 0.2),
        lambda: D.ContinuousBernoulli(0.3),
        lambda: D.Laplace(0.0, 1.0),
        lambda: D.StudentT(4.0),
    ],
)
def test_densities_add_up_to_one(make):
    x = torch.linspace(-3.1415, 60, 60001, dtype=torch.float64)
    d = make()
    inside = d.support.check(x)
    density = torch.where(inside, d.log_prob(torch.where(inside, x, d.mean.double())).exp(), 0.0)
    density = torch.where(density.isfinite(), density, 0.0)
    total = torch.trapezoid(density, x).item()
    low = d.cdf(x[0]).item() if not isinstance(d, (D.StudentT, D.Beta)) and inside[0] else 0.0
    assert total + low == pytest.approx(1.0, abs=0.04 if isinstance(d, D.StudentT) else 3e-3)


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale.item() == -1.0
    finally:
        D.Distribution.set_default_validate_args(True)


def test_a_subclass_with_an_init_and_an_expand_of_its_own_is_expanded_by_it():
    class Twice(D.Normal):
        def __init__(self, other):
            super().__init__(2 * other.loc, other.scale)

        def expand(self, batch_shape, _instance=None):
            return super().expand(batch_shape, self._get_checked_instance(Twice, _instance))

    class WithoutExpand(Twice):
        def __init__(self):
            super().__init__(D.Normal(1.0, 2.0))

    made = Twice(D.Normal(1.0, 2.0)).expand((3,))
    assert type(made) is Twice
    assert made.loc.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(NotImplementedError, match=r"Subclass WithoutExpand of Twice .* must also define a custom"):
        WithoutExpand().expand((3,))
