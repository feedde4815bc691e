"""Maps of vectors: onto probabilities, and onto lower and positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

from ... import torch
from . import constraints
from ._maps import Transform
from ._pointwise import clipped_sigmoid
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


def _need(shape: Any, dims: int) -> None:
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")


def _pad(x: Any, sides: list[int]) -> Any:
    return torch.nn.functional.pad(x, sides, value=1)


class _Vectors(Transform):
    """A map of vectors without parameters: all of one class are equal."""

    domain = constraints.real_vector

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = None


class SoftmaxTransform(_Vectors):
    """y = softmax(x), which has no inverse: log(y) is one of the vectors that lead to y."""

    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        powers = (x - x.max(-1, True)[0]).exp()
        return powers / powers.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Vectors):
    """Each element says which part of what is left it takes, as a logit; the last one of the result takes the rest."""

    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Any, n: int) -> Any:
        """The logit of an equal share, at each position."""
        return (n + 1 - x.new_ones(n).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        z = clipped_sigmoid(x - self._offset(x, x.shape[-1]))
        left = (1 - z).cumprod(-1)
        return _pad(z, [0, 1]) * _pad(left, [1, 0])

    def _inverse(self, y: Any) -> Any:
        taken = y[..., :-1]
        left = torch.clamp(1 - taken.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return taken.log() - left.log() + self._offset(y, taken.shape[-1])

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x, x.shape[-1])
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return (*shape[:-1], shape[-1] - 1)


class CorrCholeskyTransform(Transform):
    """Onto lower factors of correlation matrices: tanh(x) gives the partial correlations, row by row."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype)
        return r * _pad(left[..., :-1], [1, 0])

    def _inverse(self, y: Any) -> Any:
        left = _pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0])
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        sticks = 0.5 * left.log().sum(-1)
        return sticks + -2 * (x + torch.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        _need(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class LowerCholeskyTransform(_Vectors):
    """Onto lower matrices with a positive diagonal: e to the diagonal, and nothing above it."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Vectors):
    """Onto positive definite matrices, by their lower factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))
