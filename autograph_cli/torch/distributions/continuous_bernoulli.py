"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .bernoulli import cross_entropy
from .constraints import holds
from .exp_family import ExponentialFamily
from .utils import ByOdds, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByOdds, ExponentialFamily):
    """Numbers from 0 to 1 with a density in proportion to p**x (1 - p)**(1 - x).

    Between the two limits `lims` around one half, where formulas are unstable, a Taylor series is used.

    >>> from autograph_cli import torch
    >>> torch.distributions.ContinuousBernoulli(0.25).mean
    tensor(0.4102)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not holds(self.arg_constraints["probs"].check(self.probs.detach())):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, (), validate_args)

    probs: Any = lazy_property(lambda self: clamp_probs(logits_to_probs(self.logits, is_binary=True)))

    def _stable(self) -> Any:
        return torch.max(torch.le(self.probs, self._lims[0]), torch.gt(self.probs, self._lims[1]))

    def _cut(self) -> Any:
        """The probabilities, moved out of the unstable region."""
        return torch.where(self._stable(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Any:
        """The logarithm of what the density is multiplied by."""
        cut = self._cut()
        below = torch.where(torch.le(cut, 0.5), cut, torch.zeros_like(cut))
        above = torch.where(torch.ge(cut, 0.5), cut, torch.ones_like(cut))
        found = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut))) - torch.where(
            torch.le(cut, 0.5), torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0)
        )
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._stable(), found, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        cut, x = self._cut(), self.probs - 0.5
        found = cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut))
        return torch.where(self._stable(), found, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    stddev = property(lambda self: torch.sqrt(self.variance))

    @property
    def variance(self) -> Any:
        cut = self._cut()
        found = cut * (cut - 1.0) / torch.pow(1.0 - 2.0 * cut, 2) + 1.0 / torch.pow(
            torch.log1p(-cut) - torch.log(cut), 2
        )
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._stable(), found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -cross_entropy(*broadcast_all(self.logits, value)) + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        cut = self._cut()
        found = (torch.pow(cut, value) * torch.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        found = torch.where(self._stable(), found, value)
        inside = torch.where(torch.ge(value, 1.0), torch.ones_like(value), found)
        return torch.where(torch.le(value, 0.0), torch.zeros_like(value), inside)

    def icdf(self, value: Any) -> Any:
        cut = self._cut()
        found = (torch.log1p(-cut + value * (2.0 * cut - 1.0)) - torch.log1p(-cut)) / (
            torch.log(cut) - torch.log1p(-cut)
        )
        return torch.where(self._stable(), found, value)

    def entropy(self) -> Any:
        log0, log1 = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = (limit - 0.5 for limit in self._lims)
        stable = torch.max(torch.le(x, low), torch.gt(x, high))
        cut = torch.where(stable, x, low * torch.ones_like(x))
        found = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(stable, found, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)
