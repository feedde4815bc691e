"""The kernels of a GPU: those of NumPy over CuPy's functions; here is what is better done otherwise there."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from .._arrays import Array
from . import Kernels

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TABLES = 256
"""So many tables are kept on the GPU."""


class CudaKernels(Kernels):
    """Kernels over CuPy. To ask a GPU for a number makes the script wait for all that it was told before."""

    def __init__(self, xp: Any) -> None:
        super().__init__(xp)
        self._tables: dict[int, tuple[Any, Any]] = {}

    def placed(self, table: Any) -> Any:
        """A table that was worked out on the CPU; it is copied once. A number is handed over with each call."""
        if table.__class__ is not np.ndarray:
            return table
        kept = self._tables.get(id(table))
        if kept is None:
            if len(self._tables) >= TABLES:
                self._tables.clear()
            kept = self._tables[id(table)] = (table, self.xp.asarray(table))
        return kept[1]

    def matmul(self, a: Array, b: Array) -> Any:
        """CuPy 14.2 stops at batches of matrices of bfloat16: they are multiplied in float32."""
        if a.ndim > 2 and a.dtype == BFLOAT16:
            return super().matmul(a.astype(np.float32), b.astype(np.float32)).astype(BFLOAT16)
        return super().matmul(a, b)

    bmm = matmul

    def check_bounds(self, positions: Any, dim: int, n: int) -> None:
        """A position that is not there is an error: CuPy would count on from the beginning."""
        if positions.size:
            within = (positions >= -n) & (positions < n)
            self.xp.expect(within, f"an index is out of bounds for dimension {dim} with size {n}")

    def check_rows(self, indices: Any, n: int) -> None:
        if indices.size:
            self.xp.expect((indices >= 0) & (indices < n), "index out of range in self")

    def _class_weights(self, a: Array, target: Any, weight: Array, ignore_index: int) -> tuple[Any, Any]:
        known = target != ignore_index
        positions = self.xp.where(known, target, 0)
        self.xp.expect(
            (positions >= 0) & (positions < a.shape[1]), f"a target is out of bounds for {a.shape[1]} classes"
        )
        return positions, known.astype(a.dtype) * (self.number(1, a) if weight is None else weight[positions])

    def index(self, a: Array, indices: Array) -> Any:
        self._check_all(a, indices)
        return super().index(a, indices)

    def index_put(self, a: Array, indices: Array, values: Any, accumulate: bool = False) -> Any:
        self._check_all(a, indices)
        return super().index_put(a, indices, values, accumulate)

    index_put_impl = index_put

    def _check_all(self, a: Array, indices: Array) -> None:
        for dim, (positions, n) in enumerate(zip(indices, a.shape, strict=False)):
            if positions is not None and positions.dtype.kind in "iu":
                self.check_bounds(positions, dim, n)

    def max_unpool(self, a: Array, indices: Array, size: Any) -> Any:
        self.check_bounds(indices, a.ndim - len(size), math.prod(size))
        return super().max_unpool(a, indices, size)

    max_unpool2d = max_unpool3d = max_unpool

    def may_hold_nan(self, a: Array) -> bool:
        """Not asked, for the answer would have to be waited for."""
        return True


def _along(name: str) -> None:
    """A kernel of (array, dimension, index, ...) whose index is checked."""
    kernel = getattr(Kernels, name)

    def run(self: CudaKernels, a: Array, dim: int, index: Any, *rest: Any) -> Any:
        self.check_bounds(index, dim, a.shape[dim] if a.ndim else 1)
        return kernel(self, a, dim, index, *rest)

    setattr(CudaKernels, name, run)


def _flat(name: str) -> None:
    """A kernel of (array, index into all its elements, ...), likewise."""
    kernel = getattr(Kernels, name)

    def run(self: CudaKernels, a: Array, index: Any, *rest: Any) -> Any:
        self.check_bounds(index, 0, a.size)
        return kernel(self, a, index, *rest)

    setattr(CudaKernels, name, run)


for _name in (
    "index_select",
    "index_add",
    "index_fill_int_Scalar",
    "index_fill_int_Tensor",
    "index_copy",
    "index_reduce",
    "gather",
    "scatter_src",
    "scatter_value",
    "scatter_add",
    "scatter_reduce",
):
    _along(_name)
for _name in ("take", "put"):
    _flat(_name)
