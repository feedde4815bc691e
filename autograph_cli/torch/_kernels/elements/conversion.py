"""Copies in another dtype, or with the elements in another order of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array
from ..._arrays.cuda import moved
from ..._arrays.meta import without_memory
from ..._core.base import layout as layouts
from ..._core.base.dtypes import FLOAT8, to_float8
from ..._core.base.memory_format import channels_last_order, copied, empty_as, permuted_strides, settled
from .. import half_precision

ORDERS = {layouts.channels_last: (0, 2, 3, 1), layouts.channels_last_3d: (0, 2, 3, 4, 1)}
"""The dimensions, the slowest first, of memory formats that are not row-major."""


class Conversion:
    """Kernels that change the dtype or the place of elements."""

    xp: Any

    def cast(self, a: Array, dtype: Any) -> Any:
        wanted = np.dtype(dtype)
        if a.dtype.kind == "c" and wanted.kind not in "cb":
            a = a.real
        if wanted.itemsize == 1 and wanted in FLOAT8:
            return to_float8(a, wanted)
        if 0 not in a.strides:
            return half_precision.cast(a, wanted)
        made = empty_as(a, dtype)
        self.xp.copyto(made, a, casting="unsafe")
        return made[()]

    _to_copy = cast

    def clone(self, a: Array) -> Any:
        if isinstance(a, np.generic):
            return a.copy()  # its identity stands for its memory
        if 0 not in a.strides:
            return a.copy("K")
        return self.cast(a, a.dtype)

    def cast_in_format(self, a: Array, dtype: Any, memory_format: Any) -> Any:
        made = self.cast(a, dtype)
        if not a.flags.c_contiguous or 1 in a.shape:
            made = settled(made, a)
        return made if memory_format is None else self.clone_format(made, memory_format)

    def clone_format(self, a: Array, memory_format: Any) -> Any:
        """`a` with its elements in the order of a memory format; None and `preserve_format` keep the order that it
        has."""
        if memory_format in (None, layouts.preserve_format) or not a.ndim:
            return a
        order = ORDERS.get(memory_format)
        if order is None:
            if a.__class__ is not np.ndarray:
                return self.xp.ascontiguousarray(a)
            return a.copy("C")
        if a.ndim != len(order):
            raise RuntimeError(f"required rank {len(order)} tensor to use {memory_format._name} format")
        if a.__class__ is np.ndarray and a.size:
            return copied(a, permuted_strides(a.shape, channels_last_order(a.ndim)))
        return self.xp.ascontiguousarray(a.transpose(order)).transpose(sorted(range(a.ndim), key=order.__getitem__))

    def _to_copy_device(self, a: Array, dtype: Any, where: Any) -> Any:
        return moved(self.cast(a, dtype) if a.dtype != dtype or 0 in a.strides else a, where)

    def _to_copy_meta(self, a: Array, dtype: Any) -> Any:
        return without_memory(a).astype(dtype)
