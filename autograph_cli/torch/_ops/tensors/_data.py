"""Python's data as arrays: numbers, nested sequences, NumPy arrays; shape, dtype and what cannot be read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.base import dtypes
from ..._core.base.errors import refused
from ..._core.base.state import process_state
from ..._core.base.user_warnings import warn_once
from ..._core.tape.tensor import Tensor

SUPPORTED = (
    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and "
    "bool"
)


def array_of(data: Any, dtype: np.dtype[Any] | None) -> Any:
    """A new array or NumPy scalar of `data`; the dtype is inferred where it is None.

    Raises ValueError for ragged sequences, TypeError or RuntimeError for what is no number.
    """
    if isinstance(data, float) and not isinstance(data, np.generic):
        return _scalar(data, dtype or process_state.default_dtype)
    if isinstance(data, np.ndarray):
        known = supported(data)
        return cast(np.array(data, known), dtype or known)[()]
    if isinstance(data, (str, bytes)):
        raise refused(TypeError, f"new(): invalid data type '{type(data).__name__}'")
    shape: list[int] = []
    flat = _flatten(data, shape)
    if dtype is None:
        dtype = _infer(flat, data)
    if not shape:
        return _scalar(flat[0], dtype)
    return _filled(flat, dtype).reshape(shape)


def supported(array: Any) -> np.dtype[Any]:
    """The engine's dtype of a NumPy array; TypeError where it has none, ValueError for the other byte order."""
    found = dtypes.FROM_NUMPY.get(array.dtype)
    if found is not None:
        return dtypes.numpy_dtype(found)
    if array.dtype.newbyteorder("=") in dtypes.FROM_NUMPY:
        raise refused(
            ValueError,
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported.",
        )
    raise refused(
        TypeError,
        f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only supported types are: "
        f"{SUPPORTED}.",
    )


def cast(array: Any, dtype: np.dtype[Any]) -> Any:
    """`array` in another dtype, as C++ casts: the imaginary part is dropped, whole parts are kept."""
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and dtypes.CATEGORY[dtype] not in (dtypes.COMPLEX, dtypes.BOOLEAN):
        array = array.real
    with np.errstate(all="ignore"):
        return dtypes.cast(array, dtype)


# ---------------------------------------------------------------- shape


