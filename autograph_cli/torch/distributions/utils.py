"""Shared parts of distributions and transforms: parameters of one shape, values computed on demand, probabilities and
logits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

from ... import torch
from .._core.tape.tensor import Tensor
from ..autograd.grad_mode import enable_grad

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape; ValueError for anything else.

    >>> from autograph_cli import torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    like = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    made = [v if isinstance(v, Tensor) else torch.tensor(v, **like) for v in values]
    return tuple(torch.broadcast_tensors(*made))


class lazy_property:
    """A property that is worked out when it is first asked for, in the graph, and kept."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped, self.name = wrapped, wrapped.__name__
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            result = self.wrapped(instance)
        setattr(instance, self.name, result)
        return result


def standard_normal(shape: Any, dtype: Any) -> Any:
    """Normal numbers, drawn as PyTorch draws them."""
    return torch.empty(shape, dtype=dtype).normal_()


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """`standard_normal` under the name that libraries know."""
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Any, count: int) -> Any:
    """`value` with its last dimensions added up."""
    return value.reshape((*value.shape[:-count], -1)).sum(-1) if count else value


_sum_rightmost = sum_rightmost  # the name that libraries know


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept away from 0 and 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of log-odds, or of logarithms up to a constant."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, -1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log-odds of probabilities, or their logarithms."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class ByOdds:
    """A distribution given by a probability or by its log-odds; the other is computed on demand."""

    _given: str

    def _take(self, probs: Any, logits: Any, *others: Any) -> tuple[Any, ...]:
        """Keep the one that is given, broadcast beside others, which are returned. ValueError unless one of both is
        given."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "logits" if probs is None else "probs"
        *shared, given = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, self._given, given)
        return tuple(shared)

    logits: Any = lazy_property(lambda self: probs_to_logits(self.probs, is_binary=True))
    probs: Any = lazy_property(lambda self: logits_to_probs(self.logits, is_binary=True))
    _param: Any = property(lambda self: self.__dict__[self._given])


class OfCategorical:
    """A distribution given by the arguments of its `_categorical`."""

    _categorical: Any

    probs: Any = property(lambda self: self._categorical.probs, doc="The probabilities, which sum to 1.")
    logits: Any = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")
    _param: Any = property(lambda self: self._categorical._param)


def _triangle(n: int, diag: int) -> Any:
    """Return which elements of an n x n matrix are on a diagonal or below."""
    return torch.arange(n) < torch.arange(n).view(-1, 1) + (diag + 1)


def _size_of_triangle(length: int, diag: int) -> int:
    """The size of the matrix whose lower triangle has so many elements, or more."""
    size = elements = 0
    while elements < length:
        size += 1
        elements = sum(min(max(row + diag + 1, 0), size) for row in range(size))
    if elements > length:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    return size


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Vectors as lower triangles, up to a diagonal; ValueError for a length that fills none."""
    size = _size_of_triangle(vec.shape[-1], diag)
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))
    matrix[..., _triangle(size, diag)] = vec
    return matrix


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangles of matrices, up to a diagonal, as vectors; ValueError for a diagonal that is not there."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag)]
