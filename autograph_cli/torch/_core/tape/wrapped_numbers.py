"""Python numbers beside tensors: the 0-d tensors that they become, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._kernels.half_precision import NARROW
from ..base import dtypes
from ..base.state import process_state
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


def wrap_number(number: Any, beside: Tensor, floating: bool = False, exact: bool = False) -> Tensor:
    """A Python number as the 0-d tensor that PyTorch makes of it beside a tensor; `floating`: which is not taken for
    integers; `exact`: in float32 beside 16-bit floats."""
    if isinstance(number, np.generic):
        number = plain_number(number)
    dtype = beside._ag_raw.dtype
    if floating and dtypes.CATEGORY[dtype] < dtypes.FLOATING:
        dtype = process_state.default_dtype
    elif exact and dtype.itemsize == 2 and dtype in NARROW:
        dtype = np.dtype(np.float32)
    key = (number.__class__, number, dtype)
    result = numbers_made.get(key)
    if (
        result is not None and number and not (result._ag_counter and result._ag_counter[0])
    ):  # nobody wrote into its memory
        return result
    wanted = dtypes.number_dtype(number, dtype)
    wrapped = make(dtypes.cast_number(number, wanted))
    wrapped._ag_number = number
    if len(numbers_made) >= 512:
        del numbers_made[next(iter(numbers_made))]  # the oldest
    numbers_made[key] = wrapped
    return wrapped


def number_of(tensor: Any) -> Any:
    """The Python number of which the engine made this tensor; None if it did not."""
    return getattr(tensor, "_ag_number", None)


def is_wrapped_number(tensor: Tensor) -> bool:
    """Return whether the engine made this tensor of a Python number."""
    return hasattr(tensor, "_ag_number")