def _is_sequence(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return True
    if (
        isinstance(x, Tensor)
        or (isinstance(x, np.ndarray) and not x.ndim)
        or isinstance(x, (str, bytes, dict, np.generic))
    ):
        return False
    return hasattr(x, "__getitem__") and hasattr(x, "__len__")


def _flatten(data: Any, shape: list[int]) -> list[Any]:
    """The elements in order; `shape` receives the lengths, which the first elements tell."""
    level = [data]
    while level and _is_sequence(level[0]):
        length = len(level[0])
        below: list[Any] = []
        for part in level:
            if not _is_sequence(part):
                raise refused(TypeError, "not a sequence")
            if len(part) != length:
                raise refused(ValueError, f"expected sequence of length {length} at dim {len(shape)} (got {len(part)})")
            below.extend(part)
        if shape == [] and below and isinstance(below[0], np.ndarray) and below[0].ndim:
            _warn_slow()
        shape.append(length)
        level = below
    return level


def _warn_slow() -> None:
    warn_once(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
        "single numpy.ndarray with numpy.array() before converting to a tensor.",
    )


# ---------------------------------------------------------------- dtype


def _infer(flat: Sequence[Any], data: Any) -> np.dtype[Any]:
    if not flat:
        return supported(np.asarray(data)) if isinstance(data, np.ndarray) else process_state.default_dtype
    kinds = set(map(type, flat))
    if kinds <= dtypes.PYTHON_CATEGORY.keys():
        return _by_category(max(dtypes.PYTHON_CATEGORY[k] for k in kinds))
    found: dict[Any, np.dtype[Any]] = {}
    for x in flat:
        if type(x) not in found or isinstance(x, Tensor):
            found[(type(x), str(x._ag_raw.dtype)) if isinstance(x, Tensor) else type(x)] = _dtype_of(x)
    return functools.reduce(dtypes.promote, found.values())


def _by_category(category: int) -> np.dtype[Any]:
    plain = (dtypes.bool_.numpy, dtypes.int64.numpy, process_state.default_dtype)
    return dtypes.complex_default() if category == dtypes.COMPLEX else plain[category]


def _dtype_of(x: Any) -> np.dtype[Any]:
    if isinstance(x, Tensor):
        result: np.dtype[Any] = x._ag_raw.dtype
        return result
    if isinstance(x, (np.generic, np.ndarray)):
        return supported(x)
    for kind, category in dtypes.PYTHON_CATEGORY.items():
        if isinstance(x, kind):
            return _by_category(category)
    if isinstance(x, (str, bytes)):
        raise refused(TypeError, f"new(): invalid data type '{type(x).__name__}'")
    if _is_sequence(x):
        return functools.reduce(dtypes.promote, map(_dtype_of, x), dtypes.bool_.numpy)
    raise RuntimeError(f"Could not infer dtype of {type(x).__name__}")


# ---------------------------------------------------------------- values


def _scalar(number: Any, dtype: np.dtype[Any]) -> Any:
    if number.__class__ is float and dtype.kind == "f" and dtype.itemsize > 2:
        return dtype.type(number)
    return _filled([number], dtype)[0]


def _filled(flat: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    """The elements as an array with one dimension; RuntimeError where one does not fit."""
    _check_kinds(flat, dtype)
    flat = [
        x.item() if isinstance(x, (np.generic, np.ndarray)) else _number(x) if isinstance(x, Tensor) else x
        for x in flat
    ]
    category = dtypes.CATEGORY[dtype]
    if category == dtypes.INTEGRAL:
        return _integers(flat, dtype)
    if category == dtypes.BOOLEAN:
        return np.array([bool(x) for x in flat], dtype)
    wide = np.complex128 if category == dtypes.COMPLEX else np.float64
    return narrow(np.array(flat, wide), dtype)


def narrow(array: Any, dtype: np.dtype[Any]) -> Any:
    """A cast of floats as C++ makes it: to 16 bits by way of float32."""
    if dtype in dtypes.FLOAT8:
        return dtypes.to_float8(array, dtype)
    with np.errstate(over="ignore"):
        return (array.astype(np.float32) if dtype.itemsize == 2 else array).astype(dtype, copy=False)


def _number(x: Tensor) -> Any:
    if x._ag_raw.size != 1:
        if dtypes.CATEGORY[x._ag_raw.dtype] <= dtypes.INTEGRAL:
            raise refused(TypeError, "only integer tensors of a single element can be converted to an index")
        raise refused(ValueError, "only one element tensors can be converted to Python scalars")
    if x.requires_grad:
        warn_scalar()
    return x._ag_raw.item()


_WANTED = {
    dtypes.BOOLEAN: "'{}' object cannot be interpreted as an integer",
    dtypes.INTEGRAL: "'{}' object cannot be interpreted as an integer",
    dtypes.FLOATING: "must be real number, not {}",
    dtypes.COMPLEX: "must be real number, not {}",
}


def _check_kinds(flat: Sequence[Any], dtype: np.dtype[Any]) -> None:
    category = dtypes.CATEGORY[dtype]
    for kind in set(map(type, flat)):
        shown = f"numpy.{kind.__name__}" if issubclass(kind, np.generic) else kind.__name__
        if issubclass(kind, (str, bytes)):
            raise refused(ValueError, f"too many dimensions '{shown}'")
        if issubclass(kind, complex):
            fits = category in (dtypes.BOOLEAN, dtypes.COMPLEX)
        elif category <= dtypes.INTEGRAL:
            fits = issubclass(kind, (float, np.bool_)) or hasattr(kind, "__index__")
        else:
            fits = hasattr(kind, "__float__") or hasattr(kind, "__index__")
        if not fits:
            raise refused(TypeError, _WANTED[category].format(shown))


def _integers(flat: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    limits = np.iinfo(dtype)
    numbers = [x if x.__class__ is int else _whole(x, dtype) for x in flat]
    low, high = min(numbers, default=0), max(numbers, default=0)
    # A negative number may stand for the bits of an unsigned one.
    least = -int(limits.max) if dtype.kind == "u" else int(limits.min)
    if low < least or high > limits.max:
        if dtype == np.int64:
            raise refused(ValueError, "Overflow when unpacking long long")
        raise _overflow(dtype)
    if low < limits.min:
        numbers = [x % (int(limits.max) + 1) for x in numbers]
    return np.array(numbers, dtype)


def _whole(x: Any, dtype: np.dtype[Any]) -> int:
    limits = np.iinfo(dtype)
    if isinstance(x, float) and not limits.min <= x <= limits.max:
        raise _overflow(dtype)
    return int(x)


def _overflow(dtype: np.dtype[Any]) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtypes.FROM_NUMPY[dtype].name} without overflow")


def warn_scalar() -> None:
    """Say that a number is taken out of a tensor that requires a gradient."""
    warn_once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first.",
    )
