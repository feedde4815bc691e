"""Python numbers beside tensors: the 0-d tensors that they become, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .state import process_state
from .tensor import Tensor, make


def plain_number(x: Any) -> Any:
    """A number of NumPy as PyTorch reads it: an integer, what Python itself takes for complex, or else a real
    number."""
    if not isinstance(x, np.generic):
        return x
    if isinstance(x, np.integer):
        return int(x)
    return complex(x) if isinstance(x, complex) else float(x.real)


numbers_made: dict[Any, Tensor] = {}
"""0-d tensors of Python numbers that were used lately, by (type, value, dtype)."""


def wrap_number(number: Any, beside: Tensor, floating: bool = False) -> Tensor:
    """A Python number as the 0-d tensor that PyTorch makes of it beside a tensor; `floating`: which is not taken for
    integers."""
    number = plain_number(number)
    dtype = beside._raw.dtype
    if floating and dtypes.CATEGORY[dtype] < dtypes.FLOATING:
        dtype = process_state.default_dtype
    key = (number.__class__, number, dtype)
    found = numbers_made.get(key)
    if found is not None and number:
        return found
    wanted = dtypes.number_dtype(number, dtype)
    wrapped = make(dtypes.cast_number(number, wanted))
    if len(numbers_made) >= 512:
        del numbers_made[next(iter(numbers_made))]  # the oldest: nodes ask for those that were made lately
    numbers_made[key] = wrapped
    return wrapped


def number_of(tensor: Any) -> Any:
    """The Python number of which the engine made this tensor; None if it did not."""
    if tensor.__class__ is not Tensor or tensor._edge is not None or not isinstance(tensor._raw, np.generic):
        return None
    return next((key[1] for key, known in numbers_made.items() if known is tensor), None)


def is_wrapped_number(tensor: Tensor) -> bool:
    """Whether the engine made this tensor of a Python number."""
    return written_number(tensor) is not None


def written_number(tensor: Tensor) -> Any:
    """The Python number that the engine made this tensor of; or None."""
    raw = tensor._raw
    if tensor._edge is not None or not isinstance(raw, np.generic):
        return None
    if raw.dtype.kind == "c":  # beside a real tensor it is known by that one's dtype
        return number_of(tensor)
    number = raw.item()
    kinds = (float, int, bool, complex)
    found = (kind for kind in kinds if numbers_made.get((kind, number, raw.dtype)) is tensor)
    return next((kind(number.real if kind is not complex else number) for kind in found), None)
