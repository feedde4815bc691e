"""The difference of two tensors, from what is kept of them: all numbers, or a check sum, norm and projections."""

from __future__ import annotations

import functools
import math
import zlib
from typing import Any

import numpy as np
from msgspec import Struct

from autograph_cli.graph.records import Exact, Number

FEW_BYTES = 4096
"""Tensors of so many bytes are kept whole."""
PROBES = 4
_ROW = 4096
_MIXING = (0x9E3779B97F4A7C15, 63), (0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)
"""The factors and shifts of SplitMix64: the bits of what it makes of whole numbers are as good as drawn, and the same
on every machine."""
_PRECISION = {"float64": 52, "complex128": 52, "float32": 23, "complex64": 23, "float16": 10, "bfloat16": 7}


def epsilon(*dtypes: str) -> float:
    """Return the distance from 1 to the next number of the coarsest of these dtypes; 0 where none is rounded.

    >>> epsilon("float64", "bfloat16"), epsilon("int64")
    (0.0078125, 0.0)
    """
    bits = [_PRECISION.get(dtype, 2 if dtype.startswith("float8") else None) for dtype in dtypes]
    return max((2.0**-known for known in bits if known is not None), default=0.0)


class Apart(Struct, frozen=True):
    """The difference of two tensors."""

    same: bool = False
    """True if all their numbers are the same; NaN is the same as NaN."""
    difference: float = 0.0
    """The largest difference of two numbers; of tensors of which a digest is kept, that of all together, as a norm."""
    scale: float = 0.0
    """The largest number of both, or the larger norm."""
    index: int | None = None
    """The index of the largest difference, counted row by row; None if only a digest is kept."""
    old: complex = 0
    new: complex = 0
    """The two numbers there, or the two norms."""

    @property
    def relative(self) -> float:
        """Return the difference beside the scale."""
        if self.same or not self.difference:
            return 0.0
        return self.difference / self.scale if math.isfinite(self.difference) and self.scale else math.inf

    def ulps(self, eps: float) -> float:
        """Return the difference in units in the last place of the larger of the two numbers."""
        size = max(abs(self.old), abs(self.new)) if self.index is not None else self.scale
        if not (eps and size and math.isfinite(size) and math.isfinite(self.difference)):
            return math.inf
        return self.difference / (eps * 2.0 ** math.floor(math.log2(size)))


SAME = Apart(True)


def kept(raw: Any) -> Exact:
    """Return what is kept of the numbers of an array.

    >>> kept(np.float32([1, 2])).data.hex()
    '0000803f00000040'
    """
    array = raw.astype(np.float32) if raw.dtype.kind == "V" or raw.dtype.str[1:] == "f2" else raw
    array = array if array.dtype.str[0] != ">" else array.astype(array.dtype.newbyteorder("<"))
    kind: Any = array.dtype.str[1:]
    if array.nbytes <= FEW_BYTES:
        return Exact(kind, array.size, array.tobytes())
    flat = np.ascontiguousarray(array).reshape(-1)
    norm, probes = _told(flat)
    return Exact(kind, array.size, b"", zlib.crc32(flat.data.cast("B")), Number(norm), tuple(map(Number, probes)))


def apart(old: Exact, new: Exact) -> Apart | None:
    """Return how far two tensors are apart; None where they have not the same number of elements, or a trace is wrong.

    >>> apart(kept(np.float32([1, 2])), kept(np.float32([1, 2.5]))).relative
    0.2
    """
    if old.count != new.count or not (_is_whole(old) and _is_whole(new)):
        return None
    if (old.kind, old.data, old.crc, old.norm) == (new.kind, new.data, new.crc, new.norm):
        return SAME
    if old.data and new.data:
        return elementwise(numbers(old), numbers(new))
    norms, probes = zip(*[digest(each) for each in (old, new)], strict=True)
    if norms[0] == norms[1] and probes[0] == probes[1] and old.kind != new.kind:
        return SAME
    if probes[0][PROBES:] != probes[1][PROBES:]:
        return Apart(False, math.inf, max(norms), None, *norms)
    gaps = [one - other for one, other in zip(probes[0][:PROBES], probes[1], strict=False)]
    difference = max(math.sqrt(sum(gap * gap for gap in gaps) / len(gaps)), abs(norms[0] - norms[1]))
    scale = max(norms)
    return Apart(False, difference, scale, None, *norms)


