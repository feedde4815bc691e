"""Functions of two raw arrays that NumPy does not have, or has with other results."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .._arrays.meta import readable
from .._core.dtype_checks import refuse
from .._core.dtypes import result_dtype
from .._core.state import process_state


def gcd(f: Any, a: Any, b: Any) -> Any:
    """The greatest common divisor; of the smallest number, which has no absolute value, what C's remainders give."""
    refuse("gcd_cpu", a, "bfcV")
    if (
        a.dtype.kind == "u"
        or not readable(a)
        or not ((a == np.iinfo(a.dtype).min) | (b == np.iinfo(b.dtype).min)).any()
    ):
        return f.xp.gcd(a, b)
    x, y = f.xp.abs(a), f.xp.abs(b)
    while x.any():
        x, y = f.xp.where(x == 0, x, f.xp.fmod(y, f.xp.where(x == 0, 1, x))), f.xp.where(x == 0, y, x)
    return y


def ldexp(f: Any, a: Any, b: Any) -> Any:
    power = f.pow_Scalar(2.0, b)
    kind = result_dtype(a if a.dtype.kind in "fcV" else a.astype(process_state.default_dtype), power)
    return a.astype(kind) * power.astype(kind)


def logaddexp(f: Any, a: Any, b: Any) -> Any:
    return f.xp.logaddexp(a, b) if a.dtype.kind != "c" else f.logaddexp_complex(a, b)


def clamped(f: Any, a: Any, low: Any, high: Any) -> Any:
    a = a if low is None else f.xp.maximum(a, low)
    return a if high is None else f.xp.minimum(a, high)


def nan_to_num(f: Any, a: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if a.dtype.kind in "biu":
        return a.copy()
    if a.dtype.kind == "c":
        parts = [nan_to_num(f, part, nan, posinf, neginf) for part in (a.real, a.imag)]
        return parts[0] + parts[1] * a.dtype.type(1j)
    limits = np.finfo(a.dtype) if a.dtype.kind == "f" else ml_dtypes.finfo(a.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    out = f.where(f.isnan(a), f.number(nan or 0, a), a)
    out = f.where(out == np.inf, f.number(high, a), out)
    return f.where(out == -np.inf, f.number(low, a), out)


def signbit(f: Any, a: Any) -> Any:
    refuse("signbit_cpu", a, "c")
    return a < 0 if a.dtype.kind in "biu" else f.xp.signbit(a)


def frexp(f: Any, a: Any) -> Any:
    if a.dtype.kind in "biuc":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = f.xp.frexp(a)
    return mantissa, exponent.astype("int32")
