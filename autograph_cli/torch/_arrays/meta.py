"""Arrays with shape, dtype and strides but no memory: what tensors of the device `meta` hold.

What an operation makes is found in two parts: its shape by a rule, its dtype and the order of its dimensions by running
the operation on miniatures, real arrays of at most two elements a dimension.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._core.base.errors import refused
from .._core.base.state import process_state, thread_state
from . import Array
from .geometry import _product_shape, c_strides, ordered_strides, reduced_shape, reshaped_shape, reshaped_strides

_NOWHERE = 1 << 40
"""The address of every array; what is there is never asked for."""

NO_DATA = "Cannot copy out of meta tensor; no data!"


NO_COUNT = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent "
    "implementation does not exist. How many elements are not zero is not known on the device 'meta'."
)
NO_NUMBER = "Tensor.item() cannot be called on meta tensors"
NO_FUNCTION = "not available for arrays without memory"


def refuses(error: Exception) -> bool:
    """Return whether an error says that elements are missing."""
    return str(error) in (NO_DATA, NO_NUMBER) or str(error).endswith(NO_FUNCTION)


def readable(a: Array) -> bool:
    """Return whether a raw array has elements that can be looked at."""
    return a.__class__ is not Meta and a.size > 0


class _Reserved:
    """State that the views of one array without memory share."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class Geometry:
    """Attributes of an array, read from another one, `_geometry`, that is laid out as it would be."""

    __slots__ = ()

    dtype = property(lambda self: self._geometry.dtype)
    strides = property(lambda self: self._geometry.strides)
    ndim = property(lambda self: self._geometry.ndim)
    size = property(lambda self: self._geometry.size)
    itemsize = property(lambda self: self._geometry.itemsize)
    nbytes = property(lambda self: self._geometry.nbytes)
    flags = property(lambda self: self._geometry.flags)


