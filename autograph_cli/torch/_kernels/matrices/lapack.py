"""The LAPACK and BLAS that NumPy has: products of matrices, two routines that `numpy.linalg` does not offer,
LU factors and triangular systems, and compiled calls of these and of some that it does. Where there is none, as on a
NumPy built with another one, `lu.py` computes both itself, and products are those of NumPy."""

from __future__ import annotations

import ctypes
import functools
import math
import os
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._compiled import compiled
from ..variants import chosen

_fast: Any = compiled("_kernels.fast_lapack")
_LETTERS = {np.dtype(kind): letter for kind, letter in (("f4", "s"), ("f8", "d"), ("c8", "c"), ("c16", "z"))}
_Number = ctypes.c_int64

FEW_ROWS, MANY_PRODUCTS = 64, 10**6
"""OpenBLAS has kernels of their own for less than a million multiplications."""


@functools.cache
def _library() -> ctypes.CDLL | None:
    """OpenBLAS with integers of 64 bits, as NumPy has loaded it from beside itself."""
    beside = os.path.dirname(np.__file__)
    for folder in (os.path.join(os.path.dirname(beside), "numpy.libs"), os.path.join(beside, ".dylibs")):
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for name in names:
            if not name.startswith("libscipy_openblas64_"):
                continue
            try:
                library = ctypes.CDLL(os.path.join(folder, name))
                if all(hasattr(library, f"scipy_{x}{name}_64_") for x in "sdcz" for name in ("getrf", "trsm")):
                    return library
            except OSError:
                continue
    return None


def set_threads(number: int) -> None:
    """Have products of matrices run on so many threads, where their library is known."""
    library = _library()
    if library is not None:
        library.scipy_openblas_set_num_threads64_(number)


def in_c(name: str) -> tuple[int, int]:
    """Return where this routine of BLAS for float32 and for float64 is, as C calls it; 0 where it is not."""
    library = _library()
    found = [getattr(library, f"scipy_cblas_{letter}{name}64_", None) for letter in "sd"]
    narrow, wide = (0 if run is None else ctypes.cast(run, ctypes.c_void_p).value or 0 for run in found)
    return (narrow, wide) if narrow and wide else (0, 0)


@functools.cache
def _told() -> bool:
    """Return whether the compiled calls know where the routines are."""
    library = _library()
    if library is None:
        return False
    for letter in "sd":
        routines = [getattr(library, f"scipy_{letter}{name}_64_") for name in _fast.ROUTINES]
        _fast.know(letter == "d", *(ctypes.cast(run, ctypes.c_void_p).value for run in routines))
    return True


def quickly(name: str, *args: Any) -> Any:
    """Return what a compiled call of LAPACK gives; None where there is none, or not for such arrays."""
    return getattr(_fast, name)(*args) if _fast and _told() else None


def has(*arrays: Array) -> bool:
    """Return whether LAPACK is here, and these arrays are such as it takes: of one of its dtypes, all of the same."""
    kind = arrays[0].dtype
    same = all(a.__class__ is np.ndarray and a.dtype == kind and a.size for a in arrays)
    return same and kind in _LETTERS and _library() is not None


def _routine(name: str, like: Array) -> Any:
    return getattr(_library(), f"scipy_{_LETTERS[like.dtype]}{name}_64_")


@functools.cache
def address(name: str, kind: np.dtype[Any]) -> int:
    """Return where a routine is."""
    run = getattr(_library(), f"scipy_{_LETTERS[kind]}{name}_64_")
    return ctypes.cast(run, ctypes.c_void_p).value or 0


def each(name: str, kind: np.dtype[Any], count: int, *args: Any) -> None:
    """Run a routine on each matrix of a batch: on numbers, letters and arrays. Those of more than one dimension hold
    something for each matrix, and the others the same for all."""
    _each_at(address(name, kind), count, args)


@chosen
def _each_at(place: int, count: int, args: tuple[Any, ...]) -> None:
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(args))(place)
    arrays = [np.frombuffer(x, np.uint8) if isinstance(x, bytes) else np.asarray(x) for x in args]
    steps = [(x.ctypes.data, x.nbytes // count if x.ndim > 1 else 0) for x in arrays]
    for i in range(count):
        run(*[start + i * step for start, step in steps])


def _number(n: int) -> Any:
    return ctypes.byref(_Number(n))


def _matrices(a: Array) -> range:
    """The address of each of the matrices, which lie one behind the other."""
    size = a.itemsize * math.prod(a.shape[-2:])
    start = a.ctypes.data
    return range(start, start + a.nbytes, size)


def factored(a: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, column by column; the row swapped with each one, from 1; the first zero pivot, or 0."""
    m, n = a.shape[-2:]
    turned = np.array(np.swapaxes(a, -1, -2), order="C")
    count = math.prod(a.shape[:-2])
    pivots = np.empty((count, min(m, n)), np.int64)
    info = np.zeros(count, np.int64)
    run, rows, columns = _routine("getrf", a), _number(m), _number(n)
    at, found = pivots.ctypes.data, info.ctypes.data
    for i, matrix in enumerate(_matrices(turned)):
        swaps, zero = at + i * pivots.strides[0], found + i * info.itemsize
        run(rows, columns, ctypes.c_void_p(matrix), rows, ctypes.c_void_p(swaps), ctypes.c_void_p(zero))
    batch = a.shape[:-2]
    swapped = pivots.astype(np.int32).reshape(*batch, min(m, n))
    return np.swapaxes(turned, -1, -2), swapped, info.astype(np.int32).reshape(batch)[()]


def substituted(a: Array, b: Array, upper: bool, unitriangular: bool) -> Array:
    """X with a X = b for triangular matrices, over batches; column by column."""
    n, k = b.shape[-2:]
    places: Any = _matrices(a := np.ascontiguousarray(a))
    if a.ndim > 2 or b.ndim > 2:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        b = np.broadcast_to(b, (*batch, n, k))
        places = np.broadcast_to(np.array(places).reshape(a.shape[:-2]), batch).ravel().tolist()
    turned = np.array(b.swapaxes(-1, -2), order="C")
    one = np.ones((), a.dtype)
    # Row by row is the transpose column by column: what is above its diagonal is below it there.
    marks = [ctypes.c_char_p(x) for x in (b"L", b"L" if upper else b"U", b"T", b"U" if unitriangular else b"N")]
    run, rows, columns, scale = _routine("trsm", a), _number(n), _number(k), ctypes.c_void_p(one.ctypes.data)
    for matrix, x in zip(places, _matrices(turned), strict=True):
        run(*marks, rows, columns, scale, ctypes.c_void_p(matrix), rows, ctypes.c_void_p(x), rows)
    return np.swapaxes(turned, -1, -2)
