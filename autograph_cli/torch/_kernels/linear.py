"""Products of matrices."""

from __future__ import annotations

from typing import Any


class Linear:
    """Kernels of linear algebra."""

    xp: Any

    def mm(self, a: Any, b: Any) -> Any:
        return self.xp.matmul(self._dense(a), self._dense(b))

    bmm = mm

    def _dense(self, a: Any) -> Any:
        # A stride of 0 (a broadcast gradient) takes the product off BLAS: many times slower than this copy.
        return self.xp.ascontiguousarray(a) if 0 in a.strides else a

    def dot(self, a: Any, b: Any) -> Any:
        return self.xp.dot(self._dense(a), self._dense(b))

    mv = mm

    def ger(self, a: Any, b: Any) -> Any:
        return a[:, None] * b

    def addmm(self, a: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        product = self.mm(x, y)
        if alpha != 1:
            product *= product.dtype.type(alpha)
        if beta == 0:
            return product
        product += a if beta == 1 else a * a.dtype.type(beta)
        return product
