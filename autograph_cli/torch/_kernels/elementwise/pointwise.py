"""Element by element: arithmetic, comparison, functions."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._arrays.lazy import flip
from ..._arrays.meta import readable
from ..._core.base.dtypes import FROM_NUMPY, cast_number, check_held, cpp_name, number_dtype, result_dtype
from ..._core.base.state import process_state
from ..half_precision import NARROW, widened

_REAL = (np.floating, np.integer, np.bool_)
_REAL_NUMBERS = (int, float)
_MANY = 4_096
"""The numbers from which on one pass over memory is worth a slower call."""


def check_addcdiv(x: Any, y: Any) -> None:
    """Raise PyTorch's error where `addcdiv` would divide integers."""
    if x.dtype.kind in "biu" and y.dtype.kind in "biu":
        formula = "(input + value * tensor1 / tensor2)"
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            f"* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as {formula} for float inputs. "
            f"The future addcdiv behavior is just the latter implementation: {formula}, for all dtypes."
        )


def _alpha(alpha: Any, b: Array) -> Any:
    """A factor, if the dtype that it scales can hold it."""
    if b.dtype.kind in "biu" and isinstance(alpha, (float, complex)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, bool) and b.dtype.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, complex) and b.dtype.kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    check_held(alpha, b.dtype)
    return alpha


@functools.lru_cache(maxsize=512, typed=True)
def _held(x: Any, dtype: Any) -> Any:
    """`held`; not kept for 0.0, which equals another one."""
    check_held(x, dtype)
    return cast_number(x, dtype)


