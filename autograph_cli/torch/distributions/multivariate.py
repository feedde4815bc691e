"""Distributions of vectors: Dirichlet and MultivariateNormal."""

from __future__ import annotations

import math
from typing import Any

from .._core.registry import functions
from .._core.size import Size
from . import constraints
from .distribution import Distribution, standard_normal
from .gamma import sample_dirichlet


class Dirichlet(Distribution):
    """Vectors of probabilities with weights `concentration`. ValueError for weights without a dimension."""

    arg_constraints = {"concentration": constraints.positive_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors with mean `loc` and one of a covariance matrix, its inverse (`precision_matrix`) or its lower factor.

    ValueError unless exactly one of the three is given.
    """

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        found = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(found) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        [(name, matrix)] = found
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = functions["broadcast_shapes"](matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(Size((*batch, loc.shape[-1])))
        matrix = matrix.expand(Size((*batch, *matrix.shape[-2:])))
        self.__dict__[name] = matrix
        self._unbroadcasted = _FACTORS[name](matrix)
        super().__init__(batch, loc.shape[-1:], validate_args)

    def __getattr__(self, name: str) -> Any:
        factor = self.__dict__.get("_unbroadcasted")
        if factor is None or name not in ("covariance_matrix", "precision_matrix", "scale_tril"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name == "scale_tril":
            return factor
        covariance = factor @ factor.mT
        return covariance if name == "covariance_matrix" else _linalg().inv(covariance)

    mean = mode = property(lambda self: self.loc)  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        return self._unbroadcasted.pow(2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + (self._unbroadcasted @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - log_diagonal(self._unbroadcasted)

    def entropy(self) -> Any:
        half = log_diagonal(self._unbroadcasted)
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half


def _linalg() -> Any:
    from ... import torch

    return torch.linalg


def _of_precision(precision: Any) -> Any:
    """The lower factor of the inverse of a matrix."""
    turned = _linalg().cholesky(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).mT
    return _linalg().solve_triangular(inverse, functions["eye"](precision.shape[-1], dtype=precision.dtype), upper=False)


_FACTORS: dict[str, Any] = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": lambda matrix: _linalg().cholesky(matrix),
    "precision_matrix": _of_precision,
}


def mahalanobis(factor: Any, x: Any) -> Any:
    """The squared length of x, measured by the covariance of a lower factor."""
    return _linalg().solve_triangular(factor, x.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def log_diagonal(factor: Any) -> Any:
    """Half the logarithm of the determinant of the covariance."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
