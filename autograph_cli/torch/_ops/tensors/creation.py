"""Tensors from data, from sizes, and in the likeness of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import cuda
from ..._arrays.cuda import moved
from ..._arrays.meta import Meta, without_memory
from ..._arrays.sparse import Sparse
from ..._arrays.storages import empty_strided as new_strided
from ..._core.base import device as devices, dtypes, layout as layouts
from ..._core.base.dims import WHOLE
from ..._core.base.errors import refused
from ..._core.base.memory_format import empty_as
from ..._core.base.state import process_state, thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.docstrings import documented
from ..._core.operations.operation import operations
from ..._core.operations.registry import composite, functions, methods
from ..._core.running import dispatch
from ..._core.running.device_dispatch import formula_kernels, kernels
from ..._core.tape.node import LEAF
from ..._core.tape.tensor import Tensor, Wrapped, inference_result, make
from ..._core.tape.wrapped_numbers import numbers_made
from ..._core.transforms.transforms import beside
from ._data import array_of, cast, supported
from .untyped_storage import UntypedStorage

# ---------------------------------------------------------------- arguments


def target_dtype(dtype: Any, otherwise: Any = None) -> np.dtype[Any]:
    """The NumPy dtype for a `dtype=` argument; `otherwise`, or else the default dtype, for None.

    Python's float and complex are those of 64 bits here, whatever the default dtype.
    """
    if dtype is None:
        return process_state.default_dtype if otherwise is None else otherwise
    return _SINGLE if dtype is dtypes.float32 else dtypes.numpy_dtype(_WIDE.get(dtype, dtype))


_SINGLE: np.dtype[Any] = dtypes.float32.numpy
_WIDE = {float: dtypes.float64, complex: dtypes.complex128}


def placed(
    name: str, dtype: Any, layout: Any, device: Any, pin_memory: Any, otherwise: Any = None, out: Any = None
) -> Any:
    """The dtype of a tensor to make, after the position where it is to live was checked."""
    if device is None:
        if process_state.default_device is not None:
            devices.check(process_state.default_device)
    elif devices.check(device) is not devices.CPU and not thread_state.on_meta and thread_state.place is None:
        raise NotImplementedError(f"{name}(): a device other than the CPU has to be given by name")
    if layout is not None and layout is not layouts.strided:
        raise RuntimeError(
            f"{name}(...) is not implemented for {layout} layout: autograph's engine has dense tensors only"
        )
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available "
            "on this system."
        )
    try:
        result = target_dtype(dtype, out._ag_raw.dtype if out is not None and dtype is None else otherwise)
    except TypeError:
        raise refused(
            TypeError, f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
        ) from None
    if out is not None and result != out._ag_raw.dtype:
        raise RuntimeError(
            f"dtype {dtypes.cpp_name(result)} does not match dtype of out parameter "
            f"({dtypes.cpp_name(out._ag_raw.dtype)})"
        )
    return result


def lengths(name: str, given: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """A shape from `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`; TypeError or RuntimeError where it is none."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
        single = False
    elif not given and size is None:
        raise refused(TypeError, f'{name}() missing 1 required positional arguments: "size"')
    else:
        single = len(given) == 1
        given = given if size is None else tuple(size)
    if WHOLE.issuperset(map(type, given)) and (not given or min(given) >= 0):
        return given
    for position, n in enumerate(given):
        if n.__class__ is not int and not _is_length(n):
            raise _bad_length(name, n, position, single, len(given))
    result = tuple(n if n.__class__ is int else int(n) for n in given)
    if any(n < 0 for n in result):
        if name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        negative = next(n for n in result if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {list(result)}")
    return result


def _is_length(n: Any) -> bool:
    if isinstance(n, Tensor):
        return n._ag_raw.size == 1 and n._ag_raw.dtype.kind in "iu"
    return not isinstance(n, bool) and hasattr(n, "__index__")


def _bad_length(name: str, n: Any, position: int, single: bool, count: int) -> TypeError:
    kind = type(n).__name__
    if position == 0 and count > 1:
        return refused(TypeError, f"{name}() takes 1 positional argument but {count} were given")
    if position == 0:
        found = f"not {kind}" if single else f"but found element of type {kind} at pos 0"
        return refused(TypeError, f"{name}(): argument 'size' (position 1) must be tuple of ints, {found}")
    return refused(
        TypeError,
        f"{name}(): argument 'size' failed to unpack the object at pos {position + 1} with error "
        f'"type must be tuple of ints,but got {kind}"',
    )


def number(name: str, argument: str, position: int, x: Any) -> Any:
    """A Python number from a number or a 0-d tensor; TypeError for anything else."""
    if x.__class__ is int or x.__class__ is float:
        return x
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return x
    if isinstance(x, np.generic) or (isinstance(x, Tensor) and not x._ag_raw.ndim):
        return (x._ag_raw if isinstance(x, Tensor) else x).item()
    raise refused(
        TypeError, f"{name}(): argument '{argument}' (position {position}) must be Number, not {type(x).__name__}"
    )


Drawn = tuple[tuple[str, Any], ...] | None
"""The arguments that random numbers were drawn by; None where a tensor has the same numbers in each run."""


def finish(name: str, raw: Any, requires_grad: bool, out: Any = None, drawn: Drawn = None) -> Tensor:
    """The tensor over a new array, or `out` with its values."""
    if out is not None:
        dispatch.put(out, make(raw[()]))
        written: Tensor = out
        return written
    if process_state.special:
        if thread_state.on_meta:
            raw = without_memory(raw)
        elif thread_state.place is not None:
            raw = moved(raw, thread_state.place)
    if requires_grad and dtypes.CATEGORY[raw.dtype] < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    result = make(raw if raw.ndim else raw[()], LEAF if requires_grad else None)
    if thread_state.inference:
        result = inference_result(result)
    if process_state.observer is not None:
        process_state.observer.untracked(name, None, (), (result,), drawn)
    return result


# ---------------------------------------------------------------- from data


@composite(method=False)
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new leaf that holds a copy of `data`: a number, a nested sequence of them, a NumPy array.

    ValueError for ragged sequences, TypeError or RuntimeError for what is no number.

    >>> from autograph_cli import torch
    >>> torch.tensor([[1, 2], [3, 4]], dtype=torch.float64)
    tensor([[1., 2.],
            [3., 4.]], dtype=torch.float64)
    """
    if isinstance(data, Tensor):
        _warn_copy("torch.tensor(sourceTensor)")
    wanted = placed("tensor", dtype, None, device, pin_memory, _of_data(data)) if dtype is not None or device else None
    return finish("tensor", _copied(data, None if dtype is None else wanted), requires_grad)


def _of_data(data: Any) -> Any:
    return data._ag_raw.dtype if isinstance(data, Tensor) else None


def _copied(data: Any, dtype: Any) -> Any:
    if isinstance(data, Tensor):
        return cast(kernels(data._ag_raw).clone(data._ag_raw), dtype or data._ag_raw.dtype)
    raw = cuda.of_other_library(data)
    return array_of(data, dtype) if raw is None else _here(raw.copy(), dtype)


def _here(raw: Any, dtype: Any) -> Any:
    """An array of a GPU where tensors are made at present."""
    raw = raw if dtype is None else raw.astype(dtype, copy=False)
    return moved(raw, thread_state.place or devices.CPU)


def _warn_copy(what: str) -> None:
    warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {what}."
    )


@composite(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory and history where nothing has to be changed.

    A storage is read as a row of elements of the dtype.
    """
    if isinstance(data, UntypedStorage):
        return make(data.as_row(target_dtype(dtype or dtypes.int64))).to(device or data.device)
    wanted = placed("as_tensor", dtype, None, device, False, _of_data(data))
    if isinstance(data, Tensor):
        return data if dtype is None or wanted == data._ag_raw.dtype else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or wanted == data.dtype):
        return from_numpy(data)
    raw = cuda.of_other_library(data)
    if raw is not None:
        return make(_here(raw, None if dtype is None else wanted))
    return finish("as_tensor", array_of(data, None if dtype is None else wanted), False)


