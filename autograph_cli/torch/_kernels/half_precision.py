"""16-bit floats: what folds many numbers into one computes in float32 and rounds once, as PyTorch does on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .._arrays import Array

NARROW = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))
"""The dtypes that are too coarse to add up in."""


def _rounded(run: Callable[..., Any], a: Array, *rest: Any, **named: Any) -> Any:
    """Return what `run` makes of the arguments, in float32 where the first is of 16 bits."""
    if a.dtype not in NARROW:
        return run(a, *rest, **named)
    result = run(_to_float32(a), *map(_to_float32, rest), **named)
    if named.get("dtype") is not None or any(isinstance(x, np.dtype) for x in rest):
        return result
    return tuple(_back(x, a.dtype) for x in result) if isinstance(result, tuple) else _back(result, a.dtype)


def _rounded_beside(run: Callable[..., Any], a: Array, *rest: Any) -> Any:
    """The same, where only the first result is rounded if a parameter is in float32."""
    if a.dtype not in NARROW or not any(getattr(x, "dtype", None) == np.float32 for x in rest):
        return _rounded(run, a, *rest)
    first, *others = run(*map(_to_float32, (a, *rest)))
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


def unwidened(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return what such a kernel runs where its first array is in float32 or float64; any other kernel itself."""
    run = getattr(kernel, "unwidened", kernel)
    owner = getattr(kernel, "__self__", None)
    return run if run is kernel or owner is None else functools.partial(run, owner)


def widened_as(kernel: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run`, which is to take the place of what `kernel` runs, with the wrapping that `kernel` has."""
    rounded = getattr(kernel, "rounded", None)
    return run if rounded is None else functools.partial(rounded, run)


def _to_float32(x: Any) -> Any:
    return x.astype(np.float32) if getattr(x, "dtype", None) in NARROW and hasattr(x, "strides") else x


def _back(x: Any, dtype: Any) -> Any:
    return x if x is None or x.dtype != np.float32 else x.astype(dtype)
