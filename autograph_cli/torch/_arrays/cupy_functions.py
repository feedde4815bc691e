"""What CuPy lacks of NumPy, or does otherwise: each difference that the kernels would meet, in one place."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from . import Array


def window(cupy: Any, root: Any, start: int, shape: Any, strides: Sequence[int], dtype: Any) -> Any:
    """A window into the memory of `root` that begins at an address, strides in bytes; it keeps `root` alive.

    CuPy's own `as_strided` forgets which array the memory belongs to.
    """
    memory = cupy.cuda.UnownedMemory(root.data.ptr, root.nbytes, root, root.device.id)
    pointer = cupy.cuda.MemoryPointer(memory, start - root.data.ptr)
    return cupy.ndarray(tuple(shape), dtype, pointer, tuple(strides))


_MANY = 1_000
"""So many expectations wait at most."""


class Functions:
    """CuPy as the kernels want it: NumPy's names with what NumPy does."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._expected: list[tuple[Any, str]] = []
        self.lib = _Lib(cupy)
        self.linalg = _Linalg(cupy)
        self.maximum = _Folding(cupy.maximum, cupy.max)
        self.minimum = _Folding(cupy.minimum, cupy.min)
        self.logaddexp = _Folding(cupy.logaddexp)
        self.logical_and = _Folding(cupy.logical_and, cupy.all)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cupy, name)
        setattr(self, name, found)
        return found

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
        if expected and not bool(self._cupy.stack([holds for holds, _ in expected]).all()):
            sentence = next(sentence for holds, sentence in expected if not bool(holds))
            raise RuntimeError(f"CUDA error: device-side assert triggered: {sentence}")

    @staticmethod
    def errstate(**_: Any) -> Any:
        """A GPU warns of nothing."""
        return contextlib.nullcontext()

    def where(self, condition: Array, *values: Any) -> Any:
        """CuPy's condition has to be an array."""
        if not isinstance(condition, self._cupy.ndarray):
            condition = self._cupy.full((), bool(condition))
        return self._cupy.where(condition, *values)

    def vecdot(self, a: Array, b: Array, axis: int = -1) -> Any:
        return (a.conj() * b).sum(axis)

    def empty_like(self, a: Array, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        return self._cupy.empty_like(a, dtype=dtype, order=order, shape=shape)


class _Folding:
    """A universal function with its reduction and its running form: CuPy's know sums and products only."""

    def __init__(self, function: Any, fold: Any = None) -> None:
        self._function, self._fold, self.at = function, fold, function.at

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._function(*args, **options)

    def reduce(self, a: Array, axis: Any = 0, out: Any = None, keepdims: bool = False) -> Any:
        return self._fold(a, axis=axis, out=out, keepdims=keepdims)

    def accumulate(self, a: Array, axis: int = 0) -> Any:
        """In as many steps as the length has binary digits: each joins what is 1, 2, 4, ... elements before."""
        found = a.copy()
        rows, step = found.swapaxes(0, axis), 1
        while step < a.shape[axis]:
            rows[step:] = self._function(rows[:-step], rows[step:])
            step *= 2
        return found


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
    """Decompositions and solvers: CuPy answers nan where NumPy raises an error, so that a matrix without inverse would
    go unseen; they are not available on a GPU yet."""

    def __init__(self, cupy: Any) -> None:
        self.LinAlgError = ArithmeticError

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"linalg.{name} is not available on the device 'cuda' in autograph's engine")
