"""16-bit floats: what folds many numbers into one computes in float32 and rounds once, as PyTorch does on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .._arrays import Array
from .._compiled import compiled

_fast: Any = compiled("_kernels.fast_halves")
NARROW = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))
"""The dtypes that are too coarse to add up in."""


def widened(run: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes in float32 where its first array is of 16 bits."""

    @functools.wraps(run)
    def run_in_float32(self: Any, a: Array, *rest: Any, **named: Any) -> Any:
        if a.dtype not in NARROW:
            return run(self, a, *rest, **named)
        result = run(self, to_float32(a), *map(to_float32, rest), **named)
        if named.get("dtype") is not None or any(isinstance(x, np.dtype) for x in rest):
            return result
        return tuple(_back(x, a.dtype) for x in result) if isinstance(result, tuple) else _back(result, a.dtype)

    run_in_float32.unwidened = run  # type: ignore[attr-defined]
    return run_in_float32


def widened_beside(run: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as `widened` has it, of which beside parameters in float32 only the first result is rounded."""
    alone = widened(run)

    @functools.wraps(run)
    def run_mixed(self: Any, a: Array, *rest: Any) -> Any:
        if a.dtype not in NARROW or not any(getattr(x, "dtype", None) == np.float32 for x in rest):
            return alone(self, a, *rest)
        first, *others = run(self, *map(to_float32, (a, *rest)))
        return (_back(first, a.dtype), *others)

    run_mixed.unwidened = run  # type: ignore[attr-defined]
    return run_mixed


def unwidened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return what such a kernel runs where its first array is in float32 or float64; any other kernel itself."""
    run = getattr(kernel, "unwidened", None)
    return kernel if run is None else functools.partial(run, kernel.__self__)  # type: ignore[attr-defined]


def in_float32(kernel: Callable[..., Any], rounds_numbers: bool) -> Callable[..., Any]:
    """A kernel of raw arrays and numbers that computes 16-bit floats as float32, and rounds once; numbers are rounded
    before, too, if that is told."""

    def run(first: Any, *rest: Any) -> Any:
        kind = first.dtype
        if kind.itemsize != 2 or kind not in NARROW:
            return kernel(first, *rest)
        if rounds_numbers:
            rest = tuple([kind.type(x) if x.__class__ is float else x for x in rest])
        return _back(kernel(to_float32(first), *map(to_float32, rest)), kind)

    return run


def to_float32(x: Any) -> Any:
    """A 16-bit array in float32; anything else as it is."""
    if getattr(x, "dtype", None) not in NARROW or not hasattr(x, "strides"):
        return x
    found = _fast.to_float32(x) if _fast else None
    return x.astype(np.float32) if found is None else found


def cast(a: Array, dtype: np.dtype[Any]) -> Any:
    """`a.astype(dtype)`."""
    if a.dtype.itemsize + dtype.itemsize == 6:
        if dtype == np.float32:
            return to_float32(a) if a.dtype in NARROW else a.astype(dtype)
        if dtype in NARROW:
            return _back(a, dtype) if a.dtype == np.float32 else a.astype(dtype)
    return a.astype(dtype)


def _back(x: Any, dtype: Any) -> Any:
    if x is None or x.dtype != np.float32:
        return x
    found = _fast.rounded(x, dtype) if _fast else None
    return x.astype(dtype) if found is None else found
