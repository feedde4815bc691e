"""Functions of two arrays, element by element, that NumPy does not have, or has with other results."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ..._arrays import Array
from ..._arrays.meta import readable
from ..._core.base.dtype_checks import refuse
from ..._core.base.dtypes import result_dtype
from ..._core.base.state import process_state
from ..half_precision import NARROW

_MANY = 4_096
"""The numbers from which on passes of vectors take less than one number by number."""


def _floating(a: Array) -> Any:
    """Integers and booleans as the default dtype."""
    return a.astype(process_state.default_dtype) if a.dtype.kind in "biu" else a


class Binary:
    """Kernels of two or three arrays, and of one and bounds or bits of its numbers."""

    xp: Any
    where: Any
    isnan: Any
    number: Any
    log_of_one_more: Any
    pow_Scalar: Any
    mul_Scalar: Any
    logaddexp_complex: Any

    def copysign_Tensor(self, a: Array, b: Array) -> Any:
        a = _floating(a)
        return self.xp.copysign(a, _floating(b)).astype(a.dtype)

    def copysign_Scalar(self, a: Array, other: Any) -> Any:
        a = _floating(a)
        return self.xp.copysign(a, float(other)).astype(a.dtype)

    def gcd(self, a: Array, b: Array) -> Any:
        """The greatest common divisor; of the smallest number, which has no absolute value, what C's remainders
        give."""
        refuse("gcd_cpu", a, "bfcV")
        if (
            a.dtype.kind == "u"
            or not readable(a)
            or not ((a == np.iinfo(a.dtype).min) | (b == np.iinfo(b.dtype).min)).any()
        ):
            return self.xp.gcd(a, b)
        x, y = self.xp.abs(a), self.xp.abs(b)
        while x.any():
            rest = self.xp.fmod(y, self.xp.where(x == 0, 1, x))
            x, y = self.xp.where(x == 0, x, rest), self.xp.where(x == 0, y, x)
        return y

    def lcm(self, a: Array, b: Array) -> Any:
        refuse("lcm_cpu", a, "bfcV")
        return self.xp.lcm(a, b)

    def heaviside(self, a: Array, values: Array) -> Any:
        return self.xp.where(a == 0, values, (a > 0).astype(a.dtype))[()]

    def ldexp_Tensor(self, a: Array, b: Array) -> Any:
        if a.dtype.kind not in "biuc" and b.dtype.kind in "biu":
            if b.dtype.kind == "b":
                raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
            wide = a.astype("float32") if a.dtype in NARROW else a
            return self.xp.ldexp(wide, b.clip(-9999, 9999).astype("int32")).astype(a.dtype)
        power = self.pow_Scalar(2.0, b)
        kind = result_dtype(a, power)
        return a.astype(kind) * power.astype(kind)

    def logaddexp(self, a: Array, b: Array) -> Any:
        if a.dtype.kind == "c":
            return self.logaddexp_complex(a, b)
        if a.__class__ is not np.ndarray or a.dtype.char not in "fd" or a.size < _MANY:
            return self.xp.logaddexp(a, b)
        top, apart = np.maximum(a, b), np.abs(a - b)  # in passes of vectors, which logaddexp is not
        found = top + self.log_of_one_more(np.exp(np.negative(apart, out=apart), out=apart))
        return np.where(np.isinf(top), top, found)

    def lerp_Tensor(self, a: Array, end: Array, weight: Array) -> Any:
        near = self.xp.abs(weight) < 0.5
        return self.where(near, a + weight * (end - a), end - (end - a) * (self.number(1, a) - weight))

    def clamp_Tensor(self, a: Array, low: Any, high: Any) -> Any:
        a = a if low is None else self.xp.maximum(a, low)
        return a if high is None else self.xp.minimum(a, high)

    def deg2rad(self, a: Array) -> Any:
        return self.mul_Scalar(_floating(a), math.pi / 180)

    def rad2deg(self, a: Array) -> Any:
        return self.mul_Scalar(_floating(a), 180 / math.pi)

    def nan_to_num(self, a: Array, nan: Any, posinf: Any, neginf: Any) -> Any:
        if a.dtype.kind in "biu":
            return a.copy()
        if a.dtype.kind == "c":
            parts = [self.nan_to_num(part, nan, posinf, neginf) for part in (a.real, a.imag)]
            return parts[0] + parts[1] * a.dtype.type(1j)
        limits = np.finfo(a.dtype) if a.dtype.kind == "f" else ml_dtypes.finfo(a.dtype)
        high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
        out = self.where(self.isnan(a), self.number(nan or 0, a), a)
        out = self.where(out == np.inf, self.number(high, a), out)
        return self.where(out == -np.inf, self.number(low, a), out)

    def nan_to_num_finite(self, a: Array, nan: float) -> Any:
        """Another number for nan only."""
        return self.xp.nan_to_num(a, nan=nan, posinf=math.inf, neginf=-math.inf)[()]

    def signbit(self, a: Array) -> Any:
        refuse("signbit_cpu", a, "c")
        return a < 0 if a.dtype.kind in "biu" else self.xp.signbit(a)

    def frexp_Tensor(self, a: Array) -> Any:
        if a.dtype.kind in "biuc":
            raise RuntimeError("torch.frexp() only supports floating-point dtypes")
        mantissa, exponent = self.xp.frexp(a)
        return mantissa, exponent.astype("int32")
