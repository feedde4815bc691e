"""Solutions of linear systems, inverses and determinants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.base import dims, dims as d, dtypes
from ..._core.base.user_warnings import warn_once
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running import dispatch
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, Wrapped, make
from ..._core.transforms import batching
from ..pointwise import unary as unary
from ..shaping import broadcasting, views
from ..tensors.results import named_result
from ._matrix import (
    check_floating,
    check_info,
    check_matrix,
    check_square,
    column,
    either,
    mH,
    mT,
    row,
    same_dtype,
)

solve_ex_op = operation(
    "linalg_solve_ex(Tensor A, Tensor B, bool left=True) -> (Tensor result, Tensor info)",
    node="LinalgSolveExBackward0",
    saved={
        "LU": lambda A: operations.linalg_lu_factor_ex(A)[0],
        "pivots": lambda A: operations.linalg_lu_factor_ex(A)[1],
        "B_sizes": None,
    },
    nondifferentiable=("info",),
    batch=batching.leading,
    joint={
        ("A", "B"): lambda f, grad, A, B_sizes, result, left, mask: solve_gradients(
            f, grad, A, B_sizes, result, left, mask
        )
    },
)
solve_triangular_op = operation(
    "linalg_solve_triangular(Tensor self, Tensor B, bool upper, bool left=True, bool unitriangular=False)",
    batch=batching.leading,
    joint={
        ("self", "B"): lambda f, grad, self, result, upper, left, unitriangular, mask: triangular_gradients(
            f, grad, self, result, upper, left, unitriangular, mask
        )
    },
)
triangular_solve_op = operation(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) "
    "-> (Tensor solution, Tensor cloned_coefficient)",
    autocast="fp32",
    batch=batching.leading,
    joint={
        ("self", "A"): lambda f, grads, self, A, solution, upper, transpose, unitriangular, mask: (
            legacy_triangular_gradients(f, grads, A, solution, upper, transpose, unitriangular, mask)
        )
    },
)
inv_ex_op = operation(
    "linalg_inv_ex(Tensor A) -> (Tensor inverse, Tensor info)",
    nondifferentiable=("info",),
    autocast="fp32",
    batch=batching.leading,
    A=lambda f, grad, inverse: f.neg(f.matmul(mH(f, inverse), f.matmul(grad, mH(f, inverse)))),
)
pinv_op = operation(
    "linalg_pinv(Tensor self, float atol, float rtol, bool hermitian)",
    node="LinalgPinvBackward0",
    autocast="lower_precision_result",
    batch=batching.leading,
    self=lambda f, grad, result, self: pinv_gradient(f, grad, result, self),
)
lstsq_op = operation(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond, str? driver) "
    "-> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    nondifferentiable=("rank", "singular_values"),
    autocast="fp32",
    joint={("self", "b"): lambda f, grads, self, b, solution, mask: lstsq_gradients(f, grads, self, b, solution, mask)},
)
matrix_exp_op = operation(
    "linalg_matrix_exp(Tensor self)", batch=batching.leading, self=lambda f, grad, self: f.exp_block(mH(f, self), grad)
)
sub_as_first = operation(
    "sub_as_first(Tensor self, Tensor other)",
    node="SubBackward0",
    self=lambda f, grad: grad,
    other=lambda f, grad: f.neg(grad),
)
add_as_first = operation(
    "add_as_first(Tensor self, Tensor other)",
    node="AddBackward0",
    self=lambda f, grad: grad,
    other=lambda f, grad: grad,
)
"""A difference and a sum that are laid out in memory as their first operand does."""


# ---------------------------------------------------------------- formulas


def is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return whether a right hand side is a vector, or a batch of them."""
    return len(b) == 1 or (len(a) - 1 == len(b) and tuple(b) == tuple(a[:-1]))


