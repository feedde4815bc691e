"""Helpers that formulas and functions of matrices share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.base import dtypes
from ..._core.operations.operation import operations
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor
from ..pointwise import arithmetic
from ..shaping import views
from ._errors import LinAlgError


def same_dtype(b: Tensor, A: Tensor) -> None:
    """RuntimeError unless both sides of a system have one dtype."""
    if b._ag_raw.dtype != A._ag_raw.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {dtypes.cpp_name(b._ag_raw.dtype)} and A of "
            f"type {dtypes.cpp_name(A._ag_raw.dtype)} instead."
        )


def mT(f: Any, x: Any) -> Any:
    return f.transpose(x, x.ndim - 2, x.ndim - 1)


def mH(f: Any, x: Any) -> Any:
    return f.conj(f.transpose(x, x.ndim - 2, x.ndim - 1))


def column(f: Any, x: Any) -> Any:
    """A vector as a matrix of one column."""
    return f.unsqueeze(x, x.ndim)


def row(f: Any, x: Any) -> Any:
    return f.unsqueeze(x, x.ndim - 1)


def part(f: Any, x: Any, dim: int, start: int, end: int) -> Any:
    """A slice of one of the last two dimensions (-2, -1)."""
    return f.slice(x, x.ndim + dim, start, end, 1)


def either(f: Any, first: Any, second: Any, sign: int = 1) -> Any:
    """The sum (or difference) of what is there of two gradients."""
    if first is None:
        return second if second is None or sign > 0 else f.neg(second)
    if second is None:
        return first
    return f.add(first, second) if sign > 0 else f.sub(first, second)


def with_unit_diagonal(x: Tensor) -> Tensor:
    """The matrix with ones on its diagonal, set in place."""
    views.diagonal_op(x, 0, x.ndim - 2, x.ndim - 1).fill_(1)
    return x


def with_half_diagonal(x: Tensor) -> Tensor:
    """The matrix with the real part of its diagonal halved in place."""
    diagonal = views.diagonal_op(x, 0, x.ndim - 2, x.ndim - 1)
    run_inplace(arithmetic.mul_scalar.op, (operations.real(diagonal), 0.5))
    return x


operations.with_unit_diagonal, operations.with_half_diagonal = with_unit_diagonal, with_half_diagonal


# ---------------------------------------------------------------- arguments


def check_matrix(name: str, x: Tensor, what: str = "A", square: bool = True) -> None:
    """Raise PyTorch's error for what is no (square) matrix of floating point numbers."""
    check_square(name, x, what, square)
    check_floating(name, x)


def check_square(name: str, x: Tensor, what: str = "A", square: bool = True) -> None:
    """Raise PyTorch's error for what is no (square) matrix."""
    shape = x._ag_raw.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")
    if square and shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}: {what} must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )


def check_floating(name: str, x: Tensor, narrow: bool = False) -> None:
    if x._ag_raw.dtype.char in "fdFD":
        return
    if x.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {dtypes.cpp_name(x._ag_raw.dtype)}"
        )
    if x.dtype in (dtypes.float16, dtypes.bfloat16) and not narrow:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {dtypes.cpp_name(x._ag_raw.dtype)}")


def check_info(name: str, info: Any, what: str, error: type[RuntimeError] = LinAlgError) -> None:
    """Raise an error if a factorization failed; `what` says why, with {} for the position."""
    if info.__class__ is np.int32 and not info:
        return
    info = whole(info)
    if not readable(info):
        return
    flat = info.reshape(-1)
    for i, position in enumerate(flat.tolist()):
        if position:
            batch = f"(Batch element {i}): " if info.ndim else ""
            raise error(f"{name}: {batch}{what.format(position)}")
