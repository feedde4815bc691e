"""Storages: the memory that tensors share, as named in files, and the tensors that files rebuild on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays.backends import ELSEWHERE
from .._arrays.cuda import on_host
from .._arrays.lazy import flip, memory_of
from .._arrays.meta import Meta
from .._arrays.storages import address, as_strided_raw, owner
from .._core.base import dtypes
from .._core.base.dtypes import dtype
from .._core.base.memory_format import strides_of
from .._core.tape.tensor import Tensor
from .._ops.tensors.legacy import instance

_LEGACY = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip
STORAGES: dict[str, dtype | None] = {**{name: dtypes.NAMED[of] for name, of in _LEGACY.items()}, "UntypedStorage": None}
"""The classes of storages by name; an untyped one holds bytes."""
MOST_DIMS = 64
"""Dimensions of a tensor at most; NumPy has no more."""
STORAGE_NAMES = {of: name for name, of in STORAGES.items() if of is not None}
BITS = ("conj", "neg")
"""Attributes in files for tensors that are conjugated or negated when they are read."""


class Storage:
    """Memory read from a file: an array of bytes, and the dtype that its name says (None: bytes)."""

    __slots__ = ("bytes", "dtype")

    def __init__(self, data: Any, of: dtype | None) -> None:
        self.bytes = data
        self.dtype = of


def rebuild_tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    of: Any = None,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a storage; ValueError where it would reach beyond its memory."""
    if of.__class__ is dict:
        of, metadata = None, of
    if not isinstance(storage, Storage):
        raise ValueError("a tensor is to be made of something that is no storage")
    kind = of if isinstance(of, dtype) else storage.dtype
    if kind is None or not are_valid(size, stride, offset, requires_grad):
        raise ValueError("a tensor's size, stride or offset is not valid")
    available = storage.bytes.size // kind.itemsize
    needed = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if math.prod(size) else offset
    if needed > available:
        raise ValueError(f"a tensor reaches beyond its storage: {needed} elements are needed, {available} are there")
    flat = storage.bytes[: available * kind.itemsize].view(kind.numpy)
    raw = as_strided_raw(flat, tuple(size), tuple(stride), offset) if math.prod(size) else flat[:0].reshape(size)
    said = metadata if metadata.__class__ is dict else {}
    allowed = (raw.dtype.kind == "c", raw.dtype.kind != "b")
    bits = [may and said.get(name) is True for name, may in zip(BITS, allowed, strict=True)]
    result: Tensor = instance(Tensor, flip(raw, *bits))
    if requires_grad:
        result.requires_grad_()
    return result


def rebuild_meta(of: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor without memory."""
    if not isinstance(of, dtype) or not are_valid(size, stride, 0, requires_grad):
        raise ValueError("a tensor's size, stride or dtype is not valid")
    result: Tensor = instance(Tensor, Meta(size, of.numpy, [s * of.itemsize for s in stride]))
    if requires_grad:
        result.requires_grad_()
    return result


def are_valid(size: Any, stride: Any, offset: Any, requires_grad: Any) -> bool:
    """Return whether a file may say this of a tensor; nothing is computed with what is no plain small tuple of
    numbers."""
    if not (isinstance(size, tuple) and isinstance(stride, tuple) and len(size) == len(stride) <= MOST_DIMS):
        return False
    numbers = (offset, *size, *stride)
    return type(requires_grad) is bool and all(type(n) is int and 0 <= n < 1 << 62 for n in numbers)


def parameters() -> Any:
    """Return where parameters are defined."""
    from ..nn import parameter  # modules are loaded from files by what stands here

    return parameter


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any = None) -> Any:
    """A parameter over a rebuilt tensor."""
    if not isinstance(data, Tensor) or type(requires_grad) is not bool:
        raise ValueError("a parameter is to be made of something that is no tensor")
    return parameters().Parameter(data, requires_grad)


# ---------------------------------------------------------------- writing


class StorageTable:
    """Storages that are to be written, each once, under numbers in the order of their appearance."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        """Flat arrays of bytes."""
        self._known: dict[tuple[int, int], tuple[int, Any]] = {}

    def position(self, tensor: Tensor) -> tuple[int, int, int, tuple[int, ...]]:
        """Return where the elements of a tensor are: (storage, its length, offset, strides), the last three in
        elements.

        RuntimeError where tensors of different dtypes share memory.
        """
        raw = memory_of(tensor._ag_raw)
        root = None if isinstance(raw, np.generic) else owner(raw)
        if root is None or not _is_within(raw, root):
            raw = root = np.array(raw, order="C", copy=True) if raw.__class__ not in ELSEWHERE else raw.copy()
        begin = address(root)
        key = (begin, root.nbytes) if root.nbytes else (id(root), 0)
        number, kept = self._known.setdefault(key, (len(self.arrays), (root, raw.dtype)))
        if number == len(self.arrays):
            self.arrays.append(on_host(flat_bytes(root)))
        elif kept[1] != raw.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        offset = (address(raw) - begin) // raw.itemsize if raw.size else 0
        return number, root.nbytes // raw.itemsize, offset, strides_of(raw)


def _is_within(raw: Any, root: Any) -> bool:
    """Return whether `raw` can be told as offset and strides in the memory of its root."""
    size = raw.itemsize
    offset = address(raw) - address(root)
    last = sum((n - 1) * s for n, s in zip(raw.shape, raw.strides, strict=True)) + size if raw.size else 0
    dense = root.flags.c_contiguous or root.flags.f_contiguous
    steps = (offset, root.nbytes, *raw.strides)
    return bool(dense and all(s >= 0 and s % size == 0 for s in steps) and offset + last <= root.nbytes)


def flat_bytes(root: Any) -> Any:
    """The memory of a dense array, as bytes in a row."""
    flat = root.reshape(-1) if root.flags.c_contiguous else root.T.reshape(-1)
    return flat.view(np.uint8)


def plain_size(tensor: Tensor) -> tuple[int, ...]:
    """The lengths as a plain tuple."""
    return tuple(tensor._ag_raw.shape)
