"""Factors of matrices: Cholesky, QR, singular values, eigenvalues, LU, reflectors."""

from __future__ import annotations

from typing import Any

from .._core.operation import operation, operations
from .._core.registry import composite
from .._core.state import L as modes
from .._core.tensor import Tensor
from . import views
from ._errors import not_implemented
from ._matrix import check_floating, check_info, check_matrix, column, either, mH, part, result_type, row

cholesky_ex_op = operation(
    "linalg_cholesky_ex(Tensor self, bool upper=False) -> (Tensor L, Tensor info)", nondifferentiable=("info",),
    self=lambda f, grad, upper, L: cholesky_gradient(f, grad, upper, L),
)  # fmt: skip
cholesky_op = operation(
    "cholesky(Tensor self, bool upper=False)", self=lambda f, grad, upper, result: cholesky_gradient(f, grad, upper, result)
)
cholesky_solve_op = operation(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False)",
    joint={("self", "input2"): lambda f, grad, input2, result, upper, mask: cholesky_solve_gradients(
        f, grad, input2, result, upper, mask)},
)  # fmt: skip
cholesky_inverse_op = operation(
    "cholesky_inverse(Tensor self, bool upper=False)",
    self=lambda f, grad, self, upper, result: cholesky_inverse_gradient(f, grad, self, upper, result),
)  # fmt: skip
qr_op = operation(
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    A=lambda f, grads, Q, R, mode: qr_gradient(f, grads, Q, R, mode),
)  # fmt: skip
svd_op = operation(
    "linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor Vh)",
    node="LinalgSvdBackward0",
    A=lambda f, grads, full_matrices, U, S, Vh: svd_gradient(f, grads, full_matrices, U, S, Vh),
)  # fmt: skip
eigh_op = operation(
    "linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
    node="LinalgEighBackward0",
    A=lambda f, grads, eigenvalues, eigenvectors: eig_gradient(f, grads, eigenvalues, eigenvectors, True),
)  # fmt: skip
eig_op = operation(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    self=lambda f, grads, eigenvalues, eigenvectors: eig_gradient(f, grads, eigenvalues, eigenvectors, False),
)  # fmt: skip
lu_factor_ex_op = operation(
    "linalg_lu_factor_ex(Tensor A) -> (Tensor LU, Tensor pivots, Tensor info)", nondifferentiable=("pivots", "info"),
    A=lambda f, grad, LU, pivots: lu_factor_gradient(f, grad, LU, pivots),
)  # fmt: skip
lu_op = operation(
    "linalg_lu(Tensor A, bool pivot=True) -> (Tensor L, Tensor U, Tensor P)", nondifferentiable=("P",),
    A=lambda f, grads, L, U, P: lu_gradient(f, grads[0], grads[1], L, U, P),
)  # fmt: skip
lu_unpack_op = operation(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) "
    "-> (Tensor L, Tensor U, Tensor P)",
    nondifferentiable=("P",),
    LU_data=lambda f, grads, LU_data_sizes: lu_unpack_gradient(f, grads, LU_data_sizes),
)  # fmt: skip
lu_solve_op = operation(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool left=True, bool adjoint=False)",
    LU=lambda f, grad, LU, pivots, result, left, adjoint: lu_solve_gradient(f, grad, LU, pivots, result, left, adjoint),
    B=lambda f, grad, LU, pivots, left, adjoint: f.linalg_lu_solve(LU, pivots, grad, left, not adjoint),
)  # fmt: skip
geqrf_op = operation(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)", self=lambda f, grads: not_implemented("geqrf")(f, grads)
)


# ---------------------------------------------------------------- formulas


def cholesky_gradient(f: Any, grad: Any, upper: bool, factor: Any) -> Any:
    """L**-H (the symmetric half of L**H gL) L**-1."""
    L, gL = (mH(f, factor), mH(f, grad)) if upper else (factor, grad)
    half = f.tril(f.matmul(mH(f, L), gL))
    inner = f.mul_Scalar(f.add(half, mH(f, f.tril(half, -1))), 0.5)
    return f.linalg_solve_triangular(L, f.linalg_solve_triangular(mH(f, L), inner, True, True), False, False)


def cholesky_solve_gradients(f: Any, grad: Any, factor: Any, X: Any, upper: bool, mask: Any) -> Any:
    by_right = f.cholesky_solve(grad, factor, upper)
    if not mask[1]:
        return by_right, None
    common = f.matmul(by_right, mH(f, X))
    common = f.add(common, mH(f, common))
    product = f.matmul(factor, common) if upper else f.matmul(common, factor)
    return by_right if mask[0] else None, f.neg(product)


