"""Arrays of which only some elements are kept: what a sparse tensor holds instead of an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.base.errors import refused
from . import Array, many_dims

_MISSING = "this is not available for sparse tensors in autograph's engine yet: use `tensor.to_dense()`"


class Sparse:
    """The base of the layouts. While one is alive, operations go through full dispatch, and device_dispatch.py
    sees
    it."""

    __slots__ = ("__weakref__", "dtype", "shape", "values")

    def __init__(self, values: Any, shape: tuple[int, ...]) -> None:
        self.values = values
        self.dtype = values.dtype
        self.shape = tuple(map(int, shape))

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    strides = property(lambda self: (0,) * len(self.shape))
    flags = property(lambda self: self.values.flags)

    @property
    def nbytes(self) -> int:
        """The bytes of what is kept: the values and where they stand."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        return True

    def with_values(self, values: Any) -> Any:
        """Other values in the same positions."""
        raise NotImplementedError

    def parts(self) -> tuple[Any, ...]:
        """The arrays that it is made of, the values last."""
        raise NotImplementedError

    def facts(self) -> tuple[bool, ...]:
        """Return what is told of it beside its arrays and its shape."""
        return ()

    def __reduce__(self) -> Any:
        return type(self), (*self.parts(), self.shape, *self.facts())

    def coo(self) -> Coo:
        """The same by coordinates."""
        raise NotImplementedError

    def nothing(self) -> Any:
        """Zero, kept in the same way."""
        coo = self.coo()
        zero = Coo(coo.indices[:, :0], coo.values[:0], coo.shape, True)
        return Csr.of(zero) if isinstance(self, Csr) else zero

    def dense(self) -> Any:
        """The whole array."""
        coo = self.coo()
        result = np.zeros(self.shape, self.dtype)
        many_dims.at(np.add, result, tuple(coo.indices), coo.values)
        return result

    def copy(self) -> Any:
        return self.with_values(self.values.copy())

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        return self.with_values(self.values.astype(dtype))

    def __neg__(self) -> Any:
        return self.with_values(-self.values)

    def __add__(self, other: Any) -> Any:
        return add(self, other) if isinstance(other, Sparse) else self.dense() + other

    __radd__ = __add__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is not np.add or method != "__call__":
            raise refused(TypeError, _MISSING)
        return np.add(*(x.dense() if isinstance(x, Sparse) else x for x in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        raise refused(AttributeError, _MISSING)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise refused(TypeError, _MISSING)


class Coo(Sparse):
    """`values[i]` at the position `indices[:, i]` (positions may repeat); values may have dimensions of their own.

    >>> Coo(np.array([[0, 2, 0]]), np.array([1.0, 2.0, 3.0]), (3,)).dense()
    array([4., 0., 2.])
    """

    __slots__ = ("coalesced", "indices")

    def __init__(self, indices: Array, values: Any, shape: tuple[int, ...], coalesced: bool = False) -> None:
        super().__init__(values, shape)
        self.indices = indices
        self.coalesced = coalesced
        """True if no place repeats and all are in order."""

    nbytes = property(lambda self: self.values.nbytes + self.indices.nbytes)

    def with_values(self, values: Any) -> Coo:
        return Coo(self.indices, values, (*self.shape[: len(self.indices)], *values.shape[1:]), self.coalesced)

    def parts(self) -> tuple[Any, ...]:
        return self.indices, self.values

    def facts(self) -> tuple[bool, ...]:
        return (self.coalesced,)

    def coo(self) -> Coo:
        return self

    def flat(self) -> Any:
        """Each position as one number."""
        return (
            np.ravel_multi_index(tuple(self.indices), self.shape[: len(self.indices)])
            if self.indices.size
            else (np.zeros(self.indices.shape[1], np.int64))
        )

    def coalesce(self) -> Coo:
        """The same with each position once, in order."""
        if self.coalesced:
            return self
        _, first, back = np.unique(self.flat(), return_index=True, return_inverse=True)
        values = np.zeros((len(first), *self.values.shape[1:]), self.dtype)
        many_dims.at(np.add, values, (back,), self.values)
        return Coo(self.indices[:, first], values, self.shape, True)


class Csr(Sparse):
    """Row by row: those of row `r` are `values[crow[r]:crow[r + 1]]`, in the columns `columns`."""

    __slots__ = ("columns", "crow")

    def __init__(self, crow: Any, columns: Any, values: Any, shape: tuple[int, ...]) -> None:
        super().__init__(values, shape)
        self.crow, self.columns = crow, columns

    nbytes = property(lambda self: self.values.nbytes + self.crow.nbytes + self.columns.nbytes)

    def with_values(self, values: Any) -> Csr:
        return Csr(self.crow, self.columns, values, self.shape)

    def parts(self) -> tuple[Any, ...]:
        return self.crow, self.columns, self.values

    def coo(self) -> Coo:
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.crow))
        return Coo(np.stack([rows, self.columns.astype(np.int64)]), self.values, self.shape)

    @classmethod
    def of(cls, coo: Coo) -> Csr:
        """A matrix by coordinates, row by row."""
        coo = coo.coalesce()
        counts = np.bincount(coo.indices[0], minlength=coo.shape[0])
        return cls(np.concatenate([[0], np.cumsum(counts)]), coo.indices[1], coo.values, coo.shape)


def add(a: Sparse, b: Sparse) -> Sparse:
    """The sum of two, which is kept as the first is."""
    if isinstance(a, Csr):
        if not isinstance(b, Csr):
            return Csr.of(add(a.coo(), b).coo())
        same = np.array_equal(a.crow, b.crow) and np.array_equal(a.columns, b.columns)
        return a.with_values(a.values + b.values) if same else Csr.of(add(a.coo(), b.coo()).coo())
    x, y = a.coo(), b.coo()
    if x.indices.shape == y.indices.shape and np.array_equal(x.indices, y.indices):
        return x.with_values(x.values + y.values)
    both = Coo(np.concatenate([x.indices, y.indices], 1), np.concatenate([x.values, y.values]), x.shape)
    return both.coalesce() if x.coalesced and y.coalesced else both
