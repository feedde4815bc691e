"""Some rows of an otherwise empty table: what a sparse gradient holds in the place of an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Rows:
    """Rows `values` at `places` (which may repeat) of an array of the given shape; adds up like one, and little else."""

    __slots__ = ("dtype", "places", "shape", "unique", "values")

    def __init__(self, places: Any, values: Any, shape: tuple[int, ...], unique: bool = False) -> None:
        self.places = places
        self.values = values
        self.shape = shape
        self.dtype = values.dtype
        self.unique = unique
        """Whether no place repeats, and all are in order."""

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)

    def dense(self) -> Any:
        """The whole array."""
        made = np.zeros(self.shape, self.dtype)
        np.add.at(made, self.places, self.values)
        return made

    def coalesced(self) -> Rows:
        """The same with each place once, in order."""
        if self.unique:
            return self
        places, back = np.unique(self.places, return_inverse=True)
        values = np.zeros((len(places), *self.values.shape[1:]), self.dtype)
        np.add.at(values, back, self.values)
        return Rows(places, values, self.shape, True)

    def copy(self) -> Rows:
        return Rows(self.places.copy(), self.values.copy(), self.shape, self.unique)

    def astype(self, dtype: Any) -> Rows:
        return Rows(self.places, self.values.astype(dtype), self.shape, self.unique)

    def __neg__(self) -> Rows:
        return Rows(self.places, -self.values, self.shape, self.unique)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Rows):
            return self.dense() + other
        places = np.concatenate([self.places, other.places])
        return Rows(places, np.concatenate([self.values, other.values]), self.shape)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is not np.add or method != "__call__":
            raise TypeError(_MISSING)
        return np.add(*(x.dense() if isinstance(x, Rows) else x for x in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_MISSING)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError(_MISSING)


_MISSING = "this is not available for sparse tensors in autograph's engine yet: use `tensor.to_dense()`"