def cholesky_inverse_gradient(f: Any, grad: Any, factor: Any, upper: bool, inverse: Any) -> Any:
    common = f.matmul(inverse, f.matmul(f.add(grad, mH(f, grad)), inverse))
    return f.neg(f.matmul(factor, common) if upper else f.matmul(common, factor))


def qr_gradient(f: Any, grads: Any, Q: Any, R: Any, mode: str) -> Any:
    """Formulas of Roberts and Roberts, arXiv 2009.10071, for tall and wide matrices."""
    gQ, gR = grads
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    by_r = None if gR is None else f.matmul(gR, mH(f, R))
    by_q = None if gQ is None else f.matmul(mH(f, Q), gQ)
    inner = either(f, by_r, by_q, -1)
    if m >= n:
        upper = f.triu(inner)
        inner = f.matmul(Q, f.with_half_diagonal(f.add(upper, mH(f, upper))))
        inner = inner if gQ is None else f.add(inner, gQ)
        return f.linalg_solve_triangular(mH(f, R), inner, False, False)
    turned = f.neg(inner)
    lower = f.tril(f.sub(turned, mH(f, turned)))
    if f.is_complex(lower):
        raise NotImplementedError("the gradient of linalg.qr of a wide complex matrix is not available in autograph's engine yet")
    square = f.linalg_solve_triangular(mH(f, part(f, R, -1, 0, m)), f.matmul(Q, lower), False, False)
    whole = f.cat([square, f.zeros_of((*R.shape[:-2], m, n - m), R)], square.ndim - 1)
    return whole if gR is None else f.add(whole, f.matmul(Q, gR))


def _skew(f: Any, x: Any) -> Any:
    return f.sub(x, mH(f, x))


