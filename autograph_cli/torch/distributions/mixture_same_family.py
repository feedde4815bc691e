"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A `Categorical` chooses which of the distributions along the last batch dimension draws.

    ValueError for other mixtures, or for batches that do not fit.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0.0, 1.0]), 1.0)).mean
    tensor(0.5000)
    """

    arg_constraints: Any = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._check()
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def _check(self) -> None:
        mixture, component = self._mixture_distribution, self._component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        theirs, ours = mixture.batch_shape, component.batch_shape[:-1]
        for a, b in zip(reversed(theirs), reversed(ours), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({theirs}) is not compatible with "
                    f"`component_distribution.batch_shape`({ours})"
                )
        n, m = mixture.logits.shape[-1], component.batch_shape[-1]
        if n != m:
            raise ValueError(
                f"`mixture_distribution component` ({n}) does not equal `component_distribution.batch_shape[-1]` ({m})"
            )

    mixture_distribution = property(
        lambda self: self._mixture_distribution, doc="Which component is drawn: a `Categorical`."
    )
    component_distribution = property(
        lambda self: self._component_distribution, doc="The distributions that are mixed, as a batch."
    )
    has_rsample = False

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        made._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        made._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        made._num_component, made._event_ndims = self._num_component, self._event_ndims

    support = constraints.dependent_property(
        lambda self: constraints.MixtureSameFamilyConstraint(self._component_distribution.support)
    )

    def _of_each(self, value: Any) -> Any:
        """The value, for each component."""
        return value.unsqueeze(-1 - self._event_ndims)

    def _weights(self) -> Any:
        """The probabilities of the components, beside values of theirs."""
        probs = self._mixture_distribution.probs
        missing = len(self._batch_shape) - len(self._mixture_distribution.batch_shape)
        lead, last = probs.shape[:-1], probs.shape[-1:]
        return probs.reshape(
            (
                *lead,
                *(1,) * (missing if self._mixture_distribution.batch_shape else 0),
                *last,
                *(1,) * self._event_ndims,
            )
        )

    @property
    def mean(self) -> Any:
        return torch.sum(self._weights() * self._component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        weights, dim = self._weights(), -1 - self._event_ndims
        inside = torch.sum(weights * self._component_distribution.variance, dim=dim)
        between = torch.sum(weights * (self._component_distribution.mean - self._of_each(self.mean)).pow(2.0), dim=dim)
        return inside + between

    def cdf(self, x: Any) -> Any:
        each = self._component_distribution.cdf(self._of_each(x))
        return torch.sum(each * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Any) -> Any:
        if self._validate_args:
            self._validate_sample(x)
        each = self._component_distribution.log_prob(self._of_each(x))
        weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(each + weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            positions = chosen.reshape((*chosen.shape, *(1,) * (self._event_ndims + 1)))
            positions = positions.repeat((1,) * len(chosen.shape) + (1, *self._event_shape))
            return torch.gather(drawn, dim, positions).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
