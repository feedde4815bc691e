"""Bernoulli distributions made continuous, so that samples have gradients."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import ByOdds, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByOdds, Distribution):
    """The log-odds of a `RelaxedBernoulli`: logistic numbers around `logits`, over the temperature."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.shape, (), validate_args)

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        super()._ag_expand_into(made, batch_shape)
        made.temperature = self.temperature

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        uniform = clamp_probs(torch.rand(shape, dtype=probs.dtype))
        return (uniform.log() - (-uniform).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value.mul(self.temperature)
        return self.temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1, the nearer to both ends the lower the temperature.

    >>> from autograph_cli import torch
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor(0.25)).support
    Interval(lower_bound=0.0, upper_bound=1.0)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    temperature = property(
        lambda self: self.base_dist.temperature,
        doc="How far samples may be from the corners: 0 is a discrete distribution.",
    )
    logits = property(lambda self: self.base_dist.logits, doc="The unnormalized logarithms of the probabilities.")
    probs = property(lambda self: self.base_dist.probs, doc="The probabilities.")