class Meta(Geometry, np.lib.mixins.NDArrayOperatorsMixin):
    """An array of which everything is known but its elements.

    `strides` are in bytes, as NumPy's; without them the array is in C order. Reading an element raises
    NotImplementedError, RuntimeError where a number is wanted.

    >>> a = Meta((1000000, 1000000), "float32")
    >>> (a[:5] @ a.T).shape
    (5, 1000000)
    """

    __slots__ = ("__weakref__", "_geometry", "bits", "memory")

    def __init__(self, shape: Any, dtype: Any = float, strides: Any = None) -> None:
        dtype = np.dtype(dtype)
        shape = tuple(shape)
        strides = c_strides(shape, dtype.itemsize) if strides is None else tuple(strides)
        # An array of NumPy's own that is nowhere: it is asked for its geometry, never for an element.
        self._geometry = _placed(_NOWHERE, shape, strides, dtype)
        reach = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
        self.memory = _Reserved(reach if self.size else 0)
        self.bits = (False, False)

    def _view(self, geometry: Any) -> Meta:
        result = object.__new__(Meta)
        result._geometry = geometry
        result.memory = self.memory
        result.bits = self.bits
        return result

    def with_bits(self, bits: tuple[bool, bool]) -> Meta:
        """The same with other conjugate and negative bits (see lazy.py)."""
        result = self._view(self._geometry)
        result.bits = bits
        return result

    # -- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._geometry.shape
        return shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        view = self._reshaped(shape)
        if view is None:
            raise refused(AttributeError, "incompatible shape for in-place modification: a copy would be needed")
        self._geometry = view._geometry

    @property
    def address(self) -> int:
        """The position of the first element, which only makes sense beside that of another view of the same memory."""
        result: int = self._geometry.__array_interface__["data"][0]
        return result

    def whole(self) -> Meta:
        """All that this is a view of, as bytes."""
        return self._view(_placed(_NOWHERE, (self.memory.nbytes,), (1,), np.dtype("u1")))

    def __len__(self) -> int:
        return len(self._geometry)

    def __iter__(self) -> Iterator[Meta]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Meta({self.shape}, {self.dtype})"

    # -- views

    def window(self, shape: Any, strides: Any, offset: int = 0, dtype: Any = None) -> Meta:
        """A view with any shape and strides (in bytes), `offset` bytes after the first element."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        return self._view(_placed(self.address + offset, tuple(shape), tuple(strides), dtype))

    def view(self, dtype: Any = None) -> Meta:
        return self._view(self._geometry.view() if dtype is None else self._geometry.view(dtype))

    def transpose(self, *axes: Any) -> Meta:
        return self._view(self._geometry.transpose(*axes))

    def swapaxes(self, a: int, b: int) -> Meta:
        return self._view(self._geometry.swapaxes(a, b))

    def squeeze(self, axis: Any = None) -> Meta:
        return self._view(self._geometry.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Meta:
        return self._view(self._geometry.diagonal(offset, axis1, axis2))

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Meta:
        """A view where the strides allow it, else a copy; ValueError if there is to be none."""
        if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
            shape = tuple(shape[0])
        found = self._reshaped(shape)
        if found is None and copy is False:
            raise refused(ValueError, "Unable to avoid creating a copy while reshaping.")
        return Meta(reshaped_shape(self.size, shape), self.dtype) if found is None else found

    def _reshaped(self, shape: Any) -> Meta | None:
        """A view of another shape, if there is one."""
        shape = reshaped_shape(self.size, shape)
        strides = c_strides(shape, self.itemsize)
        if self.size and not self.flags.c_contiguous:
            found = reshaped_strides(self.shape, self.strides, shape)
            if found is None:
                return None
            strides = found
        return self.window(shape, strides)

    def ravel(self, order: str = "C") -> Meta:
        return self.reshape(-1)

    def flatten(self, order: str = "C") -> Meta:
        return Meta((self.size,), self.dtype)

    T = property(lambda self: self._view(self._geometry.T))
    mT = property(lambda self: self._view(self._geometry.mT))
    real = property(lambda self: self._view(self._geometry.real))

    @property
    def imag(self) -> Meta:
        return self._view(self._geometry.imag) if self.dtype.kind == "c" else Meta(self.shape, self.dtype)

    def __getitem__(self, index: Any) -> Meta:
        index = index if isinstance(index, tuple) else (index,)
        if not any(map(_selects, index)):
            return self._view(self._geometry[index if Ellipsis in index else (*index, ...)])
        shape = _selected(self.shape, index)
        return enlarged(shape, miniature(self)[tuple(map(_small_index, index))])

    def __setitem__(self, index: Any, value: Any) -> None:
        target = self[index].shape
        if np.broadcast_shapes(target, getattr(value, "shape", ())) != target:
            raise refused(ValueError, f"could not broadcast input array from shape {value.shape} into shape {target}")

    # -- new arrays

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Meta:
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return enlarged(self.shape, miniature(self).astype(dtype, order))

    def copy(self, order: str = "C") -> Meta:
        return enlarged(self.shape, miniature(self).copy(order))

    def __copy__(self) -> Meta:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Meta:
        return self.copy("K")

    def __reduce__(self) -> Any:
        return Meta, (self.shape, self.dtype, self.strides)

    def fill(self, value: Any) -> None:
        """Nothing to do: no element is kept."""

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Nothing to do: the order of elements is not kept."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        return _METHODS[method](ufunc, inputs, out, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        rule = _rules().get(function)
        if rule is None:
            raise NotImplementedError(f"numpy.{function.__name__} is {NO_FUNCTION}")
        return rule(*args, **options)

    # -- what cannot be: an element

    def _no_number(self, *_: Any) -> Any:
        raise RuntimeError(NO_NUMBER)

    def _no_data(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(NO_DATA)

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __contains__ = item = _no_number
    __array__ = tolist = tobytes = dump = _no_data

    def nonzero(self) -> Any:
        raise NotImplementedError(NO_COUNT)


@functools.cache
def _rules() -> dict[Any, Callable[..., Any]]:
    """Return what stands for a NumPy function that is given an array without memory: most processes have none."""
    result: dict[Any, Callable[..., Any]] = importlib.import_module(".meta_functions", __package__).functions
    return result


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def run(self: Meta, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    run.__name__ = name
    return run


for _name in """
    sum prod max min mean var std any all argmax argmin cumsum cumprod argsort clip round repeat take trace conj
    conjugate dot