class Pointwise:
    """Kernels that work on each element alone."""

    xp: Any
    log_of_one_more: Any

    direct = {
        name: name
        for name in tuple(
            """
            exp exp2 log log2 log10 sqrt sin cos tan sinh cosh tanh floor ceil trunc isnan isinf isfinite maximum
            minimum fmax fmin nextafter logaddexp2
            """.split()
        )
    } | {
        "asin": "arcsin",
        "atan": "arctan",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
        "abs": "abs",
        "round": "rint",
    }
    """Kernels that are one universal function of the backend."""

    mul = staticmethod(operator.mul)

    def neg(self, a: Array) -> Any:
        if a.dtype.kind == "b":
            raise RuntimeError(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                "use the `~` or `logical_not()` operator instead."
            )
        return -a

    def add(self, a: Array, b: Array, alpha: Any = 1) -> Any:
        return a + b if alpha == 1 else a + b * self.number(_alpha(alpha, b), b)

    def atan2(self, a: Array, b: Array) -> Any:
        if b.dtype.kind in "biu":
            b = b.astype(a.dtype)
        return self.xp.arctan2(a, b)

    def hypot(self, a: Array, b: Array) -> Any:
        return self.xp.hypot(a, b)

    def sub(self, a: Array, b: Array, alpha: Any = 1) -> Any:
        kind = a.dtype.kind
        if kind == "b":
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                "operator instead."
            )
        if kind == "c":
            return self._complex_sub(a, b if alpha == 1 else b * self.number(alpha, b))
        return a - b if alpha == 1 else a - b * self.number(_alpha(alpha, b), b)

    def add_Scalar(self, a: Array, other: Any, alpha: Any = 1) -> Any:
        if other.__class__ is float and a.dtype.kind in "biu":
            a = a.astype(process_state.default_dtype)
        return a + self.number(other * alpha, a)

    def sub_Scalar(self, a: Array, other: Any, alpha: Any = 1) -> Any:
        if other.__class__ is float and a.dtype.kind in "biu":
            a = a.astype(process_state.default_dtype)
        other = self.number(other * alpha, a)
        return a - other if a.dtype.kind != "c" else self._complex_sub(a, other)

    def _complex_sub(self, a: Array, b: Array) -> Any:
        """PyTorch adds the product with -1: zeros have other signs than by subtraction, so roots may be on the other
        branch."""
        return a + self.number(-1, b) * b

    def rsub_Scalar(self, a: Array, other: Any, alpha: Any = 1) -> Any:
        a, other = self.with_number(a, other)
        scaled = a if alpha == 1 else a * self.number(_alpha(alpha, a), a)
        return other - scaled if a.dtype.kind != "c" else self._complex_sub(other, scaled)

    def number(self, x: Any, like: Any) -> Any:
        """A Python number in the dtype of an array."""
        try:
            return like.dtype.type(x)
        except (OverflowError, TypeError):
            if isinstance(x, complex):
                raise
            return cast_number(x, like.dtype)

    def held(self, x: Any, like: Any) -> Any:
        """A Python number in the dtype of an array; RuntimeError where that cannot hold it."""
        kept = x.__class__ in _REAL_NUMBERS and (x or x.__class__ is int)
        return _held(x, like.dtype) if kept else _held.__wrapped__(x, like.dtype)

    def div(self, a: Array, b: Array) -> Any:
        if a.dtype.kind in "biu":
            a, b = a.astype(process_state.default_dtype), b.astype(process_state.default_dtype)
        return a / b

    def div_Scalar(self, a: Array, other: Any) -> Any:
        if a.dtype.kind in "biu":
            a = a.astype(process_state.default_dtype)
        return a / self.number(other, a)

    def mul_Scalar(self, a: Array, other: Any) -> Any:
        if other.__class__ is float and a.dtype.kind in "biu":
            a = a.astype(process_state.default_dtype)
        elif other.__class__ is complex and a.dtype.kind != "c":
            a, other = self.with_number(a, other)
        elif other.__class__ is int and a.dtype.kind == "b":
            a = a.astype(np.int64)
        return a * self.number(other, a)

    def reciprocal(self, a: Array) -> Any:
        return self.number(1, a) / a

    def log1p(self, a: Array) -> Any:
        if a.dtype.kind != "c":
            return self.log_of_one_more(a)
        x, y, one = a.real, a.imag, self.number(1, a.real)
        near = x * (one + one + x) + y * y
        small = self.xp.where(near == 0, x, self.xp.log1p(self.xp.where(self.xp.abs(a) < 0.5, near, one)) / (one + one))
        size = self.xp.where(self.xp.abs(a) < 0.5, small, self.xp.log(self.xp.hypot(x + one, y)))
        return self.from_parts(size, self.xp.arctan2(y, x + one))

    def from_parts(self, real: Any, imag: Any) -> Any:
        """Complex numbers of their parts; a sum with an imaginary number would lose signs of zeros, and make infinity
        nan."""
        made = self.xp.empty_like(real + imag, FROM_NUMPY[real.dtype].to_complex().numpy)
        made.real[...] = real
        made.imag[...] = imag
        return made[()]

    def acos(self, a: Array) -> Any:
        found = self.xp.arccos(a)
        return found + self.number(0, found) if found.dtype.char == "D" else found

    def rsqrt(self, a: Array) -> Any:
        return self.number(1, a) / self.xp.sqrt(a)

    def square(self, a: Array) -> Any:
        return a * a

    def pow_Tensor_Scalar(self, a: Array, exponent: Any) -> Any:
        if a.dtype.kind != "f" or exponent.__class__ not in _REAL_NUMBERS:
            a, _ = self.with_number(a, exponent)
        if exponent == 2:
            return a * a
        if exponent == 3:
            return a * a * a
        if a.dtype.kind in "fcV" and a.dtype.char != "e" and exponent in (0.5, -0.5, -1):
            return self.xp.sqrt(a) if exponent == 0.5 else self.rsqrt(a) if exponent == -0.5 else self.reciprocal(a)
        if a.dtype.kind == "c":
            if exponent == 1:
                return a.copy()
            return self._complex_pow(a, self.number(exponent, a)) if exponent != 0 else self.xp.ones_like(a)
        if exponent < 0 if a.dtype.kind in "iu" else False:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        found = self._power(a, (self.held if a.dtype.kind in "iu" else self.number)(exponent, a))
        return found.astype(a.dtype) if a.dtype.kind == "b" else found

    def pow(self, a: Array, b: Array) -> Any:
        if a.dtype.kind == "c":
            return self._complex_pow(a, b)
        if b.dtype.kind != "i":
            return self._power(a, b)
        # As in C: of the inverses of integers, only those of 1 and -1 are integers.
        below = b < 0
        inverse = self.where(a == 1, a, self.where(a == -1, self.where(b % 2 == 0, -a, a), a - a))
        return self.where(below, inverse, self.xp.power(a, self.where(below, b - b, b)))

    def _power(self, a: Array, b: Any) -> Any:
        """The universal function of NumPy takes 20 times as long for whole powers of negative numbers, one by one."""
        if a.__class__ is not np.ndarray or a.dtype.char not in "fd" or a.size < _MANY or not (a < 0).any():
            return self.xp.power(a, b)
        if not (b == np.rint(b)).all():
            return np.power(a, b)
        found, odd = np.power(np.abs(a), b), np.remainder(b, 2) == 1
        return np.copysign(found, np.where(odd, a, 1), out=found) if odd.any() else found

    def _complex_pow(self, a: Array, b: Array) -> Any:
        """exp(b log a), and what C makes of it where a is 0: 0, infinity or nan, by the sign of the real part of b."""
        result, zero = self.xp.exp(b * self.xp.log(a)), a == 0
        if not readable(zero) or not zero.any():
            return result
        limits = [
            self.number(n, result) for n in (complex(0, -0.0), complex(math.inf, math.nan), complex(math.nan, math.nan))
        ]
        limit = self.xp.where(b.real > 0, limits[0], self.xp.where(b.real < 0, *limits[1:]))
        return self.xp.where(zero, limit, result)[()]

    def sigmoid(self, a: Array) -> Any:
        one = self.number(1, a)
        if a.ndim == 0:
            return one / (one + self.xp.exp(-a))
        power = self.xp.negative(a)
        self.xp.exp(power, out=power)
        power += one
        return self.xp.divide(one, power, out=power)

    def conj(self, a: Array) -> Any:
        return a.conj() if a.dtype.kind == "c" else a

    def _conj(self, a: Array) -> Any:
        if a.dtype.kind != "c":
            raise RuntimeError("_conj is for complex tensors: conj gives a real one back as it is")
        return flip(a if a.ndim else self.xp.asarray(a), True, False)

    def _neg_view(self, a: Array) -> Any:
        return flip(a, False, True)

    def resolve_conj(self, a: Array) -> Any:
        return a

    def is_complex(self, a: Array) -> bool:
        return bool(a.dtype.kind == "c")

    def real(self, a: Array) -> Any:
        return a.real

    def imag(self, a: Array) -> Any:
        return a.imag

    def view_as_real(self, a: Array) -> Any:
        return a.view(a.real.dtype).reshape(*a.shape, 2) if a.ndim and a.flags.c_contiguous else self._strided_parts(a)

    def _strided_parts(self, a: Array) -> Any:
        a = self.xp.asarray(a)
        parts = a.real
        strides = (*parts.strides, parts.itemsize)
        return self.xp.lib.stride_tricks.as_strided(parts, (*a.shape, 2), strides)

    def angle(self, a: Array) -> Any:
        if a.dtype.kind in "biu":
            a = a.astype(process_state.default_dtype)
        return (
            self.xp.arctan2(a.imag, a.real)
            if a.dtype.kind == "c"
            else self.xp.where(a != a, a, self.xp.where(a < 0, self.number(np.pi, a), self.number(0, a)))[()]
        )

    def view_as_complex(self, a: Array) -> Any:
        kind = FROM_NUMPY[a.dtype].to_complex().numpy
        return self.xp.ascontiguousarray(a).view(kind)[..., 0] if not a.flags.c_contiguous else a.view(kind)[..., 0]

    def sign(self, a: Array) -> Any:
        if a.dtype.kind == "b":
            return a.copy()
        # Not NumPy's sign, which is nan of nan.
        return (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype) if a.dtype.kind in "fV" else self.xp.sign(a)

    def sgn(self, a: Array) -> Any:
        if a.dtype.kind != "c":
            return self.sign(a)
        size = self.xp.abs(a)
        return self.xp.where(size == 0, self.number(0, a), a / self.xp.where(size == 0, 1, size))

    def where(self, condition: Any, a: Array, b: Array) -> Any:
        if a.dtype != b.dtype:
            common = result_dtype(a, b)
            a, b = a.astype(common), b.astype(common)
        return self.chosen(condition, a, b)

    def chosen(self, mask: Array, a: Array, b: Array) -> Any:
        """`a` where `mask` holds, `b` elsewhere: bits masked by bits, several times faster than the backend's
        selection."""
        if mask.ndim == 0 or mask.size < 256 or a.dtype.kind != "f" or mask.dtype.kind != "b":
            return self.xp.where(mask, a, b)[()]
        whole = self.xp.dtype(f"i{a.itemsize}")
        low = b.view(whole)
        return (low ^ ((a.view(whole) ^ low) & self.xp.negative(mask.view("int8")).astype(whole))).view(a.dtype)

    def polar(self, size: Array, angle: Array) -> Any:
        return self.from_parts(size * self.xp.cos(angle), size * self.xp.sin(angle))

    @widened
    def round_decimals(self, a: Array, decimals: int) -> Any:
        return self.xp.round(a, decimals)

    def div_Tensor_mode(self, a: Array, b: Array, rounding_mode: str) -> Any:
        if rounding_mode == "floor":
            return self.floor_divide(a, b)
        self._check_division("div_trunc", a, b)
        if a.dtype.kind in "iu":
            return (a - self.xp.fmod(a, b)) // b
        return self.xp.trunc(a / b)

    def floor_divide(self, a: Array, b: Array) -> Any:
        self._check_division("div_floor", a, b)
        if a.dtype.kind in "iu":
            return a // b
        return self.xp.where(b == 0, a / b, a // b)[()]

    def remainder(self, a: Array, b: Array) -> Any:
        self._check_division("remainder", a, b)
        result = self.xp.remainder(a, b)
        if a.dtype.kind in "iu":
            return result
        return self.xp.where(result == 0, self.xp.copysign(self.number(0, a), a), result)[()]

    def fmod(self, a: Array, b: Array) -> Any:
        self._check_division("fmod", a, b)
        if a.__class__ is np.ndarray and a.dtype.char == "f" and a.size >= _MANY:  # exact too, and compiled
            return np.copysign(self.remainder(np.abs(a), np.abs(b)), a)
        return self.xp.fmod(a, b)

    def _check_division(self, name: str, a: Array, b: Array) -> None:
        """Raise PyTorch's error for dtypes without a remainder, and for an integer divided by 0."""
        if a.dtype.kind in "bc":
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{cpp_name(a.dtype)}'")
        if a.dtype.kind in "iu" and not b.all():
            raise RuntimeError("ZeroDivisionError")

    def floor_divide_Scalar(self, a: Array, other: Any) -> Any:
        a, other = self.with_number(a, other)
        return self.floor_divide(a, other)

    def remainder_Scalar(self, a: Array, other: Any) -> Any:
        a, other = self.with_number(a, other)
        return self.remainder(a, other)

    def fmod_Scalar(self, a: Array, other: Any) -> Any:
        a, other = self.with_number(a, other)
        return self.fmod(a, other)

    def with_number(self, a: Array, number: Any) -> tuple[Any, Any]:
        """An array and a number in the dtype that both have together."""
        common = number_dtype(number, a.dtype)
        return (a if a.dtype == common else a.astype(common)), cast_number(number, common)

    def pow_Scalar(self, number: Any, exponent: Any) -> Any:
        exponent, number = self.with_number(exponent, number)
        return self.pow(number, exponent) if number != 1 else self.xp.ones_like(exponent)

    def rsub(self, a: Array, b: Array, alpha: Any = 1) -> Any:
        return self.sub(b, a, alpha)

    @widened
    def addcmul(self, a: Array, x: Any, y: Any, value: Any = 1) -> Any:
        return a + (x * y if value == 1 else x * y * self.held(value, a))

    @widened
    def addcdiv(self, a: Array, x: Any, y: Any, value: Any = 1) -> Any:
        check_addcdiv(x, y)
        return a + (x / y if value == 1 else x / y * self.held(value, a))

    def frac(self, a: Array) -> Any:
        return a - self.xp.trunc(a)

    def relu(self, a: Array) -> Any:
        if isinstance(a, _REAL):
            return self.number(0, a) if a < 0 else a.copy()
        few = a.size < _MANY and a.dtype.kind == "f"
        return self.at_least(a, self.number(0, a)) if few else self.between(a, 0, math.inf)

    def between(self, a: Array, low: Any, high: Any) -> Any:
        """`a` cut off below and above; of many numbers in one pass, which is faster than NumPy's maximum with a
        number."""
        kind = a.dtype.kind
        if kind != "f" or a.size < _MANY:
            if kind == "c":
                raise NotImplementedError("clamp is not supported for complex types")
            a = self.at_least(a, self.number(low, a))
            return a if high == math.inf else self.at_most(a, self.number(high, a))
        return a.clip(self.number(low, a), self.number(high, a))

    def at_least(self, a: Array, low: Any) -> Any:
        """The larger one, `a` of equal ones: NumPy takes the second of two zeros, in float16 the first."""
        return self.xp.maximum(low, a) if a.dtype.char != "e" else self.xp.maximum(a, low)

    def at_most(self, a: Array, high: Any) -> Any:
        """The smaller one, `a` of equal ones."""
        return self.xp.minimum(high, a) if a.dtype.char != "e" else self.xp.minimum(a, high)

    def threshold_backward(self, grad: Array, a: Array, threshold: Any) -> Any:
        return self.kept(grad, ~self._up_to(a, threshold))

    def _up_to(self, a: Array, threshold: Any) -> Any:
        """Return where elements are no larger than a number, which is not rounded beside 16-bit floats."""
        return a <= (np.float32(threshold) if threshold and a.dtype in NARROW else threshold)

    def kept(self, grad: Array, mask: Array) -> Any:
        """`grad` where `mask` holds, 0 elsewhere."""
        if grad.ndim == 0 or grad.dtype.kind != "f":
            return self.xp.where(mask, grad, self.number(0, grad))[()]
        whole = self.xp.dtype(f"i{grad.itemsize}")
        return (grad.view(whole) & self.xp.negative(mask.view("int8")).astype(whole)).view(grad.dtype)

    @widened
    def tanh_backward(self, grad: Array, output: Any) -> Any:
        return grad * self.conj(self.number(1, output) - output * output)

    @widened
    def sigmoid_backward(self, grad: Array, output: Any) -> Any:
        return grad * self.conj((self.number(1, output) - output) * output)

    @widened
    def lerp_Scalar(self, a: Array, end: Any, weight: Array) -> Any:
        w = self.held(weight, a)
        return a + w * (end - a) if abs(weight) < 0.5 else end - (end - a) * (self.number(1, a) - w)

    def zero_beside(self, grad: Array) -> Any:
        return grad.dtype.type(0)

    def conj_number(self, number: Any) -> Any:
        return number.conjugate() if isinstance(number, complex) else number

    def log_of_number(self, number: Any, beside: Any) -> Any:
        return self.xp.log(complex(number) if number and beside.dtype.kind == "c" else number)

    def zero_raised(self, base: Any, exponent: Any) -> Any:
        raised = (base == 0) & (exponent.real >= 0)
        return raised & (exponent.imag == 0) if exponent.dtype.kind == "c" else raised

    def full_like_number(self, a: Array, number: Any) -> Any:
        return a.dtype.type(number)

    def within(self, a: Array, low: Any, high: Any) -> Any:
        if low is None:
            return a <= high
        return a >= low if high is None else (a >= low) & (a <= high)

    def clamp_min(self, a: Array, min: Any) -> Any:
        return self.clamp(a, min, None)

    def clamp_max(self, a: Array, max: Any) -> Any:
        return self.clamp(a, None, max)

    def clamp(self, a: Array, low: Any, high: Any) -> Any:
        bounds = [n for n in (low, high) if n is not None]
        if [n for n in bounds if isinstance(n, complex)]:
            raise NotImplementedError("clamp is not supported for complex types")
        if a.ndim and a.dtype.kind == "f":
            for n in bounds:
                if not -65504 <= n <= 65504:
                    check_held(n, a.dtype)
            if a.size >= _MANY:
                return self.between(a, -math.inf if low is None else low, math.inf if high is None else high)
            if low is not None:
                a = self.at_least(a, self.number(low, a))
            return a if high is None else self.at_most(a, self.number(high, a))
        a = a.astype(functools.reduce(lambda dtype, n: number_dtype(n, dtype), bounds, a.dtype), copy=False)
        if low is not None:
            a = self.at_least(a, self.held(low, a))
        return a if high is None else self.at_most(a, self.held(high, a))
