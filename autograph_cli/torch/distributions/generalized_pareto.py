"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The excess over a threshold `loc`: tails that fall off by a power, exponentially (concentration 0), or end.

    >>> from autograph_cli import torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def _shape(self, nothing: Any) -> tuple[Any, Any]:
        """Return where the concentration is close to `nothing`, and the concentration with 1 in these positions."""
        zero = torch.isclose(self.concentration, nothing)
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, shape = self._shape(torch.tensor(0.0))
        y = 1 / shape + torch.ones_like(z)
        power = torch.where(y == 0, y, y * torch.log1p(shape * z))
        log_scale = math.log(self.scale) if isinstance(self.scale, Real) else self.scale.log()
        return -log_scale - torch.where(zero, z, power)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of a greater value."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, shape = self._shape(torch.tensor(0.0))
        return torch.where(zero, -z, -torch.log1p(shape * z) / shape)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of a value up to `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        zero, shape = self._shape(torch.zeros_like(self.concentration))
        rest = torch.log1p(-value)
        power = self.loc + self.scale / shape * torch.expm1(-shape * rest)
        return torch.where(zero, self.loc - self.scale * rest, power)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Any:
        known = self.concentration < 1
        safe = torch.where(known, self.concentration, 0.5)
        return torch.where(known, self.loc + self.scale / (1 - safe), torch.full_like(self.concentration, math.inf))

    @property
    def variance(self) -> Any:
        known = self.concentration < 0.5
        safe = torch.where(known, self.concentration, 0.25)
        result = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return torch.where(known, result, torch.full_like(self.concentration, math.inf))

    mode = property(lambda self: self.loc)

    def entropy(self) -> Any:
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)
