"""Caching of results that depend on shapes, dtypes and numbers alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from .size import Size

F = TypeVar("F", bound=Callable[..., Any])
_LASTING = frozenset((int, bool, float, str, NoneType))


def cached(run: F) -> F:
    """Cache the results of a function for arguments that are numbers, names, dtypes and tuples of these; with others,
    such as lists and tensors, it runs each time."""

    @functools.lru_cache(maxsize=256, typed=True)
    def known(*args: Any) -> Any:
        if not all(map(_lasts, args)):
            raise TypeError
        return run(*args)

    def ask(*args: Any) -> Any:
        try:
            return known(*args)
        except TypeError:
            return run(*args)

    return ask  # type: ignore[return-value]


def _lasts(x: Any) -> bool:
    kind = x.__class__
    return kind in _LASTING or isinstance(x, np.dtype) or ((kind is tuple or kind is Size) and all(map(_lasts, x)))
