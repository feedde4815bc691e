"""The form of a safetensors file: the length of a header (8 bytes), the header (JSON), the tensors' bytes without a
gap."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import numpy as np

from autograph_cli.torch._core import dtypes

DTYPES = {
    "BOOL": dtypes.bool_,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "F8_E5M2": dtypes.NAMED["float8_e5m2"],
    "F8_E4M3": dtypes.NAMED["float8_e4m3fn"],
    "F8_E8M0": dtypes.NAMED["float8_e8m0fnu"],
    "F8_E4M3FNUZ": dtypes.NAMED["float8_e4m3fnuz"],
    "F8_E5M2FNUZ": dtypes.NAMED["float8_e5m2fnuz"],
    "I16": dtypes.int16,
    "U16": dtypes.uint16,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "I32": dtypes.int32,
    "U32": dtypes.uint32,
    "F32": dtypes.float32,
    "C64": dtypes.complex64,
    "F64": dtypes.float64,
    "I64": dtypes.int64,
    "U64": dtypes.uint64,
}
"""The engine's dtypes by their names in files, in the order that the package gives them."""
NAMES = {of.numpy: name for name, of in DTYPES.items()}
_RANK = {name: -rank for rank, name in enumerate(DTYPES)}
_ELSEWHERE = ("F4", "F6_E2M3", "F6_E3M2")
_LENGTH = struct.Struct("<Q")
_LONGEST_HEADER = 100_000_000
_LARGEST = 1 << 64
_SHOWN = 500
"""Characters of an error at most: it may name what the file says."""
_MOST_DIMS = 64
_METADATA = "__metadata__"


class SafetensorError(Exception):
    """A file that is no safetensors file, or is damaged; or a tensor that is not in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor is: its dtype by name, its shape, and its bytes counted from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    def read(self, data: Callable[[int, int], Any]) -> Any:
        """The array; `data` gives so many bytes from a position on."""
        if self.dtype not in DTYPES:
            raise SafetensorError(f"dtype {self.dtype} is not available in autograph's engine")
        flat = data(self.begin, self.end - self.begin)
        array = flat != 0 if self.dtype == "BOOL" else flat.view(DTYPES[self.dtype].numpy)
        try:
            array = array.reshape(self.shape)
        except ValueError as error:  # the other dimensions of an empty one may be beyond all bounds
            raise SafetensorError(f"no array has the shape {self.shape}"[:_SHOWN]) from error
        return array if sys.byteorder == "little" or self.dtype == "BOOL" else array.byteswap()


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself: the tensors, the user's own notes, and how long the header is."""

    entries: dict[str, Entry]
    metadata: dict[str, str] | None
    length: int


# ---------------------------------------------------------------- reading


def read_header(file: IO[bytes], size: int) -> Header:
    """The header of a file of so many bytes; SafetensorError unless its tensors fill the rest without gap or overlap.

    >>> import io
    >>> data = write({}, None)
    >>> read_header(io.BytesIO(data), len(data)).entries
    {}
    """
    if size < _LENGTH.size:
        raise _wrong("header too small")
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
    if length > _LONGEST_HEADER:
        raise _wrong("header too large")
    if _LENGTH.size + length > size:
        raise _wrong("invalid header length")
    found = _parsed(file.read(length))
    metadata = found.pop(_METADATA, None)
    if metadata is not None and not _is_text(metadata):
        raise _wrong(f"invalid JSON in header: {_METADATA} should hold text under names")
    entries = {name: _entry(name, told) for name, told in found.items()}
    _check_positions(entries, size - _LENGTH.size - length)
    return Header(entries, metadata, _LENGTH.size + length)


def _wrong(what: str) -> SafetensorError:
    return SafetensorError(f"Error while deserializing header: {what[:_SHOWN]}")


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_refuse)
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(f"invalid UTF-8 in header: {error}") from None
    except (ValueError, RecursionError) as error:
        raise _wrong(f"invalid JSON in header: {error}") from None
    if not isinstance(found, dict):
        raise _wrong(f"invalid JSON in header: an object was expected, not {type(found).__name__}")
    return found


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        duplicate = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"duplicate name `{duplicate}`")
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _is_text(metadata: Any) -> bool:
    return isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())


