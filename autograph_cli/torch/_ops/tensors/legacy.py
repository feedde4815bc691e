"""The first API: `torch.Tensor(2, 3)`, `torch.FloatTensor([1, 2])`, `x.type("torch.LongTensor")`, `x.new(3)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda import is_available
from ..._arrays.dispatched import Dispatched, wrapper
from ..._arrays.meta import NO_DATA
from ..._core.base import device as devices, dtypes
from ..._core.base.errors import refused
from ..._core.base.size import Size
from ..._core.base.state import process_state, thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor, blank, dispatches
from ..shaping.views import alias
from ._data import array_of
from .creation import lengths, set_default_dtype


def legacy_constructor(cls: Any, *args: Any, device: Any = None, size: Any = None, **unknown: Any) -> Any:
    """`torch.Tensor(...)`: sizes make an uninitialized tensor, a sequence makes one of its elements, a tensor an alias.

    TypeError for a single number that is no size, and for what is no data.
    """
    if unknown:
        raise refused(TypeError, f"new() received an invalid combination of arguments - got ({', '.join(unknown)})")
    if device is not None:
        devices.check(device)
    return instance(cls, legacy_raw(args if size is None else (*args, *size), process_state.default_dtype, keep=True))


def instance(cls: Any, raw: Any) -> Any:
    """A tensor of a given class over `raw`, outside the graph."""
    result = blank(cls)
    if raw.__class__ is Dispatched or dispatches(cls):
        raw = _held(raw, cls)
        if raw.__class__ is Dispatched:
            result.__dict__ = raw.attributes
    result._ag_raw = raw
    result._ag_edge = result._ag_counter = result._ag_meta = None
    return result


def _held(raw: Any, cls: Any) -> Any:
    """A raw array as an instance of `cls` has it, where that class or the one it comes from has a
    `__torch_dispatch__`."""
    memory = raw.memory if raw.__class__ is Dispatched else np.array(raw) if isinstance(raw, np.generic) else raw
    if not dispatches(cls):
        if memory is None:
            raise NotImplementedError(f"a {raw.kind.__name__} has no memory that a {cls.__name__} could share")
        return memory
    if raw.__class__ is Dispatched:
        return raw if raw.kind is cls else Dispatched(cls, raw._geometry, memory, {})
    return Dispatched(cls, memory, memory, {})


def legacy_raw(args: tuple[Any, ...], dtype: np.dtype[Any], keep: bool = False) -> Any:
    """Return what the arguments of a legacy constructor mean; `keep`: a tensor may be of another dtype."""
    first = args[0] if args else 0
    if len(args) == 1 and isinstance(first, Tensor):
        if first._ag_raw.dtype != dtype and not keep:
            raise refused(
                TypeError,
                f"expected TensorOptions(dtype={_option(dtype)}) "
                f"(got TensorOptions(dtype={_option(first._ag_raw.dtype)}))",
            )
        return first.detach()._ag_raw
    if len(args) == 1 and not isinstance(first, Size):
        if isinstance(first, str):
            raise refused(TypeError, "new(): invalid data type 'str'")
        if isinstance(first, (list, tuple, np.ndarray, range)) or hasattr(first, "__len__"):
            return array_of(first, dtype)
        if isinstance(first, bool) or not hasattr(first, "__index__"):
            raise refused(TypeError, f"new(): data must be a sequence (got {type(first).__name__})")
    return np.empty(lengths("new", args or (0,)), dtype)[()]


def _option(dtype: Any) -> str:
    return dtypes.cpp_name(dtype).lower()


class tensortype(type):
    """The classes of the first API: made of nothing, they answer `isinstance` by dtype and device."""

    dtype: Any
    is_cuda: bool

    def __instancecheck__(cls, x: Any) -> bool:
        fits = isinstance(x, Tensor) and x._ag_raw.dtype == cls.dtype.numpy and not x.is_sparse
        return fits and x.is_cuda == cls.is_cuda

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if device is not None:
            devices.check(device)
        if cls.is_cuda and not is_available():
            raise refused(
                TypeError, f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        made: Tensor = instance(Tensor, legacy_raw(args, cls.dtype.numpy))
        return made.cuda() if cls.is_cuda else made


tensortype.__module__ = "torch"


def _typed(dtype: dtypes.dtype, is_cuda: bool) -> Any:
    where, doc = ("torch.cuda", f"Tensors of {dtype} on a GPU.") if is_cuda else ("torch", f"Tensors of {dtype}.")
    return tensortype(dtype.legacy, (), {"__module__": where, "__doc__": doc, "dtype": dtype, "is_cuda": is_cuda})


_UNTYPED = (*dtypes.FLOAT8, *map(np.dtype, ("uint16", "uint32", "uint64")))
_WITH_A_TYPE = [t for t in dtypes.ALL if not t.is_complex and t.numpy not in _UNTYPED]
TYPED = {t.legacy: _typed(t, False) for t in _WITH_A_TYPE}
"""`FloatTensor`, `LongTensor` and their kin, by name."""
TYPED_ON_GPU = {t.legacy: _typed(t, True) for t in _WITH_A_TYPE}
"""`torch.cuda.FloatTensor` and its kin."""


@composite(function=False)
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of this tensor's legacy class; or the tensor as a given dtype, class or class name."""
    if dtype is None:
        place = "sparse." if self.is_sparse else "" if self.is_cpu else f"{self.device.type}."
        return f"torch.{place}{self.dtype.legacy}"
    if self.is_meta and isinstance(dtype, tensortype):
        raise NotImplementedError(NO_DATA)
    if isinstance(dtype, dtypes.dtype):
        return self.to(dtype)
    wanted = _type_of(dtype)
    return self.to("cuda" if wanted.is_cuda else "cpu", wanted.dtype)


