"""The Wishart distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from ... import torch
from .._core.base.user_warnings import warn
from . import constraints
from .chi2 import Chi2
from .constraints import holds
from .exp_family import ExponentialFamily
from .multivariate_normal import FACTORS, MATRICES, ByFactor, given_matrix, log_diagonal
from .utils import lazy_property

__all__ = ["Wishart"]

_TRIES = 10
"""The number of times that samples are drawn again."""


def _digamma(x: Any, p: int) -> Any:
    """The derivative of the logarithm of the multivariate gamma function."""
    steps = torch.arange(p, dtype=x.dtype).div(2).expand((*x.shape, -1))
    return torch.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(ByFactor, ExponentialFamily):
    """Sums of the outer products of `df` normal vectors with one of a covariance matrix, its inverse or its lower
    factor.

    AssertionError unless exactly one of the three is given, ValueError unless `df` is greater than their size minus 1.

    >>> from autograph_cli import torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = given_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = torch.tensor(df, dtype=matrix.dtype) if isinstance(df, Number) else df
        batch, n = torch.broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-1]
        if not holds(df.detach() > n - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.df = df.expand(batch)
        if not holds(df.detach() >= n):
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        self._size = n
        super().__init__(batch, (n, n), validate_args)
        self._unbroadcasted_scale_tril = FACTORS[name](matrix)
        self._chi2 = Chi2(df=self.df.unsqueeze(-1) - torch.arange(n, dtype=matrix.dtype).expand((*batch, -1)))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        one = torch.eye(self._size, dtype=self._unbroadcasted_scale_tril.dtype)
        return self._whole(torch.cholesky_solve(one, self._unbroadcasted_scale_tril))

    @property
    def arg_constraints(self) -> Any:
        return {
            **MATRICES,
            "df": constraints.greater_than(self._size - 1) if "_size" in self.__dict__ else constraints.greater_than(0),
        }

    def _ag_expand_into(self, made: Any, batch_shape: Any) -> None:
        super()._ag_expand_into(made, batch_shape)
        made._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand((*batch_shape, *self._event_shape))

    def _of_matrices(self, numbers: Any) -> Any:
        return numbers.view((*self._batch_shape, 1, 1))

    mean = property(lambda self: self._of_matrices(self.df) * self.covariance_matrix)

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = math.nan
        return self._of_matrices(factor) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._of_matrices(self.df) * (covariance.pow(2) + torch.einsum("...i,...j->...ij", diagonal, diagonal))

    def _drawn(self, sample_shape: Any) -> Any:
        """By the decomposition of Bartlett."""
        n = self._event_shape[-1]
        lengths = self._chi2.rsample(sample_shape).sqrt()
        noise = lengths.clamp(min=torch.finfo(lengths.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(n, n, offset=-1)
        below = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        noise[..., rows, columns] = torch.randn(below, dtype=noise.dtype)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        tries = _TRIES if max_try_correction is None else max_try_correction
        sample = self._drawn(tuple(sample_shape))
        # PyTorch draws anew, at first, what is positive definite; so does this, for the sake of the same numbers.
        again = self._for_each(self.support.check(sample.detach()))
        if not again.any():
            return sample
        warn("Singular sample detected.")
        for _ in range(tries):
            drawn = self._drawn(tuple(again[again].shape))
            sample[again] = drawn
            again[again.clone()] = self._for_each(~self.support.check(drawn.detach()))
            if not again.any():
                break
        return sample

    def _for_each(self, condition: Any) -> Any:
        """Return whether a condition holds for any distribution of the batch, for each sample."""
        return condition.amax(tuple(-i - 1 for i in range(len(self._batch_shape)))) if self._batch_shape else condition

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        return (
            -nu * (p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril))
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril))
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _digamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        return -self.precision_matrix / 2, (nu - p - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        inner = (y + (p + 1) / 2) * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p)
        return inner + torch.mvlgamma(y + (p + 1) / 2, p=p)