def solve_gradients(f: Any, grad: Any, A: Any, sizes: Any, X: Any, left: bool, mask: Any) -> Any:
    """B's is the solution with the conjugate transpose; A's is minus its product with X."""
    if grad is None:
        return None, None
    vector = is_vector(A.shape, sizes)
    by_right = f.solve(mH(f, A), column(f, grad) if vector else grad, left)
    by_matrix = None
    if mask[0]:
        whole = column(f, X) if vector else X
        by_matrix = f.neg(f.matmul(by_right, mH(f, whole)) if left else f.matmul(mH(f, whole), by_right))
    if not mask[1]:
        return by_matrix, None
    return by_matrix, f.squeeze_dim(by_right, by_right.ndim - 1) if vector else by_right


def _triangle(f: Any, x: Any, upper: bool, unit: bool) -> Any:
    return f.triu(x, int(unit)) if upper else f.tril(x, -int(unit))


def triangular_gradients(f: Any, grad: Any, A: Any, X: Any, upper: bool, left: bool, unit: bool, mask: Any) -> Any:
    by_right = f.linalg_solve_triangular(mH(f, A), grad, not upper, left, unit)
    if not mask[0]:
        return None, by_right
    whole = f.matmul(by_right, mH(f, X)) if left else f.matmul(mH(f, X), by_right)
    return _triangle(f, f.neg(whole), upper, unit), by_right if mask[1] else None


def legacy_triangular_gradients(
    f: Any, grads: Any, A: Any, X: Any, upper: bool, transpose: bool, unit: bool, mask: Any
) -> Any:
    grad, by_copy = grads
    by_right = by_matrix = None
    if grad is not None:
        by_right = f.triangular_solve(grad, f.conj(A), upper, not transpose, unit)[0]
        if mask[1]:
            product = f.matmul(f.conj(X), mT(f, by_right)) if transpose else f.matmul(by_right, mH(f, X))
            by_matrix = _triangle(f, f.neg(product), upper, unit)
    return by_right if mask[0] else None, either(f, by_matrix, by_copy) if mask[1] else None


def pinv_gradient(f: Any, grad: Any, P: Any, A: Any) -> Any:
    """Golub and Pereyra's formula, with the smaller products first."""
    m, n = A.shape[-2:]
    Ph, gh = mH(f, P), mH(f, grad)
    add, sub = f.add_as_first, f.sub_as_first
    if m <= n:
        K = f.matmul(gh, P)
        KPh = f.matmul(K, Ph)
        first = add(f.neg(mH(f, f.matmul(P, K))), KPh)
        second = sub(first, f.matmul(f.matmul(A, P), KPh))
        return add(second, f.matmul(f.matmul(Ph, P), sub(gh, f.matmul(K, A))))
    K = f.matmul(P, gh)
    PhK = f.matmul(Ph, K)
    first = add(f.neg(mH(f, f.matmul(K, P))), f.matmul(f.matmul(sub(gh, f.matmul(A, K)), P), Ph))
    return sub(add(first, PhK), f.matmul(f.matmul(PhK, P), A))


def lstsq_gradients(f: Any, grads: Any, A: Any, B: Any, X: Any, mask: Any) -> Any:
    by_solution, by_residuals = grads[0], grads[1]
    by_matrix = by_right = None
    vector = is_vector(A.shape, B.shape)
    if vector:
        B, X = column(f, B), column(f, X)
        by_solution = None if by_solution is None else column(f, by_solution)
    if by_solution is not None:
        inverse = f.pinv_plain(A)
        if mask[0]:
            by_matrix = pinv_gradient(f, f.matmul(by_solution, mH(f, B)), inverse, A)
        if mask[1]:
            by_right = f.matmul(mH(f, inverse), by_solution)
    if by_residuals is not None and 0 not in by_residuals.shape:
        rest, weight = f.sub(f.matmul(A, X), B), row(f, by_residuals)
        if mask[0]:
            by_matrix = either(f, by_matrix, f.mul_Scalar(f.matmul(weight * rest, mH(f, X)), 2))
        if mask[1]:
            by_right = either(f, by_right, f.mul_Scalar(weight, -2) * rest)
    if vector and by_right is not None:
        by_right = f.squeeze_dim(by_right, by_right.ndim - 1)
    return by_matrix, by_right