""".split():
    setattr(Meta, _name, _method(_name))


# ---------------------------------------------------------------- geometry


def _placed(address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array of NumPy's that claims to be at an address."""
    return np.asarray(_Claim(address, shape, strides, f"|V{dtype.itemsize}")).view(dtype)


class _Claim:
    """The object that NumPy asks for the position of an array."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: str) -> None:
        self.__array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": kind,
            "version": 3,
        }


# ---------------------------------------------------------------- without memory


@contextmanager
def on_meta() -> Iterator[None]:
    """While it lasts, tensors are made without memory."""
    before, thread_state.on_meta = thread_state.on_meta, True
    process_state.special += 1
    try:
        yield
    finally:
        thread_state.on_meta = before
        process_state.special -= 1


def without_memory(raw: Any) -> Any:
    """An array of the same shape, dtype and strides, without memory."""
    return raw if raw.__class__ is Meta else Meta(raw.shape, raw.dtype, raw.strides)


# ---------------------------------------------------------------- miniatures


def miniature(x: Any, number: int = 1) -> Any:
    """A real array of at most two elements a dimension, laid out as `x` is and full of a number; what is no array
    stays."""
    if not isinstance(x, (Meta, np.ndarray)) or (isinstance(x, np.ndarray) and not x.ndim):
        return x
    shape = tuple(min(n, 2) for n in x.shape)
    order = sorted(range(x.ndim), key=lambda d: -abs(x.strides[d]))
    dense = np.full(tuple(shape[d] for d in order), number, x.dtype).transpose(np.argsort(order))
    if all(s or n == 1 for s, n in zip(x.strides, x.shape, strict=True)):
        return dense
    strides = [s if t or n == 1 else 0 for s, t, n in zip(dense.strides, x.strides, x.shape, strict=True)]
    return np.lib.stride_tricks.as_strided(dense, shape, strides)


def enlarged(shape: tuple[int, ...], small: Any) -> Meta:
    """A new array of `shape` that has the dtype of the miniature `small`, and its dimensions in the same order."""
    if not isinstance(small, np.ndarray) or small.ndim < 2:
        return Meta(shape, small.dtype)
    order = sorted(range(small.ndim), key=lambda d: -small.strides[d])
    return Meta(shape, small.dtype, ordered_strides(shape, small.itemsize, order))


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, () of a number."""
    return x.shape if hasattr(x, "shape") else np.shape(x)


# ---------------------------------------------------------------- selection by arrays


def _selects(item: Any) -> bool:
    """Return whether an index is an array or a list, so that the result is no view."""
    return isinstance(item, (Meta, np.ndarray, list, tuple, bool, np.bool_))


def _is_mask(item: Any) -> bool:
    return isinstance(item, bool) or getattr(getattr(item, "dtype", None), "kind", "") == "b"


def _small_index(item: Any) -> Any:
    """An index for a miniature: positions 0 only, slices of what is there."""
    if isinstance(item, slice):
        return slice(None)
    if item is None or item is Ellipsis:
        return item
    shape = tuple(min(n, 2) for n in shape_of(item))
    if _is_mask(item):
        return np.ones(shape, bool)
    return (
        miniature(item, 0)
        if isinstance(item, (Meta, np.ndarray)) and shape
        else np.zeros(shape, np.intp)
        if shape
        else 0
    )


