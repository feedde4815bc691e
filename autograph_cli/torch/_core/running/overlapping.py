"""Memory of which one position may stand for several elements, and what changes in place leave in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arrays.storages import empty_strided
from ..base.memory_format import strides_of
from .device_dispatch import kernels

if TYPE_CHECKING:
    from ..operations.operation import Operation


def may_repeat(raw: Any) -> bool:
    """Return whether one position in memory may stand for several elements: a step is no longer than all shorter ones
    together."""
    if raw.__class__ is not np.ndarray or raw.flags.c_contiguous:
        return False
    reach = 0
    for step, n in sorted((abs(s), n) for s, n in zip(raw.strides, raw.shape, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += step * (n - 1)
    return False


def rows(raw: Any) -> Iterator[tuple[Any, ...]]:
    """The positions of one row after another, along the shortest step, in the order in which PyTorch goes through
    memory."""
    *outer, _ = sorted(range(raw.ndim), key=lambda d: -abs(raw.strides[d]))
    for at in np.ndindex(*[raw.shape[d] for d in outer]):
        position: list[Any] = [slice(None)] * raw.ndim
        for d, i in zip(outer, at, strict=True):
            position[d] = i
        yield tuple(position)


def changed(op: Operation, raws: list[Any]) -> Any:
    """Return what the in-place form of `op` leaves in such memory under its first argument; None where that is what the
    kernel gives."""
    target = raws[0]
    if op.in_memory:
        return getattr(kernels(target), op.in_memory)(*raws)
    if not op.elementwise or op.internal_overlap or any(p.is_list for _, p in op.positions):
        return None
    out = empty_strided(target.shape, strides_of(target), target.dtype)
    out[...] = target
    others = {i: np.broadcast_to(raws[i], target.shape) for i, _ in op.positions[1:] if raws[i] is not None}
    for at in rows(target):
        out[at] = op.kernel_function(out[at], *[others[i][at] if i in others else x for i, x in enumerate(raws)][1:])
    return out
