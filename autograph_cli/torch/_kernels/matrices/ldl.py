"""Factors of symmetric matrices that need not be positive: L D L**T with Bunch and Kaufman's pivots."""

from __future__ import annotations

import math
from typing import Any

from ..._arrays import Array, many_dims
from . import lapack_solvers

_ALPHA = (1 + math.sqrt(17)) / 8


class LDL:
    """Kernels of the LDL factorization, matrix by matrix."""

    xp: Any

    def linalg_ldl_factor_ex(self, a: Array, hermitian: bool = False) -> tuple[Any, Any, Any]:
        """L and D in one lower triangle, the pivots as LAPACK numbers them, and the first zero block (0: none)."""
        if hermitian and a.dtype.kind == "c":
            raise NotImplementedError(
                "linalg.ldl_factor of complex Hermitian matrices is not available in autograph's engine yet"
            )
        xp, n = self.xp, a.shape[-1]
        if (result := lapack_solvers.bunch_kaufman(a)) is not None:
            return result
        factors = xp.tril(a)
        pivots, info = xp.zeros(a.shape[:-1], "int32"), xp.zeros(a.shape[:-2], "int32")
        for position in xp.ndindex(a.shape[:-2]):
            info[position] = self._ldl(factors[position], pivots[position], n)
        return factors, pivots, info[()]

    def _ldl(self, a: Array, pivots: Array, n: int) -> int:
        k = info = 0
        while k < n:
            kp, step = self._pivot(a, k, n)
            if step == 0:
                info, kp, step = info or k + 1, k, 1
            else:
                self._swap(a, k, k + step - 1, kp, n)
                (self._eliminate_one if step == 1 else self._eliminate_two)(a, k)
            pivots[k : k + step] = kp + 1 if step == 1 else -(kp + 1)
            k += step
        return info

    def _pivot(self, a: Array, k: int, n: int) -> tuple[int, int]:
        """The row to swap with, and the size of the block (0: the column is zero)."""
        here = abs(a[k, k])
        below = abs(a[k + 1 :, k])
        largest = below.max(initial=0)
        if max(here, largest) == 0:
            return k, 0
        if here >= _ALPHA * largest:
            return k, 1
        i = k + 1 + int(below.argmax())
        beside = max(abs(a[i, k:i]).max(initial=0), abs(a[i + 1 :, i]).max(initial=0))
        if here >= _ALPHA * largest * (largest / beside):
            return k, 1
        return i, 1 if abs(a[i, i]) >= _ALPHA * beside else 2

    def _swap(self, a: Array, k: int, kk: int, kp: int, n: int) -> None:
        """Swap rows and columns kk and kp of what is left, in the lower triangle."""
        if kp == kk:
            return
        a[kp + 1 :, [kk, kp]] = a[kp + 1 :, [kp, kk]]
        column, row = a[kk + 1 : kp, kk].copy(), a[kp, kk + 1 : kp].copy()
        a[kk + 1 : kp, kk], a[kp, kk + 1 : kp] = row, column
        a[kk, kk], a[kp, kp] = a[kp, kp], a[kk, kk]
        if kk != k:
            a[kk, k], a[kp, k] = a[kp, k], a[kk, k]

    def _eliminate_one(self, a: Array, k: int) -> None:
        below = a[k + 1 :, k].copy()
        a[k + 1 :, k] = below / a[k, k]
        a[k + 1 :, k + 1 :] -= self.xp.tril(self.xp.outer(a[k + 1 :, k], below))

    def _eliminate_two(self, a: Array, k: int) -> None:
        first, second = a[k + 2 :, k].copy(), a[k + 2 :, k + 1].copy()
        link = a[k + 1, k]
        d11, d22 = a[k + 1, k + 1] / link, a[k, k] / link
        scale = 1 / (d11 * d22 - 1) / link
        a[k + 2 :, k], a[k + 2 :, k + 1] = scale * (d11 * first - second), scale * (d22 * second - first)
        outer = self.xp.outer
        a[k + 2 :, k + 2 :] -= self.xp.tril(outer(first, a[k + 2 :, k]) + outer(second, a[k + 2 :, k + 1]))

    def linalg_ldl_solve(self, factors: Any, pivots: Array, b: Array, hermitian: bool = False) -> Any:
        xp = self.xp
        batch = many_dims.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
        x = xp.array(xp.broadcast_to(b, (*batch, *b.shape[-2:])))
        factors = xp.broadcast_to(factors, (*batch, *factors.shape[-2:]))
        pivots = xp.broadcast_to(pivots, (*batch, pivots.shape[-1]))
        for position in xp.ndindex(batch):
            self._ldl_solve(factors[position], pivots[position].tolist(), x[position])
        return self.column_major(x)

    column_major: Any

    def _ldl_solve(self, a: Array, pivots: list[int], x: Any) -> None:
        n, k = len(pivots), 0
        blocks = []
        while k < n:
            step = 1 if pivots[k] > 0 else 2
            last, kp = k + step - 1, abs(pivots[k]) - 1
            blocks.append((k, last, kp))
            x[[last, kp]] = x[[kp, last]]
            x[last + 1 :] -= a[last + 1 :, k : last + 1] @ x[k : last + 1]
            block = a[k : last + 1, k : last + 1]
            x[k : last + 1] = self.xp.linalg.solve(self.xp.tril(block) + self.xp.tril(block, -1).T, x[k : last + 1])
            k += step
        for k, last, kp in reversed(blocks):
            x[k : last + 1] -= a[last + 1 :, k : last + 1].T @ x[last + 1 :]
            x[[last, kp]] = x[[kp, last]]