@composite(method=False)
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """`obj` as a tensor; `copy` asks for (True) or forbids (False) new memory, ValueError if that cannot be."""
    if isinstance(obj, UntypedStorage):
        obj = as_tensor(obj, dtype, device)
    found = as_tensor(obj, dtype, device)
    shares = found is obj or (isinstance(obj, np.ndarray) and np.shares_memory(found._ag_raw, obj))
    if copy is False and not shares:
        have = obj._ag_raw if isinstance(obj, Tensor) else obj
        if isinstance(have, (np.ndarray, np.generic)):
            kinds = [dtypes.cpp_name(x.dtype) for x in (have, found._ag_raw)]
            raise refused(ValueError, f"can't alias tensor with dtype '{kinds[0]}' into dtype '{kinds[1]}'.")
        raise refused(ValueError, "can't alias arbitrary sequence into a tensor.")
    if copy and shares:
        found = found.detach().clone()
    return found.requires_grad_() if requires_grad else found


@composite(method=False)
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the memory of a NumPy array: changing one changes the other."""
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        shown = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise refused(TypeError, f"expected np.ndarray (got {shown})")
    dtype = supported(ndarray)
    if any(s < 0 for s in ndarray.strides):
        raise refused(
            ValueError,
            "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) ",
        )
    if not ndarray.flags.writeable:
        warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Writing to "
            "the tensor that is made of it raises an error here. You may want to copy the array before converting "
            "it to a tensor."
        )
    return inference_result(make(ndarray.view(np.ndarray) if ndarray.dtype is dtype else ndarray.view(dtype)))


@composite(method=False)
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the memory of an object that has the buffer protocol."""
    found = from_numpy(np.frombuffer(buffer, target_dtype(dtype), count, offset))
    return found.requires_grad_() if requires_grad else found


