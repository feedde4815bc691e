"""The distribution of Lewandowski, Kurowicka and Joe, of lower factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower factors of correlation matrices of size `dim`, all alike for concentration 1, the weaker correlated the
    higher it is.

    ValueError for a size below 2.

    >>> from autograph_cli import torch
    >>> torch.distributions.LKJCholesky(3).event_shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = torch.arange(dim - 1, dtype=self.concentration.dtype)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        """By the onion method: row by row, a direction and how far to go."""
        with torch.no_grad():
            length = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = torch.randn(self._extended_shape(sample_shape), dtype=length.dtype).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)
            rows = torch.sqrt(length) * direction
            tiny = torch.finfo(rows.dtype).tiny
            diagonal = torch.clamp(1 - torch.sum(rows**2, dim=-1), min=tiny).sqrt()
            return rows + torch.diag_embed(diagonal)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - torch.arange(2, self.dim + 1)
        unnormalized = torch.sum(order * diagonal.log(), dim=-1)
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n
        return unnormalized - normalizer
