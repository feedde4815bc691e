"""Factors of matrices: Cholesky, QR, singular values, eigenvalues, LU, reflectors."""

from __future__ import annotations

from typing import Any

from ..._arrays.meta import readable
from ..._arrays.stand_in import whole
from ..._core.base import dims
from ..._core.base.user_warnings import warn_once
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import is_meta, kernels
from ..._core.tape.tensor import Tensor, may_follow
from ..._core.transforms import batching
from ..shaping import broadcasting, views
from ..tensors.results import named_result
from ._errors import not_implemented
from ._matrix import (
    check_floating,
    check_info,
    check_matrix,
    column,
    either,
    mH,
    part,
    row,
    same_dtype,
)

cholesky_ex_op = operation(
    "linalg_cholesky_ex(Tensor self, bool upper=False) -> (Tensor L, Tensor info)",
    nondifferentiable=("info",),
    autocast="fp32",
    batch=batching.leading,
    self=lambda f, grad, upper, L: cholesky_gradient(f, grad, upper, L),
)
cholesky_op = operation(
    "cholesky(Tensor self, bool upper=False)",
    autocast="fp32",
    batch=batching.leading,
    self=lambda f, grad, upper, result: cholesky_gradient(f, grad, upper, result),
)
cholesky_solve_op = operation(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False)",
    autocast="fp32",
    batch=batching.leading,
    joint={
        ("self", "input2"): lambda f, grad, self, input2, result, upper, mask: cholesky_solve_gradients(
            f, grad, input2, result, upper, mask
        )
    },
)
cholesky_inverse_op = operation(
    "cholesky_inverse(Tensor self, bool upper=False)",
    autocast="fp32",
    batch=batching.leading,
    self=lambda f, grad, self, upper, result: cholesky_inverse_gradient(f, grad, self, upper, result),
)
qr_op = operation(
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    autocast="fp32",
    batch=batching.leading,
    A=lambda f, grads, Q, R, mode: qr_gradient(f, grads, Q, R, mode),
)
svd_op = operation(
    "linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor Vh)",
    saved={"S_sym_argsize_minus_1": lambda A_sizes: min(A_sizes[-2:])},
    node="LinalgSvdBackward0",
    autocast="fp32",
    batch=batching.leading,
    A=lambda f, grads, full_matrices, U, S, Vh: svd_gradient(f, grads, full_matrices, U, S, Vh),
)
eigh_op = operation(
    "linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
    node="LinalgEighBackward0",
    autocast="fp32",
    batch=batching.leading,
    A=lambda f, grads, eigenvalues, eigenvectors: eig_gradient(f, grads, eigenvalues, eigenvectors, True),
)
eig_op = operation(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    autocast="fp32",
    batch=batching.leading,
    self=lambda f, grads, eigenvalues, eigenvectors: eig_gradient(f, grads, eigenvalues, eigenvectors, False),
)
geqrf_op = operation(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    complex_gradient=False,
    autocast="fp32",
    batch=batching.leading,
    self=lambda f, grads: not_implemented("geqrf")(f, grads),
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
        raise NotImplementedError(
            "the gradient of linalg.qr of a wide complex matrix is not available in autograph's engine yet"
        )
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
    if f.is_complex(U) and by_u is not None and gVh is not None:
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
    """Return what turns singular vectors into each other, over the differences of the squares of singular values."""
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
    raw = getattr(x, "_ag_raw", x)
    turning = abs(kernels(raw).diagonal(raw, 0, raw.ndim - 2, raw.ndim - 1).imag)
    if readable(turning) and (turning > 1e-2).any():
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined."
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
        plane = (0, inner.ndim - 2, inner.ndim - 1)
        inner = f.diagonal_scatter(inner, gL, *plane) if is_meta(inner) else f.set_diagonal(inner, gL)
    if hermitian:
        return f.matmul(V, f.matmul(inner, mH(f, V)))
    return f.solve(mH(f, V), f.matmul(inner, mH(f, V)), True)


def _check_eigenvectors(f: Any, turned: Any, hermitian: bool) -> None:
    raw = getattr(turned, "_ag_raw", turned)
    if raw.dtype.kind != "c":
        return
    phase = abs(kernels(raw).diagonal(raw, 0, raw.ndim - 2, raw.ndim - 1).imag)
    if readable(phase) and (phase > 1e-2).any():
        raise RuntimeError(
            f"linalg_eig{'h' if hermitian else ''}_backward: The eigenvectors in the complex case are specified up to "
            "multiplication "
            "by e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
        )


def set_diagonal(x: Tensor, values: Tensor) -> Tensor:
    """The matrix with other values on its diagonal, copied in place."""
    views.diagonal_op(x, 0, x.ndim - 2, x.ndim - 1).copy_(values)
    return x


operations.set_diagonal = set_diagonal


# ---------------------------------------------------------------- functions


cholesky_ex_result = named_result("linalg_cholesky_ex", "L", "info")
qr_result, legacy_qr_result = named_result("linalg_qr", "Q", "R"), named_result("qr", "Q", "R")
svd_result, legacy_svd_result = named_result("linalg_svd", "U", "S", "Vh"), named_result("svd", "U", "S", "V")
eigh_result = named_result("linalg_eigh", "eigenvalues", "eigenvectors")
eig_result = named_result("linalg_eig", "eigenvalues", "eigenvectors")
geqrf_result = named_result("geqrf", "a", "tau")
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)


