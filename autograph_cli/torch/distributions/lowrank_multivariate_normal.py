"""The multivariate normal distribution whose covariance is a product of thin matrices plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from .distribution import Distribution
from .multivariate_normal import mahalanobis, times_vector
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


def plus_identity(matrix: Any) -> Any:
    """A batch of square matrices plus 1 along the diagonal, in place."""
    n, matrix = matrix.size(-1), matrix.contiguous()
    matrix.view(-1, n * n)[:, :: n + 1] += 1
    return matrix


def weighed(factor: Any, diagonal: Any) -> Any:
    """The factor, turned, over the diagonal."""
    return factor.mT / diagonal.unsqueeze(-2)


def log_determinant(diagonal: Any, capacitance: Any) -> Any:
    """The logarithm of the covariance's determinant."""
    return 2 * capacitance.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diagonal.log().sum(-1)


def lowrank_mahalanobis(factor: Any, diagonal: Any, x: Any, capacitance: Any) -> Any:
    """The squared length of vectors, measured by the covariance."""
    inside = times_vector(weighed(factor, diagonal), x)
    return (x.pow(2) / diagonal).sum(-1) - mahalanobis(capacitance, inside)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with mean `loc` and covariance cov_factor @ cov_factor.T + diag(cov_diag).

    ValueError for parameters whose shapes do not fit.

    >>> from autograph_cli import torch
    >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)).variance
    tensor([2., 2.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n, event = loc.shape[-1], loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            means, self.cov_factor, diagonal = torch.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = means[..., 0], diagonal[..., 0]
        super().__init__(self.loc.shape[:-1], event, validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = torch.linalg.cholesky(
            plus_identity(torch.matmul(weighed(cov_factor, cov_diag), cov_factor))
        )

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        super()._ag_expand_into(made, batch_shape)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(made, name, getattr(self, name))

    mean = mode = property(lambda self: self.loc)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def variance(self) -> Any:
        own = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return own.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        part = self._unbroadcasted_cov_factor / root
        return self._whole(root * torch.linalg.cholesky(plus_identity(torch.matmul(part, part.mT))))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._whole(torch.matmul(factor, factor.mT) + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        part = weighed(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag)
        inside = torch.linalg.solve_triangular(self._capacitance_tril, part, upper=False)
        return self._whole(torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - inside.mT @ inside)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        few = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype)
        each = standard_normal(shape, self.loc.dtype)
        return self.loc + times_vector(self._unbroadcasted_cov_factor, few) + self._unbroadcasted_cov_diag.sqrt() * each

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = lowrank_mahalanobis(factor, diagonal, value - self.loc, self._capacitance_tril)
        logarithm = log_determinant(diagonal, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + logarithm + distance)

    def entropy(self) -> Any:
        logarithm = log_determinant(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + logarithm)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
