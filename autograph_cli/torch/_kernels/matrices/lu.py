"""LU factors and triangular systems over batches: by LAPACK where it can be had, or by blocks, so that products do the
work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from . import lapack, triangular

_SOLVED, _FACTORED = 64, 32
"""Rows of a block of a triangular system, and columns of one of an LU factorization."""


class LU:
    """Kernels of triangular matrices and of factors that are such."""

    xp: Any
    conj: Any
    mH: Any
    column_major: Any

    def linalg_solve_triangular(
        self, a: Array, b: Array, upper: bool, left: bool = True, unitriangular: bool = False
    ) -> Any:
        if left:
            return self._substituted(a, b, upper, unitriangular)
        flip = self.xp.swapaxes
        a, b, upper = flip(a, -1, -2), flip(b, -1, -2), not upper
        if (found := triangular.substituted(b, a, upper, unitriangular, None, None, True)) is not None:
            return flip(found, -1, -2)
        return self.column_major(flip(self._substituted(a, b, upper, unitriangular), -1, -2))

    def _substituted(self, a: Array, b: Array, upper: bool, unitriangular: bool) -> Any:
        """The solution column by column."""
        if (result := triangular.substituted(b, a, upper, unitriangular)) is not None:
            return result
        if lapack.has(a, b):
            return lapack.substituted(a, b, upper, unitriangular)
        return self.column_major(self._by_blocks(a, b, upper, unitriangular))

    def _by_blocks(self, a: Array, b: Array, upper: bool, unitriangular: bool) -> Any:
        batch = many_dims.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        x = self.xp.array(self.xp.broadcast_to(b, (*batch, *b.shape[-2:])))
        if a.__class__ is not np.ndarray or not x.size:
            return self._row_by_row(a, x, upper, unitriangular)
        triangular.by_blocks(x, a, upper, _SOLVED, lambda a, b: self._block_solved(a, b, upper, unitriangular))
        return x

    def _block_solved(self, a: Array, b: Array, upper: bool, unitriangular: bool) -> Any:
        """By LAPACK's elimination, which has nothing to do below the diagonal: what is left is substitution."""
        turned = a if upper else a[..., ::-1, ::-1]
        block = self.xp.triu(turned)
        if unitriangular:
            i = self.xp.arange(a.shape[-1])
            block[..., i, i] = 1
        try:
            found = self.xp.linalg.solve(block, b if upper else b[..., ::-1, :])
        except np.linalg.LinAlgError:  # a zero on the diagonal
            return self._row_by_row(a, b.copy(), upper, unitriangular)
        return found if upper else found[..., ::-1, :]

    def _row_by_row(self, a: Array, x: Any, upper: bool, unitriangular: bool) -> Any:
        n = a.shape[-1]
        for i in reversed(range(n)) if upper else range(n):
            known = slice(i + 1, n) if upper else slice(0, i)
            row = x[..., i, :]
            row -= (a[..., i : i + 1, known] @ x[..., known, :])[..., 0, :]
            if not unitriangular:
                row /= a[..., i, i, None]
        return x

    def triangular_solve(self, b: Array, a: Array, upper: bool, transpose: bool, unitriangular: bool) -> Any:
        turned = self.xp.swapaxes(a, -1, -2) if transpose else a
        return self.linalg_solve_triangular(turned, b, upper != transpose, True, unitriangular), self.column_major(a)

    def with_unit_diagonal(self, a: Array) -> Any:
        """The matrix with ones on its diagonal."""
        out, i = a.copy(), self.xp.arange(min(a.shape[-2:]))
        out[..., i, i] = 1
        return out

    def set_diagonal(self, a: Array, values: Any) -> Any:
        out, i = a.copy(), self.xp.arange(min(a.shape[-2:]))
        out[..., i, i] = values
        return out

    def with_half_diagonal(self, a: Array) -> Any:
        """The matrix with the real part of its diagonal halved."""
        out, i = a.copy(), self.xp.arange(min(a.shape[-2:]))
        out.real[..., i, i] *= 0.5
        return out

    # ---------------------------------------------------------------- LU

    def lu_factor(self, a: Array) -> tuple[Any, Any, Any]:
        """L and U in one matrix, the row that was swapped with each one (from 1), and the first zero pivot (0:
        none)."""
        if lapack.has(a):
            return lapack.factored(a)
        xp = self.xp
        lu = xp.array(a, order="C")
        m, n = lu.shape[-2:]
        k = min(m, n)
        flat = lu.reshape(math.prod(lu.shape[:-2]), m, n)
        pivots = xp.empty((len(flat), k), xp.int32)
        info = xp.zeros(len(flat), xp.int32)
        if a.__class__ is np.ndarray and len(flat) <= k:
            for i, matrix in enumerate(flat):
                info[i] = self._factored(matrix, pivots[i])
        else:
            self._factored_together(flat, pivots, info)
        return self.column_major(lu), pivots.reshape(*a.shape[:-2], k), info.reshape(a.shape[:-2])[()]

    def _factored(self, lu: Array, pivots: Array) -> int:
        """One matrix in place, by blocks of columns; where the first zero pivot is."""
        k, zero = min(lu.shape), 0
        for start in range(0, k, _FACTORED):
            stop = min(start + _FACTORED, k)
            found = self._columns_factored(lu, pivots, start, stop)
            zero = zero or found
            if stop < lu.shape[1]:
                right = lu[start:stop, stop:]
                right[...] = self._substituted(lu[start:stop, start:stop], right, False, True)
                if stop < len(lu):
                    lu[stop:, stop:] -= lu[stop:, start:stop] @ right
        return zero

    def _columns_factored(self, lu: Array, pivots: Array, start: int, stop: int) -> int:
        zero = 0
        for j in range(start, stop):
            best = j + int(self._size(lu[j:, j]).argmax())
            pivots[j] = best + 1
            if best != j:
                row = lu[j].copy()
                lu[j], lu[best] = lu[best], row
            pivot = lu[j, j]
            if pivot == 0:
                zero = zero or j + 1
                continue
            below = lu[j + 1 :, j]
            below /= pivot
            if j + 1 < stop:
                lu[j + 1 :, j + 1 : stop] -= below[:, None] * lu[j, j + 1 : stop]
        return zero

    def _factored_together(self, flat: Any, pivots: Array, info: Any) -> None:
        """Many small matrices in place, a column of all of them at a time."""
        xp, count = self.xp, self.xp.arange(len(flat))
        for j in range(pivots.shape[1]):
            best = j + self._size(flat[:, j:, j]).argmax(1)
            pivots[:, j] = best + 1
            rows, others = flat[:, j].copy(), flat[count, best].copy()
            flat[:, j], flat[count, best] = others, rows
            pivot = flat[:, j, j]
            zero = pivot == 0
            info[...] = xp.where(zero & (info == 0), j + 1, info)
            below = flat[:, j + 1 :, j]
            below /= xp.where(zero, 1, pivot)[:, None]
            flat[:, j + 1 :, j + 1 :] -= below[:, :, None] * flat[:, j : j + 1, j + 1 :]

    def _size(self, a: Array) -> Any:
        """Return what LAPACK chooses pivots by."""
        return abs(a.real) + abs(a.imag) if a.dtype.kind == "c" else abs(a)

    def linalg_lu_factor_ex(self, a: Array) -> Any:
        return self.lu_factor(a)

    def permutation(self, pivots: Array, m: int) -> Any:
        """Return which row of the matrix became each row of the factors."""
        flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
        orders = []
        for swaps in flat.tolist():
            order = list(range(m))
            for j, best in enumerate(swaps):
                order[j], order[best - 1] = order[best - 1], order[j]
            orders.append(order)
        return self.xp.array(orders, "int64").reshape(*pivots.shape[:-1], m)

    def lu_unpack(
        self, lu: Array, pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
    ) -> tuple[Any, Any, Any]:
        """L, U and the matrix P with P L U = A; empty where not asked for."""
        xp = self.xp
        m, n = lu.shape[-2:]
        k = min(m, n)
        empty = xp.empty((0,), lu.dtype)
        lower = self.with_unit_diagonal(xp.tril(lu[..., :k], -1)) if unpack_data else empty
        upper = xp.triu(lu[..., :k, :]) if unpack_data else empty
        if not unpack_pivots:
            return lower, upper, empty
        order = self.permutation(pivots, m)
        return lower, upper, xp.swapaxes(xp.eye(m, dtype=lu.dtype)[order], -1, -2).copy()

    def linalg_lu(self, a: Array, pivot: bool = True) -> tuple[Any, Any, Any]:
        lu, pivots, _ = self.lu_factor(a)
        return self.lu_unpack(lu, pivots)

    def linalg_lu_solve(self, lu: Array, pivots: Array, b: Array, left: bool = True, adjoint: bool = False) -> Any:
        if not left:
            return self.xp.ascontiguousarray(self.mH(self.linalg_lu_solve(lu, pivots, self.mH(b), True, not adjoint)))
        xp, n = self.xp, lu.shape[-1]
        batch = many_dims.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
        b = xp.broadcast_to(b, (*batch, *b.shape[-2:]))
        order = xp.broadcast_to(self.permutation(pivots, n), (*batch, n))[..., None]
        if adjoint:
            y = self.linalg_solve_triangular(self.mH(lu), b, False)
            y = self.linalg_solve_triangular(self.mH(lu), y, True, True, True)
            out = xp.empty_like(y)
            xp.put_along_axis(out, order, y, -2)
            return self.column_major(out)
        y = self.linalg_solve_triangular(lu, xp.take_along_axis(b, order, -2), False, True, True)
        return self.linalg_solve_triangular(lu, y, True)