def svd_gradient(f: Any, grads: Any, full: bool, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient of the singular value decomposition with distinct singular values."""
    gU, gS, gVh = grads
    k = S.shape[-1]
    if full:
        gU = None if gU is None else part(f, gU, -1, 0, k)
        gVh = None if gVh is None else part(f, gVh, -2, 0, k)
        U, Vh = part(f, U, -1, 0, k), part(f, Vh, -2, 0, k)
    m, n = U.shape[-2], Vh.shape[-1]
    if gU is None and gVh is None:
        if gS is None:
            return None
        return f.matmul(U, column(f, gS) * Vh) if m >= n else f.matmul(U * row(f, gS), Vh)
    by_u = None if gU is None else f.matmul(mH(f, U), gU)
    by_v = None if gVh is None else f.matmul(Vh, mH(f, gVh))
    if f.is_complex(U):
        _check_phase(f, either(f, by_u, by_v))
    inner = _between(f, by_u, by_v, S)
    if gS is not None:
        inner = f.add(inner, f.diag_embed(gS))
    if f.is_complex(U) and gU is not None and gVh is not None:
        diagonal = f.diagonal(_skew(f, by_u), 0, by_u.ndim - 2, by_u.ndim - 1)
        inner = f.add(inner, f.diag_embed(f.div(diagonal, f.mul_Scalar(S, 2))))
    if m > k and gU is not None:
        scaled = f.div(gU, row(f, S))
        left = f.sub(f.add(f.matmul(U, inner), scaled), f.matmul(U, f.matmul(mH(f, U), scaled)))
        return f.matmul(left, Vh)
    if n > k and gVh is not None:
        scaled = f.div(gVh, column(f, S))
        right = f.sub(f.add(f.matmul(inner, Vh), scaled), f.matmul(f.matmul(scaled, mH(f, Vh)), Vh))
        return f.matmul(U, right)
    return f.matmul(U, f.matmul(inner, Vh)) if m >= n else f.matmul(f.matmul(U, inner), Vh)


def _between(f: Any, by_u: Any, by_v: Any, S: Any) -> Any:
    """What turns singular vectors into each other, over the differences of the squares of singular values."""
    u = None if by_u is None else _skew(f, by_u)
    v = None if by_v is None else _skew(f, by_v)
    squares = S * S
    apart = f.with_unit_diagonal(f.sub(row(f, squares), column(f, squares)))
    if u is None:
        return column(f, S) * f.div(v, apart)
    if v is None:
        return f.div(u, apart) * row(f, S)
    return f.div(f.add(u * row(f, S), column(f, S) * v), apart)


def _check_phase(f: Any, x: Any) -> None:
    from .._core.general import kernels

    raw = getattr(x, "_raw", x)
    turning = abs(kernels().diagonal(raw, 0, raw.ndim - 2, raw.ndim - 1).imag)
    if (turning > 1e-2).any():
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. The specified "
            "loss function depends on this phase term, making it ill-defined."
        )


def eig_gradient(f: Any, grads: Any, L: Any, V: Any, hermitian: bool) -> Any:
    """Giles' formula: V**-H (diag(gL) + (V**H gV) / (differences of eigenvalues)) V**H."""
    gL, gV = grads
    if gL is None and gV is None:
        return None
    if gV is None:
        if hermitian:
            return f.matmul(V * row(f, gL), mH(f, V))
        return f.solve(mH(f, V), column(f, gL) * mH(f, V), True)
    turned = f.matmul(mH(f, V), gV)
    _check_eigenvectors(f, turned, hermitian)
    if hermitian:
        inner = f.mul_Scalar(_skew(f, turned), 0.5)
        apart = f.with_unit_diagonal(f.sub(row(f, L), column(f, L)))
    else:
        diagonal = f.diagonal(turned, 0, turned.ndim - 2, turned.ndim - 1)
        inner = f.sub(turned, f.matmul(mH(f, V), V * row(f, f.real(diagonal))))
        turning = f.conj(L)
        apart = f.with_unit_diagonal(f.sub(row(f, turning), column(f, turning)))
    inner = f.div(inner, apart)
    if gL is not None:
        inner = f.set_diagonal(inner, gL)
    if hermitian:
        return f.matmul(V, f.matmul(inner, mH(f, V)))
    return f.solve(mH(f, V), f.matmul(inner, mH(f, V)), True)


def _check_eigenvectors(f: Any, turned: Any, hermitian: bool) -> None:
    from .._core.general import kernels

    raw = getattr(turned, "_raw", turned)
    if raw.dtype.kind != "c":
        return
    phase = abs(kernels().diagonal(raw, 0, raw.ndim - 2, raw.ndim - 1).imag)
    if (phase > 1e-2).any():
        raise RuntimeError(
            f"linalg_eig{'h' if hermitian else ''}_backward: The eigenvectors in the complex case are specified up to multiplication "
            "by e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
        )


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


def set_diagonal(x: Tensor, values: Tensor) -> Tensor:
    """The matrix with other values on its diagonal, copied in place."""
    views.diagonal_op(x, 0, x.ndim - 2, x.ndim - 1).copy_(values)
    return x


operations.set_diagonal = set_diagonal


# ---------------------------------------------------------------- functions


cholesky_ex_result = result_type("linalg_cholesky_ex", "L", "info")
qr_result, legacy_qr_result = result_type("linalg_qr", "Q", "R"), result_type("qr", "Q", "R")
svd_result, legacy_svd_result = result_type("linalg_svd", "U", "S", "Vh"), result_type("svd", "U", "S", "V")
eigh_result = result_type("linalg_eigh", "eigenvalues", "eigenvectors")
eig_result = result_type("linalg_eig", "eigenvalues", "eigenvectors")
lu_result, lu_unpack_result = result_type("linalg_lu", "P", "L", "U"), result_type("lu_unpack", "P", "L", "U")
lu_factor_result = result_type("linalg_lu_factor", "LU", "pivots")
lu_factor_ex_result = result_type("linalg_lu_factor_ex", "LU", "pivots", "info")
geqrf_result = result_type("geqrf", "a", "tau")
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not "
    "positive-definite)."
)


def linalg_cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """As `linalg.cholesky`, with `info` instead of an error unless `check_errors`."""
    check_matrix("linalg.cholesky", A)
    factor, info = cholesky_ex_op(A, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info._raw, NOT_POSITIVE)
    return cholesky_ex_result(factor, info)


def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L L**H = A; LinAlgError if A is not positive-definite.

    >>> from autograph_cli import torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2], [2, 5]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_matrix("linalg.cholesky", A)
    factor, info = cholesky_ex_op(A, upper)
    check_info("linalg.cholesky", info._raw, NOT_POSITIVE)
    return factor  # type: ignore[no-any-return]


@composite(out=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The older name of `torch.linalg.cholesky`."""
    check_matrix("cholesky", input)
    from .._core.general import kernels

    check_info("cholesky", kernels().linalg_cholesky_ex(input._raw, upper)[1], NOT_POSITIVE)
    return cholesky_op(input, upper)


@composite(out=True)
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, from A's Cholesky factor."""
    for x, shown in ((B, "b"), (L, "u")):
        if x.ndim < 2:
            raise RuntimeError(f"{shown} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    if L._raw.shape[-1] != L._raw.shape[-2]:
        raise RuntimeError(
            f"cholesky_solve: A must be batches of square matrices, but they are {L._raw.shape[-2]} by {L._raw.shape[-1]} matrices"
        )
    if B._raw.shape[-2] != L._raw.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L._raw.shape[-1]} by {L._raw.shape[-1]} but each b matrix "
            f"is {B._raw.shape[-2]} by {B._raw.shape[-1]}"
        )
    from .._core import dims

    batch = dims.broadcast(B._raw.shape[:-2], L._raw.shape[:-2])
    B, L = (x if x._raw.shape[:-2] == batch else views.expand(x, (*batch, *x._raw.shape[-2:])) for x in (B, L))
    return cholesky_solve_op(B, L, upper)


