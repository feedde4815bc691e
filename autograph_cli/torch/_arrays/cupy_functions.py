"""Differences between CuPy and NumPy that the kernels would meet, in one place."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from . import Array


def window(cupy: Any, root: Any, start: int, shape: Any, strides: Sequence[int], dtype: Any) -> Any:
    """A window into the memory of `root` that begins at an address, strides in bytes; it keeps `root` alive.

    CuPy's own `as_strided` forgets which array the memory belongs to.
    """
    memory = cupy.cuda.UnownedMemory(root.data.ptr, root.nbytes, root, root.device.id)
    pointer = cupy.cuda.MemoryPointer(memory, start - root.data.ptr)
    return cupy.ndarray(tuple(shape), dtype, pointer, tuple(strides))


_MANY = 1_000
"""The most expectations that wait."""


class Functions:
    """CuPy as the kernels want it: NumPy's names with what NumPy does."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self._expected: list[tuple[Any, str]] = []
        self.lib = _Lib(cupy)
        self.linalg = _Linalg(cupy)
        self.add = _Folding(cupy, cupy.add, cupy.sum, _SUMMED)
        self.subtract = _Difference(cupy, cupy.subtract)
        self.multiply = _Folding(cupy, cupy.multiply, cupy.prod)
        self.maximum = _Folding(cupy, cupy.maximum, cupy.max, _ORDERED)
        self.minimum = _Folding(cupy, cupy.minimum, cupy.min, _ORDERED)
        self.logaddexp = _Folding(cupy, cupy.logaddexp)
        self.logical_and = _Folding(cupy, cupy.logical_and, cupy.all)

    def __getattr__(self, name: str) -> Any:
        result = getattr(self.cupy, name)
        setattr(self, name, result)
        return result

    def expect(self, holds: Array, sentence: str) -> None:
        """Note what has to hold, as booleans on the GPU: whether it does is asked when numbers are read from there.

        So the script does not wait, and the error comes late, as PyTorch's from a GPU does.
        """
        self._expected.append((holds.all(), sentence))
        if len(self._expected) >= _MANY:
            self.check()

    def check(self) -> None:
        """RuntimeError where something that was expected does not hold."""
        expected, self._expected = self._expected, []
        if expected and not bool(self.cupy.stack([holds for holds, _ in expected]).all()):
            sentence = next(sentence for holds, sentence in expected if not bool(holds))
            raise RuntimeError(f"CUDA error: device-side assert triggered: {sentence}")

    @staticmethod
    def errstate(**_: Any) -> Any:
        """A GPU warns of nothing."""
        return contextlib.nullcontext()

    def where(self, condition: Array, *values: Any) -> Any:
        """CuPy's condition has to be an array."""
        if not isinstance(condition, self.cupy.ndarray):
            condition = self.cupy.full((), bool(condition))
        found = self.cupy.where(condition, *values)
        narrow = [x.dtype == BFLOAT16 for x in values if isinstance(x, self.cupy.ndarray)]
        return found.astype(BFLOAT16) if narrow and all(narrow) else found  # CuPy chooses them as float32

    def vecdot(self, a: Array, b: Array, axis: int = -1) -> Any:
        return (a.conj() * b).sum(axis)

    def empty_like(self, a: Array, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        return self.cupy.empty_like(a, dtype=dtype, order=order, shape=shape)


BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_SUMMED, _ORDERED = "iILQfde", "iIf"
"""The codes of the dtypes for which CuPy has the `at` of sums, and that of maxima and minima, which rounds float64 to
float32."""


class _Folding:
    """A universal function with its reduction, its running form, and what it does to elements that come several times:
    CuPy's know sums and products only, without a beginning, and few dtypes."""

    def __init__(self, cupy: Any, function: Any, fold: Any = None, atomic: str = "") -> None:
        self._cupy, self._function, self._fold, self._atomic = cupy, function, fold, atomic

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._function(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def reduce(
        self, a: Array, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None
    ) -> Any:
        if initial is not None:
            shape = [*a.shape]
            shape[axis] = 1
            a = self._cupy.concatenate([self._cupy.full(shape, initial, a.dtype), a], axis)
        options = {} if dtype is None else {"dtype": dtype}
        return self._fold(a, axis=axis, out=out, keepdims=keepdims, **options)

    def accumulate(self, a: Array, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """In as many steps as the length has binary digits: each joins what is 1, 2, 4, ... elements before."""
        if self._fold in (self._cupy.sum, self._cupy.prod):
            return self._function.accumulate(a, axis, dtype, out)
        result = a.copy()
        rows, step = result.swapaxes(0, axis), 1
        while step < a.shape[axis]:
            rows[step:] = self._function(rows[:-step], rows[step:])
            step *= 2
        return result

    def reduceat(self, a: Array, starts: Array, axis: int = 0) -> Any:
        """Rows from each start to the next one joined, the first of them twice where CuPy has no such form: of maxima
        and minima."""
        if self._fold is self._cupy.sum:
            return self._function.reduceat(a, starts, axis)
        result = a[starts]
        self.at(result, self._cupy.searchsorted(starts, self._cupy.arange(len(a)), side="right") - 1, a)
        return result

    def at(self, a: Array, indices: Any, values: Any) -> None:
        """Apply it to the elements of `a` at positions, one after the other where a position comes several times."""
        if a.dtype.char in self._atomic:
            self._function.at(a, indices, values)
        elif a.dtype == "int64" and self._atomic is _SUMMED:  # sums without a sign are the same bits
            self._function.at(a.view("uint64"), indices, self._cupy.asarray(values, "int64").view("uint64"))
        else:
            self._in_rounds(a, indices, values)

    def _in_rounds(self, a: Array, indices: Any, values: Any) -> None:
        """In each round every position takes its next value; the script waits for how many rounds there are."""
        cupy = self._cupy
        positions = cupy.arange(a.size).reshape(a.shape)[indices]
        given = cupy.broadcast_to(cupy.asarray(values, a.dtype), positions.shape).reshape(-1)
        order = cupy.argsort(positions.reshape(-1), kind="stable")
        if not order.size:
            return
        places, counted = positions.reshape(-1)[order], cupy.arange(order.size)
        first = cupy.concatenate([cupy.full((1,), True), places[1:] != places[:-1]])
        rank = counted - _Folding(cupy, cupy.maximum).accumulate(cupy.where(first, counted, 0))
        flat = a.reshape(-1)
        for turn in range(int(rank.max()) + 1):
            now = rank == turn
            flat[places[now]] = self._function(flat[places[now]], given[order[now]]).astype(a.dtype)
        a[...] = flat.reshape(a.shape)


class _Difference(_Folding):
    """Differences: CuPy's own `at` takes two dtypes."""

    def at(self, a: Array, indices: Any, values: Any) -> None:
        _Folding(self._cupy, self._cupy.add, atomic=_SUMMED).at(a, indices, -values)


class _Lib:
    def __init__(self, cupy: Any) -> None:
        self.stride_tricks = _Strides(cupy)


class _Strides:
    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.sliding_window_view = cupy.lib.stride_tricks.sliding_window_view

    def as_strided(self, a: Array, shape: Any = None, strides: Any = None) -> Any:
        root = a if a.base is None else a.base
        memory = root.data.mem
        root = memory._owner if isinstance(memory, self._cupy.cuda.UnownedMemory) else root
        shape, strides = a.shape if shape is None else shape, a.strides if strides is None else strides
        return window(self._cupy, root, a.data.ptr, shape, strides, a.dtype)


class _Linalg:
    """Decompositions and solvers: CuPy answers nan where NumPy raises an error, unless it is told to raise one, and its
    results lie column by column."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def _in_rows(self, found: Any) -> Any:
        return self._cupy.ascontiguousarray(found) if found.ndim > 1 else found

    def __getattr__(self, name: str) -> Any:
        function, errstate = getattr(self._cupy.linalg, name), importlib.import_module("cupyx").errstate

        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with errstate(linalg="raise"):
                found = function(*args, **options)
            if isinstance(found, tuple):
                return getattr(type(found), "_make", tuple)(map(self._in_rows, found))
            return self._in_rows(found)

        setattr(self, name, run)
        return run