def exp_block(a: Tensor, grad: Tensor) -> Tensor:
    """The derivative of the matrix exponential at `a` towards `grad`, as a block of a larger exponential."""
    n = a._ag_raw.shape[-1]
    if a.is_meta or isinstance(a, Wrapped) or isinstance(grad, Wrapped):
        return _exp_block_of_parts(a, grad, n)
    meta = operations.zeros_of((*a._ag_raw.shape[:-2], 2 * n, 2 * n), a)
    for i, j, block in ((0, 0, a), (n, n, a), (0, n, grad)):
        rows = views.slice_op(meta, meta.ndim - 2, i, i + n, 1)
        views.slice_op(rows, meta.ndim - 1, j, j + n, 1).copy_(block)
    rows = views.slice_op(matrix_exp_op(meta), meta.ndim - 2, 0, n, 1)
    return views.slice_op(rows, meta.ndim - 1, n, 2 * n, 1)


def _exp_block_of_parts(a: Tensor, grad: Tensor, n: int) -> Tensor:
    """The same with blocks that are joined: on the device `meta`, as PyTorch does, and where nothing can be changed in
    position."""
    d = a.ndim - 1
    rows = [operations.cat([a, grad], d), operations.cat([operations.zeros_like(a), a], d)]
    above = views.slice_op(matrix_exp_op(operations.cat(rows, d - 1)), d - 1, 0, n, 1)
    return views.slice_op(above, d, n, 2 * n, 1)


def solve_recorded(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    solution: Tensor = solve_ex_op(A, B, left)[0]
    return solution


def pinv_plain(A: Tensor) -> Tensor:
    return pinv_op(A, 0.0, max(A._ag_raw.shape[-2:]) * _eps(A), False)


operations.exp_block, operations.solve, operations.pinv_plain = exp_block, solve_recorded, pinv_plain


# ---------------------------------------------------------------- functions


inv_ex_result = named_result("linalg_inv_ex", "inverse", "info")
solve_ex_result = named_result("linalg_solve_ex", "result", "info")
triangular_solve_result = named_result("triangular_solve", "solution", "cloned_coefficient")
lstsq_result = named_result("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


def _check_system(name: str, A: Tensor, B: Tensor, left: bool = True) -> None:
    check_floating(name, A)
    if A._ag_raw.dtype != B._ag_raw.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{dtypes.cpp_name(A._ag_raw.dtype)} and B of type {dtypes.cpp_name(B._ag_raw.dtype)} instead"
        )
    check_matrix(name, A)
    if is_vector(A._ag_raw.shape, B._ag_raw.shape):
        if not left:
            raise RuntimeError(
                f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case "
                f"{name} is equivalent to B / A.squeeze(-1)"
            )
        B = views.unsqueeze_op(B.detach(), B.ndim)
    _check_sides(name, A, B, left)


def _check_sides(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    (m, n), (k, p) = A._ag_raw.shape[-2:], B._ag_raw.shape[-2:]
    if (n if left else m) != (k if left else p):
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} ({m}x{n} and "
            f"{k}x{p})"
        )


def _batched(A: Tensor, B: Tensor) -> Tensor:
    """B with the batch dimensions of both."""
    if is_vector(A._ag_raw.shape, B._ag_raw.shape):
        return broadcasting.expand(B, A._ag_raw.shape[:-1]) if B._ag_raw.shape != A._ag_raw.shape[:-1] else B
    return B


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `solve`, with `info` instead of an error unless `check_errors`."""
    _check_system("linalg.solve", A, B, left)
    result, info = solve_ex_op(A, B, left)
    if check_errors:
        check_info("torch.linalg.solve_ex", info._ag_raw, "The solver failed because the input matrix is singular.")
    return solve_ex_result(result, info)


@autocasts("fp32")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B (X A = B if not `left`); LinAlgError if A is singular.

    >>> from autograph_cli import torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0], [0, 4]]), torch.tensor([2.0, 4]))
    tensor([1., 1.])
    """
    _check_system("linalg.solve", A, B, left)
    result, info = solve_ex_op(A, B, left)
    check_info("torch.linalg.solve", info._ag_raw, "The solver failed because the input matrix is singular.")
    return result


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X with A X = B (X A = B if not `left`) for a triangular A."""
    name = "linalg.solve_triangular"
    if A._ag_raw.dtype != B._ag_raw.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{dtypes.cpp_name(A._ag_raw.dtype)} and B of type {dtypes.cpp_name(B._ag_raw.dtype)} instead"
        )
    check_matrix(name, A)
    _check_sides(name, A, B, left)
    return solve_triangular_op(A, B, upper, left, unitriangular)


@composite(out=True)
@autocasts("fp32")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """X with A X = b for a triangular A, and a copy of A; `torch.linalg.solve_triangular` is its successor."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
        "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one "
        "of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    )
    for x, shown in ((b, "b"), (A, "A")):
        if x.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {shown} to have at least 2 dimensions, but it has {x.ndim} "
                "dimensions instead"
            )
    rows, columns = A._ag_raw.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if b._ag_raw.shape[-2] != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {rows} by {rows} but each b matrix is "
            f"{b._ag_raw.shape[-2]} by {b._ag_raw.shape[-1]}"
        )
    same_dtype(b, A)
    batch = dims.broadcast(b._ag_raw.shape[:-2], A._ag_raw.shape[:-2])
    b = broadcasting.expand(b, (*batch, *b._ag_raw.shape[-2:])) if b._ag_raw.shape[:-2] != batch else b
    A = broadcasting.expand(A, (*batch, *A._ag_raw.shape[-2:])) if A._ag_raw.shape[:-2] != batch else A
    return triangular_solve_result(*triangular_solve_op(b, A, upper, transpose, unitriangular))


