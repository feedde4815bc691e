"""PyTorch's dtypes over NumPy's, and its rules of type promotion."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from .class_names import Named
from .errors import refused
from .state import process_state


class dtype(metaclass=Named):
    """A number format, such as `torch.float32`; made by this module only."""

    __slots__ = ("category", "itemsize", "legacy", "name", "numpy")

    def __init__(self, name: str, numpy_type: Any, category: int, legacy: str) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(numpy_type)
        self.category = category
        self.itemsize = self.numpy.itemsize
        self.legacy = legacy

    @property
    def is_floating_point(self) -> bool:
        """Return whether its numbers are real floating point numbers."""
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        """Return whether its numbers are complex."""
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        """Return whether it has negative numbers."""
        return self.name not in ("bool", "uint8", "uint16", "uint32", "uint64", "float8_e8m0fnu")

    def to_real(self) -> dtype:
        """The dtype of the real part of its numbers."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The dtype of complex numbers with such parts. RuntimeError for integers and booleans."""
        result = {float32: complex64, float64: complex128, bfloat16: complex64, float16: complex64}.get(self, self)
        if result.category < COMPLEX:
            raise RuntimeError(f"Unknown Complex ScalarType for {cpp_name(self.numpy)}")
        return result

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _by_name, (self.name,)


BOOLEAN, INTEGRAL, FLOATING, COMPLEX = range(4)

bool_ = dtype("bool", np.bool_, BOOLEAN, "BoolTensor")
uint8 = dtype("uint8", np.uint8, INTEGRAL, "ByteTensor")
uint16 = dtype("uint16", np.uint16, INTEGRAL, "UInt16Tensor")
uint32 = dtype("uint32", np.uint32, INTEGRAL, "UInt32Tensor")
uint64 = dtype("uint64", np.uint64, INTEGRAL, "UInt64Tensor")
int8 = dtype("int8", np.int8, INTEGRAL, "CharTensor")
int16 = dtype("int16", np.int16, INTEGRAL, "ShortTensor")
int32 = dtype("int32", np.int32, INTEGRAL, "IntTensor")
int64 = dtype("int64", np.int64, INTEGRAL, "LongTensor")
float16 = dtype("float16", np.float16, FLOATING, "HalfTensor")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING, "BFloat16Tensor")
float32 = dtype("float32", np.float32, FLOATING, "FloatTensor")
float64 = dtype("float64", np.float64, FLOATING, "DoubleTensor")
complex64 = dtype("complex64", np.complex64, COMPLEX, "ComplexFloatTensor")
complex128 = dtype("complex128", np.complex128, COMPLEX, "ComplexDoubleTensor")
_FLOAT8 = tuple(
    dtype(name, getattr(ml_dtypes, name), FLOATING, f"{name.capitalize()}Tensor")
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
)

ALL = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
    complex128, *_FLOAT8,
)  # fmt: skip
ALIASES = {
    "short": int16, "int": int32, "long": int64, "half": float16, "float": float32, "double": float64,
    "cfloat": complex64, "cdouble": complex128, "bool": bool_,
}  # fmt: skip
NAMED = {t.name: t for t in ALL}
FROM_NUMPY = {t.numpy: t for t in ALL}
CATEGORY = {t.numpy: t.category for t in ALL}
FLOAT8 = frozenset(t.numpy for t in _FLOAT8)
"""NumPy's dtypes of 8 bits; few operations compute in them (`Traits.float8`)."""
PYTHON_CATEGORY = {bool: BOOLEAN, int: INTEGRAL, float: FLOATING, complex: COMPLEX}


def _by_name(name: str) -> dtype:
    return NAMED[name]


def numpy_dtype(t: Any) -> np.dtype[Any]:
    """The NumPy dtype of a torch dtype, or of Python's bool, int, float, complex."""
    if isinstance(t, dtype):
        if t.itemsize == 1 and t in _FLOAT8 and not process_state.float8:
            process_state.float8 = True
            process_state.special += 1
        return t.numpy
    python: dict[Any, np.dtype[Any]] = {
        bool: bool_.numpy,
        int: int64.numpy,
        float: process_state.default_dtype,
        complex: complex_default(),
    }
    if t in python:
        return python[t]
    raise refused(TypeError, f"dtype must be torch.dtype, not {type(t).__name__}")


