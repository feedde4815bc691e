"""Tensors among Python's own: numbers, sequences, text, copies, and NumPy's arrays."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._arrays.cuda import moved, on_host
from ..._arrays.dispatched import Dispatched, wrapper
from ..._arrays.lazy import Lazy, resolved
from ..._arrays.sparse import Sparse
from ..._arrays.storages import address, owner, window
from ..._core.base import dtypes
from ..._core.base.device import CPU, device
from ..._core.base.errors import refused
from ..._core.base.memory_format import strides_of
from ..._core.base.size import Size
from ..._core.base.state import thread_state
from ..._core.operations.registry import composite, functions, methods
from ..._core.tape.node import LEAF, edge_of
from ..._core.tape.tensor import Tensor, Wrapped, materialize
from ..._core.transforms.interpreter_stack import is_followed
from ..._core.transforms.transforms import Batched, Dual
from ..pointwise.unary import is_conj, is_neg
from ._data import warn_scalar
from .creation import from_numpy
from .legacy import instance

# ---------------------------------------------------------------- numbers


@composite(function=False)
def item(self: Tensor) -> Any:
    """The one element as a Python number; RuntimeError if there are more, or none."""
    raw = self._ag_raw
    if raw.size != 1:
        raise RuntimeError(f"a Tensor with {raw.size} elements cannot be converted to Scalar")
    return on_host(raw).item()


@composite(function=False)
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; of a 0-d tensor, the number."""
    return on_host(self._ag_raw).tolist()


def _as_number(self: Tensor) -> Any:
    if self._ag_raw.size != 1:
        raise refused(ValueError, "only one element tensors can be converted to Python scalars")
    if self.requires_grad:
        warn_scalar()
    return on_host(self._ag_raw).item()


def _cast_number(kind: Callable[[Any], Any], name: str) -> Callable[[Tensor], Any]:
    def run(self: Tensor) -> Any:
        number = _as_number(self)
        if isinstance(number, complex) and kind is not complex:
            if number.imag:
                raise RuntimeError(f"value cannot be converted to type {name} without overflow")
            number = number.real
        return kind(number)

    return run


methods["__float__"] = _cast_number(float, "double")
methods["__int__"] = _cast_number(int, "int64_t")
methods["__complex__"] = _cast_number(complex, "complex")


def _bool(self: Tensor) -> bool:
    """Return whether the one element of a tensor is not zero. RuntimeError for a tensor of none or of several."""
    raw = self._ag_raw
    if raw.size != 1:
        what = "more than one value" if raw.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(on_host(raw))


def _index(self: Tensor) -> int:
    if self._ag_raw.size != 1 or dtypes.CATEGORY[self._ag_raw.dtype] > dtypes.INTEGRAL:
        raise refused(TypeError, "only integer tensors of a single element can be converted to an index")
    return int(on_host(self._ag_raw).item())


methods["__bool__"] = methods["is_nonzero"] = functions["is_nonzero"] = _bool
methods["__index__"] = _index

# ---------------------------------------------------------------- sequences


def _len(self: Tensor) -> int:
    if not self._ag_raw.ndim:
        raise refused(TypeError, "len() of a 0-d tensor")
    return len(self._ag_raw)


