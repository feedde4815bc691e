"""Factors of symmetric matrices that need not be positive; PyTorch does not differentiate them."""

from __future__ import annotations

from typing import Any

from ..._core.base.dtypes import cpp_name
from ..._core.operations.operation import operation
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..pointwise.arithmetic import no_derivative
from ..tensors.results import named_result
from ._matrix import check_info, check_matrix, same_dtype

ldl_factor_ex_op = operation(
    "linalg_ldl_factor_ex(Tensor self, bool hermitian=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    has_derivative=False,
    nondifferentiable=("pivots", "info"),
    batch=batching.leading,
    self=lambda f, grads: no_derivative("linalg_ldl_factor_ex")(f, grads),
)
ldl_solve_op = operation(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian=False)",
    has_derivative=False,
    LD=no_derivative("linalg_ldl_solve"),
    B=no_derivative("linalg_ldl_solve"),
)
factor_result = named_result("linalg_ldl_factor", "LD", "pivots")
factor_ex_result = named_result("linalg_ldl_factor_ex", "LD", "pivots", "info")


def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """As `ldl_factor`, with `info` instead of an error unless `check_errors`."""
    check_matrix("torch.linalg.ldl_factor_ex", A)
    LD, pivots, info = ldl_factor_ex_op(A, hermitian)
    if check_errors:
        check_info("torch.linalg.ldl_factor_ex", info._ag_raw, SINGULAR)
    return factor_ex_result(LD, pivots, info)


SINGULAR = (
    "The factor D is exactly singular (element {0} is zero), and division by zero will occur if it is used to solve a "
    "system of linear equations."
)


def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """L and D of A = L D L**T in one matrix, and the pivots; D has blocks of one or two rows."""
    LD, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    check_info("torch.linalg.ldl_factor", info._ag_raw, SINGULAR)
    return factor_result(LD, pivots)


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, from A's `ldl_factor`."""
    check_matrix("torch.linalg.ldl_solve", LD)
    if B.ndim < 2:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead"
        )
    if pivots._ag_raw.shape != LD._ag_raw.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._ag_raw.shape)} instead"
        )
    if pivots._ag_raw.dtype.kind not in "iu":
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {cpp_name(pivots._ag_raw.dtype)}"
        )
    same_dtype(B, LD)
    return ldl_solve_op(LD, pivots, B, hermitian)
