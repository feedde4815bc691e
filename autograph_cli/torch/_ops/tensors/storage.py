"""The memory under tensors: where they begin in it, windows onto other memory, other shapes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._arrays.backends import backend_of, dense_strides, device_of
from ..._arrays.lazy import PLAIN, bits_of, flip, memory_of
from ..._arrays.storages import address, offset_in, owner, resized, window
from ..._core.base import dims, dtypes
from ..._core.base.errors import refused
from ..._core.base.memory_format import strides_of
from ..._core.base.state import thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.running.views import bump, check_inplace, rebase
from ..._core.tape.node import edge_of, output_meta
from ..._core.tape.shared_memory import share, shared_memory_of
from ..._core.tape.tensor import Tensor, materialize
from ..._core.transforms.interpreter_stack import refuse_captured
from ..positions.indexing import fill_
from ..shaping.as_strided import as_strided
from ..shaping.broadcasting import expand
from .untyped_storage import UntypedStorage


class TypedStorage:
    """The memory under a tensor as one row of elements of its dtype, whatever its shape.

    Reading gives Python numbers, writing changes the tensor.
    """

    def __init__(self, root: Any, dtype: dtypes.dtype) -> None:
        self._root = root
        self._row = root.ravel(order="K").view(dtype.numpy)
        self.dtype = dtype

    device = property(lambda self: device_of(self._root), doc="Where the memory is.")

    def __len__(self) -> int:
        """The number of elements."""
        return len(self._row)

    size = __len__

    def _position(self, index: Any) -> int:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        if not -len(self) <= index < len(self):
            raise refused(IndexError, f"index {index} out of range for storage of size {len(self)}")
        return index

    def __getitem__(self, index: int) -> Any:
        return self._row[self._position(index)].item()

    def __setitem__(self, index: int, value: Any) -> None:
        self._row[self._position(index)] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """All elements as Python numbers."""
        result: list[Any] = self._row.tolist()
        return result

    def fill_(self, value: Any) -> TypedStorage:
        """Every element becomes `value`."""
        self._row[...] = value
        return self

    def element_size(self) -> int:
        """The bytes of one element."""
        return int(self._row.itemsize)

    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self._row.nbytes)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._root)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._root)

    def __repr__(self) -> str:
        rows = "".join(f" {x}\n" for x in self.tolist())
        return f"{rows}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


TypedStorage.__module__ = "torch.storage"


@composite(function=False)
def storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor and all its views as one row of elements."""
    if self.is_meta:
        raise NotImplementedError(
            "Tensor.storage of a tensor on the device meta, which has no memory, is not available"
        )
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()"
    )
    return TypedStorage(owner(materialize(self)), self.dtype)


@composite(method=False)
def is_storage(obj: Any) -> bool:
    """Return whether this is the memory under a tensor."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


@composite(function=False)
def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from the one whose elements are stored farthest apart to the one where they are side by side."""
    strides = strides_of(self._ag_raw)
    return tuple(sorted(range(self.ndim), key=lambda d: -strides[d]))


