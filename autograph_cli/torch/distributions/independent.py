"""Some of the independent distributions of a batch taken as one distribution of vectors."""

from __future__ import annotations

from typing import Any

from . import constraints
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """The last `reinterpreted_batch_ndims` dimensions of a batch as part of the value. ValueError for too many.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1).event_shape
    torch.Size([3])
    """

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = tuple(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + tuple(base_distribution.event_shape), validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(
        lambda self: self.base_dist.has_enumerate_support if self.reinterpreted_batch_ndims == 0 else False
    )
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @constraints.dependent_property
    def support(self) -> Any:
        inner, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(inner, count) if count else inner

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        inner = tuple(self._event_shape)[: self.reinterpreted_batch_ndims]
        made.base_dist = self.base_dist.expand((*batch_shape, *inner))
        made.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