def numbers(exact: Exact) -> Any:
    """Return the numbers of a tensor that is kept whole, in a row, in double precision."""
    array = np.frombuffer(exact.data, dtype="<" + exact.kind if exact.kind[0] in "fciu" else exact.kind)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def largest(exact: Exact) -> float:
    """Return the largest finite number of a tensor; of one of which a digest is kept, the usual one."""
    if not exact.data:
        return (exact.norm or 0.0) / math.sqrt(exact.count or 1)
    sizes = np.abs(numbers(exact))
    sizes = sizes[np.isfinite(sizes)]
    return float(sizes.max()) if sizes.size else 0.0


def elementwise(old: Any, new: Any) -> Apart:
    """Return how far two arrays of numbers are apart."""
    with np.errstate(all="ignore"):
        alike = (old == new) | (np.isnan(old) & np.isnan(new))
        if alike.all():
            return SAME
        gaps = np.where(alike, 0.0, np.abs(old - new))
        gaps = np.where(np.isnan(gaps), np.inf, gaps)
        index = int(gaps.argmax())
        sizes = np.maximum(np.abs(old), np.abs(new))
    sizes = sizes[np.isfinite(sizes)]
    return Apart(
        False,
        float(gaps[index]),
        float(sizes.max()) if sizes.size else 0.0,
        index,
        old[index].item(),
        new[index].item(),
    )


def _is_whole(exact: Exact) -> bool:
    """Return whether there are as many numbers as it says, or as many projections as there are."""
    if exact.data:
        return len(exact.data) == exact.count * int(np.dtype(exact.kind).itemsize)
    return not exact.count or len(exact.probes) in (PROBES, 2 * PROBES)


def digest(exact: Exact) -> tuple[float, list[float]]:
    """Return the norm and the projections of what is kept of a tensor."""
    return _told(numbers(exact)) if exact.data else (float(exact.norm or 0), [float(each) for each in exact.probes])


def _told(flat: Any) -> tuple[float, list[float]]:
    """Return the norm and the sums with four patterns of signs, by whose differences tensors are told apart; where not
    all numbers are finite, then the sums of what tells which are not."""
    numbers = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(np.float64)
    with np.errstate(all="ignore"):
        square = float(numbers @ numbers)
        if math.isfinite(square):
            return math.sqrt(square), _sums(numbers)
        others = np.nan_to_num(np.where(np.isfinite(numbers), 0.0, numbers), nan=1.0, posinf=2.0, neginf=3.0)
        numbers = np.where(np.isfinite(numbers), numbers, 0).astype(np.float64)
        return math.sqrt(float(numbers @ numbers)), _sums(numbers) + (_sums(others) if others.any() else [])


def _sums(numbers: Any) -> list[float]:
    """Return the sums of numbers with four patterns of signs."""
    whole = numbers.size // _ROW
    rows, rest = numbers[: whole * _ROW].reshape(whole, _ROW), numbers[whole * _ROW :].astype(np.float64)
    sums = (rows @ _patterns(numbers.dtype.char)).astype(np.float64)
    return [float(_signed(sums, rest, each)) for each in range(PROBES)]


def _signed(sums: Any, rest: Any, pattern: int) -> Any:
    """The sum of the sums of rows with patterns of signs, each row with the next pattern, and of what is left."""
    down, along = _signs(pattern, len(sums) + 1, "d"), _signs(pattern, _ROW, "d")
    return sums.take(_ladder(pattern, len(sums))) @ down[:-1] + (rest @ along[: rest.size]) * down[-1]


@functools.lru_cache(256)
def _ladder(pattern: int, rows: int) -> Any:
    """Return the places of one sum of each row, the next pattern in each."""
    return np.arange(rows) * PROBES + (np.arange(rows) + pattern) % PROBES


@functools.lru_cache(4)
def _patterns(kind: str) -> Any:
    """The patterns of signs along a row, one a column."""
    return np.stack([_signs(each, _ROW, kind) for each in range(PROBES)], 1)


@functools.lru_cache(256)
def _signs(pattern: int, count: int, kind: str) -> Any:
    """Return `count` signs of a pattern, as numbers of this type."""
    with np.errstate(over="ignore"):
        places = np.arange(1, count + 1, dtype=np.uint64)
        for factor, shift in _MIXING:
            places = (places ^ (places >> np.uint64(shift))) * np.uint64(factor)
    bits = (places >> np.uint64(63 - 7 * pattern)) & np.uint64(1)
    return (1.0 - 2.0 * bits.astype(np.float64)).astype(kind)