@autocasts("fp32")
def linalg_cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """As `linalg.cholesky`, with `info` instead of an error unless `check_errors`."""
    check_matrix("linalg.cholesky", A)
    factor, info = cholesky_ex_op(A, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info._ag_raw, NOT_POSITIVE)
    return cholesky_ex_result(factor, info)


@autocasts("fp32")
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L L**H = A; LinAlgError if A is not positive-definite.

    >>> from autograph_cli import torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2], [2, 5]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_matrix("linalg.cholesky", A)
    factor, info = cholesky_ex_op(A, upper)
    check_info("linalg.cholesky", info._ag_raw, NOT_POSITIVE)
    return factor


@composite(out=True)
@autocasts("fp32")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The older name of `torch.linalg.cholesky`."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\n"
        "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, "
        "upper=True)\n"
        "should be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for "
        "all valid (symmetric positive definite) inputs."
    )
    check_matrix("cholesky", input)

    raw = whole(input._ag_raw)
    check_info("cholesky", kernels(raw).linalg_cholesky_ex(raw, upper)[1], NOT_POSITIVE)
    return cholesky_op(input, upper)


@composite(out=True)
@autocasts("fp32")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, from A's Cholesky factor."""
    for x, shown in ((B, "b"), (L, "u")):
        if x.ndim < 2:
            raise RuntimeError(f"{shown} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    if L._ag_raw.shape[-1] != L._ag_raw.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {L._ag_raw.shape[-2]} by "
            f"{L._ag_raw.shape[-1]} matrices"
        )
    if B._ag_raw.shape[-2] != L._ag_raw.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L._ag_raw.shape[-1]} by "
            f"{L._ag_raw.shape[-1]} but each b matrix is {B._ag_raw.shape[-2]} by {B._ag_raw.shape[-1]}"
        )
    same_dtype(B, L)

    batch = dims.broadcast(B._ag_raw.shape[:-2], L._ag_raw.shape[:-2])
    B, L = (
        x if x._ag_raw.shape[:-2] == batch else broadcasting.expand(x, (*batch, *x._ag_raw.shape[-2:])) for x in (B, L)
    )
    return cholesky_solve_op(B, L, upper)


@composite(out=True)
@autocasts("fp32")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given."""
    check_matrix("cholesky_inverse", L)
    return cholesky_inverse_op(L, upper)


@autocasts("fp32")
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and the upper triangular R with Q R = A."""
    check_matrix("linalg.qr", A, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return qr_result(*qr_op(A, mode))


@composite(out=True)
@autocasts("fp32")
def qr(input: Tensor, some: bool = True) -> Any:
    """The older name of `torch.linalg.qr`."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe "
        "boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould "
        "be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    check_matrix("linalg.qr", input, square=False)
    return legacy_qr_result(*qr_op(input, "reduced" if some else "complete"))


@autocasts("fp32")
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vh with U diag(S) Vh = A, singular values descending.

    >>> from autograph_cli import torch
    >>> torch.linalg.svd(torch.tensor([[3.0, 0], [0, 4]])).S
    tensor([4., 3.])
    """
    check_matrix("linalg.svd", A, square=False)
    return svd_result(*svd_op(A, full_matrices, True))


@autocasts("fp32")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, descending."""
    check_matrix("linalg.svd", A, square=False)
    return svd_op(A, False, may_follow(A))[1]


@composite(out=True)
@autocasts("fp32")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form of `torch.linalg.svd`, with V instead of its conjugate transpose."""
    check_matrix("linalg.svd", input, square=False)
    m, n = input._ag_raw.shape[-2:]
    if not compute_uv:
        batch = input._ag_raw.shape[:-2]
        return legacy_svd_result(
            operations.zeros_of((*batch, m, m), input), svdvals(input), operations.zeros_of((*batch, n, n), input)
        )
    U, S, Vh = svd_op(input, not some, True)
    return legacy_svd_result(U, S, Vh.mH)


@autocasts("fp32")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues, ascending, and eigenvectors of symmetric (Hermitian) matrices; one triangle is read."""
    check_matrix("linalg.eigh", A)
    _check_uplo(UPLO)
    return eigh_result(*eigh_op(A, UPLO, True))


@autocasts("fp32")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric (Hermitian) matrices, ascending."""
    check_matrix("linalg.eigh", A)
    _check_uplo(UPLO)
    return eigh_op(A, UPLO, may_follow(A))[0]


def _check_uplo(UPLO: str) -> None:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


@autocasts("fp32")
def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors, complex."""
    check_matrix("linalg.eig", A)
    _check_finite(A)
    return eig_result(*eig_op(A))


@autocasts("fp32")
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues, complex."""
    check_matrix("linalg.eigvals", A)
    _check_finite(A)
    return eig_op(A)[0]


def _check_finite(A: Tensor) -> None:
    raw = whole(A._ag_raw)
    if readable(raw) and not kernels(raw).xp.isfinite(raw).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


@composite(out=True)
@autocasts("fp32")
def geqrf(input: Tensor) -> Any:
    """Householder reflectors and R in one matrix, and the reflectors' factors."""
    check_floating("geqrf", input)
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    return geqrf_result(*geqrf_op(input))
