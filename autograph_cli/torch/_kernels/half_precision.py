"""16-bit floats: what folds many numbers into one computes in float32 and rounds once, as PyTorch does on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .._arrays import Array
from .variants import chosen

NARROW = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))
"""The dtypes that are too coarse to add up in."""


def _rounded(run: Callable[..., Any], a: Array, *rest: Any, **named: Any) -> Any:
    """Return what `run` makes of the arguments, in float32 where the first is of 16 bits."""
    if a.dtype not in NARROW:
        return run(a, *rest, **named)
    result = run(to_float32(a), *map(to_float32, rest), **named)
    if named.get("dtype") is not None or any(isinstance(x, np.dtype) for x in rest):
        return result
    return tuple(_back(x, a.dtype) for x in result) if isinstance(result, tuple) else _back(result, a.dtype)


def _rounded_beside(run: Callable[..., Any], a: Array, *rest: Any) -> Any:
    """The same, where only the first result is rounded if a parameter is in float32."""
    if a.dtype not in NARROW or not any(getattr(x, "dtype", None) == np.float32 for x in rest):
        return _rounded(run, a, *rest)
    first, *others = run(*map(to_float32, (a, *rest)))
    return (_back(first, a.dtype), *others)


def _decorator(rounded: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def run_in_float32(self: Any, a: Array, *rest: Any, **named: Any) -> Any:
            if a.dtype not in NARROW:
                return run(self, a, *rest, **named)
            return rounded(functools.partial(run, self), a, *rest, **named)

        vars(run_in_float32).update(unwidened=run, rounded=rounded)
        return run_in_float32

    return decorate


widened = _decorator(_rounded)
"""A kernel that computes in float32 where its first array is of 16 bits."""
widened_beside = _decorator(_rounded_beside)
"""The same, of which beside parameters in float32 only the first result is rounded."""


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


@chosen
def to_float32(x: Any) -> Any:
    """A 16-bit array in float32; anything else as it is."""
    return x.astype(np.float32) if getattr(x, "dtype", None) in NARROW and hasattr(x, "strides") else x


def cast(a: Array, dtype: np.dtype[Any]) -> Any:
    """`a.astype(dtype)`."""
    if a.dtype.itemsize + dtype.itemsize == 6:
        if dtype == np.float32:
            return to_float32(a) if a.dtype in NARROW else a.astype(dtype)
        if dtype in NARROW:
            return _back(a, dtype) if a.dtype == np.float32 else a.astype(dtype)
    return a.astype(dtype)


@chosen
def _back(x: Any, dtype: Any) -> Any:
    return x if x is None or x.dtype != np.float32 else x.astype(dtype)