def _type_of(wanted: Any) -> Any:
    """The class of the first API that is asked for, itself or by name; ValueError for what is none."""
    if isinstance(wanted, tensortype):
        return wanted
    shown = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", str(wanted))
    head, _, tail = shown.rpartition(".")
    if tail == "Tensor" or wanted is Tensor:
        tail = dtypes.FROM_NUMPY[process_state.default_dtype].legacy
    result = {"": TYPED, "torch": TYPED, "torch.cuda": TYPED_ON_GPU}.get(head, {}).get(tail)
    if result is None or (not head and wanted is not Tensor):
        raise refused(ValueError, f"invalid type: '{shown}'")
    return result


@composite(function=False)
def new_(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype from sizes or data, as `torch.Tensor(...)` reads them."""
    if device is not None:
        devices.check(device)
    result: Tensor = instance(Tensor, legacy_raw(args, self._ag_raw.dtype))
    return result


@composite(function=False)
def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same tensor, history included, as an instance of a subclass of Tensor."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise refused(TypeError, f"cls must be a subclass of Tensor, not {cls!r}")
    watcher, thread_state.watcher = thread_state.watcher, None  # no mode is told of it
    try:
        shared = alias(self)
    finally:
        thread_state.watcher = watcher
    result = instance(cls, shared._ag_raw)
    result._ag_edge, result._ag_counter, result._ag_meta = shared._ag_edge, shared._ag_counter, shared._ag_meta
    return result


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """`Tensor._make_subclass`: a leaf of class `cls` over the memory of `data`."""
    source = data.detach()
    result = instance(cls, source._ag_raw)
    result._ag_counter = source._ag_counter
    if require_grad:
        result.requires_grad = True
    return result


def make_wrapper_subclass(
    cls: Any,
    size: Any,
    *,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Any:
    """`Tensor._make_wrapper_subclass`: a leaf of class `cls` that has a shape and a dtype and no memory; its
    `__torch_dispatch__` computes.

    TypeError for a class without one.
    """
    if not dispatches(cls):
        raise refused(TypeError, f"{cls.__name__} must define __torch_dispatch__")
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        raise NotImplementedError(
            "_make_wrapper_subclass: a class that computes its own sizes, device or layout is not available"
        )
    kind = process_state.default_dtype if dtype is None else dtype.numpy
    made: Tensor = instance(cls, wrapper(cls, tuple(size), kind, strides))
    return made.requires_grad_() if requires_grad else made


@composite(method=False)
def set_default_tensor_type(t: Any) -> None:
    """The dtype and, of a GPU's, the device of a legacy class as the default ones; deprecated."""
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    wanted: Any = TYPED.get(t.legacy) if isinstance(t, dtypes.dtype) else _type_of(t)
    set_default_dtype(t if wanted is None else wanted.dtype)
    if wanted is not None and wanted.is_cuda:
        process_state.default_device = devices.check("cuda")
