"""Tensors in another dtype, position or order of memory, and what a tensor says about its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.meta import NO_DATA
from ..._core.base import device as devices, dims, dtypes, layout as layouts
from ..._core.base.errors import refused
from ..._core.base.memory_format import strides_of, suggests_channels_last
from ..._core.base.size import of_shape
from ..._core.base.user_warnings import warn_once
from ..._core.operations.docstrings import documented
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, functions, methods
from ..._core.running import dispatch
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching, batching_rules
from ..._kernels.elements.conversion import ORDERS
from ..pointwise import unary as unary
from .creation import target_dtype

# ---------------------------------------------------------------- copies

to_copy = operation(
    "_to_copy(Tensor self, ScalarType dtype, MemoryFormat? memory_format=None)",
    "cast_in_format",
    float8=True,
    pointwise=True,
    linear=True,
    batch=batching_rules.to_copy,
    self=lambda f, grad, self_dtype: _cast_back(f, grad, self_dtype),
)
to_copy_plain = operation(
    "_to_copy.plain(Tensor self, ScalarType dtype, MemoryFormat? memory_format=None)",
    "cast_in_format",
    float8=True,
    pointwise=True,
    batch=batching_rules.to_copy,
)


to_meta_op = operation(
    "_to_copy.meta(Tensor self, ScalarType dtype)",
    node="ToCopyBackward0",
    self=lambda f, grad, dtype: _no_way_back(),
)


to_device_op = operation(
    "_to_copy.device(Tensor self, ScalarType dtype, Device device)",
    moves=True,
    node="ToCopyBackward0",
    linear=True,
    batch=batching.folded,
    self=lambda f, grad, self_dtype, self_device: f._to_copy_device(
        _cast_back(f, grad, self_dtype), self_dtype, self_device
    ),
)


def on_device(
    tensor: Tensor, where: devices.device, dtype: Any, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """The tensor in a dtype on a device; itself where nothing changes.

    NotImplementedError for a tensor without memory that is to get some.
    """
    if tensor.device == where:
        return as_dtype(tensor, dtype, copy, memory_format)
    if where == devices.META:
        return to_meta(tensor, dtype)
    if tensor.is_meta:
        raise NotImplementedError(NO_DATA)
    made: Tensor = to_device_op(tensor, dtype, where)
    return as_dtype(made, dtype, memory_format=memory_format)


def to_meta(tensor: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """The tensor in a dtype without its elements; a gradient cannot come back."""
    result: Tensor = dispatch.run(to_meta_op.op, (tensor, dtype))
    return result


def _no_way_back() -> Any:
    raise NotImplementedError(NO_DATA)


def _cast_back(f: Any, grad: Any, dtype: Any) -> Any:
    """A gradient in the dtype of what was cast."""
    found = f.real(grad) if f.is_complex(grad) and dtype.kind != "c" else grad
    return found if _dtype(found) == dtype else f._to_copy(found, dtype)


def _dtype(x: Any) -> Any:
    return x._ag_raw.dtype if isinstance(x, Tensor) else x.dtype


clone_in_format = operation(
    "clone.format(Tensor self, MemoryFormat memory_format)",
    float8=True,
    node="CloneBackward0",
    pointwise=True,
    linear=True,
    batch=batching.folded,
    self=lambda f, grad: grad,
)


def as_dtype(input: Tensor, dtype: np.dtype[Any], copy: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in another dtype, or itself where nothing changes."""
    have = input._ag_raw.dtype
    if have == dtype and not copy and _suggests(input._ag_raw, memory_format):
        return input
    category = dtypes.CATEGORY[dtype]
    if dtypes.CATEGORY[have] == dtypes.COMPLEX and category in (dtypes.INTEGRAL, dtypes.FLOATING):
        warn_once("Casting complex values to real discards the imaginary part")
    run = to_copy if category >= dtypes.FLOATING else to_copy_plain
    result: Tensor = run(input, dtype, memory_format)
    return result


def _suggests(raw: Any, memory_format: Any) -> bool:
    """Return whether `to` has nothing to do for a memory format."""
    if memory_format in (None, layouts.preserve_format):
        return True
    order = ORDERS.get(memory_format)
    return (
        suggests_channels_last(raw)
        if order is not None and len(order) == raw.ndim
        else order is None and not suggests_channels_last(raw)
    )


def has_format(raw: Any, memory_format: Any) -> bool:
    """Return whether the elements are stored in the order of a memory format."""
    if memory_format in (None, layouts.preserve_format):
        return True
    order = ORDERS.get(memory_format)
    if order is None:
        return bool(raw.flags.c_contiguous)
    return raw.ndim == len(order) and bool(raw.transpose(order).flags.c_contiguous)


