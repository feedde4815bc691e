"""The sizes of numbers that are spread alike on both sides of 0."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .transformed_distribution import TransformedDistribution


class Half(TransformedDistribution):
    """A base distribution around 0 without its sign: each density is twice as high."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    scale = property(lambda self: self.base_dist.scale, doc="The scale of the distribution that this one is made of.")
    mode = property(lambda self: torch.zeros_like(self.scale))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        value = self._as_given(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def _as_given(self, value: Any) -> Any:
        """The value whose density is asked for."""
        return value

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