@composite(out=True)
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given."""
    check_matrix("cholesky_inverse", L)
    return cholesky_inverse_op(L, upper)


def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and the upper triangular R with Q R = A."""
    check_matrix("linalg.qr", A, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return qr_result(*qr_op(A, mode))


@composite(out=True)
def qr(input: Tensor, some: bool = True) -> Any:
    """The older name of `torch.linalg.qr`."""
    check_matrix("linalg.qr", input, square=False)
    return legacy_qr_result(*qr_op(input, "reduced" if some else "complete"))


def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vh with U diag(S) Vh = A, singular values descending.

    >>> from autograph_cli import torch
    >>> torch.linalg.svd(torch.tensor([[3.0, 0], [0, 4]])).S
    tensor([4., 3.])
    """
    check_matrix("linalg.svd", A, square=False)
    return svd_result(*svd_op(A, full_matrices, True))


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, descending."""
    check_matrix("linalg.svd", A, square=False)
    return svd_op(A, False, modes.grad and A.requires_grad)[1]  # type: ignore[no-any-return]


@composite(out=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form of `torch.linalg.svd`, with V instead of its conjugate transpose."""
    check_matrix("linalg.svd", input, square=False)
    m, n = input._raw.shape[-2:]
    if not compute_uv:
        batch = input._raw.shape[:-2]
        return legacy_svd_result(
            operations.zeros_of((*batch, m, m), input), svdvals(input), operations.zeros_of((*batch, n, n), input)
        )
    U, S, Vh = svd_op(input, not some, True)
    return legacy_svd_result(U, S, mH(operations, Vh))


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues, ascending, and eigenvectors of symmetric (Hermitian) matrices; one triangle is read."""
    check_matrix("linalg.eigh", A)
    _check_uplo(UPLO)
    return eigh_result(*eigh_op(A, UPLO, True))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric (Hermitian) matrices, ascending."""
    check_matrix("linalg.eigvalsh", A)
    _check_uplo(UPLO)
    return eigh_op(A, UPLO, modes.grad and A.requires_grad)[0]  # type: ignore[no-any-return]


def _check_uplo(UPLO: str) -> None:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors, complex."""
    _check_finite(A)
    return eig_result(*eig_op(A))


def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues, complex."""
    _check_finite(A)
    return eig_op(A)[0]  # type: ignore[no-any-return]


def _check_finite(A: Tensor) -> None:
    check_matrix("linalg.eig", A)
    from .._core.general import kernels

    if not kernels().xp.isfinite(A._raw).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


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
        name, info._raw,
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
        "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        RuntimeError,
    )  # fmt: skip


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the pivots; LinAlgError if U is singular."""
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    _check_lu("torch.linalg.lu_factor", info)
    return lu_factor_result(LU, pivots)


@composite(name="lu", out=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """The older form of `torch.linalg.lu_factor_ex`."""
    found = lu_factor_ex(A, pivot=pivot)
    return found if get_infos else lu_factor_result(found.LU, found.pivots)


@composite(method=False, out=True)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of what `lu_factor` gave."""
    if unpack_pivots and LU_pivots._raw.dtype != "int32":
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this function is intended to be used with the output produced by torch.linalg.lu_factor")
    L, U, P = lu_unpack_op(LU_data, LU_pivots, unpack_data, unpack_pivots)
    return lu_unpack_result(P, L, U)


def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B (X A = B if not `left`, A**H if `adjoint`), from A's `lu_factor`."""
    check_matrix("torch.linalg.lu_solve", LU, "LU")
    if LU._raw.dtype != B._raw.dtype:
        raise RuntimeError("linalg.lu_solve: Expected LU and B to have the same dtype")
    return lu_solve_op(LU, pivots, B, left, adjoint)


@composite(out=True)
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The older form of `torch.linalg.lu_solve`."""
    return linalg_lu_solve(LU_data, LU_pivots, b)


@composite(out=True)
def geqrf(input: Tensor) -> Any:
    """Householder reflectors and R in one matrix, and the reflectors' factors."""
    check_floating("geqrf", input)
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    return geqrf_result(*geqrf_op(input))


