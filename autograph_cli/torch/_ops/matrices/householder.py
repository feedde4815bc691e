"""Products of Householder reflectors, H = I - tau v v**H, and approximations of low rank built on factors."""

from __future__ import annotations

from typing import Any

from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching
from ._matrix import check_floating, column, mH
from .decompositions import linalg_qr, linalg_svd

householder_product_op = operation(
    "linalg_householder_product(Tensor input, Tensor tau)",
    autocast="fp32",
    batch=batching.leading,
    joint={("input", "tau"): lambda f, grad, input, tau, result: householder_gradients(f, grad, input, tau)},
)
ormqr_op = operation(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)",
    autocast="fp32",
    batch=batching.leading,
    joint={
        ("self", "input2", "input3"): lambda f, grad, self, input2, input3, left, transpose, result: ormqr_gradients(
            f, grad, self, input2, input3, left, transpose
        )
    },
)


def _parts(f: Any, a: Any, tau: Any) -> tuple[list[Any], list[Any]]:
    """The vectors, as columns, and their factors."""
    lower = f.with_unit_diagonal(f.tril(a, -1))
    count = tau.shape[-1]
    vectors = [f.slice(lower, a.ndim - 1, i, i + 1, 1) for i in range(count)]
    return vectors, [column(f, f.slice(tau, tau.ndim - 1, i, i + 1, 1)) for i in range(count)]


def _apply(f: Any, v: Any, t: Any, x: Any) -> Any:
    return f.sub(x, t * f.matmul(v, f.matmul(mH(f, v), x)))


def _through(f: Any, vectors: list[Any], factors: list[Any], x: Any, grad: Any) -> tuple[list[Any], list[Any], Any]:
    """The gradients of H1 H2 ... Hk x by each vector, each factor and x."""
    after = [x]
    for v, t in zip(reversed(vectors[1:]), reversed(factors[1:]), strict=True):
        after.append(_apply(f, v, t, after[-1]))
    by_vectors, by_factors = [], []
    for v, t, right in zip(vectors, factors, reversed(after), strict=True):
        forth = f.matmul(grad, f.matmul(mH(f, right), v))
        back = f.matmul(right, f.matmul(mH(f, grad), v))
        by_factors.append(f.neg(f.matmul(mH(f, v), forth)))
        by_vectors.append(f.neg(f.add(f.conj(t) * forth, t * back)))
        grad = _apply(f, v, f.conj(t), grad)
    return by_vectors, by_factors, grad


def _put_together(f: Any, by_vectors: list[Any], by_factors: list[Any], a: Any) -> tuple[Any, Any]:
    """Gradients of vectors and factors as those of the matrix and the row that they were read from."""
    rest = a.shape[-1] - len(by_vectors)
    blocks = [*by_vectors, f.zeros_of((*a.shape[:-1], rest), a)] if rest else by_vectors
    by_matrix = f.tril(f.cat(blocks, a.ndim - 1), -1)
    row = f.cat(by_factors, a.ndim - 1)
    return by_matrix, f.squeeze_dim(row, a.ndim - 2)


def householder_gradients(f: Any, grad: Any, a: Any, tau: Any) -> tuple[Any, Any]:
    m, n = a.shape[-2:]
    if 0 in (*a.shape, *tau.shape):
        return None, None
    vectors, factors = _parts(f, a, tau)
    by_vectors, by_factors, _ = _through(f, vectors, factors, f.unit_matrix(m, n, a), grad)
    return _put_together(f, by_vectors, by_factors, a)


def ormqr_gradients(
    f: Any, grad: Any, a: Any, tau: Any, other: Any, left: bool, transpose: bool
) -> tuple[Any, Any, Any]:
    if 0 in (*a.shape, *tau.shape):
        return None, None, grad
    vectors, factors = _parts(f, a, tau)
    x, g = (other, grad) if left else (mH(f, other), mH(f, grad))
    backwards = transpose == left
    if backwards:
        vectors, factors = vectors[::-1], [f.conj(t) for t in reversed(factors)]
    by_vectors, by_factors, by_other = _through(f, vectors, factors, x, g)
    if backwards:
        by_vectors, by_factors = by_vectors[::-1], [f.conj(t) for t in reversed(by_factors)]
    by_matrix, by_tau = _put_together(f, by_vectors, by_factors, a)
    return by_matrix, by_tau, by_other if left else mH(f, by_other)


