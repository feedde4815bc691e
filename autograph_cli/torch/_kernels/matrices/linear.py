"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array
from ..._core.base.dtypes import result_dtype
from ..half_precision import NARROW, to_float32, widened
from .lapack import FEW_ROWS, MANY_PRODUCTS

MANY_WHOLE = 1 << 10
"""Products of matrices of fewer whole numbers are left to NumPy."""
_BOOL = np.dtype(bool)


class Linear:
    """Kernels of linear algebra."""

    xp: Any
    held: Any
    number: Any
    conj: Any
    _unequal: Any

    def matmul(self, a: Array, b: Array) -> Any:
        if a.dtype.itemsize == 2 and a.dtype in NARROW and a.__class__ is np.ndarray:
            return self.matmul(to_float32(a), to_float32(b)).astype(a.dtype)
        a = self.xp.ascontiguousarray(a) if 0 in a.strides[-2:] else a
        b = self.xp.ascontiguousarray(b) if 0 in b.strides[-2:] else b
        if a.dtype.kind in "iu" and (exact := self._by_doubles(a, b)) is not None:
            return exact
        if a.ndim > 2 and a.shape[-1] == 1 and a.dtype.kind == "f":
            return self._outer_products(a, b)
        turned = b.size > MANY_PRODUCTS // FEW_ROWS and self._is_turned(a, b)
        product = self.xp.matmul(b.T, a.T).T.copy() if turned else self.xp.matmul(a, b)
        if product.dtype == _BOOL:
            kernel = "addmm_impl_cpu_" if product.ndim < 3 else "bmm"
            raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
        return product if product.dtype == a.dtype else product.astype(a.dtype)

    mm = bmm = matmul

    def _by_doubles(self, a: Array, b: Array) -> Any:
        """The product of whole numbers by BLAS, where double precision holds all sums of it; None elsewhere."""
        if a.__class__ is not np.ndarray or min(a.size, b.size) < MANY_WHOLE or a.ndim != 2 or b.ndim != 2:
            return None
        most = [max(abs(int(x.min())), abs(int(x.max()))) for x in (a, b)]
        if most[0] * most[1] * a.shape[-1] >= 1 << 53 or most[0] * most[1] * a.shape[-1] > np.iinfo(a.dtype).max:
            return None
        return self.xp.matmul(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)

    def add_product(self, total: Array, a: Array, b: Array) -> bool:
        """Return whether the product was added to `total`, in the bits of a product and a sum."""
        return False

    def _outer_products(self, a: Array, b: Array) -> Any:
        """Products of columns and rows, one by one: the backend's products take several times as long."""
        product = a * b
        product += self.number(0, product)  # a sum that begins with 0 has no -0
        return self.xp.ascontiguousarray(product)

    def _is_turned(self, a: Array, b: Array) -> bool:
        """Return whether BLAS is sooner done with the transpose of a product: of few rows and a matrix that is
        transposed."""
        return (
            a.__class__ is np.ndarray
            and b.ndim == a.ndim == 2
            and 1 < len(a) <= FEW_ROWS
            and len(a) * b.size > MANY_PRODUCTS
            and b.dtype.char in "fd"
            and a.flags.c_contiguous
            and b.flags.f_contiguous
        )

    def _dense(self, a: Array) -> Any:
        # A stride of 0 (a broadcast gradient) takes the product off BLAS: many times slower than this copy.
        return self.xp.ascontiguousarray(a) if 0 in a.strides else a

    def dot(self, a: Array, b: Array) -> Any:
        return self.xp.dot(self._dense(a), self._dense(b))

    mv = mm

    def ger(self, a: Array, b: Array) -> Any:
        return a[:, None] * b

    @widened
    def addmm(self, a: Array, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        product = self.mm(x, y)
        if alpha != 1:
            product *= self.held(alpha, product)
        if beta == 0:
            return product
        product += a if beta == 1 else a * self.held(beta, a)
        return product

    @widened
    def addmv(self, a: Array, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        return self._added(a, self.mv(mat, vec), beta, alpha)

    def addr(self, a: Array, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        common = result_dtype(a, x, y)
        for name, factor in (("beta", beta), ("alpha", alpha)):
            if common.kind in "biu" and isinstance(factor, float):
                raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        a, x, y = (each.astype(common, copy=False) for each in (a, x, y))
        return self._added(a, self.ger(x, y), beta, alpha)

    @widened
    def baddbmm(self, a: Array, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        return self._added(a, self.bmm(x, y), beta, alpha)

    @widened
    def addbmm(self, a: Array, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        return self._added(a, self.bmm(x, y).sum(0, dtype=a.dtype), beta, alpha)

    def _added(self, a: Array, product: Any, beta: Any, alpha: Any) -> Any:
        product = product if alpha == 1 else product * self.held(alpha, product)
        if beta == 0:
            return product
        return product + (a if beta == 1 else a * self.held(beta, a))

    def vdot(self, a: Array, b: Array) -> Any:
        return self.dot(self.conj(a), b)

    def linalg_cross(self, a: Array, b: Array, dim: int = -1) -> Any:
        return self.xp.cross(a, b, axis=dim)

    # ---------------------------------------------------------------- distances

    def _differences(self, x: Any, y: Any) -> Any:
        return x[..., :, None, :] - y[..., None, :, :]

    def _cdist_forward(self, x: Any, y: Any, p: float) -> Any:
        size = self._differences(x, y)
        if p == 2:
            return self.xp.sqrt(self.xp.add.reduce(size * size, axis=-1))
        size = abs(size)
        if p == float("inf"):
            return self.xp.fmax.reduce(size, -1, initial=0)  # nan is larger than nothing
        if p == 0:
            return self._unequal(size)
        return size.sum(-1) if p == 1 else self.xp.power((size**p).sum(-1), 1 / p)

    def _cdist_backward(self, grad: Array, x: Any, y: Any, p: float, distance: Any) -> Any:
        """The gradient of the first argument; 0 where a distance is 0."""
        xp, apart = self.xp, self._differences(x, y)
        grad, distance = grad[..., None], distance[..., None]
        if p == 0:
            slope = xp.zeros_like(apart)
        elif p == 1:
            slope = xp.sign(apart) * grad
        elif p == 2:
            none = distance == 0
            slope = xp.where(none, 0, apart * grad / xp.where(none, 1, distance))
        elif p == float("inf"):
            slope = xp.sign(apart) * grad * (abs(apart) == distance)
        else:
            with xp.errstate(all="ignore"):
                slope = xp.sign(apart) * abs(apart) ** (p - 1) * grad / distance ** (p - 1)
            slope = xp.where((distance == 0) | ((apart == 0) & (p < 1)), 0, slope)
        return xp.add.reduce(slope, axis=-2)

    def _euclidean_dist(self, x: Any, y: Any) -> Any:
        """By one product: |x|**2 + |y|**2 - 2 x y."""
        squares = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :]
        rest = squares - 2 * self.matmul(x, self.xp.swapaxes(y, -1, -2))
        return self.xp.sqrt(self.xp.maximum(rest, 0))
