"""The Gumbel distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from ... import torch
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The greatest of many numbers that fall off exponentially.

    >>> from autograph_cli import torch
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torch.finfo(self.loc.dtype)
        low: Any = info.tiny
        high: Any = 1 - info.eps
        if not (isinstance(loc, Number) and isinstance(scale, Number)):
            low, high = torch.full_like(self.loc, low), torch.full_like(self.loc, high)
        super().__init__(
            Uniform(low, high, validate_args=validate_args), self._own_transforms(), validate_args=validate_args
        )

    def _own_transforms(self) -> list[Any]:
        return [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]

    _ag_expand_into = TransformedDistribution._expand_parameters

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)