# ---------------------------------------------------------------- from sizes


def strided_like(a: Any, dtype: Any) -> Any:
    """New memory of the shape of `a`, its dimensions in the same order."""
    if a.__class__ is Meta or (process_state.special and thread_state.on_meta):
        return (kernels() if thread_state.on_meta else kernels(a)).xp.empty_like(a, dtype=dtype, order="K", subok=False)
    return empty_as(a, dtype) if a.ndim else kernels().xp.empty_like(a, dtype=dtype, subok=False)


def formatted(shape: tuple[int, ...], dtype: Any, memory_format: Any) -> Any:
    """New memory in a memory format."""
    positions = {layouts.channels_last: (4, (0, 3, 1, 2)), layouts.channels_last_3d: (5, (0, 4, 1, 2, 3))}.get(
        memory_format
    )
    if positions is None:
        return kernels().xp.empty(shape, dtype)
    rank, order = positions
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format._name} format")
    moved = (shape[0], *shape[2:], shape[1])
    return kernels().xp.empty(moved, dtype).transpose(order)


def _factory(name: str, fill: Callable[[tuple[int, ...], Any], Any], content: str) -> None:
    def make_new(
        *size: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        out: Any = None,
        memory_format: Any = None,
        **more: Any,
    ) -> Tensor:
        given = more.pop("size", None)
        if more:
            raise refused(TypeError, f"{name}() got an unexpected keyword argument '{next(iter(more))}'")
        shape, wanted = lengths(name, size, given), placed(name, dtype, layout, device, pin_memory, out=out)
        if memory_format not in (None, layouts.contiguous_format):
            return finish(name, formatted(shape, wanted, memory_format), requires_grad, out, ())
        return finish(name, fill(shape, wanted), requires_grad, out, () if name == "empty" else None)

    def make_like(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = layouts.preserve_format,
    ) -> Tensor:
        if isinstance(input, Wrapped):
            options = {"dtype": dtype, "layout": layout, "device": device, "memory_format": memory_format}
            return beside(input, lambda x: make_like(x, **options))
        raw = _tensor(f"{name}_like", input)._ag_raw
        if isinstance(raw, Sparse) and layout is None:
            if name == "ones":
                raise NotImplementedError("torch.ones_like of a sparse tensor would be dense: use torch.ones")
            kept = raw.nothing() if dtype is None else raw.nothing().astype(dtype.numpy)
            return make(kept).requires_grad_(requires_grad)
        wanted = placed(f"{name}_like", dtype, layout, device, pin_memory, raw.dtype)
        preserves = memory_format in (None, layouts.preserve_format)
        new = strided_like(raw, wanted) if preserves else formatted(raw.shape, wanted, memory_format)
        if name != "empty":
            new[...] = name == "ones"
        return finish(f"{name}_like", new, requires_grad, None, () if name == "empty" else None)

    def make_beside(self: Tensor, *size: Any, dtype: Any = None, **keyword: Any) -> Tensor:
        wanted = self.dtype if dtype is None else dtype
        if isinstance(self, Wrapped):
            shape = lengths(name, size, keyword.pop("size", None))
            return beside(self, lambda _, size: make_new(size, dtype=wanted, **keyword), shape)
        return make_new(*size, dtype=wanted, **keyword)

    like, beside_self = f"{name}_like", f"new_{name}"
    sizes = "TypeError for a size that is no integer, RuntimeError for a negative one."
    functions[name] = documented(make_new, f"A tensor of the shape `size` with {content}.\n\n{sizes}", name)
    functions[like] = documented(make_like, f"A tensor of the shape and dtype of `input` with {content}.", like)
    doc = f"A tensor of the shape `size` and, unless another is asked for, this dtype with {content}.\n\n{sizes}"
    methods[beside_self] = documented(make_beside, doc, beside_self)


