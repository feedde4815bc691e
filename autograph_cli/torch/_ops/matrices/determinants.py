"""Determinants and their logarithms."""

from __future__ import annotations

from typing import Any

from ..._arrays.stand_in import whole
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..pointwise import unary as unary
from ..reducing.reductions import product_of_others
from ..tensors.results import named_result
from ._matrix import check_matrix, column, either, mH, mT, row

_FACTORS = {"LU": lambda A: _factors(A)[0], "pivots": lambda A: _factors(A)[1]}


det_op = operation(
    "linalg_det(Tensor A)",
    saved=_FACTORS,
    batch=batching.leading,
    A=lambda f, grad, result, A: det_gradient(f, grad, result, A),
)
slogdet_op = operation(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    node="LinalgSlogdetBackward0",
    saved=_FACTORS,
    batch=batching.leading,
    A=lambda f, grads, A, sign: slogdet_gradient(f, grads, A, sign),
)


def _spread_on_diagonal(f: Any, x: Any, n: int) -> Any:
    """A number for each matrix, times the unit matrix."""
    return mT(f, f.diag_embed(f.expand(column(f, x), (*x.shape, n)), 0, -2, -1))


def _factors(A: Any) -> Any:
    """The LU factors that determinants come of: of the transpose where the rows are one after the other."""
    factors: Any = operations.linalg_lu_factor_ex(A.mT if A.is_contiguous() and not A.is_complex() else A)
    return factors


def det_gradient(f: Any, grad: Any, det: Any, A: Any) -> Any:
    """det(A) A**-H; where A is singular the adjugate, from the singular values."""
    if 0 in A.shape:
        return f.zeros_of(tuple(A.shape), grad)
    if A.shape[-1] == 1:
        return f.expand(column(f, column(f, grad)), tuple(A.shape))
    if (result := f.adjugate(A, grad)) is not None:
        return result
    if not f.is_singular(det):
        return f.solve(mH(f, A), _spread_on_diagonal(f, grad * f.conj(det), A.shape[-1]))
    u, s, vh = f.linalg_svd(A, True)
    turn = f.conj(f.linalg_det(u) * f.linalg_det(vh)) * grad
    return f.matmul(u * row(f, product_of_others(f, column(f, turn), s, s.ndim - 1)), vh)


def slogdet_gradient(f: Any, grads: Any, A: Any, sign: Any) -> Any:
    by_sign, by_size = grads
    turning = f.is_complex(A)
    if by_size is None and (by_sign is None or not turning):
        return None
    g = by_size
    if turning:
        phase = None if by_sign is None else f.mul_Scalar(f.cast_like(f.imag(f.conj(by_sign) * sign), A), 1j)
        g = f.cast_like(either(f, by_size, phase, -1), A)
    if (result := f.scaled_inverse(A, g)) is not None:
        return result
    return f.solve(mH(f, A), _spread_on_diagonal(f, g, A.shape[-1]))


def is_singular(det: Tensor) -> bool:
    raw = whole(det._ag_raw)
    return bool(kernels(raw).is_singular(raw))


operations.is_singular = is_singular
# Formulas that are recorded are made of steps that have gradients.
operations.adjugate = operations.scaled_inverse = lambda A, scale: None


slogdet_result = named_result("linalg_slogdet", "sign", "logabsdet")


@composite(out=True)
def det(A: Tensor) -> Tensor:
    """The determinant of each matrix."""
    check_matrix("linalg.det", A)
    return det_op(A)


@composite(out=True)
def slogdet(A: Tensor) -> Any:
    """The sign of each determinant and the logarithm of its absolute value."""
    check_matrix("linalg.slogdet", A)
    return slogdet_result(*slogdet_op(A))


@composite()
def logdet(A: Tensor) -> Tensor:
    """The logarithm of each determinant, nan where it is negative."""
    check_matrix("logdet", A)
    sign, size = slogdet_op(A)
    f = operations
    if A.dtype.is_complex:
        return f.add(f.log(sign), size)
    return f.where(f.eq(sign, f.full_like_number(sign, -1)), f.full_like_number(size, float("nan")), size)
