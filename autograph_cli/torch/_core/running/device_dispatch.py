"""Backends of operations: by the class of their arrays on the CPU, on a GPU, or on `meta`, where arrays have a shape
and no and no memory (see _arrays/backends.py)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._above import above
from ..._arrays import cuda
from ..._arrays.backends import ELSEWHERE, NUMPY, WITHOUT_MEMORY, device_of
from ..._arrays.cuda import moved
from ..._arrays.lazy import memory_of
from ..._arrays.meta import Meta, refuses, without_memory
from ..._arrays.sparse import Sparse
from ..._kernels import variants
from ..._kernels.half_precision import in_float32
from ..base.device import CPU, META, device
from ..base.dtype_checks import check_float8, refusing
from ..base.errors import is_refusal
from ..base.memory_format import arranged
from ..base.state import process_state, thread_state
from ..tape.node import Like, device_of_like, shape_dtype

if TYPE_CHECKING:
    from ..operations.operation import Operation


def kernels(*raws: Any) -> Any:
    """The kernels of the device that raw arrays are on; without any, of the one that tensors are now made on."""
    for raw in raws:
        found = ELSEWHERE.get(memory_of(raw).__class__)
        if found is not None:
            return found.kernels
    if raws or not process_state.special:
        return NUMPY.kernels
    if thread_state.on_meta:
        return WITHOUT_MEMORY.kernels
    return NUMPY.kernels if thread_state.place is None else cuda.opened().kernels


def formula_kernels(*args: Any) -> Any:
    """The kernels for what a formula makes anew: on the device of an array among `args`, or else of the pass that
    runs."""
    if any(hasattr(x, "strides") for x in args[:1]):
        return kernels(args[0])
    walk = thread_state.walk
    return kernels() if walk is None else walk.kernels


def is_meta(x: Any) -> bool:
    """Return whether a raw array or a tensor has no memory."""
    return getattr(x, "_ag_raw", x).__class__ is Meta


def beside(raw: Any, like: Any) -> Any:
    """A raw array on the device of another."""
    return moved(raw, device_of(like))


def filled(like: Any, number: int) -> Any:
    """A raw array full of `number` that looks as `like` (see `output_meta`)."""
    if isinstance(like, type):
        return like(number)
    shape, dtype = shape_dtype(like)
    where = device_of_like(like)
    if where == META:
        return Meta(shape, dtype)
    if where == CPU:
        return np.full(shape, number, dtype)[()]
    return cuda.opened().full(shape, number, dtype, where.index)


# ---------------------------------------------------------------- one operation


def compute(op: Operation, raws: list[Any]) -> Any:
    """Return what the kernel of `op` makes of raw arguments of which some may have no memory.

    RuntimeError where devices differ; NotImplementedError where the shape of the result depends on the elements.
    """
    given = [raw for i, p in op.positions for raw in (raws[i] if p.is_list else (raws[i],)) if raw is not None]
    if any(isinstance(raw, Sparse) for raw in given):
        return above("_kernels.elements.sparse", "computed")(op, NUMPY.kernels, op.kernel_function, raws)
    if process_state.float8:
        check_float8(op, given)
    if op.overwrites:
        given[1] = raws[1] = _beside_target(raws[1], raws[0])
    backends = {ELSEWHERE[raw.__class__] for raw in given if raw.__class__ in ELSEWHERE}
    if not backends:
        return op.kernel_function(*raws)
    if WITHOUT_MEMORY not in backends:
        return on_gpu(op, raws, given)
    check_devices(op, given)
    try:
        found = kernel_of(op, WITHOUT_MEMORY.kernels)(*raws)
        return tuple(map(without_memory, found)) if op.multiple else found
    except RuntimeError as error:
        if not refuses(error):
            raise
        raise missing(op.name) from None


def kernel_of(op: Operation, kernels: Any) -> Any:
    """The kernel of `op` among those of a device."""
    if isinstance(op.kernel, str):
        return getattr(kernels, op.kernel)
    return functools.partial(op.kernel, kernels)


def _beside_target(raw: Any, target: Any) -> Any:
    """Return what is to be copied into `target`, on its device; without memory only where that has none."""
    there = device_of(target)
    return raw if raw.__class__ is Meta or there == META else moved(raw, there)


def bound(op: Operation, kernels: Any) -> Callable[..., Any]:
    """The kernel of `op` among those of a device, with what its record says of its dtypes and its layout.

    A first array in float32 or float64 is refused by no record and widened by no kernel, so it goes straight to what
    computes. A compiled variant whose results lie as they should is asked before anything else.
    """
    kernel = kernel_of(op, kernels)
    quick: Any = variants.unwidened(kernel)
    laid = quick if getattr(quick, "laid", False) else None
    kernel = refusing(op.refuses, kernel) if op.refuses else kernel
    kernel = in_float32(kernel, op.opmath == "numbers too") if op.opmath else kernel
    kernel = arranged(op.memory_format, variants.straight(quick if laid is None else laid.kernel, kernel))
    return kernel if laid is None else laid.before(kernel)


def on_gpu(op: Operation, raws: list[Any], given: list[Any]) -> Any:
    """Return what the kernel of `op` makes of arrays of a GPU, beside which there may be numbers of the CPU.

    RuntimeError where devices differ; NotImplementedError where CuPy, or the kernel, has no such computation.
    """
    where = gpu_of(op, given)
    if op.random:
        with cuda.on_gpu(where):
            return _placed(kernel_of(op, cuda.opened().kernels)(*raws), where)
    backend: cuda.Cuda = cuda.opened()
    kernel = backend.bound.get(op)
    if kernel is None:
        kernel = backend.bound[op] = bound(op, backend.kernels)
    for i, p in op.positions:
        raw = raws[i]
        if raw.__class__ is np.ndarray:
            raws[i] = backend.from_host(raw, where.index) if raw.ndim else raw[()]
        elif p.is_list and raw is not None:
            raws[i] = [backend.from_host(x, where.index) if x.__class__ is np.ndarray else x for x in raw]
    with backend.computing(where):
        try:
            return kernel(*raws) if op.moves else _placed(kernel(*raws), where)
        except (TypeError, AttributeError, ValueError) as error:
            if is_refusal(error) or "broadcast" in str(error):
                raise
            raise NotImplementedError(
                f"{op.name}() is not available on the device 'cuda' in autograph's engine: {error}. Move its arguments "
                "to the CPU, by `.cpu()`"
            ) from error


def _placed(found: Any, where: device) -> Any:
    """Return what a kernel gave on a GPU, numbers too."""
    if isinstance(found, (tuple, list)):
        return [_placed(x, where) for x in found]
    return moved(found, where) if isinstance(found, (np.generic, np.ndarray)) else found


def gpu_of(op: Operation, given: list[Any]) -> device:
    """The GPU that the arrays of an operation are on; RuntimeError where they are on several devices.

    As in PyTorch, a 0-d tensor of the CPU may stand beside others in arithmetic.
    """
    places = [device_of(raw) for raw in given]
    where = next(place for place in places if place != CPU)
    for raw, place in zip(given, places, strict=True):
        if place == where:
            continue
        if place != CPU or raw.ndim or not (op.promotes or op.pointwise or op.from_cpu):
            pair = dict.fromkeys(map(str, [where, place] if places[0] == where else [place, where]))
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {' and '.join(pair)}!"
            )
    return where


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
    here, there = device_of(raw), device_of(target)
    if here != there:
        raise RuntimeError(
            f"Attempting to copy from device {here} to device {there}, but cross-device copies are not allowed!"
        )


def copied(raw: Any, beside: Any) -> Any:
    """A copy of a raw array that others may share, on the device of `beside`."""
    if beside.__class__ is Meta:
        return Meta(raw.shape, raw.dtype)
    return raw.copy() if raw.__class__ in ELSEWHERE else np.array(raw)


def fit_device(g: Any, like: Any) -> Any:
    """A raw gradient on the device of the tensor that it is to go to; PyTorch's errors where that cannot be."""
    if not isinstance(like, Like) and memory_of(g).__class__ not in ELSEWHERE:
        return g
    there = device_of_like(like)
    return g if there == META else moved(g, there)