def _entry(name: str, told: Any) -> Entry:
    """What the header tells of a tensor, if it makes sense."""
    if not isinstance(told, dict):
        raise _wrong(f"invalid JSON in header: tensor `{name}` is not described by an object")
    for field in ("dtype", "shape", "data_offsets"):
        if field not in told:
            raise _wrong(f"invalid JSON in header: missing field `{field}` of tensor `{name}`")
    kind, shape, position = told["dtype"], told["shape"], told["data_offsets"]
    if type(kind) is not str or kind not in (*DTYPES, *_ELSEWHERE):
        shown = kind[:40] if type(kind) is str else type(kind).__name__
        raise _wrong(
            f"invalid JSON in header: unknown variant `{shown}`, expected one of {', '.join((*DTYPES, *_ELSEWHERE))}"
        )
    if not _are_counts(shape) or not _are_counts(position) or len(position) != 2:
        raise _wrong(f"invalid JSON in header: shape and data_offsets of tensor `{name}` should be numbers from 0 on")
    begin, end = position
    if len(shape) > _MOST_DIMS:
        raise _wrong(f"tensor `{name[:40]}` has {len(shape)} dimensions, and there are {_MOST_DIMS} at most")
    if kind in DTYPES:
        nbytes = DTYPES[kind].itemsize
        for length in shape:
            nbytes *= length
            if nbytes >= _LARGEST:
                raise _wrong("overflow computing buffer size from shape and/or element type")
        if begin <= end and nbytes != end - begin:
            raise _wrong(f"invalid shape, data type, or offset for tensor `{name}`")
    return Entry(kind, tuple(shape), begin, end)


def _are_counts(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(n) is int and 0 <= n < _LARGEST for n in numbers)


def _check_positions(entries: Mapping[str, Entry], available: int) -> None:
    """SafetensorError unless the tensors stand one after the other, up to the end of the file."""
    last = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != last or entry.end < entry.begin:
            raise _wrong(f"invalid offset for tensor `{name}`")
        last = entry.end
    if last != available:
        raise _wrong("incomplete metadata, file not fully covered")


def file_size(path: Any) -> int:
    """How many bytes a file has; FileNotFoundError and its like where there is none."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"No such file or directory: {os.fspath(path)}")
    return os.stat(path).st_size


# ---------------------------------------------------------------- writing


def chunks(arrays: Mapping[str, Any], metadata: Mapping[str, str] | None) -> Iterable[Any]:
    """The parts of a file one after the other: the widest elements first, then by name, as the package writes it.

    KeyError for a dtype that has no place in such a file, TypeError for names and notes that are no text.
    """
    for text in (*arrays, *(metadata or {}), *(metadata or {}).values()):
        if not isinstance(text, str):
            raise TypeError(f"names and metadata should be text: {text!r} is not an instance of 'str'")
    if _METADATA in arrays:
        raise ValueError(f"no tensor can have the name {_METADATA}")
    kinds = {name: kind_of(array.dtype) for name, array in arrays.items()}
    order = sorted(arrays, key=lambda name: (_RANK[kinds[name]], name))
    header: dict[str, Any] = {} if metadata is None else {_METADATA: dict(metadata)}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        header[name] = {"dtype": kinds[name], "shape": list(arrays[name].shape), "data_offsets": [begin, end]}
    shown = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    shown += b" " * (-len(shown) % _LENGTH.size)
    yield _LENGTH.pack(len(shown)) + shown
    for name in order:
        array = np.ascontiguousarray(arrays[name])
        yield (array if sys.byteorder == "little" else array.byteswap()).reshape(-1).view(np.uint8).data


def kind_of(dtype: Any) -> str:
    """The name of a NumPy dtype in files."""
    if dtype not in NAMES:
        raise KeyError(f"{dtype} has no place in a safetensors file")
    return NAMES[dtype]


def write(arrays: Mapping[str, Any], metadata: Mapping[str, str] | None) -> bytes:
    """A whole file, as bytes."""
    return b"".join(chunks(arrays, metadata))
