"""LU factors: P L U = A, and what is solved with them."""

from __future__ import annotations

from typing import Any

from ..._core.arguments.arg_check import hands_on
from ..._core.base.dtypes import cpp_name
from ..._core.base.user_warnings import warn_once
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching
from ..tensors.results import named_result
from ._matrix import check_info, check_matrix, check_square, either, mH, part

lu_factor_ex_op = operation(
    "linalg_lu_factor_ex(Tensor A) -> (Tensor LU, Tensor pivots, Tensor info)",
    saved={"pivot": lambda: True},
    nondifferentiable=("pivots", "info"),
    batch=batching.leading,
    A=lambda f, grad, LU, pivots: lu_factor_gradient(f, grad, LU, pivots),
)
lu_op = operation(
    "linalg_lu(Tensor A, bool pivot=True) -> (Tensor L, Tensor U, Tensor P)",
    saved={"pivot": "pivot"},
    nondifferentiable=("P",),
    batch=batching.leading,
    A=lambda f, grads, L, U, P: lu_gradient(f, grads[0], grads[1], L, U, P),
)
lu_unpack_op = operation(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) "
    "-> (Tensor L, Tensor U, Tensor P)",
    nondifferentiable=("P",),
    saved={
        "LU_data_sizes": None,
        "LU_data_sym_argsize_minus_1": lambda LU_data_sizes: LU_data_sizes[-1],
        "LU_data_sym_argsize_minus_2": lambda LU_data_sizes: LU_data_sizes[-2],
    },
    batch=batching.leading,
    LU_data=lambda f, grads, LU_data_sizes: lu_unpack_gradient(f, grads, LU_data_sizes),
)
lu_solve_op = operation(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool left=True, bool adjoint=False)",
    batch=batching.leading,
    LU=lambda f, grad, LU, pivots, result, left, adjoint: lu_solve_gradient(f, grad, LU, pivots, result, left, adjoint),
    B=lambda f, grad, LU, pivots, left, adjoint: f.linalg_lu_solve(LU, pivots, grad, left, not adjoint),
)


# ---------------------------------------------------------------- formulas


def lu_gradient(f: Any, gL: Any, gU: Any, L: Any, U: Any, P: Any) -> Any:
    """The gradient of P L U = A, for square, wide and tall matrices."""
    if gL is None and gU is None:
        return None
    m, n, k = L.shape[-2], U.shape[-1], L.shape[-1]
    if m == n:
        low = None if gL is None else f.tril(f.matmul(mH(f, L), gL), -1)
        high = None if gU is None else f.triu(f.matmul(gU, mH(f, U)))
        inner = f.linalg_solve_triangular(mH(f, U), either(f, low, high), False, False)
        return f.matmul(P, f.linalg_solve_triangular(mH(f, L), inner, True, True, True))
    if m < n:
        return f.matmul(P, _wide_lu(f, gL, gU, L, U, k, n))
    return f.matmul(P, _tall_lu(f, gL, gU, L, U, k, m))


def _wide_lu(f: Any, gL: Any, gU: Any, L: Any, U: Any, k: int, n: int) -> Any:
    low = None if gL is None else f.matmul(mH(f, L), gL)
    high = None if gU is None else f.matmul(f.triu(gU), mH(f, U))
    inner = f.tril(either(f, low, high, -1), -1)
    inner = f.linalg_solve_triangular(mH(f, part(f, U, -1, 0, k)), inner, False, False)
    if gU is None:
        inner = f.linalg_solve_triangular(mH(f, L), inner, True, True, True)
        return f.cat([inner, f.zeros_of((*U.shape[:-2], k, n - k), U)], inner.ndim - 1)
    inner = f.add(inner, f.triu(part(f, gU, -1, 0, k)))
    inner = f.cat([inner, part(f, gU, -1, k, n)], inner.ndim - 1)
    return f.linalg_solve_triangular(mH(f, L), inner, True, True, True)


def _tall_lu(f: Any, gL: Any, gU: Any, L: Any, U: Any, k: int, m: int) -> Any:
    high = None if gU is None else f.matmul(gU, mH(f, U))
    low = None if gL is None else f.matmul(mH(f, L), f.tril(gL, -1))
    inner = f.triu(either(f, high, low, -1))
    inner = f.linalg_solve_triangular(mH(f, part(f, L, -2, 0, k)), inner, True, True, True)
    if gL is None:
        inner = f.linalg_solve_triangular(mH(f, U), inner, False, False)
        return f.cat([inner, f.zeros_of((*L.shape[:-2], m - k, k), L)], inner.ndim - 2)
    inner = f.add(inner, f.tril(part(f, gL, -2, 0, k), -1))
    inner = f.cat([inner, part(f, gL, -2, k, m)], inner.ndim - 2)
    return f.linalg_solve_triangular(mH(f, U), inner, False, False)


def lu_factor_gradient(f: Any, grad: Any, LU: Any, pivots: Any) -> Any:
    L, U, P = f.lu_unpack(LU, pivots)
    k = L.shape[-1]
    return lu_gradient(f, part(f, grad, -1, 0, k), part(f, grad, -2, 0, k), L, U, P)


