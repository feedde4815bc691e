"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from ._half import Half
from .cauchy import Cauchy
from .transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The sizes of Cauchy numbers around 0.

    >>> from autograph_cli import torch
    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mean = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)

    def _as_given(self, value: Any) -> Any:
        return torch.as_tensor(value, dtype=self.scale.dtype)
