"""Some of the independent distributions of a batch taken as one distribution of vectors."""

from __future__ import annotations

from typing import Any

from .constraints import Constraint
from .distribution import Distribution


class Independent(Distribution):
    """The last `reinterpreted_batch_ndims` dimensions of a batch as part of the value. ValueError for too many.

    >>> from autograph_cli import torch
    >>> D = torch.distributions
    >>> D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1).event_shape
    torch.Size([3])
    """

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
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

    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]
    mean = property(lambda self: self.base_dist.mean)  # type: ignore[assignment]
    mode = property(lambda self: self.base_dist.mode)  # type: ignore[assignment]
    variance = property(lambda self: self.base_dist.variance)  # type: ignore[assignment]

    @property
    def support(self) -> Constraint:  # type: ignore[override]
        inner, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return Constraint(
            f"IndependentConstraint({inner!r}, {count})", lambda x: sum_last(inner.check(x), count, all),
            inner.event_dim + count, inner.is_discrete,
        ) if count else inner  # fmt: skip

    def _expand_into(self, made: Any, batch_shape: Any) -> None:
        inner = tuple(self._event_shape)[: self.reinterpreted_batch_ndims]
        made.base_dist = self.base_dist.expand((*batch_shape, *inner))
        made.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


def sum_last(value: Any, count: int, how: Any = sum) -> Any:
    """`value` with its last dimensions added up (or, of truths, all of them)."""
    if count == 0:
        return value
    flat = value.reshape(*value.shape[:-count], -1)
    return flat.all(-1) if how is all else flat.sum(-1)