@autocasts("fp32")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """As `inv`, with `info` instead of an error unless `check_errors`."""
    check_matrix("linalg.inv", A)
    inverse, info = inv_ex_op(A)
    if check_errors:
        _check_inverse("linalg.inv_ex", info)
    return inv_ex_result(inverse, info)


def _check_inverse(name: str, info: Tensor) -> None:
    check_info(
        name,
        info._ag_raw,
        "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular.",
    )


@composite(name="inverse", out=True)
@autocasts("fp32")
def inv(A: Tensor) -> Tensor:
    """The inverse of each matrix; LinAlgError if one is singular.

    >>> from autograph_cli import torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0], [0, 4]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_matrix("linalg.inv", A)
    inverse, info = inv_ex_op(A)
    _check_inverse("linalg.inv", info)
    return inverse


def _eps(x: Tensor) -> float:
    return float(np.finfo(x._ag_raw.dtype).eps)


def tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Both tolerances as raw numbers or arrays, with PyTorch's defaults."""
    raw_atol = None if atol is None else getattr(atol, "_ag_raw", atol)
    raw_rtol = None if rtol is None else getattr(rtol, "_ag_raw", rtol)
    if raw_rtol is None:
        default = _eps(A) * max(A._ag_raw.shape[-2:])
        raw_rtol = default if raw_atol is None else _default_without_atol(raw_atol, default)
    return 0.0 if raw_atol is None else raw_atol, raw_rtol


def _default_without_atol(atol: Any, default: float) -> Any:
    """A relative tolerance counts by default only where there is no absolute one."""
    if not hasattr(atol, "shape"):
        return 0.0 if atol > 0 else default

    return kernels(atol).xp.where(atol > 0, 0.0, default)


