"""Arrays whose elements are conjugated or negated whenever they are read: PyTorch's conjugate bit and negative bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.base.errors import refused
from . import Array
from .meta import Geometry, Meta

Bits = tuple[bool, bool]
"""Two booleans: elements are conjugated, elements are negated."""
PLAIN: Bits = (False, False)


def bits_of(raw: Array) -> Bits:
    """The conjugate bit and the negative bit of a raw array."""
    return raw.bits if raw.__class__ is Lazy or raw.__class__ is Meta else PLAIN


def flip(raw: Array, conj: bool, neg: bool) -> Any:
    """The same memory read conjugated, negated or both, if it is not yet; else as it is there."""
    if not (conj or neg):
        return raw
    before = bits_of(raw)
    bits = (before[0] is not conj, before[1] is not neg)
    if raw.__class__ is Meta:
        return raw.with_bits(bits)
    memory = memory_of(raw)
    return Lazy(memory, bits) if bits != PLAIN else memory


def memory_of(raw: Array) -> Any:
    """A raw array without its bits: the elements as they are laid out in memory."""
    return raw.memory if raw.__class__ is Lazy else raw


def resolved(raw: Array) -> Any:
    """A raw array as one of NumPy's, for whoever computes with the elements."""
    return raw.resolved() if raw.__class__ is Lazy else raw


class Lazy(Geometry, np.lib.mixins.NDArrayOperatorsMixin):
    """Elements as they are in `memory`, conjugated, negated or both whenever they are read, and again when they are
    written.

    NumPy, and whatever is not a view, gets a copy with the elements as they read. While one is alive, operations take
    full dispatch.

    >>> a = np.array([1 + 2j, 3 - 1j])
    >>> b = Lazy(a, (True, False))
    >>> b[0] = 4 + 5j
    >>> a.tolist(), b.tolist()
    ([(4-5j), (3-1j)], [(4+5j), (3+1j)])
    """

    __slots__ = ("__weakref__", "_geometry", "bits")

    def __init__(self, memory: Any, bits: Bits) -> None:
        self._geometry = memory
        self.bits = bits

    memory = property(lambda self: self._geometry)
    shape = property(lambda self: self._geometry.shape, lambda self, shape: setattr(self._geometry, "shape", shape))

    def resolved(self) -> Any:
        """The elements as they read, in the order in which they are."""
        return self._read(self._geometry)

    def _read(self, a: Array) -> Any:
        conj, neg = self.bits
        a = a.conj() if conj else a
        return -a if neg else a

    # -- views

    def _view(self, memory: Any) -> Lazy:
        return Lazy(memory, self.bits)

    def view(self) -> Lazy:
        return self._view(self._geometry.view())

    def transpose(self, *axes: Any) -> Lazy:
        return self._view(self._geometry.transpose(*axes))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        return self._view(self._geometry.reshape(*shape, order=order, copy=copy))

    def __getitem__(self, index: Any) -> Any:
        found = self._geometry[index]
        return self._read(found) if isinstance(found, np.generic) else self._view(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._geometry[index] = self._read(_array(resolved(value)).astype(self.dtype, copy=False))

    # -- reading

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # NumPy's own protocols would hand out the memory as it is.
            raise refused(AttributeError, name)
        return getattr(self.resolved(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.resolved(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method == "at":
            raise NotImplementedError(
                f"numpy.{ufunc.__name__}.at of an array that is conjugated or negated when it is read"
            )
        result = getattr(ufunc, method)(*map(resolved, inputs), **options)
        if out is None:
            return result
        for target, value in zip(out, result if ufunc.nout > 1 else (result,), strict=True):
            if target is not None:
                target[...] = value
        return out if ufunc.nout > 1 else out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in _WRITE and args[0].__class__ is Lazy:
            changed = args[0].resolved()
            function(changed, *map(_deep, args[1:]), **options)
            args[0][...] = changed
            return None
        return function(*map(_deep, args), **{name: _deep(x) for name, x in options.items()})

    def __add__(self, other: Any) -> Any:
        """The sum of two gradients, also where they are not NumPy's."""
        return self.resolved() + resolved(other)

    def __radd__(self, other: Any) -> Any:
        return resolved(other) + self.resolved()

    def __len__(self) -> int:
        return len(self._geometry)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.resolved())

    def __int__(self) -> int:
        return int(self.resolved())

    def __float__(self) -> float:
        return float(self.resolved())

    def __complex__(self) -> complex:
        return complex(self.resolved())

    def __reduce__(self) -> Any:
        return Lazy, (self._geometry, self.bits)

    def __repr__(self) -> str:
        return f"Lazy({self._geometry!r}, {self.bits})"


def _array(x: Any) -> Any:
    return x if hasattr(x, "astype") else np.asarray(x)


_WRITE = frozenset((np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal))
"""Functions that write into their first argument."""


def _deep(x: Any) -> Any:
    return type(x)(map(_deep, x)) if x.__class__ in (list, tuple) else resolved(x)