def _iter(self: Tensor) -> Iterator[Tensor]:
    if not self.dim():
        raise refused(TypeError, "iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, complex)):
        equal: Any = element == self
        return bool(equal.any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def _reversed(self: Tensor) -> Tensor:
    result: Tensor = self.flip(0) if self.dim() else self
    return result


methods["__reversed__"] = _reversed
methods["__len__"], methods["__iter__"], methods["__contains__"] = _len, _iter, _contains

# ---------------------------------------------------------------- types


@composite(method=False)
def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, that of its legacy class."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    module = getattr(obj, "__module__", "") or ""
    if hasattr(obj, "__qualname__"):
        name = obj.__qualname__
    else:
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


# ---------------------------------------------------------------- copies


def _rebuild(cls: Any, array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """A leaf from what a pickle holds; `cls` is None for Tensor itself."""
    result: Tensor = instance(cls or Tensor, array)
    result._ag_edge = LEAF if requires_grad else None
    result.__dict__.update(attributes)
    return result


def _rebuild_wrapper(
    cls: Any, dtype: Any, size: Any, strides: Any, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    return _rebuild(cls, wrapper(cls, size, dtype, strides), requires_grad, attributes)


def _reduce(self: Tensor, protocol: Any) -> Any:
    if isinstance(self, Wrapped):
        raise NotImplementedError(
            "a tensor that a transform follows cannot be pickled or copied by copy.copy; clone() it instead"
        )
    cls = None if type(self) is Tensor else type(self)
    raw = materialize(self)
    if raw.__class__ is Dispatched:
        if raw.memory is None:
            parts = (cls, raw.dtype, raw.shape, strides_of(raw), self.requires_grad, dict(self.__dict__))
            return _rebuild_wrapper, parts
        raw = raw.memory
    if self.is_cuda:
        return _rebuild_on_gpu, (cls, moved(resolved(raw), CPU), self.device, self.requires_grad, dict(self.__dict__))
    return _rebuild, (cls, raw, self.requires_grad, dict(self.__dict__))


def _rebuild_on_gpu(cls: Any, raw: Any, where: device, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    return _rebuild(cls, moved(raw, where), requires_grad, attributes)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Any:
    if not self.is_leaf and edge_of(self):
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    if isinstance(self, Dual) and self._ag_level.by_hand:
        return copy.deepcopy(self._ag_primal, memo)
    if (thread_state.levels and is_followed(self)) or isinstance(self, Wrapped):
        kind = "BatchedTensorImpl" if isinstance(self, Batched) else "TensorWrapper"
        raise NotImplementedError(f"Cannot access storage of {kind}")
    result = instance(
        type(self),
        _deep_dispatched(self._ag_raw, memo) if self._ag_raw.__class__ is Dispatched else _deep(self._ag_raw, memo),
    )
    memo[id(self)] = result
    result._ag_edge = LEAF if self.requires_grad else None
    result._ag_counter = [1] if type(self) is Tensor else None
    if self._ag_meta is not None and self._ag_meta.grad is not None:
        result._ag_need_meta().grad = copy.deepcopy(self._ag_meta.grad, memo)
    result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _deep_dispatched(raw: Any, memo: dict[int, Any]) -> Any:
    if raw.__class__ is not Dispatched:
        return _deep(raw, memo)
    if raw.memory is None:
        return Dispatched(raw.kind, raw._geometry, None, {})
    memory = _deep(raw.memory, memo)
    return Dispatched(raw.kind, memory, memory, {})


def _deep(raw: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array together with the memory that it is part of, which is copied once."""
    if isinstance(raw, (np.generic, Lazy, Sparse)) or not raw.size:
        return raw.copy()
    root = owner(raw)
    if id(root) not in memo:
        memo[id(root)] = root.copy("K")
    return window(memo[id(root)], raw.shape, strides_of(raw), (address(raw) - address(root)) // raw.itemsize, raw.dtype)


methods["__reduce_ex__"], methods["__deepcopy__"] = _reduce, _deepcopy

# ---------------------------------------------------------------- NumPy


@composite(function=False)
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The memory of this tensor as a NumPy array; `force` leaves the graph first.

    RuntimeError where a gradient is required, TypeError for bfloat16 and float8, which NumPy does not have.
    """
    if thread_state.grad and self.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if isinstance(self._ag_raw, Sparse):
        raise refused(TypeError, "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    if not (self.is_cpu or (force and self.is_cuda)):
        raise refused(
            TypeError,
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first.",
        )
    if self.dtype is dtypes.bfloat16 or self._ag_raw.dtype in dtypes.FLOAT8:
        raise refused(TypeError, f"Got unsupported ScalarType {dtypes.cpp_name(self._ag_raw.dtype)}")
    if thread_state.levels and is_followed(self):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    if force:
        return np.asarray(moved(resolved(materialize(self)), CPU)).view()
    for bit, what, name in ((is_conj, "conjugate bit", "resolve_conj"), (is_neg, "negative bit", "resolve_neg")):
        if bit(self):
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {what} set. Use tensor.{name}().numpy() instead."
            )
    return materialize(self).view()


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = numpy(self)
    if copy:
        return np.array(array, dtype)
    return array if dtype is None else array.astype(dtype, copy=False)


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


def _dlpack(self: Tensor, **options: Any) -> Any:
    if self.requires_grad:
        raise refused(BufferError, "Can't export tensors that require gradient, use tensor.detach()")
    if self.is_meta:
        raise refused(BufferError, "Cannot pack tensors on meta")
    for bit, what in ((is_conj, "conjugate"), (is_neg, "negative")):
        if bit(self):
            raise refused(BufferError, f"Can't export tensors with the {what} bit set")
    return materialize(self).__dlpack__(**options)


methods["__array__"], methods["__array_wrap__"], methods["__array_priority__"] = _array, _array_wrap, 1000
methods["__dlpack__"], methods["__dlpack_device__"] = _dlpack, lambda self: materialize(self).__dlpack_device__()


def _size(lengths: tuple[int, ...]) -> Size:
    return Size(lengths)


def _device(kind: str, index: int | None) -> device:
    return device(kind, index)


# These classes call themselves `torch.Size` and `torch.device`, where pickle would look for them.
copyreg.pickle(Size, lambda size: (_size, (tuple(size),)))
copyreg.pickle(device, lambda where: (_device, (where.type, where.index)))
