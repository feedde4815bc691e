"""Comparisons of numbers, logic on booleans and bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..._arrays import Array
from ..._core.base.dtype_checks import refuse
from ..._core.base.dtypes import CATEGORY, FLOATING, INTEGRAL, cpp_name
from ..._core.base.state import process_state


def _with_number(name: str, ordered: bool) -> Callable[..., Any]:
    """A comparison with a number, which complex numbers have no order for."""
    compare = getattr(operator, name)

    def run(self: Any, a: Array, other: Any) -> Any:
        a, other = self.with_number(a, other)
        if ordered:
            refuse(f"{name}_cpu", a, "c")
        return compare(a, other)

    return run


def _logic(name: str) -> Callable[..., Any]:
    return lambda self, *raws: getattr(self.xp, name)(*(a.astype(bool, copy=False) for a in raws))


def _infinite(name: str, limit: float) -> Callable[..., Any]:
    def run(self: Any, a: Array) -> Any:
        if a.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return a == limit

    return run


def _bits(ufunc: str, label: str, shift: bool = False) -> Callable[..., Any]:
    """A kernel on bits that refuses floats, and booleans where they would be shifted."""

    def run(self: Any, *raws: Any) -> Any:
        dtype = raws[0].dtype
        if CATEGORY[dtype] > INTEGRAL or (shift and dtype.kind == "b"):
            raise NotImplementedError(f"\"{label}_cpu\" not implemented for '{cpp_name(dtype)}'")
        return getattr(self.xp, ufunc)(*raws)

    return run


class Comparison:
    """Kernels whose results are booleans, and those on bits."""

    xp: Any
    isnan: Any
    isfinite: Any

    eq = staticmethod(operator.eq)
    ne = staticmethod(operator.ne)
    lt = staticmethod(operator.lt)
    le = staticmethod(operator.le)
    gt = staticmethod(operator.gt)
    ge = staticmethod(operator.ge)
    eq__Scalar = _with_number("eq", ordered=False)
    ne__Scalar = _with_number("ne", ordered=False)
    lt__Scalar = _with_number("lt", ordered=True)
    le__Scalar = _with_number("le", ordered=True)
    gt__Scalar = _with_number("gt", ordered=True)
    ge__Scalar = _with_number("ge", ordered=True)

    logical_and = _logic("logical_and")
    logical_or = _logic("logical_or")
    logical_xor = _logic("logical_xor")
    logical_not = _logic("logical_not")

    bitwise_and = _bits("bitwise_and", "bitwise_and")
    bitwise_or = _bits("bitwise_or", "bitwise_or")
    bitwise_xor = _bits("bitwise_xor", "bitwise_xor")
    bitwise_not = _bits("invert", "bitwise_not")
    bitwise_left_shift = _bits("left_shift", "lshift", shift=True)
    bitwise_right_shift = _bits("right_shift", "rshift", shift=True)

    isposinf = _infinite("isposinf", math.inf)
    isneginf = _infinite("isneginf", -math.inf)

    def isreal(self, a: Array) -> Any:
        return self.xp.imag(a) == 0 if a.dtype.kind == "c" else self.xp.ones(a.shape, bool)[()]

    def isclose(self, a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> Any:
        close = a == b
        if equal_nan:
            close = close | (self.isnan(a) & self.isnan(b))
        if not rtol and not atol:
            return close
        dtype = a.dtype if a.dtype.kind == "c" or CATEGORY[a.dtype] == FLOATING else process_state.default_dtype
        x, y = a.astype(dtype), b.astype(dtype)
        number = self.xp.abs(y).dtype.type
        error = self.xp.abs(x - y)
        return close | (self.isfinite(error) & (error <= number(atol) + number(rtol) * self.xp.abs(y)))
