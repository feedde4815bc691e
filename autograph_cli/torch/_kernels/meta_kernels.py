"""The kernels of the device `meta`: those of NumPy, on arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Kernels, meta_functions  # noqa: F401  (the rules are found by NumPy's own dispatch)
from .meta import Meta, c_strides


class _Strides:
    """`numpy.lib.stride_tricks` on arrays without memory."""

    sliding_window_view = staticmethod(np.lib.stride_tricks.sliding_window_view)

    @staticmethod
    def as_strided(a: Any, shape: Any = None, strides: Any = None, **options: Any) -> Any:
        if not isinstance(a, Meta):
            return np.lib.stride_tricks.as_strided(a, shape, strides, **options)
        return a.window(a.shape if shape is None else shape, a.strides if strides is None else strides)


class _Lib:
    stride_tricks = _Strides


class Module:
    """NumPy, with functions of its own for what NumPy would make in memory."""

    lib = _Lib

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = float, order: str = "C") -> Meta:
        return Meta((shape,) if isinstance(shape, (int, np.integer)) else shape, dtype)

    zeros = ones = empty

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Meta:
        return self.empty(shape, np.asarray(value).dtype if dtype is None else dtype)

    def empty_like(self, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Meta:
        return np.empty_like(_meta(a), dtype=dtype, order=order, shape=shape)

    zeros_like = ones_like = empty_like

    def full_like(self, a: Any, value: Any, dtype: Any = None) -> Meta:
        return self.empty_like(a, dtype)

    def array(self, a: Any, dtype: Any = None, copy: Any = True, order: str = "K") -> Any:
        if not isinstance(a, Meta):
            return np.array(a, dtype)
        return a.astype(a.dtype if dtype is None else dtype, order)

    def asarray(self, a: Any, dtype: Any = None) -> Any:
        if not isinstance(a, Meta):
            return np.asarray(a, dtype)
        return a if dtype is None else a.astype(dtype, copy=False)

    def ascontiguousarray(self, a: Any, dtype: Any = None) -> Any:
        a = self.asarray(a, dtype)
        return a if not isinstance(a, Meta) or a.flags.c_contiguous else a.copy()

    def ndarray(self, shape: Any, dtype: Any, buffer: Any = None, offset: int = 0, strides: Any = None) -> Any:
        if not isinstance(buffer, Meta):
            return np.ndarray(shape, dtype, buffer, offset, strides)
        shape = tuple(shape)
        return buffer.window(shape, c_strides(shape, np.dtype(dtype).itemsize) if strides is None else strides, offset, dtype)


def _meta(a: Any) -> Meta:
    return a if isinstance(a, Meta) else Meta(np.shape(a), a.dtype)


class MetaKernels(Kernels):
    """Kernels that find shapes, dtypes and strides; what they would compute is not computed."""


meta = MetaKernels(Module())
