"""Factors and inverses of matrices, over batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array
from . import lapack_solvers, triangular

_REACHES = {
    4: ((3, 0.4259), (5, 1.880), (7, 3.925)),
    8: ((3, 1.4956e-2), (5, 0.25394), (7, 0.95042), (9, 2.0978), (13, 5.3719)),
}
"""Degrees of Padé approximants of the exponential function, and the largest norms of which each one is right to the
last digit, by the bytes of a number (Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited)."""


_WIDE = 64
"""Rows of matrices whose exponential takes little more time in double precision."""


_CUTS: dict[str, Callable[[float], bool]] = {
    "gels": lambda _: False,
    "gelsd": lambda rcond: 0 < rcond < 1,
    "gelss": lambda rcond: rcond >= 0,
}
"""Values of `rcond` that LAPACK's drivers of least squares read, where not all."""


class Linalg:
    """Kernels of linear algebra beyond products."""

    xp: Any
    conj: Any
    lu_factor: Any
    linalg_lu_solve: Any
    linalg_solve_triangular: Any

    def sub_as_first(self, a: Array, b: Array) -> Any:
        return self.xp.subtract(a, b, out=self.xp.empty_like(a))

    def add_as_first(self, a: Array, b: Array) -> Any:
        return self.xp.add(a, b, out=self.xp.empty_like(a))

    def mH(self, a: Array) -> Any:
        """The conjugate transpose."""
        return self.conj(self.xp.swapaxes(a, -1, -2))

    def column_major(self, a: Array) -> Any:
        """The same matrices laid out column by column, as LAPACK returns them."""
        turned = self.xp.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
        out = self.xp.swapaxes(turned, -1, -2)
        out[...] = a
        return out

    def _no_failure(self, a: Array) -> Any:
        """0 for each matrix: that nothing went wrong."""
        return self.xp.zeros(a.shape[:-2], "int32")[()]

    # ---------------------------------------------------------------- solving

    def linalg_solve_ex(self, a: Array, b: Array, left: bool = True) -> Any:
        """The solution and, for each matrix, where it is singular (0: nowhere)."""
        vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
        right = b[..., None] if vector else b
        if not left:
            a, right = self.xp.swapaxes(a, -1, -2), self.xp.swapaxes(right, -1, -2)
        found = lapack_solvers.solved(a, right)
        x, info = found or self._solved(a, right)
        if left:
            x = x if found else self.column_major(x)
        else:
            x = self.xp.ascontiguousarray(self.xp.swapaxes(x, -1, -2))
        if vector:
            x = x[..., 0]
            return (self.column_major(x) if x.ndim > 1 else x), info
        return x, info

    def _solved(self, a: Array, b: Array) -> Any:
        try:
            return self.xp.linalg.solve(a, b), self._no_failure(a)
        except np.linalg.LinAlgError:
            lu, pivots, info = self.lu_factor(a)
            return self.linalg_lu_solve(lu, pivots, b), info

    def solve(self, a: Array, b: Array, left: bool = True) -> Any:
        return self.linalg_solve_ex(a, b, left)[0]

    def linalg_inv_ex(self, a: Array) -> Any:
        if (result := lapack_solvers.inverse(a)) is not None:
            return result
        try:
            return self.column_major(self.xp.linalg.inv(a)), self._no_failure(a)
        except np.linalg.LinAlgError:
            lu, pivots, info = self.lu_factor(a)
            one = self.xp.broadcast_to(self.xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
            return self.linalg_lu_solve(lu, pivots, one), info

    def linalg_det(self, a: Array) -> Any:
        return self.xp.linalg.det(a)

    def linalg_slogdet(self, a: Array) -> Any:
        sign, size = self.xp.linalg.slogdet(a)
        return sign, size

    def adjugate(self, a: Array, scale: Any) -> Any:
        return lapack_solvers.adjugate(a, scale)

    def scaled_inverse(self, a: Array, scale: Any) -> Any:
        return lapack_solvers.scaled_inverse(a, scale)

    def is_singular(self, det: Any) -> bool:
        """Return whether a determinant is so close to 0 that its gradient needs the singular values."""
        return bool((abs(det) < 100 * self.xp.finfo(det.dtype).eps).any())

    # ---------------------------------------------------------------- factors

    def linalg_cholesky_ex(self, a: Array, upper: bool = False) -> Any:
        """The factor and, for each matrix, the order of the first leading minor that is not positive (0: none)."""
        source = self.mH(a) if upper else a
        try:
            factor, info = self.xp.linalg.cholesky(source), self._no_failure(a)
        except np.linalg.LinAlgError:
            flat = source.reshape(-1, *a.shape[-2:])
            orders = [self._first_bad_minor(x) for x in flat]
            info = self.xp.array(orders, "int32").reshape(a.shape[:-2])[()]
            factors = [self._factor_until(x, bad) for x, bad in zip(flat, orders, strict=True)]
            factor = self.xp.stack(factors).reshape(a.shape)
        return self.column_major(self.mH(factor) if upper else factor), info

    def _factor_until(self, a: Array, bad: int) -> Any:
        """The Cholesky factor as LAPACK leaves it: its columns before the `bad` one, and what is not positive there;
        after it stands the matrix itself. 0: all of it."""
        if not bad:
            return self.xp.linalg.cholesky(a)
        out, done = self.xp.tril(a), bad - 1
        if done:
            out[:done, :done] = factor = self.xp.linalg.cholesky(a[:done, :done])
            out[done:, :done] = rest = self.mH(self.xp.linalg.solve(factor, self.mH(out[done:, :done])))
            out[done, done] -= (abs(rest[0]) ** 2).sum()
        return out

    def _first_bad_minor(self, a: Array) -> int:
        """Found by halving: with a minor, all larger ones are not positive."""
        good, bad = 0, len(a) + 1
        order = len(a)
        while bad - good > 1:
            try:
                self.xp.linalg.cholesky(a[:order, :order])
                good = order
            except np.linalg.LinAlgError:
                bad = order
            order = (good + bad) // 2
        return bad if bad <= len(a) else 0

    def cholesky(self, a: Array, upper: bool = False) -> Any:
        return self.linalg_cholesky_ex(a, upper)[0]

    def cholesky_solve(self, b: Array, factor: Any, upper: bool = False) -> Any:
        low, high = (self.mH(factor), factor) if upper else (factor, self.mH(factor))
        if (result := triangular.substituted(b, low, False, False, high)) is not None:
            return result
        return self.linalg_solve_triangular(high, self.linalg_solve_triangular(low, b, False), True)

    def cholesky_inverse(self, factor: Any, upper: bool = False) -> Any:
        one = self.xp.broadcast_to(self.xp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
        return self.cholesky_solve(one, factor, upper)

    def linalg_qr(self, a: Array, mode: str = "reduced") -> Any:
        if mode == "r":
            return self.xp.empty((0,), a.dtype), self.column_major(self.xp.linalg.qr(a, "r"))
        return tuple(map(self.column_major, self.xp.linalg.qr(a, mode)))

    def linalg_svd(self, a: Array, full_matrices: bool = False, compute_uv: bool = True) -> Any:
        result = lapack_solvers.singular_values(a, full_matrices, compute_uv)
        if result is not None:
            return result
        if not compute_uv:
            empty = self.xp.empty((0,), a.dtype)
            return empty, self.xp.linalg.svd(a, compute_uv=False), empty
        u, s, vh = self.xp.linalg.svd(a, full_matrices)
        return self.column_major(u), s, self.column_major(vh)

    def linalg_eigh(self, a: Array, UPLO: str = "L", compute_v: bool = True) -> Any:
        result = lapack_solvers.eigenvalues(a, UPLO.upper(), compute_v)
        if result is not None:
            return result
        if not compute_v:
            return self.xp.linalg.eigvalsh(a, UPLO.upper()), self.xp.empty((0,), a.dtype)
        values, vectors = self.xp.linalg.eigh(a, UPLO.upper())
        return values, self.column_major(vectors)

    def linalg_eig(self, a: Array) -> Any:
        kind = np.result_type(a.dtype, np.complex64)
        values, vectors = self.xp.linalg.eig(a)
        return values.astype(kind), self.column_major(vectors.astype(kind))

    def linalg_pinv(self, a: Array, atol: Any, rtol: Any, hermitian: bool) -> Any:
        """The pseudoinverse without singular values below the tolerances (numbers or arrays over the batch)."""
        if not a.size:
            return self.xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
        if hermitian:
            values, vectors = self.linalg_eigh(a)
            u, s, vh = vectors, values, self.mH(vectors)
        else:
            u, s, vh = self.linalg_svd(a)
        keep = abs(s) > self.cut(abs(s).max(-1, keepdims=True), atol, rtol)
        inverse = self.xp.where(keep, 1 / self.xp.where(keep, s, 1), 0)
        return (self.mH(vh) * inverse[..., None, :]) @ self.mH(u)

    def cut(self, largest: Any, atol: Any, rtol: Any) -> Any:
        """The larger one of both tolerances, the relative one times the largest singular value."""
        atol, rtol = (t[..., None] if getattr(t, "ndim", 0) else t for t in (atol, rtol))
        return self.xp.maximum(atol, rtol * largest)

    def pinv_plain(self, a: Array) -> Any:
        return self.linalg_pinv(a, 0.0, max(a.shape[-2:]) * self.xp.finfo(a.dtype).eps, False)

    def linalg_lstsq(self, a: Array, b: Array, rcond: float | None, driver: str) -> Any:
        """The solution, and what the LAPACK routine of that name would tell beside it (empty where it does not)."""
        xp = self.xp
        m, n = a.shape[-2:]
        vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
        right = b[..., None] if vector else b
        if rcond is None or (driver in _CUTS and not _CUTS[driver](rcond)):
            rcond = max(m, n) * xp.finfo(a.dtype).eps
        if driver == "gelsy" and (squares := lapack_solvers.least_squares(a, right, rcond)) is not None:
            x, rank = squares
            empty = xp.empty((0,), a.dtype)
            return (x[..., 0] if vector else x), empty, rank, empty
        u, values, vh = xp.linalg.svd(a, full_matrices=False)
        keep = values > rcond * xp.maximum.reduce(values, -1, keepdims=True, initial=0)
        inverse = xp.where(keep, 1 / xp.where(keep, values, 1), 0)
        found = self.mH(vh) @ (inverse[..., None] * (self.mH(u) @ right))
        # LAPACK writes the solution over the right hand side, which may have more rows.
        x = self.column_major(xp.zeros((*found.shape[:-2], max(m, n), found.shape[-1]), found.dtype))[..., :n, :]
        x[...] = found
        rank = keep.sum(-1)
        rest = xp.empty((0,), values.dtype)
        if m > n and driver != "gelsy" and (rank == n).all():
            rest = (abs(a @ x - right) ** 2).sum(-2)
        shown = values if driver in ("gelsd", "gelss") else xp.empty((0,), values.dtype)
        rank = xp.empty((0,), "int64") if driver == "gels" else rank.astype("int64")
        return (x[..., 0] if vector else x), rest, rank, shown

    # ---------------------------------------------------------------- reflectors

    def geqrf(self, a: Array) -> Any:
        packed, tau = self.xp.linalg.qr(a, "raw")
        return self.column_major(self.xp.swapaxes(packed, -1, -2)), tau

    def unit_matrix(self, m: int, n: int, like: Any) -> Any:
        return self.xp.broadcast_to(self.xp.eye(m, n, dtype=like.dtype), (*like.shape[:-2], m, n))

    def reflectors(self, a: Array, count: int) -> list[Any]:
        """The vectors of Householder reflectors, as columns: 0 above their 1, which is not stored."""
        out = []
        for i in range(count):
            v = a[..., :, i : i + 1].copy()
            v[..., :i, :] = 0
            v[..., i, :] = 1
            out.append(v)
        return out

    def linalg_householder_product(self, a: Array, tau: Any) -> Any:
        m, n = a.shape[-2:]
        q = self.xp.broadcast_to(self.xp.eye(m, n, dtype=a.dtype), a.shape).copy()
        return self.column_major(self._through_reflectors(a, tau, q, True))

    def _through_reflectors(self, a: Array, tau: Any, x: Any, forward: bool) -> Any:
        """H1 H2 ... Hk x, or the conjugate transpose of the product times x."""
        vectors = self.reflectors(a, tau.shape[-1])
        for i in reversed(range(len(vectors))) if forward else range(len(vectors)):
            t = tau[..., i, None, None]
            x = x - (t if forward else self.conj(t)) * (vectors[i] @ (self.mH(vectors[i]) @ x))
        return x

    def ormqr(self, a: Array, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
        if left:
            return self.column_major(self._through_reflectors(a, tau, other, not transpose))
        return self.column_major(self.mH(self._through_reflectors(a, tau, self.mH(other), transpose)))

    # ---------------------------------------------------------------- functions

    def linalg_matrix_exp(self, a: Array) -> Any:
        """Scaling and squaring with a Padé approximant."""
        xp = self.xp
        if a.size == math.prod(a.shape[:-2]):
            return xp.exp(a)
        if not a.size:
            return a.copy()
        if a.shape[-1] <= _WIDE and a.real.itemsize == 4:
            return self.linalg_matrix_exp(a.astype("D" if a.dtype.kind == "c" else "d")).astype(a.dtype)
        norms, reaches = abs(a).sum(-2).max(-1), _REACHES[a.real.itemsize]
        norm = float(xp.where(xp.isfinite(norms), norms, 0).max())
        degree, reach = next((x for x in reaches if norm <= x[1]), reaches[-1])
        halvings = math.ceil(math.log2(norm / reach)) if norm > reach else 0
        x = a / a.dtype.type(2**halvings) if halvings else a
        one = xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
        weights = [math.perm(2 * degree - k, degree) // math.factorial(k) for k in range(degree + 1)]
        even, odd = one * weights[0], one * weights[1]
        power = square = x @ x
        for k in range(2, degree, 2):
            even = even + power * weights[k]
            odd = odd + power * weights[k + 1]
            power = power @ square if k + 2 < degree else power
        odd = x @ odd
        result = xp.ascontiguousarray(self.solve(even - odd, even + odd))
        for _ in range(halvings):
            result = result @ result
        return result

    def exp_block(self, a: Array, grad: Array) -> Any:
        """The upper right block of exp([[a, grad], [0, a]]): the derivative of the exponential at a towards grad."""
        n = a.shape[-1]
        meta = self.xp.zeros((*a.shape[:-2], 2 * n, 2 * n), a.dtype)
        meta[..., :n, :n] = meta[..., n:, n:] = a
        meta[..., :n, n:] = grad
        return self.linalg_matrix_exp(meta)[..., :n, n:]