@composite(function=False)
def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    other: Any = None,
) -> Tensor:
    """This tensor with a dtype, on a device: `to(dtype)`, `to("cpu")`, `to(other)`; itself where nothing changes.

    TypeError for arguments that are none of these, RuntimeError for a device that the engine does not have.

    >>> from autograph_cli import torch
    >>> torch.tensor([1.5, 2.5]).to(torch.int64)
    tensor([1, 2])
    """
    flags: list[bool] = []
    for x in args if other is None else (*args, other):
        if isinstance(x, dtypes.dtype) or (isinstance(x, type) and x in (bool, int, float, complex)):
            dtype = x
        elif isinstance(x, Tensor):
            dtype, device = x.dtype, x.device
        elif isinstance(x, bool):
            flags.append(x)
        elif isinstance(x, (str, int, devices.device)):
            device = x
        elif x is not None:
            raise _bad_arguments(x)
    if dtype is not None and not isinstance(dtype, (dtypes.dtype, type)):
        raise _bad_arguments(dtype, "dtype=")
    wanted = target_dtype(dtype, self._ag_raw.dtype)
    copies = flags[1] if len(flags) > 1 else copy
    if device is not None and (where := devices.check(device)) != self.device:
        return on_device(self, where, wanted, copies, memory_format)
    return as_dtype(self, wanted, copies, memory_format)


def _bad_arguments(x: Any, name: str = "") -> TypeError:
    return refused(
        TypeError,
        f"to() received an invalid combination of arguments - got ({name}{type(x).__name__}{', ' if name else ''})",
    )


@composite(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype and on the device of `other`."""
    return on_device(self, other.device, other._ag_raw.dtype)


def _caster(name: str, dtype: dtypes.dtype) -> Callable[..., Tensor]:
    def run(self: Tensor, memory_format: Any = None) -> Tensor:
        return as_dtype(self, dtype.numpy, memory_format=memory_format)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"This tensor as {dtype}."
    return run


_CASTS = {**dtypes.ALIASES, "char": dtypes.int8, "byte": dtypes.uint8, "bfloat16": dtypes.bfloat16}
methods.update({name: _caster(name, dtype) for name, dtype in _CASTS.items()})


@composite(function=False)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor on the CPU; NotImplementedError for one on the device `meta`, which has no elements."""
    return on_device(self, devices.CPU, self._ag_raw.dtype, memory_format=memory_format)


@composite(function=False)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """This tensor on a GPU; AssertionError or RuntimeError where there is none."""
    where = devices.check(
        "cuda" if device is None else devices.device("cuda", device) if isinstance(device, int) else device
    )
    return on_device(self, where, self._ag_raw.dtype, memory_format=memory_format)


@composite(function=False, formula=True)
def contiguous(self: Tensor, *, memory_format: Any = layouts.contiguous_format) -> Tensor:
    """This tensor with its elements in row-major order; itself where they are."""
    raw = self._ag_raw
    if raw.flags.c_contiguous if memory_format is layouts.contiguous_format else has_format(raw, memory_format):
        return self
    result: Tensor = clone_in_format(self, memory_format)
    return result


# ---------------------------------------------------------------- what it is


def _number(tensor: Tensor) -> int:
    index = tensor.device.index
    return -1 if index is None else index


def _fact(name: str, ask: Callable[[Tensor], Any], doc: str, function: bool = False) -> None:
    def run(input: Tensor) -> Any:
        if not isinstance(input, Tensor):
            raise refused(
                TypeError, f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
            )
        return ask(input)

    methods[name] = documented(run, doc, name)
    if function:
        functions[name] = run


_fact(
    "is_floating_point",
    lambda t: t.dtype.is_floating_point,
    "Whether the elements are real floating point numbers.",
    function=True,
)
_fact("is_complex", lambda t: t.dtype.is_complex, "Whether the elements are complex numbers.", function=True)
_fact("is_signed", lambda t: t.dtype.is_signed, "Whether the dtype has negative numbers.", function=True)
_fact("is_conj", unary.is_conj, "Whether this tensor conjugates what it reads from its memory.", function=True)
_fact("is_neg", unary.is_neg, "Whether this tensor negates what it reads from its memory.", function=True)
_fact("numel", lambda t: int(t._ag_raw.size), "The number of elements.", function=True)
_fact("nelement", lambda t: int(t._ag_raw.size), "The number of elements.")
_fact("dim", lambda t: int(t._ag_raw.ndim), "The number of dimensions.")
_fact("ndimension", lambda t: int(t._ag_raw.ndim), "The number of dimensions.")
_fact("element_size", lambda t: int(t._ag_raw.itemsize), "The bytes of one element.")
_fact("get_device", _number, "The number of the GPU that holds the tensor; -1 on the CPU.", function=True)
functions["is_inference"] = Tensor.is_inference


@composite(function=False)
def size(self: Tensor, dim: int | None = None) -> Any:
    """The lengths of all dimensions, or of one; IndexError where there is no such dimension."""
    shape = self._ag_raw.shape
    if dim is None:
        return of_shape(shape)
    _need_dimensions(self, dim)
    return shape[dims.wrap(dim, len(shape))]


@composite(function=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Return how far apart neighbours are laid out in memory along each dimension, or along one, in elements."""
    result = strides_of(self._ag_raw)
    if dim is None:
        return result
    _need_dimensions(self, dim)
    return result[dims.wrap(dim, len(result))]


def _need_dimensions(tensor: Tensor, dim: int) -> None:
    if not tensor._ag_raw.ndim:
        raise refused(IndexError, f"Dimension specified as {dim} but tensor has no dimensions")


@composite(function=False)
def is_contiguous(self: Tensor, memory_format: Any = layouts.contiguous_format) -> bool:
    """Return whether the elements are stored in row-major order, without gaps."""
    return has_format(self._ag_raw, memory_format)


@composite()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether both have the same shape."""
    return bool(input._ag_raw.shape == other._ag_raw.shape)