def complex_default() -> np.dtype[Any]:
    """The complex dtype that belongs to the default dtype."""
    return FROM_NUMPY[process_state.default_dtype].to_complex().numpy


_INT_RANK = {int8.numpy: 1, int16.numpy: 2, int32.numpy: 3, int64.numpy: 4}


@functools.cache
def promote(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest dtype that both can be cast to, by PyTorch's lattice."""
    if a == b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise _no_promotion("Float8 Types", a, b)
    (low, high) = (a, b) if CATEGORY[a] <= CATEGORY[b] else (b, a)
    if CATEGORY[low] != CATEGORY[high]:
        wide = next((t for t in (low, high) if t in _WIDE_UNSIGNED), None)
        if wide is not None and CATEGORY[high] != FLOATING:
            raise _no_promotion(_WIDE_NAMES, a, b)
        return _across(low, high)
    if CATEGORY[a] == INTEGRAL:
        return _integers(a, b)
    if {a, b} == {float16.numpy, bfloat16.numpy}:
        return float32.numpy
    return a if a.itemsize > b.itemsize else b


def _across(low: np.dtype[Any], high: np.dtype[Any]) -> np.dtype[Any]:
    if low == float64.numpy and CATEGORY[high] == COMPLEX:
        return complex128.numpy
    return high


def _integers(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    if a in _INT_RANK and b in _INT_RANK:
        return a if _INT_RANK[a] > _INT_RANK[b] else b
    signed = a if a in _INT_RANK else b
    unsigned = b if signed is a else a
    if unsigned == uint8.numpy and signed in _INT_RANK:
        return int16.numpy if signed == int8.numpy else signed
    raise _no_promotion(_WIDE_NAMES, a, b)


_WIDE_NAMES = "uint16, uint32, uint64 types"
_WIDE_UNSIGNED = frozenset(np.dtype(name) for name in ("uint16", "uint32", "uint64"))


def _no_promotion(what: str, a: np.dtype[Any], b: np.dtype[Any]) -> RuntimeError:
    return RuntimeError(
        f"Promotion for {what} is not supported, attempted to promote "
        f"{_CPP[FROM_NUMPY[a].name]} and {_CPP[FROM_NUMPY[b].name]}"
    )


_CPP = {
    "bool": "Bool",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    **{t.name: t.name.capitalize() for t in _FLOAT8},
}


def cpp_name(t: Any) -> str:
    """The name that PyTorch's error messages use (`Float`, `Long`)."""
    return _CPP[FROM_NUMPY[np.dtype(t)].name]


class NoPlainNumber(TypeError):
    """An argument that is no number of Python; NumPy's may become one."""


def number_dtype(number: Any, beside: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a Python number takes beside a tensor of dtype `beside` (a number is weak)."""
    category = PYTHON_CATEGORY.get(type(number))
    if category is None:
        category = next((c for t, c in PYTHON_CATEGORY.items() if isinstance(number, t)), None)
        if category is None:
            raise NoPlainNumber(f"not a number: {type(number).__name__}")
    return category_dtype(category, beside)


def category_dtype(category: int, beside: np.dtype[Any]) -> np.dtype[Any]:
    """`beside`, unless a higher category asks for the default dtype of that category."""
    if category <= CATEGORY[beside]:
        return beside
    if category == INTEGRAL:
        return int64.numpy
    if category == FLOATING:
        return process_state.default_dtype
    return FROM_NUMPY[beside].to_complex().numpy if CATEGORY[beside] == FLOATING else complex_default()


def result_dtype(*operands: Any) -> np.dtype[Any]:
    """PyTorch's result type of raw arrays and Python numbers: dimensions outrank 0-d, which outranks numbers."""
    levels: list[np.dtype[Any] | None] = [None, None, None]
    for x in operands:
        if hasattr(x, "dtype"):
            level, t = (0 if x.ndim else 1), x.dtype
        else:
            level, t = 2, numpy_dtype(type(x))
        known = levels[level]
        levels[level] = t if known is None else promote(known, t)
    result = levels[0]
    for weaker in levels[1:]:
        if result is None:
            result = weaker
        elif weaker is not None and CATEGORY[weaker] > CATEGORY[result]:
            if weaker is levels[2] or CATEGORY[result] == FLOATING:
                result = category_dtype(CATEGORY[weaker], result)
            else:
                result = promote(result, weaker)
    assert result is not None
    return result


_C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int",
    "int8": "signed char", "uint8": "unsigned char", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def c_name(t: np.dtype[Any]) -> str:
    """The name of a dtype in C++, as some of PyTorch's errors have it."""
    name = FROM_NUMPY[t].name
    return _C_NAMES.get(name, name)


_SCALAR_NAMES = {**_C_NAMES, "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int64": "int64_t"}


def not_held(t: np.dtype[Any]) -> RuntimeError:
    """The error for a number that a dtype cannot hold."""
    name = FROM_NUMPY[t].name
    return RuntimeError(f"value cannot be converted to type {_SCALAR_NAMES.get(name, name)} without overflow")


def check_held(number: Any, t: np.dtype[Any]) -> None:
    """RuntimeError if a Python number is too large for a dtype, or complex beside real ones; unsigned ones take -1 for
    255."""
    category = CATEGORY[t]
    if number.__class__ is float and category == FLOATING and -65504 <= number <= 65504:
        return
    if isinstance(number, complex) and category < COMPLEX:
        if number.imag and category != BOOLEAN:
            raise not_held(t)
        number = number.real
    if category == INTEGRAL:
        limits = np.iinfo(t)
        low = -limits.max if limits.min == 0 and isinstance(number, int) else limits.min
        if not low <= number <= limits.max:
            raise not_held(t)
    elif (
        category > INTEGRAL and abs(number) > 65504 and np.isfinite(number) and not np.isfinite(cast_number(number, t))
    ):
        raise not_held(t)


def cast_number(number: Any, wanted: np.dtype[Any]) -> Any:
    """A NumPy scalar of dtype `wanted`; integers wrap around as they do in C, and complex numbers lose their imaginary
    part."""
    category = CATEGORY[wanted]
    if hasattr(number, "item"):
        number = number.item()
    if category == BOOLEAN:
        return wanted.type(bool(number))
    if isinstance(number, complex) and category < COMPLEX:
        number = number.real
    if wanted in FLOAT8:
        return to_float8(np.float64(number), wanted)
    if category > INTEGRAL:
        return wanted.type(number if isinstance(number, complex) else float(number))
    if not isinstance(number, int):
        return np.asarray(number).astype(wanted)[()]
    bits = 8 * wanted.itemsize
    number &= (1 << bits) - 1
    if np.issubdtype(wanted, np.signedinteger) and number >> (bits - 1):
        number -= 1 << bits
    return wanted.type(number)


def cast(array: Any, wanted: np.dtype[Any]) -> Any:
    """`array` in another dtype, whose imaginary part is dropped by the caller."""
    return to_float8(array, wanted) if wanted in FLOAT8 else array.astype(wanted)


def to_float8(array: Any, wanted: np.dtype[Any]) -> Any:
    """Numbers in a dtype of 8 bits, by way of float32: e4m3fn has its largest for infinity, e8m0fnu no sign."""
    array = array.astype(np.float32)
    if wanted.type is ml_dtypes.float8_e4m3fn:
        array = array.clip(-448, 448)
    elif wanted.type is ml_dtypes.float8_e8m0fnu:
        array = np.maximum(abs(array), np.float32(2.0**-127))
    return array.astype(wanted)


def can_cast(source: dtype, target: dtype) -> bool:
    """Return whether PyTorch's casting rules allow `source` to become `target` (for `out=` and in-place results)."""
    return source.category <= target.category


def type_name(kind: dtype) -> str:
    """The name of a dtype's tensors in C++: that of the legacy class where there is one."""
    return f"torch.{kind.legacy}" if kind.legacy in _LEGACY else f"CPU{kind.legacy.removesuffix('Tensor')}Type"


_LEGACY = frozenset(f"{name}Tensor" for name in ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"))
