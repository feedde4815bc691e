"""Many elements to one: sums, means, norms, extremes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._core.base.dtypes import result_dtype
from ..half_precision import NARROW, cast, to_float32, widened

_FEW = 1 << 13
"""Sums of more elements are left to BLAS."""
_FOLDED = 32
"""Products of so many elements are worth folding."""


class Reduction:
    """Kernels that fold dimensions away."""

    xp: Any
    conj: Any
    total: Any
    row_sums: Any
    isnan: Any
    number: Any
    where: Any
    picked: Any

    def sum(self, a: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        if dtype is None and a.dtype.char in "fd" and a.ndim and a.size <= _FEW:
            return self.xp.add.reduce(a, axis=dim, keepdims=keepdim)
        if dtype is None and a.dtype.kind in "biu":
            dtype = np.int64
        if a.ndim == 0:
            return a.copy()[()] if dtype is None or a.dtype == dtype else a.astype(dtype)[()]
        wanted = dtype or a.dtype
        if wanted in NARROW:
            wide = to_float32(a) if a.dtype == wanted else a.astype(np.float32)
            return self.sum(wide, dim, keepdim).astype(wanted)
        if a.size > _FEW and wanted == a.dtype and a.dtype.kind == "f":
            if (dim is None or len(dim) == a.ndim) and not keepdim:
                return self.total(a)
            if dim is not None and len(dim) == 1 and dim[0] in (-1, a.ndim - 1):
                found = self.row_sums(a)
                return found if keepdim else found[..., 0]
        return self.xp.add.reduce(a, axis=dim, keepdims=keepdim, dtype=dtype)

    def mean(self, a: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        wanted = dtype or a.dtype
        if wanted.char not in "fd" and wanted in NARROW:
            return self.mean(a, dim, keepdim, np.dtype(np.float32)).astype(wanted)
        total = self.sum(a, dim, keepdim, dtype)
        return total / total.dtype.type(self._folded(a, dim))

    @staticmethod
    def _folded(a: Array, dim: Any) -> int:
        """Return how many elements are folded into one."""
        if dim is None or not a.ndim:
            return int(a.size)
        return a.shape[dim[0]] if len(dim) == 1 else math.prod([a.shape[d] for d in dim])

    def prod(self, a: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        if dtype is None and a.dtype.kind in "biu":
            dtype = np.int64
        if (wanted := dtype or a.dtype) in NARROW:
            a = a.astype(wanted, copy=False)
            if a.__class__ is np.ndarray and a.size and a.ndim:
                return self._rounded_products(a, dim, keepdim)
            return self.prod(to_float32(a), dim, keepdim).astype(wanted)
        if (
            dtype is None
            and a.dtype.char in "fd"
            and a.__class__ is np.ndarray
            and a.ndim
            and a.size
            and dim in (None, -1, a.ndim - 1, (-1,), (a.ndim - 1,))
        ):
            rows = a.reshape(-1, a.shape[-1]) if dim is not None else a.reshape(1, -1)
            if rows.shape[1] >= _FOLDED and a.flags.c_contiguous:
                found = self._products_of_rows(rows)
                shape = (1,) * a.ndim if dim is None else (*a.shape[:-1], 1)
                return found.reshape(shape if keepdim else shape[:-1] if dim is not None else ())[()]
        return self.xp.multiply.reduce(a, axis=dim, keepdims=keepdim, dtype=dtype)

    def _rounded_products(self, a: Array, dim: Any, keepdim: bool) -> Any:
        """Return products of 16-bit floats, rounded after each step as PyTorch does on the CPU: of 64 columns side by
        side, then of these in quarters, then one by one."""
        if dim is None:
            return self._rounded_products(a.reshape(-1), 0, False).reshape((1,) * a.ndim if keepdim else ())[()]
        dim = range(a.ndim)[dim]
        whole = a.shape[-1] // 64 * 64 if dim == a.ndim - 1 else 0
        if whole:
            lanes = np.multiply.reduce(a[..., :whole].reshape(*a.shape[:-1], -1, 4, 16), axis=-3)
            lanes = (lanes[..., 0, :] * lanes[..., 1, :]) * (lanes[..., 2, :] * lanes[..., 3, :])
            a = np.concatenate([lanes, a[..., whole:]], -1)
        found = np.multiply.accumulate(a, axis=dim).take([-1], dim)
        return found if keepdim else found.squeeze(dim)[()]

    def _products_of_rows(self, rows: Array) -> Any:
        """Multiply 16 columns side by side, then the products in halves, then what is left: one by one, each product
        would wait for the one before."""
        whole = rows.shape[1] // 16 * 16
        lanes = self.xp.multiply.reduce(rows[:, :whole].reshape(len(rows), -1, 16), axis=1)
        for half in (8, 4, 2, 1):
            lanes = lanes[:, :half] * lanes[:, half:]
        result = lanes[:, 0]
        for column in rows[:, whole:].T:
            result = result * column
        return result

    sum_dim_IntList = sum
    prod_dim_int = prod

    def laid_side_by_side(self, parts: Any, dim: int) -> Any:
        return self.xp.stack(parts, dim)

    mean_dim = mean

    @widened
    def var(self, a: Array, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
        folded = None if dim is None else tuple(dim)
        centered = a - self.mean(a, folded, True) if a.ndim else a - a
        squares = (centered * self.conj(centered)).real if a.dtype.kind == "c" else centered * centered
        total = self.xp.add.reduce(squares, axis=folded, keepdims=keepdim) if a.ndim else squares
        return total / total.dtype.type(max(self._folded(a, folded) - correction, 0))

    @widened
    def std(self, a: Array, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
        return self.xp.sqrt(self.var(a, dim, correction, keepdim))

    def max_dim(self, a: Array, dim: int, keepdim: bool = False) -> Any:
        return self._at(a, dim, keepdim, a.argmax(dim, keepdims=True) if a.ndim else None)

    def min_dim(self, a: Array, dim: int, keepdim: bool = False) -> Any:
        return self._at(a, dim, keepdim, a.argmin(dim, keepdims=True) if a.ndim else None)

    def _at(self, a: Array, dim: int, keepdim: bool, positions: Any) -> Any:
        if positions is None:
            return a.copy()[()], self.xp.zeros((), "int64")[()]
        values = self.picked(a, positions, dim)
        return (values, positions) if keepdim else (values.squeeze(dim)[()], positions.squeeze(dim)[()])

    def argmax(self, a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        return a.argmax(dim, keepdims=keepdim)[()] if a.ndim else self.xp.zeros((), "int64")[()]

    def argmin(self, a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        return a.argmin(dim, keepdims=keepdim)[()] if a.ndim else self.xp.zeros((), "int64")[()]

    def cumsum(self, a: Array, dim: int, dtype: Any = None) -> Any:
        if dtype is None and a.dtype.kind in "biu":
            dtype = np.int64
        wanted = dtype or a.dtype
        if wanted in NARROW:
            return cast(self.cumsum(cast(a, np.dtype(np.float32)), dim), wanted)
        return a.astype(dtype or a.dtype) if a.ndim == 0 else self.xp.cumsum(a, axis=dim, dtype=dtype)

    @widened
    def cumprod(self, a: Array, dim: int, dtype: Any = None) -> Any:
        if dtype is None and a.dtype.kind in "biu":
            dtype = np.int64
        return a.astype(dtype or a.dtype) if a.ndim == 0 else self.xp.cumprod(a, axis=dim, dtype=dtype)

    def logsumexp(self, a: Array, dim: Any, keepdim: bool = False) -> Any:
        if a.ndim == 0:
            return a.copy()[()]
        # Of no elements the sum is 0, as it should be.
        top = self.xp.max(a, axis=dim, keepdims=True) if a.size else self.sum(a, dim, True)
        top = self.xp.where(self.xp.isinf(top), 0, top).astype(a.dtype)
        total = self.xp.log(self.sum(self.xp.exp(a - top), dim, keepdim))
        return total + (top if keepdim else top.squeeze(dim))

    @widened
    def logcumsumexp(self, a: Array, dim: int) -> Any:
        if a.ndim == 0:
            return a.copy()[()]
        if a.dtype.kind == "c":
            out = a.copy()
            rows = self.xp.moveaxis(out, dim, 0)
            for k in range(len(rows)):
                rows[k] = self.logaddexp_complex(rows[k - 1] if k else self.xp.full_like(rows[0], -math.inf), rows[k])
            return out
        return self.xp.logaddexp.accumulate(a, axis=dim)

    def logaddexp_complex(self, a: Array, b: Array) -> Any:
        """log(exp(a) + exp(b)) by the larger one; of two infinite ones the sum is taken, or none is left."""
        xp = self.xp
        low, high = xp.where(a.real < b.real, a, b), xp.where(a.real < b.real, b, a)
        infinite = ~xp.isfinite(low.real) & (low.real == high.real)
        apart = xp.log1p(xp.exp(low - high)) + high
        level = xp.where(low.real < 0, low, xp.log(xp.exp(low) + xp.exp(high)))
        found = xp.where(infinite, level, apart)
        return xp.where(xp.isnan(a) | xp.isnan(b), a.dtype.type(complex(math.nan, math.nan)), found)[()]

    def cast_like(self, a: Array, like: Any) -> Any:
        return a.astype(like.dtype, copy=False)

    def cumprod_around_zeros(self, grad: Array, a: Array, result: Any, dim: int) -> Any:
        """The gradient of `cumprod` where factors are 0: before the first, and of it; behind it products stay 0."""
        xp, a, result = self.xp, self.conj(a), self.conj(result)
        zeros = xp.cumsum(a == 0, axis=dim)
        none = grad.dtype.type(0)
        before = xp.where(zeros == 0, result * grad, none)
        sums = xp.flip(xp.cumsum(xp.flip(before, dim), axis=dim), dim) / xp.where(zeros == 0, a, a.dtype.type(1))
        first = (zeros == 1) & (a == 0)
        later = xp.cumprod(xp.where((zeros == 1) & ~first, a, a.dtype.type(1)), axis=dim)
        later = (later * xp.where(zeros == 1, grad, none)).sum(axis=dim, keepdims=True)
        at = xp.argmax(first, axis=dim, keepdims=True)
        level = xp.where(at == 0, a.dtype.type(1), xp.take_along_axis(result, xp.maximum(at - 1, 0), dim))
        return xp.where(zeros == 0, sums, xp.where(first, later * level, none))

    def zeros_in(self, a: Array) -> int:
        return int(a.size - self.xp.count_nonzero(a))

    def any(self, a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        return self._as_bytes(a, a.any(dim if a.ndim else None, keepdims=keepdim))

    def all(self, a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        return self._as_bytes(a, a.all(dim if a.ndim else None, keepdims=keepdim))

    @staticmethod
    def _as_bytes(a: Array, found: Any) -> Any:
        """A truth about bytes is a byte."""
        return found.astype(a.dtype) if a.dtype == np.uint8 else found

    def amax(self, a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        if a.ndim == 0:
            return a.copy()[()]
        return self.xp.maximum.reduce(a, axis=dim, keepdims=keepdim)

    def amin(self, a: Array, dim: Any = None, keepdim: bool = False) -> Any:
        if a.ndim == 0:
            return a.copy()[()]
        return self.xp.minimum.reduce(a, axis=dim, keepdims=keepdim)

    def count_nonzero(self, a: Array, dim: Any) -> Any:
        found = self.xp.count_nonzero(a, axis=(dim or None) if a.ndim else None)
        return self.xp.asarray(found).astype("int64")[()]

    def hash_tensor(self, a: Array, dim: Any, keepdim: bool) -> Any:
        bits = a.astype("float64").view("uint64") if a.dtype.kind in "fV" else a.astype("uint64")
        return self.xp.bitwise_xor.reduce(bits, axis=dim, keepdims=keepdim) if a.ndim else bits

    def trace(self, a: Array) -> Any:
        return self.sum(a.diagonal())

    def dist(self, a: Array, b: Array, p: Any) -> Any:
        kind = result_dtype(a, b)
        return self.vector_norm(self.xp.asarray(a.astype(kind) - b.astype(kind)), p, None, False)

    @widened
    def vector_norm(self, a: Array, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        if dtype is not None:
            return self.vector_norm(a.astype(dtype), ord, dim, keepdim)
        dim = None if dim == () or not a.ndim else dim
        size = self.xp.abs(a) if ord != 2 or a.dtype.kind != "f" else a
        if ord == 2:
            return self.xp.sqrt(self.xp.add.reduce(size * size, axis=dim, keepdims=keepdim))
        if ord == float("inf"):
            return self.amax(size, dim, keepdim)
        if ord == -float("inf"):
            return self.amin(size, dim, keepdim)
        if ord == 0:
            return self.xp.add.reduce((size != 0).astype(size.dtype), axis=dim, keepdims=keepdim)
        if ord == 1:
            return self.xp.add.reduce(size, axis=dim, keepdims=keepdim)
        power = size.dtype.type(ord)
        return self.xp.power(self.xp.add.reduce(self.xp.power(size, power), axis=dim, keepdims=keepdim), 1 / power)

    linalg_vector_norm = vector_norm

    def nansum(self, a: Array, dim: Any, keepdim: bool, dtype: Any) -> Any:
        return self.sum(
            a if a.dtype.kind in "biu" else self.where(self.isnan(a), self.number(0, a), a), dim, keepdim, dtype
        )

    def renorm(self, a: Array, p: Any, dim: int, maxnorm: Any) -> Any:
        others = tuple(d for d in range(a.ndim) if d != dim)
        norm = self.vector_norm(a, p, others, True)
        one = norm.dtype.type
        return a * self.xp.where(norm > maxnorm, one(maxnorm) / (norm + one(1e-7)), one(1))