def _tensor(name: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise refused(TypeError, f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    return x


_factory("empty", lambda shape, dtype: kernels().xp.empty(shape, dtype), "whatever is in its memory")
_factory("zeros", lambda shape, dtype: kernels().zeros(shape, dtype), "every element 0")
_factory("ones", lambda shape, dtype: kernels().ones(shape, dtype), "every element 1")


@composite(method=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """A tensor of one number; its dtype is that of the number if none is named."""
    if not isinstance(size, (tuple, list)):
        raise refused(
            TypeError, f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    value = number("full", "fill_value", 2, fill_value)
    inferred = np.dtype(bool) if isinstance(value, bool) else dtypes.numpy_dtype(type(value))
    wanted = placed("full", dtype, layout, device, pin_memory, inferred, out)
    return finish("full", kernels().full(lengths("full", (size,)), fitting(value, wanted), wanted), requires_grad, out)


@composite(method=False)
def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, **placement: Any
) -> Tensor:
    """`full` with the shape, the dtype and the order of dimensions of `input`."""
    if isinstance(input, Wrapped):
        return beside(input, lambda x: full_like(x, fill_value, dtype=dtype, **placement))
    new = functions["empty_like"](input, dtype=dtype, **placement)
    value = fitting(number("full_like", "fill_value", 2, fill_value), new._ag_raw.dtype)
    return finish("full_like", _filled(new._ag_raw, value), requires_grad)


def _filled(raw: Any, value: Any) -> Any:
    if raw.ndim == 0 and not thread_state.on_meta:
        return value
    raw[...] = value
    return raw


def fitting(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number as a NumPy scalar; RuntimeError if the dtype cannot hold it."""
    dtypes.check_held(value, dtype)
    return dtypes.cast_number(value, dtype)


@composite(function=False)
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, **placement: Any) -> Tensor:
    """`full` of the dtype of this tensor."""
    wanted = self.dtype if dtype is None else dtype
    run = lambda _, size: full(size, fill_value, dtype=wanted, **placement)  # noqa: E731
    return beside(self, run, lengths("new_full", (tuple(size),)))


@composite(function=False)
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`tensor(data)` of the dtype of this tensor."""
    if isinstance(data, Tensor):
        _warn_copy("tensor.new_tensor(sourceTensor)")
    wanted = placed("new_tensor", dtype, None, device, False, self._ag_raw.dtype)
    return finish("new_tensor", _copied(data, wanted), requires_grad)


@composite(function=False)
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **placement: Any) -> Tensor:
    """`empty_strided` of the dtype of this tensor."""
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **placement)


@composite(method=False)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """New memory of a shape whose elements are stored `stride` apart."""
    wanted = placed("empty_strided", dtype, layout, device, pin_memory)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    made = new_strided(lengths("empty_strided", (size,)), tuple(stride), wanted)
    return finish("empty_strided", made, requires_grad, None, ())


@composite(method=False)
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of a number, of the default dtype if none is named."""
    wanted = placed(
        "scalar_tensor", dtype, layout, device, pin_memory, dtypes.complex_default() if isinstance(s, complex) else None
    )
    return finish("scalar_tensor", fitting(number("scalar_tensor", "s", 1, s), wanted), requires_grad)


# ---------------------------------------------------------------- what formulas ask for


def _formula(name: str, fill: Callable[..., Any]) -> None:
    def run(*args: Any) -> Tensor:
        if isinstance(args[0], Wrapped):
            return beside(args[0], lambda x: run(x, *args[1:]))
        raw = fill(*(x._ag_raw if isinstance(x, Tensor) else x for x in args))
        return make(raw[()] if raw.ndim == 0 else raw)

    setattr(operations, name, run)


for _name in ("zeros", "ones", "full", "zeros_like", "ones_like"):
    _formula(_name, lambda *args, _name=_name: getattr(formula_kernels(*args), _name)(*args))


# ---------------------------------------------------------------- complex numbers of two parts


# ---------------------------------------------------------------- defaults


@composite(method=False)
def set_default_dtype(d: Any) -> None:
    """The dtype of float tensors that name none; TypeError for what is no floating dtype."""
    if not isinstance(d, dtypes.dtype):
        raise refused(TypeError, "invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise refused(TypeError, "only floating-point types are supported as the default type")
    if d.numpy in dtypes.FLOAT8:
        raise refused(TypeError, f"couldn't find storage object {d.legacy.removesuffix('Tensor')}Storage")
    process_state.default_dtype = d.numpy
    numbers_made.clear()


@composite(method=False)
def get_default_dtype() -> Any:
    """The dtype that float tensors get if none is named."""
    return dtypes.FROM_NUMPY[process_state.default_dtype]


@composite(method=False)
def set_default_device(device: Any) -> None:
    """The device of tensors that name none; RuntimeError if the engine does not have it."""
    process_state.default_device = None if device is None else devices.check(device)


@composite(method=False)
def get_default_device() -> Any:
    """The device that tensors get if none is named."""
    return devices.CPU if process_state.default_device is None else process_state.default_device