@composite(function=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of this tensor, without its shape."""
    return UntypedStorage(owner(materialize(self)))


@composite(function=False)
def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 of a tensor without memory."""
    return 0 if self.is_meta else address(materialize(self))


@composite(function=False)
def storage_offset(self: Tensor) -> int:
    """Return how many elements of its memory come before the first element."""
    return offset_in(materialize(self))


@composite(function=False, name="share_memory_")
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory of this tensor, and of all its views, to where other processes that are given it see it too."""
    share(self)
    return self


@composite(function=False)
def is_shared(self: Tensor) -> bool:
    """Return whether other processes can see the memory."""
    return shared_memory_of(self._ag_raw) is not None


@composite(function=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both are the same window onto the same memory."""
    a, b = materialize(self), materialize(tensor)
    return bool(
        bits_of(a) == bits_of(b) == PLAIN
        and owner(a) is owner(b)
        and address(a) == address(b)
        and a.shape == b.shape
        and strides_of(a) == strides_of(b)
    )


# ---------------------------------------------------------------- other memory


def _refused(*_: Any) -> Any:
    raise RuntimeError("derivative for set_ is not implemented")


_emptied = operation("set_(Tensor self)", lambda f, self: self, has_derivative=False, self=lambda f, grad: _refused())
_moved = operation(
    "set_.source(Tensor self, Tensor source)",
    lambda f, self, source: self,
    has_derivative=False,
    self=lambda f, grad: _refused(),
    source=lambda f, grad: _refused(),
)


@composite(function=False, name="set_")
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Look at other memory from now on: that of a tensor or storage, or none."""
    if isinstance(source, Tensor) and source._ag_raw.dtype != self._ag_raw.dtype:
        kinds = [dtypes.c_name(x._ag_raw.dtype) for x in (source, self)]
        raise RuntimeError(f"Could not set tensor of type {kinds[0]} to a tensor of type {kinds[1]}")
    if thread_state.levels:
        refuse_captured(self, "set_")
    check_inplace(self, source)
    dtype = self._ag_raw.dtype
    raw = (
        backend_of(self._ag_raw).empty(0, dtype)
        if source is None
        else source._root.reshape(-1).view(dtype)
        if isinstance(source, UntypedStorage)
        else materialize(source)
    )
    if size is not None:
        shape = dims.sizes((size,))
        raw = window(
            raw, shape, dense_strides(shape) if stride is None else tuple(stride), storage_offset - offset_in(raw)
        )
    origin = source if isinstance(source, Tensor) else None
    edges = tuple(map(edge_of, (self,) if origin is None else (self, origin)))
    made = _emptied(self) if origin is None else _moved(self, origin)
    self._ag_raw = flip(memory_of(raw), *bits_of(self._ag_raw))
    bump(self)
    if made._ag_edge is not None:
        node = made._ag_edge[0]
        node._ag_edges, node._ag_output_meta = edges, output_meta(raw)
        rebase(self, node)
    return self


@composite(function=False, name="resize_")
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Another shape for the same memory; where it is too small, for new memory, of which what is new is not
    initialized.

    RuntimeError where a gradient is required.
    """
    if thread_state.levels:
        refuse_captured(self, "resize_")
    if self.requires_grad and not thread_state.inference:
        raise RuntimeError("cannot resize variables that require grad")
    shape = dims.sizes(size)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    if shape != self._ag_raw.shape:
        self._ag_raw = resized(materialize(self), shape)
        bump(self)
    return self


@composite(function=True, name="resize_as_")
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    result: Tensor = resize_(self, the_template._ag_raw.shape)
    return result


# ---------------------------------------------------------------- element by element


def _each(name: str, self: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    if any(x.requires_grad for x in (self, *others)):
        raise RuntimeError(f"Can't call {name}_() on Variable that requires grad. Use var.detach().{name}_() instead.")
    raw = materialize(self)
    for label, other in zip(("other",) if name == "map" else "xy", others, strict=False):
        if other.dtype is not self.dtype:
            raise refused(
                TypeError, f"{name}_: expected torch.{self.dtype.legacy} for '{label}' (got torch.{other.dtype.legacy})"
            )
    columns = [raw, *(expand(o, raw.shape)._ag_raw for o in others)]
    for at in np.ndindex(raw.shape):
        raw[at] = function(*(x[at].item() for x in columns))
    return self


@composite(function=False, name="apply_")
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by `callable(element)`."""
    return _each("apply", self, callable)


@composite(function=False, name="map_")
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, the other's element)`."""
    return _each("map", self, callable, tensor)


@composite(function=False, name="map2_")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, the element of x, that of y)`."""
    return _each("map2", self, callable, x, y)


# ---------------------------------------------------------------- diagonals


@composite(function=False, name="fill_diagonal_")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one number on the main diagonal; with `wrap`, on the diagonals below it as well, each a row apart.

    RuntimeError for fewer than two dimensions, or for more that differ in length.
    """
    shape = self._ag_raw.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    strides, start = strides_of(materialize(self)), offset_in(self._ag_raw)
    count, step = min(shape), (sum(strides),)
    fill_(as_strided(self, (count,), step, start), fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        high, wide = shape
        count = (high * wide + wide) // (wide + 1) - count
        fill_(as_strided(self, (count,), step, start + strides[0] * (wide + 1)), fill_value)
    return self
