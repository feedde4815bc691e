"""Windows onto memory by size, stride and offset, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda import moved
from ..._arrays.storages import as_strided_raw, capacity, offset_in, spanned
from ..._core.base import dims
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite, functions
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, Wrapped, make, materialize
from ..._core.transforms import batching_rules
from ..reducing.reductions import sum_dim
from .views import reshape, squeeze_dim

as_strided_op = operation(
    "as_strided(Tensor self, int[] size, int[] stride, int? offset=None)",
    view=True,
    saved={"self_sizes": None, "self_strides": None, "offset": None, "storage_offset": "offset"},
    batch=batching_rules.as_strided,
    by_strides=True,
    self=lambda f, grad, size, stride, offset, self_sizes, self_strides: f.as_strided_backward(
        grad, size, stride, offset, self_sizes, self_strides
    ),
)


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the memory of `input` with these sizes, strides and offset, counted in elements.

    RuntimeError where it would leave the memory.
    """
    position = dims.given(window_offset(input, size, stride, storage_offset), storage_offset)
    return as_strided_op(input, tuple(size), tuple(stride), position)


def window_offset(input: Tensor, size: Any, stride: Any, storage_offset: int | None) -> int:
    """Return where a strided window begins, counted from the first element of `input`; RuntimeError where it leaves the
    memory."""
    raw = materialize(input)
    start = offset_in(raw)
    position = start if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if position < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {position}")
    needed, available = spanned(size, stride, position), capacity(raw)
    if needed > available:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {position}, and itemsize "
            f"{raw.itemsize} requiring a storage size of {needed * raw.itemsize} are out of bounds for storage of size "
            f"{available * raw.itemsize}"
        )
    return position - start


def as_strided_backward(grad: Tensor, size: Any, stride: Any, offset: Any, sizes: Any, strides: Any) -> Tensor:
    """The gradient of the memory under a strided window; overlapping elements add up."""
    if grad.requires_grad or isinstance(grad, Wrapped):
        grad, size, stride = _without_repeats(grad, tuple(size), tuple(stride))
        before, offset = max(-(offset or 0), 0), max(offset or 0, 0)
        reach = max(spanned(sizes, strides, before), spanned(size, stride, offset))
        positions = make(_window_positions(reach, size, stride, offset))
        memory = make(kernels(grad._ag_raw).zeros((reach,), grad._ag_raw.dtype))
        if not isinstance(grad, Wrapped) and len(set(positions._ag_raw.ravel().tolist())) == positions._ag_raw.size:
            as_strided_op(memory, size, stride, offset).copy_(grad)
            return as_strided_op(memory, sizes, strides, before)
        positions = make(moved(positions._ag_raw, memory.device)) if memory.is_cuda else positions
        flat = operations.index_add(memory, 0, reshape(positions, (-1,)), reshape(grad, (-1,)))
        return as_strided_op(flat, sizes, strides, before)
    return make(kernels(grad._ag_raw).as_strided_backward(grad._ag_raw, size, stride, offset, sizes, strides))


def _without_repeats(grad: Tensor, size: tuple[int, ...], stride: tuple[int, ...]) -> tuple[Tensor, Any, Any]:
    """Without the dimensions of a window that do not move: of length 1, or with a stride of 0."""
    for d in reversed(range(len(size))):
        if size[d] == 1 or stride[d] == 0:
            grad = squeeze_dim(grad, d) if size[d] == 1 else sum_dim(grad, (d,))
            size, stride = size[:d] + size[d + 1 :], stride[:d] + stride[d + 1 :]
    return grad, size, stride


def _window_positions(reach: int, size: Any, stride: Any, offset: Any) -> Any:
    return np.ascontiguousarray(as_strided_raw(np.arange(reach), tuple(size), tuple(stride), offset or 0))


operations.as_strided_backward = as_strided_backward
functions.setdefault("as_strided", as_strided)