def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The pseudoinverse: singular values below the tolerances count as 0."""
    check_floating("linalg.pinv", A)
    if A.ndim < 2:
        raise RuntimeError(
            f"linalg.pinv({dtypes.cpp_name(A._ag_raw.dtype)}{{{list(A._ag_raw.shape)}}}): expected a tensor "
            "with 2 or more dimensions of float, double, cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.eigh", A)
    rtol = rcond if rtol is None else rtol
    for name, tolerance in (("atol", atol), ("rtol", rtol)):
        if isinstance(tolerance, Tensor):
            dispatch.refuse_gradient("linalg_pinv", name, tolerance)
    low, relative = tolerances(A, atol, rtol)
    return pinv_op(A, low, relative, hermitian)


@composite(name="pinverse")
@autocasts("fp32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse of matrices (*, m, n), as `linalg.pinv` gives it: (*, n, m). Singular values below `rcond`
    times the largest are taken for 0.
    """
    return pinv(input, rcond)


@autocasts("fp32")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """X with the least squares of A X - B, the sums of squares that are left, A's rank and singular values."""
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if A._ag_raw.dtype != B._ag_raw.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{dtypes.cpp_name(A._ag_raw.dtype)} and other's dtype {dtypes.cpp_name(B._ag_raw.dtype)}"
        )
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    rows = B._ag_raw.shape[-1] if is_vector(A._ag_raw.shape, B._ag_raw.shape) else B._ag_raw.shape[-2]
    if rows != A._ag_raw.shape[-2]:
        raise RuntimeError(
            f"{name}: input.size(-2) should match "
            f"other.size({'-1' if is_vector(A._ag_raw.shape, B._ag_raw.shape) else '-2'})"
        )
    cut = rcond.item() if isinstance(rcond, Tensor) else rcond
    return lstsq_result(*lstsq_op(A, B, cut, driver or "gelsy"))


@composite(name="matrix_exp")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of each matrix."""
    check_matrix("linalg.matrix_exp", A)
    return matrix_exp_op(A)


@composite(out=True)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th power of each matrix; of its inverse if n is negative."""
    check_square("linalg.matrix_power", A)
    if n < 0:
        check_floating("linalg.matrix_power", A, narrow=True)
    matmul = operations.matmul
    if n == 0:
        one = make(kernels(A._ag_raw).xp.eye(A._ag_raw.shape[-1], dtype=A._ag_raw.dtype))
        return unary.clone(A).copy_(one)
    if n < 0:
        A, n = inv(A), -n
        if n == 1:
            return A
    if n == 1:
        return unary.clone(A)
    if n == 3:
        return matmul(matmul(A, A), A)
    result, power = None, None
    while n:
        power = A if power is None else matmul(power, power)
        if n % 2:
            result = power if result is None else matmul(result, power)
        n //= 2
    return result  # type: ignore[return-value]


@autocasts("fp32")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last dimensions to its first `ind` ones."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = A._ag_raw.shape
    first, rest = math.prod(shape[:ind]), math.prod(shape[ind:])
    if first != rest:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{rest} != {first}"
        )
    flat = views.reshape(A, (rest, first))
    inverse, info = inv_ex_op(flat)
    if readable(whole(info._ag_raw)) and whole(info._ag_raw).any():
        raise RuntimeError("Failed to invert the input tensor, because it is singular.")
    return views.reshape(inverse, (*shape[ind:], *shape[:ind]))


@autocasts("fp32")
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X) = B over the last dimensions of A."""
    if dims is not None:
        moved = d.wrap_all(dims, A.ndim)
        A = views.movedim(A, moved, tuple(range(A.ndim - len(moved), A.ndim)))
    result_shape = A._ag_raw.shape[B.ndim :]
    n, m = math.prod(result_shape), math.prod(B._ag_raw.shape)
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {n} != {m}"
        )
    flat = views.reshape(A, (n, n))
    return views.reshape(solve(flat, views.flatten(B)), result_shape)
