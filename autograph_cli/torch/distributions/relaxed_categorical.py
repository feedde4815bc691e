"""Categorical distributions made continuous, so that samples have gradients."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import OfCategorical, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical, Distribution):
    """The logarithms of a `RelaxedOneHotCategorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical._param.shape[-1:], validate_args)

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        made.temperature, made._categorical = self.temperature, self._categorical.expand(batch_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        uniform = clamp_probs(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits + -((-(uniform.log())).log())) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        n = self._categorical._num_events
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = torch.full_like(self.temperature, float(n)).lgamma() - self.temperature.log().mul(-(n - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of probabilities, the nearer to one position the lower the temperature.

    >>> from autograph_cli import torch
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = property(
        lambda self: self.base_dist.temperature,
        doc="How far samples may be from the corners: 0 is a discrete distribution.",
    )
    logits = property(lambda self: self.base_dist.logits, doc="The unnormalized logarithms of the probabilities.")
    probs = property(lambda self: self.base_dist.probs, doc="The probabilities.")