def lu_unpack_gradient(f: Any, grads: Any, sizes: Any) -> Any:
    gL, gU = grads[0], grads[1]
    m, n = sizes[-2:]
    if gL is None and gU is None:
        return None
    if m == n:
        return either(f, None if gL is None else f.tril(gL, -1), None if gU is None else f.triu(gU))
    k = min(m, n)
    if m < n:
        if gU is None:
            low = f.tril(gL, -1)
            return f.cat([low, f.zeros_of((*sizes[:-2], m, n - k), low)], low.ndim - 1)
        high = f.triu(gU)
        if gL is None:
            return high
        both = f.add(f.tril(gL, -1), f.triu(part(f, gU, -1, 0, k)))
        return f.cat([both, part(f, gU, -1, k, n)], both.ndim - 1)
    if gL is None:
        high = f.triu(gU)
        return f.cat([high, f.zeros_of((*sizes[:-2], m - k, n), high)], high.ndim - 2)
    if gU is None:
        return f.tril(gL, -1)
    both = f.add(f.tril(part(f, gL, -2, 0, k), -1), f.triu(gU))
    return f.cat([both, part(f, gL, -2, k, m)], both.ndim - 2)


def lu_solve_gradient(f: Any, grad: Any, LU: Any, pivots: Any, X: Any, left: bool, adjoint: bool) -> Any:
    L, U, P = f.lu_unpack(LU, pivots)
    solve = f.linalg_solve_triangular
    if left != adjoint:
        product = f.matmul(grad, mH(f, X)) if left else f.matmul(mH(f, grad), X)
        right = solve(mH(f, U), f.neg(product), False)
        low = f.tril(solve(mH(f, L), f.matmul(right, mH(f, U)), True, True, True), -1)
        return f.add(low, f.triu(right))
    turned = f.transpose(P, P.ndim - 2, P.ndim - 1)
    product = f.matmul(f.matmul(turned, X), mH(f, grad)) if left else f.matmul(f.matmul(turned, mH(f, X)), grad)
    right = f.neg(f.matmul(product, P))
    right = solve(mH(f, L), right, True, False, True)
    high = f.triu(solve(mH(f, U), f.matmul(mH(f, L), right), False, False))
    return f.add(f.tril(right, -1), high)


# ---------------------------------------------------------------- functions

lu_result, lu_unpack_result = named_result("linalg_lu", "P", "L", "U"), named_result("lu_unpack", "P", "L", "U")
lu_factor_result = named_result("linalg_lu_factor", "LU", "pivots")
lu_factor_ex_result = named_result("linalg_lu_factor_ex", "LU", "pivots", "info")


def _check_pivot(name: str, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """P, L and U with P L U = A."""
    check_matrix("linalg.lu", A, square=False)
    _check_pivot("linalg.lu", pivot)
    L, U, P = lu_op(A, pivot)
    return lu_result(P, L, U)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """As `lu_factor`, with `info` instead of an error unless `check_errors`."""
    check_matrix("torch.lu_factor", A, square=False)
    _check_pivot("linalg.lu_factor", pivot)
    LU, pivots, info = lu_factor_ex_op(A)
    if check_errors:
        _check_lu("torch.linalg.lu_factor_ex", info)
    return lu_factor_ex_result(LU, pivots, info)


def _check_lu(name: str, info: Tensor) -> None:
    check_info(
        name,
        info._ag_raw,
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform "
        "the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        RuntimeError,
    )


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the pivots; LinAlgError if U is singular."""
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    _check_lu("torch.linalg.lu_factor", info)
    return lu_factor_result(LU, pivots)


@composite(name="lu", out=True)
@hands_on(lambda A, pivot=True, get_infos=False: ("inner", "_lu_with_info", (A,), {"pivot": pivot}))
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """The older form of `torch.linalg.lu_factor_ex`."""
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in "
        "a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, "
        "get_infos=True)\nshould be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    found = lu_factor_ex(A, pivot=pivot)
    return found if get_infos else lu_factor_result(found.LU, found.pivots)


@composite(method=False, out=True)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of what `lu_factor` gave."""
    if unpack_pivots and LU_pivots._ag_raw.dtype != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    L, U, P = lu_unpack_op(LU_data, LU_pivots, unpack_data, unpack_pivots)
    return lu_unpack_result(P, L, U)


def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B (X A = B if not `left`, A**H if `adjoint`), from A's `lu_factor`."""
    if LU._ag_raw.dtype != B._ag_raw.dtype:
        kinds = f"LU of type {cpp_name(LU._ag_raw.dtype)} and B of type {cpp_name(B._ag_raw.dtype)}"
        raise RuntimeError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found {kinds} instead")
    if pivots._ag_raw.dtype != "int32":
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_matrix("torch.linalg.lu_solve", LU)
    check_square("linalg.lu_solve", B, "B", square=False)
    n, side = LU._ag_raw.shape[-1], B._ag_raw.shape[-2 if left else -1]
    if n != side:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B ({n}x{n} "
            f"and {B._ag_raw.shape[-2]}x{B._ag_raw.shape[-1]})"
        )
    if LU._ag_raw.shape[:-1] != pivots._ag_raw.shape:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._ag_raw.shape)} instead"
        )
    return lu_solve_op(LU, pivots, B, left, adjoint)


@composite(out=True)
@autocasts("fp32")
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The older form of `torch.linalg.lu_solve`."""
    return linalg_lu_solve(LU_data, LU_pivots, b)
