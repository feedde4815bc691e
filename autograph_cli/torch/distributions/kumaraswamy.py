"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moment(a: Any, b: Any, n: int) -> Any:
    """The expected n-th power."""
    shape = 1 + n / a
    return b * torch.exp(torch.lgamma(shape) + torch.lgamma(b) - torch.lgamma(shape + b))


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1, much like a beta distribution, with a simple distribution function.

    >>> from autograph_cli import torch
    >>> torch.distributions.Kumaraswamy(2.0, 1.0).mean
    tensor(0.6667)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros, ones = (torch.full_like(self.concentration0, n) for n in (0, 1))
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(zeros, ones, validate_args=validate_args), transforms, validate_args=validate_args)

    _ag_expand_into = Distribution._ag_expand_into

    @property
    def mean(self) -> Any:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        logarithm = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        logarithm[(b < 1) | (a < 1)] = math.nan
        return logarithm.exp()

    @property
    def variance(self) -> Any:
        return _moment(self.concentration1, self.concentration0, 2) - torch.pow(self.mean, 2)

    def entropy(self) -> Any:
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - torch.log(self.concentration1) - torch.log(self.concentration0)