def _selected(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of a selection: the shape of the index arrays takes the place of the dimensions that they index."""
    items = _spelled_out(shape, index)
    dims: list[int] = []
    chosen: list[tuple[int, ...]] = []
    positions: list[tuple[int, int]] = []
    axis = 0
    for position, item in enumerate(items):
        if item is None:
            dims.append(1)
        elif isinstance(item, slice):
            dims.append(len(range(*item.indices(shape[axis]))))
            axis += 1
        else:
            chosen.append(shape_of(item))
            positions.append((position, len(dims)))
            axis += 1
    together = positions[-1][0] - positions[0][0] == len(positions) - 1
    start = positions[0][1] if together else 0
    return (*dims[:start], *np.broadcast_shapes(*chosen), *dims[start:])


def _spelled_out(shape: tuple[int, ...], index: tuple[Any, ...]) -> list[Any]:
    """The index with one item a dimension: masks as positions, `...` as slices."""
    items: list[Any] = []
    for item in index:
        if isinstance(item, (bool, np.bool_, list, tuple)):
            item = np.asarray(item)
        if _is_mask(item):
            if isinstance(item, Meta):
                raise NotImplementedError(NO_DATA)
            items += item.nonzero() if item.ndim else [None, np.zeros(int(item), np.intp)]
        else:
            items.append(item)
    spelled = [i for i, item in enumerate(items) if item is Ellipsis]
    missing = len(shape) - sum(item is not None and item is not Ellipsis for item in items)
    if not spelled:
        return [*items, *[slice(None)] * missing]
    at = spelled[0]
    return [*items[:at], *[slice(None)] * missing, *items[at + 1 :]]


# ---------------------------------------------------------------- ufuncs


def filled(out: Any, made: Any) -> Any:
    """`out=`: the arrays that are given take the place of those that were made."""
    if out is None:
        return made
    every = made if isinstance(made, tuple) else (made,)
    given = out if isinstance(out, tuple) else (out,)
    found = tuple(m if o is None else _into(o, m) for o, m in zip(given, every, strict=True))
    return found if isinstance(made, tuple) else found[0]


def _into(target: Any, made: Any) -> Any:
    if not isinstance(target, Meta):
        raise NotImplementedError(NO_DATA)
    target[...] = made
    return target


def _call(ufunc: Any, inputs: Any, out: Any, options: Any) -> Any:
    where = options.pop("where", True)
    small = ufunc(*map(miniature, inputs), **options)
    if ufunc.signature is not None:
        shape = _product_shape(*map(shape_of, inputs))
    else:
        shape = np.broadcast_shapes(*map(shape_of, inputs), shape_of(where))
    made = tuple(enlarged(shape, s) for s in small) if isinstance(small, tuple) else enlarged(shape, small)
    return filled(out, made)


def _reduce(ufunc: Any, inputs: Any, out: Any, options: Any) -> Any:
    axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
    options.pop("where", None)
    small = ufunc.reduce(miniature(inputs[0]), **{**options, "axis": axis})
    return filled(out, enlarged(reduced_shape(inputs[0].shape, axis, keepdims), small))


def _accumulate(ufunc: Any, inputs: Any, out: Any, options: Any) -> Any:
    return filled(out, enlarged(inputs[0].shape, ufunc.accumulate(miniature(inputs[0]), **options)))


def _reduceat(ufunc: Any, inputs: Any, out: Any, options: Any) -> Any:
    array, positions = inputs[0], inputs[1]
    axis = options.get("axis", 0)
    small = ufunc.reduceat(miniature(array), np.zeros(min(len(positions), 2), np.intp), axis, options.get("dtype"))
    shape = list(array.shape)
    shape[axis] = len(positions)
    return filled(out, enlarged(tuple(shape), small))


def _at(ufunc: Any, inputs: Any, out: Any, options: Any) -> None:
    inputs[0][inputs[1]] = inputs[2] if len(inputs) > 2 else 0


def _outer(ufunc: Any, inputs: Any, out: Any, options: Any) -> Any:
    a, b = inputs
    return filled(out, enlarged((*shape_of(a), *shape_of(b)), ufunc.outer(miniature(a), miniature(b), **options)))


_METHODS = {
    "__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat, "at": _at,
    "outer": _outer,
}  # fmt: skip
