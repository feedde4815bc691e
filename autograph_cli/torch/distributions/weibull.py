"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from ... import torch
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Waiting times for what becomes more likely with time (concentration > 1), or less (< 1).

    >>> from autograph_cli import torch
    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._own_transforms(), validate_args=validate_args)

    def _own_transforms(self) -> list[Any]:
        self.concentration_reciprocal = self.concentration.reciprocal()
        return [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]

    _ag_expand_into = TransformedDistribution._expand_parameters

    def _gamma(self, n: int) -> Any:
        return torch.exp(n * torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mean(self) -> Any:
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Any:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * self.concentration_reciprocal)) - self._gamma(2))

    def entropy(self) -> Any:
        rest = euler_constant * (1 - self.concentration_reciprocal)
        return rest + torch.log(self.scale * self.concentration_reciprocal) + 1
