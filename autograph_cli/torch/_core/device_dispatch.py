"""Where operations compute: on the CPU, or on `meta`, where arrays have a shape and no memory (see
_arrays/meta.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.meta import NO_DATA, Meta, refuses, without_memory
from .._arrays.sparse import Sparse
from .device import CPU, META
from .dtype_checks import check_float8
from .node import MetaLike, shape_dtype
from .state import process_state, thread_state

if TYPE_CHECKING:
    from .operation import Operation

sparse_computed: Any = None
"""What computes with sparse arrays (see _kernels/sparse.py)."""
kernels_by_device: dict[str, Any] = {}
"""The kernels of each device type that can compute."""


def kernels(*raws: Any) -> Any:
    """The kernels of the device that raw arrays are on; without any, of the one that tensors are now made on."""
    for raw in raws:
        if raw.__class__ is Meta:
            return kernels_by_device[META.type]
    on_meta = not raws and process_state.special and thread_state.on_meta
    return kernels_by_device[META.type if on_meta else CPU.type]


def formula_kernels(*args: Any) -> Any:
    """The kernels for what a formula makes anew: on the device of an array among `args`, or else of the pass that
    runs."""
    if any(hasattr(x, "strides") for x in args[:1]):
        return kernels(args[0])
    walk = thread_state.walk
    return kernels() if walk is None else walk.kernels


def is_meta(x: Any) -> bool:
    """Whether a raw array or a tensor has no memory."""
    return getattr(x, "_raw", x).__class__ is Meta


def like_is_meta(like: Any) -> bool:
    """Whether what looks as `like` (see `output_meta`) has no memory."""
    return like.__class__ is MetaLike


def beside(raw: Any, like: Any) -> Any:
    """A raw array on the device of another."""
    return without_memory(raw) if like.__class__ is Meta else raw


def filled(like: Any, number: int) -> Any:
    """A raw array full of `number` that looks as `like` (see `output_meta`)."""
    shape, dtype = shape_dtype(like)
    return Meta(shape, dtype) if like.__class__ is MetaLike else np.full(shape, number, dtype)[()]


# ---------------------------------------------------------------- one operation


def compute(op: Operation, raws: list[Any]) -> Any:
    """What the kernel of `op` makes of raw arguments of which some may have no memory.

    RuntimeError where devices differ; NotImplementedError where the shape of the result depends on the elements.
    """
    given = [raw for i, p in op.positions for raw in (raws[i] if p.is_list else (raws[i],)) if raw is not None]
    if any(isinstance(raw, Sparse) for raw in given):
        return sparse_computed(op, kernels_by_device["cpu"], op.kernel_function, raws)
    if process_state.float8:
        check_float8(op, given)
    if not any(raw.__class__ is Meta for raw in given):
        return op.kernel_function(*raws)
    check_devices(op, given)
    try:
        found = kernel_of(op, kernels_by_device[META.type])(*raws)
        return tuple(map(without_memory, found)) if op.multiple else found
    except RuntimeError as error:
        if not refuses(error):
            raise
        raise missing(op.name) from None


def kernel_of(op: Operation, kernels: Any) -> Any:
    """The kernel of `op` among those of a device."""
    if isinstance(op.kernel, str):
        return getattr(kernels, op.kernel)
    kernel = op.kernel
    return lambda *args: kernel(kernels, *args)


def missing(name: str) -> NotImplementedError:
    """PyTorch's sentence for an operation that cannot be followed without the elements."""
    return NotImplementedError(
        f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
        "registered. Its result depends on elements, which a tensor on the device 'meta' does not have."
    )


def check_devices(op: Operation, given: list[Any]) -> None:
    """RuntimeError where an array with memory is met by one without.

    As in PyTorch, a 0-d tensor on the CPU may stand beside others, and so may indices and masks.
    """
    solid = [raw for raw in given if raw.ndim]
    first = solid[0] if solid else None
    if solid and first.__class__ is not Meta and op.promotes:
        raise RuntimeError("Tensor on device meta is not on the expected device cpu!")
    if any(raw.__class__ is not Meta and (op.promotes or raw is first or raw.dtype.kind not in "biu") for raw in solid):
        raise RuntimeError("Tensor on device cpu is not on the expected device meta!")


def check_out(raw: Any, target: Any) -> None:
    """RuntimeError where the result and the memory for it are on different devices."""
    if (raw.__class__ is Meta) is not (target.__class__ is Meta):
        here, there = ("meta", "cpu") if raw.__class__ is Meta else ("cpu", "meta")
        raise RuntimeError(
            f"Attempting to copy from device {here} to device {there}, but cross-device copies are not allowed!"
        )


def copied(raw: Any, beside: Any) -> Any:
    """A copy of a raw array that others may share, on the device of `beside`."""
    return Meta(raw.shape, raw.dtype) if beside.__class__ is Meta else np.array(raw)


def check_device(g: Any, like: Any) -> None:
    """PyTorch's error where a gradient without memory is to go to a tensor that has some."""
    if g.__class__ is Meta and like.__class__ is not MetaLike:
        raise NotImplementedError(NO_DATA)
