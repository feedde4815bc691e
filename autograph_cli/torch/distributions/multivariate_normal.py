"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


def times_vector(matrix: Any, vector: Any) -> Any:
    """A batch of matrices times a batch of vectors."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(factor: Any, x: Any) -> Any:
    """The squared length of vectors, measured by the covariance of a lower factor.

    Where a factor serves many vectors these become columns of one system: the batch dimensions of `x` are parted into
    those that the factor has and what repeats it.
    """
    n, batch = x.size(-1), tuple(x.shape[:-1])
    own = factor.dim() - 2
    free = len(batch) - own
    parted = batch[:free] + tuple(m for a, b in zip(factor.shape[:-2], batch[free:], strict=True) for m in (b // a, a))
    last = free + 2 * own
    order = [*range(free), *range(free, last, 2), *range(free + 1, last, 2), last]
    x = x.reshape((*parted, n)).permute(order)
    factors = factor.reshape(-1, n, n)
    columns = x.reshape(-1, factors.size(0), n).permute(1, 2, 0)
    lengths = torch.linalg.solve_triangular(factors, columns, upper=False).pow(2).sum(-2).t()
    back = [*range(free), *(position for i in range(own) for position in (free + i, free + own + i))]
    return lengths.reshape(x.shape[:-1]).permute(back).reshape(batch)


def log_diagonal(factor: Any) -> Any:
    """Half the logarithm of the determinant of the covariance of a lower factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def factor_of_inverse(precision: Any) -> Any:
    """The lower factor of the inverse of a matrix."""
    turned = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.transpose(torch.flip(turned, (-2, -1)), -2, -1)
    return torch.linalg.solve_triangular(inverse, torch.eye(precision.shape[-1], dtype=precision.dtype), upper=False)


FACTORS: dict[str, Any] = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": lambda matrix: torch.linalg.cholesky(matrix),
    "precision_matrix": factor_of_inverse,
}
"""The lower factor of the covariance, from each of the matrices that may be given."""


def given_matrix(error: type[Exception], **matrices: Any) -> tuple[str, Any]:
    """Return which of several matrices is given; the error unless exactly one is."""
    found = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(found) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return found[0]


class ByFactor:
    """A distribution with a covariance, given by one of three matrices; the others are computed on demand."""

    _unbroadcasted_scale_tril: Any
    _batch_shape: Any

    def _whole(self, matrix: Any) -> Any:
        n = self._unbroadcasted_scale_tril.shape[-1]
        return matrix.expand((*self._batch_shape, n, n))

    def _square(self) -> Any:
        factor = self._unbroadcasted_scale_tril
        return torch.matmul(factor, factor.mT)

    scale_tril: Any = lazy_property(lambda self: self._whole(self._unbroadcasted_scale_tril))
    covariance_matrix: Any = lazy_property(lambda self: self._whole(self._square()))
    precision_matrix: Any = lazy_property(
        lambda self: self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))
    )


MATRICES = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


class MultivariateNormal(ByFactor, Distribution):
    """Normal vectors with mean `loc` and one of a covariance matrix, its inverse (`precision_matrix`) or its lower
    factor.

    ValueError unless exactly one of the three is given.

    >>> from autograph_cli import torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, **MATRICES}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{shown} must be at least two-dimensional, with optional leading batch dimensions")
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = FACTORS[name](matrix)

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        super()._ag_expand_into(made, batch_shape)
        made._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + times_vector(self._unbroadcasted_scale_tril, drawn)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half = log_diagonal(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half

    def entropy(self) -> Any:
        half = log_diagonal(self._unbroadcasted_scale_tril)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