def unit_matrix(m: int, n: int, like: Tensor) -> Tensor:
    return make(kernels(like._ag_raw).unit_matrix(m, n, like._ag_raw))


operations.unit_matrix = unit_matrix


# ---------------------------------------------------------------- functions


@composite(name="orgqr", out=True)
@autocasts("fp32")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflectors that `geqrf` gave."""
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input._ag_raw.shape[-2] < input._ag_raw.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input._ag_raw.shape[-1] < tau._ag_raw.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {input.ndim}"
        )
    if tau._ag_raw.dtype != input._ag_raw.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {cpp_name(tau._ag_raw.dtype)} does not match input dtype "
            f"{cpp_name(input._ag_raw.dtype)}"
        )
    return householder_product_op(input, tau)


@composite(out=True)
@autocasts("fp32")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """`other` multiplied by the product of the reflectors that `geqrf` gave, or by its conjugate transpose."""
    if input.ndim < 2 or other.ndim < 2:
        raise RuntimeError(f"torch.ormqr: {'input' if input.ndim < 2 else 'other'} must have at least 2 dimensions.")
    size = other._ag_raw.shape[-2 if left else -1]
    side = f"other.shape[{-2 if left else -1}]"
    if size < tau._ag_raw.shape[-1]:
        raise RuntimeError(f"torch.ormqr: {side} must be greater than or equal to tau.shape[-1]")
    if size != input._ag_raw.shape[-2]:
        raise RuntimeError(f"torch.ormqr: {side} must be equal to input.shape[-2]")
    if tau._ag_raw.shape[-1] > input._ag_raw.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])")
    for shown, x, fewer in (("tau", tau, 1), ("other", other, 0)):
        if x.ndim != input.ndim - fewer:
            wanted = "one dimension less than" if fewer else "the same number of dimensions as"
            raise RuntimeError(
                f"torch.ormqr: Expected {shown} to have {wanted} input, but got {shown}.ndim equal to {x.ndim} and "
                f"input.ndim is equal to {input.ndim}"
            )
    for name, x in (("tau", tau), ("other", other)):
        if x._ag_raw.dtype != input._ag_raw.dtype:
            kinds = f"input has dtype{cpp_name(input._ag_raw.dtype)} and {name} has dtype {cpp_name(x._ag_raw.dtype)}"
            raise RuntimeError(f"torch.ormqr: Expected input and {name} to have the same dtype, but {kinds}")
    check_floating("torch.ormqr", input)
    return ormqr_op(input, tau, other, left, transpose)


def _difference(A: Tensor, M: Tensor | None, multiply: Any) -> Tensor:
    """Return what `multiply` makes of A, less what it makes of M."""
    product: Tensor = multiply(A)
    return product if M is None else operations.sub(product, multiply(M))


@composite(method=False)
def get_approximate_basis(A: Tensor, q: int, niter: int | None = 2, M: Tensor | None = None) -> Tensor:
    """Orthonormal columns whose span approximates that of A - M (Halko and others, 2009, algorithm 4.4)."""
    f = operations
    Q: Tensor
    R = functions["randn"](A._ag_raw.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = linalg_qr(_difference(A, M, lambda x: f.matmul(x, R))).Q
    for _ in range(2 if niter is None else niter):
        Q = linalg_qr(_difference(A, M, lambda x, Q=Q: f.matmul(x.mH, Q))).Q
        Q = linalg_qr(_difference(A, M, lambda x, Q=Q: f.matmul(x, Q))).Q
    return Q


@composite()
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the `q` largest singular values of A - M, by random projection."""
    f = operations
    q = 6 if q is None else q
    m, n = A._ag_raw.shape[-2:]
    M = None if M is None else functions["broadcast_to"](M, A._ag_raw.shape)
    turned = m < n
    if turned:
        A, M = A.mH, None if M is None else M.mH
    Q = get_approximate_basis(A, q, niter, M)
    U, S, Vh = linalg_svd(_difference(A, M, lambda x: f.matmul(Q.mH, x)), False)
    U, V = f.matmul(Q, U), Vh.mH
    return (V, S, U) if turned else (U, S, V)


@composite(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of about the `q` principal components, from columns that are centered first."""
    m, n = A._ag_raw.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise refused(ValueError, f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise refused(ValueError, f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter=niter, M=None)
    return svd_lowrank(operations.sub(A, A.mean(dim=(-2,), keepdim=True)), q, niter=niter, M=None)
